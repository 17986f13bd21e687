// Schemas between the object that callers write and the list that keeps its order on the way.
import { invalid } from "./errors.js";
import type { FieldOptions, Schema } from "./types.js";

/** One field as the engine takes and tells it. */
export type WireField = { name: string } & Record<string, unknown>;

/** `schema` as a list; the engine checks what is in it. */
export function toWireSchema(schema: Schema): WireField[] {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    throw invalid("schema: an object of field names and types is needed");
  }
  return Object.entries(schema).map(([name, field]) =>
    typeof field === "object" && field !== null ? { ...field, name } : { name, type: field },
  );
}

/** The engine's list as an object; null while it knows no fields. */
export function fromWireSchema(fields: WireField[] | null): Schema | null {
  if (fields === null || fields.length === 0) return null;
  return Object.fromEntries(fields.map(({ name, ...options }) => [name, options as unknown as FieldOptions]));
}
