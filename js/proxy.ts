// A custom storage lives in the page, its user in a worker: each call of the object is a message there and back.
import { SearchError, toPlainError, toSearchError, type PlainError } from "./errors.js";
import type { FileSize, StorageObject, StorageProfile, StorageWriter } from "./storage.js";

/** Functions of a storage object, of a writer it made, and of a lock it gave. */
type Member = "describe" | "read" | "get" | "size" | "list" | "create" | "put" | "delete" | "lock"
  | "append" | "finish" | "abort" | "unlock" | "cancel";

/** Worker to page: call `member` of storage object number `object`. */
export interface ObjectCall {
  object: number;
  call: number;
  member: Member;
  args: unknown[];
}

/** Page to worker: what came of it. */
export interface ObjectReply {
  call: number;
  value?: unknown;
  error?: PlainError;
}

/** What a worker must know of an object before it can stand in for it. */
interface Description {
  label: string | undefined;
  profile: StorageProfile | undefined;
  members: Member[];
}

const optional: Member[] = ["size", "list", "create", "put", "delete", "lock"];

// ------------------------------------------------------------------------------------------ page's side

/** Writers, locks and reads under way, per storage object, by the number of the call that made them. */
interface Kept {
  writers: Map<number, StorageWriter>;
  locks: Map<number, () => void>;
  reads: Map<number, AbortController>;
}

const kept = new WeakMap<StorageObject, Map<unknown, Kept>>();

/** Does one call of a worker on `object`. `owner` tells workers apart. */
export async function answerObjectCall(
  object: StorageObject,
  { call, member, args }: ObjectCall,
  owner: unknown,
): Promise<ObjectReply> {
  try {
    return { call, value: await perform(object, keptOf(object, owner), call, member, args as never[]) };
  } catch (thrown) {
    return { call, error: platformError(thrown) };
  }
}

/** Gives back what a worker that is gone had taken of `object`. */
export function forsake(object: StorageObject, owner: unknown): void {
  const left = kept.get(object)?.get(owner);
  kept.get(object)?.delete(owner);
  for (const read of left?.reads.values() ?? []) read.abort();
  for (const writer of left?.writers.values() ?? []) void Promise.resolve(writer.abort?.()).catch(() => {});
  for (const unlock of left?.locks.values() ?? []) unlock();
}

function keptOf(object: StorageObject, owner: unknown): Kept {
  let owners = kept.get(object);
  if (owners === undefined) kept.set(object, (owners = new Map()));
  let own = owners.get(owner);
  if (own === undefined) owners.set(owner, (own = { writers: new Map(), locks: new Map(), reads: new Map() }));
  return own;
}

async function perform(object: StorageObject, own: Kept, call: number, member: Member, args: never[]): Promise<unknown> {
  switch (member) {
    case "describe": {
      const members = optional.filter((name) => typeof object[name as keyof StorageObject] === "function");
      return { label: object.label, profile: object.profile, members } satisfies Description;
    }
    case "read":
    case "get": {
      const abort = new AbortController();
      own.reads.set(call, abort);
      try {
        const [name, offset, length] = args as unknown as [string, number, number];
        const bytes = member === "read"
          ? await object.read(name, offset, length, abort.signal)
          : await object.get(name, abort.signal);
        return bytes;
      } finally {
        own.reads.delete(call);
      }
    }
    case "cancel":
      return own.reads.get(args[0]!)?.abort();
    case "list": {
      const files: FileSize[] = [];
      for await (const { name, size } of await object.list!()) files.push({ name, size });
      return files;
    }
    case "create":
      own.writers.set(call, await object.create!(args[0]!));
      return undefined;
    case "append":
      return void (await writerOf(own, args[0]!).append(args[1]!));
    case "finish":
    case "abort": {
      const writer = writerOf(own, args[0]!);
      own.writers.delete(args[0]!);
      return void (await writer[member]?.());
    }
    case "lock": {
      const unlock = await object.lock!(args[0]!);
      if (typeof unlock !== "function") return false;
      own.locks.set(call, unlock);
      return true;
    }
    case "unlock": {
      own.locks.get(args[0]!)?.();
      own.locks.delete(args[0]!);
      return undefined;
    }
    default:
      return await (object[member] as (...args: never[]) => unknown).apply(object, args);
  }
}

function writerOf(own: Kept, call: number): StorageWriter {
  const writer = own.writers.get(call);
  if (writer === undefined) throw new SearchError("closed", "the file was finished or given up");
  return writer;
}

