/** A provider of chat completions on loopback, for the examples: what it sends comes in clusters. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as after } from "node:timers/promises";

export const WHY =
  "The lease ends while the worker still runs, so the job is handed out again. Renew it, then.";
export const HOW =
  "Renew the lease from a timer of its own: a busy worker would be late. Then check that it is held.";

/** One event as it stands on the wire. */
export function event(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** A request as it came, and how its answer ended. */
export interface Asked {
  readonly headers: IncomingMessage["headers"];
  // biome-ignore lint/suspicious/noExplicitAny: it is whatever the client sent.
  readonly body: any;
  /** Once the answer is over: whether all of it was taken. */
  readonly over: Promise<boolean>;
}

export type Script = (response: ServerResponse) => void | Promise<void>;

/** A thought, a silence, and what is said. */
export const ANSWER: Script = async (response) => {
  start(response);
  response.write(event({ role: "assistant", content: "" }) + event({ reasoning_content: WHY }));
  await after(400);
  response.write(event({ content: HOW }));
  response.end(`${event({}, "stop")}data: [DONE]\n\n`);
};

/** One event after the other, without an end. */
export const ENDLESS: Script = async (response) => {
  start(response);
  while (!response.destroyed) {
    response.write(event({ content: `${HOW} ` }));
    await after(50);
  }
};

const HALF = event({ content: HOW }).slice(0, 40);

/** The connection breaks within an event. */
export const BROKEN: Script = async (response) => {
  start(response);
  response.write(event({ reasoning_content: WHY }) + event({ content: HOW }));
  response.write(HALF);
  await after(50);
  response.destroy();
};

export const REFUSAL = '{"error":{"message":"no such key","type":"invalid_request_error"}}';
export const REFUSED: Script = (response) => {
  response.writeHead(401, { "content-type": "application/json" }).end(REFUSAL);
};

export function start(response: ServerResponse, headers: Record<string, string> = {}): void {
  response.writeHead(200, { "content-type": "text/event-stream", ...headers });
}

export class Provider implements AsyncDisposable {
  readonly #server: ReturnType<typeof createServer>;
  /** All requests so far. */
  readonly asked: Asked[] = [];
  #onAsked = () => {};

  private constructor(script: Script) {
    this.#server = createServer(async (request, response) => {
      const over = new Promise<boolean>((resolve) => {
        response.once("close", () => resolve(response.writableFinished));
      });
      const body: unknown = JSON.parse(await text(request));
      this.asked.push({ headers: request.headers, body, over });
      this.#onAsked();
      await script(response);
    });
  }

  static async start(script: Script): Promise<Provider> {
    const provider = new Provider(script);
    await new Promise<void>((resolve) => provider.#server.listen(0, "127.0.0.1", resolve));
    return provider;
  }

  /** The first request, once it is there. */
  async first(): Promise<Asked> {
    if (this.asked.length === 0) {
      await new Promise<void>((resolve) => {
        this.#onAsked = resolve;
      });
    }
    return this.asked[0]!;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How programs are told of it. */
  get environment(): Record<string, string> {
    return { OPENAI_BASE_URL: this.url, OPENAI_API_KEY: "k", OPENAI_MODEL: "m" };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The texts of a stream's deltas, in order. */
export function texts(stream: string): string[] {
  return payloads(stream).flatMap(({ choices = [] }) =>
    choices
      .map(({ delta }) => delta.reasoning_content || delta.content || "")
      .filter((said) => said !== ""),
  );
}

interface Payload {
  choices?: { delta: { reasoning_content?: string; content?: string } }[];
  error?: { message: string };
}

/** The events' data, parsed; all of them must be whole, but for the half of `BROKEN`. */
export function payloads(stream: string): Payload[] {
  return stream
    .split("\n\n")
    .filter((each) => each !== "" && each !== HALF)
    .map((each) => each.replace(/^data: /, ""))
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data) as Payload);
}

/** Milliseconds within which whoever leaves is noticed. */
const SOON = 1000;

/** What is to be here soon. */
export async function soon<T>(what: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${SOON} ms`)), SOON);
  });
  try {
    return await Promise.race([what, late]);
  } finally {
    clearTimeout(timer);
  }
}
