/** What can be read: streams of the web and of Node, iterables, an SDK's streams. */

import { Readable } from "node:stream";

/** One end of a flow: its items, and how it is closed before its end. */
export interface Source {
  /** From now on nobody else can read it; nothing is read yet. */
  lock?(): void;
  next(): Promise<IteratorResult<unknown>>;
  /** Ends a read that is under way, too, as far as the source lets us. */
  close(reason: unknown): unknown;
  /** Aborted by whoever ends the stream from outside; a source that fails may abort it, too. */
  readonly stopped?: AbortSignal;
}

/** What a source is, and its items. */
export type Opened =
  // `isBytes`: where one chunk ends and the next begins says nothing.
  | { kind: "web"; source: Source; original: ReadableStream<unknown>; isBytes: boolean }
  | { kind: "node"; source: Source; original: Readable; isBytes: boolean }
  | { kind: "sdk"; source: Source; original: SdkStream }
  | { kind: "iterable"; source: Source };

/** A stream of the openai or @anthropic-ai/sdk package: both come from one generator. */
export interface SdkStream extends AsyncIterable<unknown> {
  controller: AbortController;
}

/** Throws `TypeError` for what is no stream, with what to give instead. */
export function open(given: unknown): Opened {
  const original = isResponse(given) ? bodyOf(given) : given;
  refuse(original);
  if (isWeb(original)) {
    const isBytes = original !== given || isByteStream(original);
    return { kind: "web", source: ofWeb(original), original, isBytes };
  }
  if (original instanceof Readable || isOldReadable(original)) {
    const isBytes = original.readableObjectMode === false;
    return { kind: "node", source: ofNode(original), original, isBytes };
  }
  if (isSdkStream(original)) return { kind: "sdk", source: ofSdk(original), original };
  const found = original as Partial<AsyncIterable<unknown> & Iterable<unknown>>;
  if (typeof found[Symbol.asyncIterator] === "function") {
    return { kind: "iterable", source: ofAsync(found[Symbol.asyncIterator]!()) };
  }
  return { kind: "iterable", source: ofSync(found[Symbol.iterator]!()) };
}

/** A response of `fetch`, whoever implements it. */
export function isResponse(value: unknown): value is Response {
  return (
    has(value, "headers", "object") && has(value, "status", "number") && "body" in (value as object)
  );
}

export function isWeb(value: unknown): value is ReadableStream<unknown> {
  return has(value, "getReader", "function") && has(value, "pipeThrough", "function");
}

function bodyOf(response: Response): unknown {
  if (response.bodyUsed)
    throw new TypeError("the body of this response was read before it came here");
  if (response.body == null) throw new TypeError("this response has no body");
  return response.body;
}

function refuse(value: unknown): void {
  const named = name(value);
  if (typeof value === "string" || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    throw new TypeError(
      `a ${named} is no stream: give an iterable of chunks, such as response.body`,
    );
  }
  if (has(value, "then", "function")) {
    throw new TypeError("a promise is no stream yet: await it, and give what it resolves to");
  }
  if (typeof value === "function") {
    throw new TypeError("a function is no stream: call it, and give what it returns");
  }
  if (isHelper(value)) {
    throw new TypeError(
      `a ${named} cannot be wrapped: its events carry the whole text so far, which would run ahead ` +
        "of what is shown. Use create({ stream: true }), or pace the response below the SDK, by an option " +
        "of its client: fetch: async (...request) => wrap(await fetch(...request))",
    );
  }
  if (has(value, "data", "object") && open_(value, "data")) {
    throw new TypeError(`${named} is no stream: give its data`);
  }
  if (has(value, "stream", "object") && open_(value, "stream")) {
    throw new TypeError(`${named} is no stream: give its stream`);
  }
  if (!isIterable(value) && !isWeb(value)) {
    const hint =
      typeof value === "object" && value !== null && ANSWERS.some((member) => member in value)
        ? " but a finished answer: ask for a stream"
        : ": give a ReadableStream, a Node Readable or an iterable";
    throw new TypeError(`${named} is no stream${hint}`);
  }
}

/** What finished answers have their text in. */
const ANSWERS = ["choices", "output", "content", "candidates"];