/** Errors of the platform keep the name the engine understands them by. */
function platformError(thrown: unknown): PlainError {
  const name = thrown instanceof Error || thrown instanceof DOMException ? thrown.name : "";
  const codes: Record<string, PlainError["code"]> = {
    QuotaExceededError: "quota",
    AbortError: "aborted",
    NotFoundError: "not_found",
    NoModificationAllowedError: "locked",
  };
  return toPlainError(toSearchError(thrown, codes[name] ?? "io"));
}

// ---------------------------------------------------------------------------------------- worker's side

/** Sends a call to the page. */
export type Send = (call: ObjectCall, transfer: Transferable[]) => void;

/** The objects of the page, as a worker sees them. */
export class ProxyTable {
  private readonly waiting = new Map<number, { resolve: (value: never) => void; reject: (error: SearchError) => void }>();
  private readonly proxies = new Map<number, StorageObject>();
  private lastCall = 0;

  constructor(private readonly send: Send) {}

  /** Takes an answer of the page. */
  hear({ call, value, error }: ObjectReply): void {
    const waiting = this.waiting.get(call);
    this.waiting.delete(call);
    if (error !== undefined) waiting?.reject(toSearchError(error));
    else waiting?.resolve(value as never);
  }

  /** Asks the page about its object number `id`; afterwards {@link get} knows it. */
  async learn(id: number): Promise<void> {
    if (this.proxies.has(id)) return;
    const { label, profile, members } = await this.ask<Description>(id, "describe").answer;
    this.proxies.set(id, this.stand(id, label, profile, new Set(members)));
  }

  /** The stand-in for object number `id`. */
  get(id: number): StorageObject {
    const proxy = this.proxies.get(id);
    if (proxy === undefined) throw new SearchError("invalid_argument", `no storage object ${id}`);
    return proxy;
  }

  private ask<T>(object: number, member: Member, args: unknown[] = [], transfer: Transferable[] = []) {
    const call = ++this.lastCall;
    const answer = new Promise<T>((resolve, reject) => this.waiting.set(call, { resolve, reject }));
    this.send({ object, call, member, args }, transfer);
    return { call, answer };
  }

  private read<T>(object: number, member: "read" | "get", args: unknown[], signal?: AbortSignal): Promise<T> {
    const { call, answer } = this.ask<T>(object, member, args);
    // Nobody waits for the answer of a cancellation.
    signal?.addEventListener("abort", () => void this.ask(object, "cancel", [call]).answer.catch(() => {}), { once: true });
    return answer;
  }

  private stand(
    id: number,
    label: string | undefined,
    profile: StorageProfile | undefined,
    members: Set<Member>,
  ): StorageObject {
    const object: StorageObject = {
      ...(label === undefined ? {} : { label }),
      ...(profile === undefined ? {} : { profile }),
      read: (name, offset, length, signal) => this.read(id, "read", [name, offset, length], signal),
      get: (name, signal) => this.read(id, "get", [name], signal),
    };
    if (members.has("size")) object.size = (name) => this.ask<number>(id, "size", [name]).answer;
    if (members.has("list")) object.list = () => this.ask<FileSize[]>(id, "list").answer;
    if (members.has("put")) object.put = (name, bytes) => this.ask<void>(id, "put", [name, bytes]).answer;
    if (members.has("delete")) object.delete = (name) => this.ask<void>(id, "delete", [name]).answer;
    if (members.has("create")) object.create = (name) => this.create(id, name);
    if (members.has("lock")) object.lock = (waitMillis) => this.lock(id, waitMillis);
    return object;
  }

  private async create(id: number, name: string): Promise<StorageWriter> {
    const { call, answer } = this.ask<void>(id, "create", [name]);
    await answer;
    return {
      append: (bytes) => this.ask<void>(id, "append", [call, bytes], [bytes.buffer as ArrayBuffer]).answer,
      finish: () => this.ask<void>(id, "finish", [call]).answer,
      abort: () => this.ask<void>(id, "abort", [call]).answer,
    };
  }

  private async lock(id: number, waitMillis: number): Promise<(() => void) | undefined> {
    const { call, answer } = this.ask<boolean>(id, "lock", [waitMillis]);
    if (!(await answer)) return undefined;
    return () => void this.ask<void>(id, "unlock", [call]).answer.catch(() => {});
  }
}
