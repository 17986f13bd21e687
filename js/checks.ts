// What callers write, checked before it is sent: JSON would drop or change what it cannot carry, and say nothing.
import { invalid } from "./errors.js";

/** Deeper than anything the engine takes; a circle goes on for ever, and `JSON.stringify` finds it. */
const MAX_DEPTH = 200;

/** `value` as JSON; `what` it is begins the message of an error. */
export function toJson(what: string, value: unknown): string {
  refuseUnspeakable(what, value);
  try {
    return JSON.stringify(value);
  } catch (thrown) {
    throw invalid(`${what}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
}

/** Throws `invalid_argument` naming the place of what JSON has no word for: functions, BigInts, NaN and the like. */
export function refuseUnspeakable(what: string, value: unknown): void {
  const found = unspeakable(value, "", 0);
  if (found !== undefined) throw invalid(`${what}: ${found}`);
}

/** What JSON would write as an empty object. */
const WITHOUT_JSON = new Set(["Map", "Set", "WeakMap", "WeakSet", "Promise", "RegExp", "ArrayBuffer", "DataView"]);

/** Name of the built-in class of `value`, of whichever realm it is. */
export function classOf(value: object): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

/** What is wrong where in `value`, if anything is. */
function unspeakable(value: unknown, place: string, depth: number): string | undefined {
  switch (typeof value) {
    case "function":
    case "symbol":
      return told(place, `a ${typeof value} is no JSON value`);
    case "bigint":
      return told(place, `${value}n is a BigInt, which JSON has not: give a number or a text`);
    case "number":
      return Number.isFinite(value) ? undefined : told(place, `${value} is no JSON number`);
    case "object":
      break;
    default:
      return undefined;
  }
  if (value === null || depth > MAX_DEPTH || (ArrayBuffer.isView(value) && !(value instanceof DataView))) return undefined;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && !Array.isArray(value)) {
    const name = classOf(value);
    if (name === "Date") return Number.isNaN((value as Date).getTime()) ? told(place, "an invalid Date") : undefined;
    if (WITHOUT_JSON.has(name)) return told(place, `a ${name} is no JSON value`);
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return undefined;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) {
      const found = unspeakable(value[at], `${place}[${at}]`, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  for (const [key, inner] of Object.entries(value)) {
    // Most values are texts, numbers and booleans; only others are worth a place.
    if (typeof inner === "string" || typeof inner === "boolean") continue;
    const found = unspeakable(inner, place === "" ? key : `${place}.${key}`, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function told(place: string, what: string): string {
  return place === "" ? what : `${place}: ${what}`;
}

/** `options`, if they are an object with known keys and the call got nothing behind them. */
export function optionsOf<T extends object>(
  what: string,
  options: T,
  known: Record<keyof T, true>,
  more: readonly unknown[] = [],
): T {
  const isSignal = (value: unknown) => typeof value === "object" && value !== null && "aborted" in value;
  if (isSignal(options) || more.some(isSignal)) {
    throw invalid(`${what}: a signal goes into the object of options: { signal }`);
  }
  if (more.some((value) => value !== undefined)) throw invalid(`${what}: too many arguments`);
  if (typeof options !== "object" || options === null) throw invalid(`${what}: an object of options is needed`);
  for (const key of Object.keys(options)) {
    if (!Object.hasOwn(known, key)) {
      throw invalid(`${what}: unknown option ${JSON.stringify(key)}, expected ${Object.keys(known).join(", ")}`);
    }
  }
  return options;
}

/** Throws if `value` is no vector; `what` it is begins the message. */
export function checkVector(what: string, value: unknown): asserts value is ArrayLike<number> {
  const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
  if (!isList) throw invalid(`${what}: a list of numbers is needed, found ${typeNameOf(value)}`);
  const list = value as ArrayLike<unknown>;
  if (list.length === 0) throw invalid(`${what}: a list of numbers is needed, found an empty one`);
  // The components of a typed array are alike.
  const length = Array.isArray(value) ? list.length : Math.min(list.length, 1);
  for (let at = 0; at < length; at += 1) {
    if (typeof list[at] !== "number") throw invalid(`${what}[${at}]: a number is needed, found ${typeNameOf(list[at])}`);
  }
}

function typeNameOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
