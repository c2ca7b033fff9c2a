/** Small streams of a made provider, in every form, and what tests ask of them. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Native, native } from "../src/native.js";

/** An event of a chat completion that adds this text. */
export function event(text: string, kind: "content" | "reasoning_content" = "content"): object {
  return { choices: [{ index: 0, delta: { [kind]: text } }] };
}

/** The same on the wire. */
export function sse(text: string, kind?: "content" | "reasoning_content"): string {
  return `data: ${JSON.stringify(event(text, kind))}\n\n`;
}

export const DONE = "data: [DONE]\n\n";

/** The text that a stream on the wire says. */
export function said(wire: string): string {
  return wire
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => saidBy(JSON.parse(line.slice(6))))
    .join("");
}

/** The text that an event adds. */
export function saidBy(chunk: unknown): string {
  const { choices } = chunk as { choices: { delta: Record<string, string> }[] };
  return choices.map(({ delta }) => delta.content ?? delta.reasoning_content ?? "").join("");
}

export const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** `count` words, each other than its neighbours. */
export function words(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `word${at} `);
}

/** A stream of the web over these chunks; then it ends, or fails. */
export function webOf<T>(chunks: Iterable<T>, error?: unknown): ReadableStream<T> {
  const iterator = chunks[Symbol.iterator]();
  return new ReadableStream<T>(
    {
      pull(controller) {
        const { done, value } = iterator.next();
        if (!done) controller.enqueue(value);
        else if (error === undefined) controller.close();
        else controller.error(error);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The same as a byte stream, as bodies of `fetch` are. */
export function bodyOf(chunks: Iterable<string>, error?: unknown): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.iterator]();
  return new ReadableStream({
    type: "bytes",
    pull(controller) {
      const { done, value } = iterator.next();
      if (!done) {
        controller.enqueue(bytes(value));
      } else if (error === undefined) {
        controller.close();
        controller.byobRequest?.respond(0);
      } else {
        controller.error(error);
      }
    },
  });
}

/** All that an iterable gives. */
export async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of source) found.push(item);
  return found;
}

/** All that an iterable gives, and what it ends with. */
export async function allAndError<T>(
  source: AsyncIterable<T>,
): Promise<{ found: T[]; error: unknown }> {
  const found: T[] = [];
  try {
    for await (const item of source) found.push(item);
  } catch (error) {
    return { found, error };
  }
  return { found, error: undefined };
}

/** An iterable whose first items are these, which then waits without end, and tells when it was closed. */
export class Hanging<T> implements AsyncIterableIterator<T> {
  readonly #items: Iterator<T>;
  #end!: (result: IteratorResult<T, undefined>) => void;
  readonly #ended = new Promise<IteratorResult<T, undefined>>((resolve) => {
    this.#end = resolve;
  });
  pulled = 0;
  closed: Promise<void>;
  isClosed = false;
  #close!: () => void;

  constructor(items: Iterable<T>) {
    this.#items = items[Symbol.iterator]();
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
  }

  next(): Promise<IteratorResult<T, undefined>> {
    this.pulled += 1;
    const { done, value } = this.#items.next();
    return done ? this.#ended : Promise.resolve({ done: false, value });
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.isClosed = true;
    this.#close();
    const result = { done: true, value: undefined } as const;
    this.#end(result);
    return Promise.resolve(result);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** Lets everything run that is ready to. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
}

/** Waits for a condition, and fails where it does not come true. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const late = performance.now() + 20_000;
  while (!holds()) {
    assert.ok(performance.now() < late, `waited in vain until ${what}`);
    await new Promise(setImmediate);
  }
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

/** How many timers run. */
export function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
}

/** A server on this machine that sends what it is told, to the end or not. */
export class Server implements AsyncDisposable {
  readonly #server = createServer((request, response) => {
    response.on("close", () => {
      this.open -= 1;
    });
    this.open += 1;
    this.asked += 1;
    response.writeHead(200, { "content-type": "text/event-stream" });
    this.#script(response, request);
  });
  readonly #script: (response: ServerResponse, request: IncomingMessage) => void;
  /** Requests that came, and responses that are under way. */
  asked = 0;
  open = 0;

  private constructor(script: (response: ServerResponse, request: IncomingMessage) => void) {
    this.#script = script;
  }

  static async start(
    script: (response: ServerResponse, request: IncomingMessage) => void,
  ): Promise<Server> {
    const server = new Server(script);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** A response of `node:http`. */
  get(): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      get(this.url, { agent: false }, resolve).on("error", reject);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

const KINDS = ["config", "engine", "rewriter", "segmenter", "budget", "ledger", "body"] as const;

/** Counts the handles of the library that are made from now on and not freed. */
export function countHandles(): () => number {
  const lib = native() as { -readonly [N in keyof Native]: Native[N] };
  let open = 0;
  const count = <N extends keyof Native>(name: N, then: (result: unknown) => void) => {
    const call = lib[name] as (...given: unknown[]) => unknown;
    (lib as Record<string, unknown>)[name] = (...given: unknown[]) => {
      const result = call(...given);
      then(result);
      return result;
    };
  };
  for (const kind of KINDS) {
    count(`${kind}_new`, (status) => {
      if (status === 0) open += 1;
    });
    count(`${kind}_free`, () => {
      open -= 1;
    });
  }
  return () => open;
}
