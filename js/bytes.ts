// Budgets as people write them.
import { invalid } from "./errors.js";
import type { Bytes } from "./types.js";

const UNITS: Record<string, number> = { "": 1, b: 1, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, kb: 1e3, mb: 1e6, gb: 1e9 };

/** `"64MiB"` as a number; undefined stays undefined. */
export function parseBytes(name: string, value: Bytes | undefined): number | undefined {
  if (value === undefined) return undefined;
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(String(value).trim());
  const unit = match === null ? undefined : UNITS[match[2]!.toLowerCase()];
  const bytes = unit === undefined ? NaN : Math.round(Number(match![1]) * unit);
  if (!Number.isSafeInteger(bytes)) throw invalid(`${name}: ${JSON.stringify(value)} is no number of bytes, such as "64MiB"`);
  return bytes;
}
