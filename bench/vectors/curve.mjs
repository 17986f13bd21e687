// Curves of recall and queries per second.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** Points that no other one beats in both, by ascending recall. */
export function front(points) {
  const best = [];
  for (const point of [...points].sort((a, b) => b.recall - a.recall || b.qps - a.qps)) {
    if (best.length === 0 || point.qps > best.at(-1).qps) best.push(point);
  }
  return best.reverse();
}

/**
 * Queries per second at `recall`, between the two points around it on the front: along the recall, by the logarithm of the
 * rate. Where all points are above, the fastest of them; null where none reaches it.
 */
export function rateAt(points, recall) {
  const curve = front(points);
  const above = curve.findIndex((point) => point.recall >= recall);
  if (above < 0) return null;
  if (above === 0) return curve[0].qps;
  const [low, high] = [curve[above - 1], curve[above]];
  const share = (recall - low.recall) / (high.recall - low.recall);
  return Math.exp(Math.log(low.qps) * (1 - share) + Math.log(high.qps) * share);
}

/** The point of the front that reaches `recall` fastest. */
export const pointAt = (points, recall) => front(points).find((point) => point.recall >= recall);
