// Curves as a picture: recall along, queries per second upwards, on scales on which both ends can be told apart.

const [WIDTH, HEIGHT] = [760, 480];
const [LEFT, RIGHT, TOP, BOTTOM] = [70, 210, 40, 50];
const COLORS = ["#0b6e4f", "#2a9d8f", "#8ab17d", "#5a189a", "#d1495b", "#edae49", "#66a182", "#00798c", "#8d5b4c", "#30638e", "#777777"];
/** Recalls that are named; the axis ends just above the last one. */
const TICKS = [0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];

const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const shown = (value) => (value >= 1000 ? `${value / 1000}k` : String(value));

/** An SVG of `curves`: `{ name, points: [{ recall, qps }] }`, points in the order of the line. */
export function plot(title, curves) {
  // What is missed, by its logarithm: 0.9 and 0.99 are as far apart as 0.99 and 0.999.
  const missed = (recall) => -Math.log10(Math.max(1 - recall, 7e-4));
  const all = curves.flatMap(({ points }) => points);
  const [from, to] = [missed(TICKS[0]), missed(1)];
  const rates = all.map(({ qps }) => Math.log10(qps));
  const [low, high] = [Math.floor(Math.min(...rates)), Math.ceil(Math.max(...rates))];
  const x = (recall) => LEFT + ((missed(Math.max(recall, TICKS[0])) - from) / (to - from)) * (WIDTH - LEFT - RIGHT);
  const y = (qps) => HEIGHT - BOTTOM - ((Math.log10(qps) - low) / Math.max(1, high - low)) * (HEIGHT - TOP - BOTTOM);
  const at = ({ recall, qps }) => `${x(recall).toFixed(1)},${y(qps).toFixed(1)}`;
  const parts = [];
  for (const recall of TICKS) {
    parts.push(`<path d="M${x(recall).toFixed(1)} ${TOP}V${HEIGHT - BOTTOM}" stroke="#ddd"/>`);
    parts.push(`<text x="${x(recall).toFixed(1)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${recall}</text>`);
  }
  for (let power = low; power <= high; power++) {
    for (const times of [1, 2, 5]) {
      const qps = times * 10 ** power;
      if (Math.log10(qps) > high) continue;
      parts.push(`<path d="M${LEFT} ${y(qps).toFixed(1)}H${WIDTH - RIGHT}" stroke="#ddd"/>`);
      parts.push(`<text x="${LEFT - 8}" y="${(y(qps) + 4).toFixed(1)}" text-anchor="end">${shown(qps)}</text>`);
    }
  }
  curves.forEach(({ name, points }, ix) => {
    const color = COLORS[ix % COLORS.length];
    parts.push(`<polyline points="${points.map(at).join(" ")}" fill="none" stroke="${color}" stroke-width="2"/>`);
    for (const point of points) parts.push(`<circle cx="${at(point).replace(",", '" cy="')}" r="3" fill="${color}"/>`);
    const line = TOP + 14 + ix * 20;
    parts.push(`<path d="M${WIDTH - RIGHT + 15} ${line - 4}h20" stroke="${color}" stroke-width="2"/>`);
    parts.push(`<text x="${WIDTH - RIGHT + 41}" y="${line}">${escape(name)}</text>`);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
<text x="${LEFT}" y="24" font-size="15">${escape(title)}</text>
${parts.join("\n")}
<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 12}" text-anchor="middle">recall@10</text>
<text transform="translate(16 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">queries per second, one thread</text>
</svg>
`;
}