/** Whether this member, and not the value itself, is what can be read. */
function open_(value: object, member: string): boolean {
  const inner = (value as Record<string, unknown>)[member];
  return !isIterable(value) && (isIterable(inner) || isWeb(inner)) && !Array.isArray(inner);
}

/** Helpers of SDKs that put the answer together themselves: they are emitters, too. */
function isHelper(value: unknown): boolean {
  return (
    has(value, "on", "function") &&
    has(value, "controller", "object") &&
    (has(value, "finalMessage", "function") ||
      has(value, "finalChatCompletion", "function") ||
      has(value, "finalResponse", "function"))
  );
}

function isSdkStream(value: unknown): value is SdkStream {
  return (
    has(value, "controller", "object") &&
    has(value, "tee", "function") &&
    has(value, "toReadableStream", "function") &&
    has(value, Symbol.asyncIterator, "function")
  );
}

/** A stream of Node that is not made by this Node's own class (readable-stream). */
function isOldReadable(value: unknown): value is Readable {
  return has(value, "pipe", "function") && has(value, "destroy", "function") && isIterable(value);
}

function isIterable(value: unknown): value is object {
  return has(value, Symbol.asyncIterator, "function") || has(value, Symbol.iterator, "function");
}

function has<K extends PropertyKey>(
  value: unknown,
  key: K,
  type: string,
): value is { [_ in K]: object } {
  if (typeof value !== "object" || value === null) return false;
  const member = (value as Record<PropertyKey, unknown>)[key];
  return member !== null && typeof member === type;
}

function name(value: unknown): string {
  if (value === null || typeof value !== "object")
    return String(value === null ? "null" : typeof value);
  return (value.constructor as { name?: string } | undefined)?.name || "object";
}

function ofWeb(stream: ReadableStream<unknown>): Source {
  if (stream.locked) throw new TypeError("this ReadableStream is locked: something else reads it");
  let reader: ReadableStreamDefaultReader<unknown>;
  return {
    lock() {
      // Also, fetch cancels a body whose Response nobody holds, unless somebody is about to read it.
      reader = stream.getReader();
    },
    next: () => reader.read() as Promise<IteratorResult<unknown>>,
    close: (reason) =>
      reader.cancel(reason).catch((error: unknown) =>
        // One that has failed, as when fetch has the same signal, is closed already.
        reader.closed.then(
          () => Promise.reject(error),
          () => {},
        ),
      ),
  };
}

/** Whether a reader may bring memory of its own: then what comes back can be read so, too. */
function isByteStream(stream: ReadableStream<unknown>): boolean {
  try {
    (stream as ReadableStream).getReader({ mode: "byob" }).releaseLock();
    return true;
  } catch {
    return false;
  }
}

function ofNode(stream: Readable): Source {
  let iterator: AsyncIterator<unknown> | undefined;
  return {
    lock() {
      // An error before the first read is told to who reads: unheard, it would end the process.
      stream.on("error", () => {});
    },
    next() {
      iterator ??= stream[Symbol.asyncIterator]();
      return iterator.next();
    },
    close() {
      stream.destroy();
    },
  };
}

function ofSdk(stream: SdkStream): Source {
  const source = ofAsync(stream[Symbol.asyncIterator]());
  return {
    stopped: stream.controller.signal,
    next: () => source.next(),
    close(reason) {
      // Its generator waits for the network, and hears nothing else meanwhile. A reason of our own
      // would come back as its error.
      stream.controller.abort();
      return source.close(reason);
    },
  };
}

function ofAsync(iterator: AsyncIterator<unknown>): Source {
  return {
    next: () => Promise.resolve(iterator.next()),
    close: () => iterator.return?.(),
  };
}

function ofSync(iterator: Iterator<unknown>): Source {
  return {
    async next() {
      const result = iterator.next();
      // As `for await` does: of an iterable of promises, what they resolve to.
      return result.done ? result : { done: false, value: await result.value };
    },
    // A generator that aborts its own stream runs still, and cannot return before it has given its item.
    close: async () => {
      await undefined;
      iterator.return?.();
    },
  };
}
