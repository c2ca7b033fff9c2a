/**
 * Recorded streams, from a real server by `fetch`, through all forms: nothing of them is lost.
 *
 * The recordings lie beside the repository, where somebody has them; a few small streams are here.
 */

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import {
  type Answer,
  collect,
  DeclusterStream,
  Event,
  type Framing,
  type Options,
  type Piece,
  pieces,
  type Told,
  type ToolCall,
  wrap,
} from "../src/index.js";
import { digest, OWN } from "./small.js";
import { all } from "./support.js";
import { absent, CAPTURES, type Capture, captures } from "./vectors.js";

const TYPES = {
  sse: "text/event-stream; charset=utf-8",
  ndjson: "application/x-ndjson",
  json: "application/json",
};
/** Where nobody knows how a stream was cut: inside characters, lines and words. */
const ODD = [1, 2, 700, 3, 17, 4_001, 333, 9, 12_000];
/** Milliseconds between the first chunks of a stream that takes its time. */
const PAUSES = [0, 60, 1, 0, 250, 5, 0, 120, 2, 400];
/** As fast as possible, and cut as often as possible. */
const WORDS: Options = { pace: "off", unit: "word" };
/** As fast as possible, and joined where that can be. */
const BLOCKS: Options = { pace: "off", unit: "block" };

class Provider {
  readonly #streams = new Map<string, Capture>();
  readonly #server: Server = createServer(async (request, response) => {
    const url = new URL(request.url!, "http://provider");
    const capture = this.#streams.get(decodeURIComponent(url.pathname.slice(1)));
    if (capture === undefined) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-type": TYPES[capture.extension] });
    const pauses = url.searchParams.has("slowly") ? PAUSES : [];
    for (const [number, chunk] of cut(capture).entries()) {
      // So that each chunk is a write of its own.
      await (pauses[number] ? setTimeout(pauses[number]) : setImmediate());
      response.write(chunk);
    }
    response.end();
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** What a client gets that asks for this stream. */
  async ask(capture: Capture, how: "" | "?slowly" = ""): Promise<Response> {
    this.#streams.set(capture.name, capture);
    const { port } = this.#server.address() as AddressInfo;
    return fetch(`http://127.0.0.1:${port}/${encodeURIComponent(capture.name)}${how}`);
  }
}

function cut({ data, lengths = [] }: Capture): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let at = 0; at < data.length; ) {
    const size = lengths[found.length] ?? ODD[found.length % ODD.length]!;
    found.push(data.subarray(at, at + size));
    at += size;
  }
  return found;
}

const provider = new Provider();
before(() => {
  // One stream is of no known dialect, and some have failed; other tests look at what is said then.
  process.removeAllListeners("warning");
  return provider.start();
});
after(() => provider.close());

/** The streams of a test: those that are here, and the recorded ones. */
const STREAMS = {
  "small streams": { load: () => OWN, skip: false as const },
  "recorded streams": { load: captures, skip: absent(CAPTURES) },
};

type Pick = (capture: Capture, at: number) => boolean;

/** A test over many streams; it tells each that it finds something wrong with. */
function over(
  name: string,
  wrong: (capture: Capture) => Promise<string[]>,
  pick: Pick = every,
): void {
  for (const [which, { load, skip }] of Object.entries(STREAMS)) {
    test(`${name}: ${which}`, { skip }, async () => {
      const found: string[] = [];
      const left = load().filter(pick).reverse();
      assert.ok(left.length > 0);
      const worker = async () => {
        for (let next = left.pop(); next !== undefined; next = left.pop()) {
          const { name } = next;
          found.push(...(await wrong(next)).map((what) => `${name}: ${what}`));
        }
      };
      await Promise.all(Array.from({ length: 8 }, worker));
      assert.deepEqual(found, []);
    });
  }
}

const every = () => true;
/** The small ones, and some of the others. */
const few = (capture: Capture, at: number) => OWN.includes(capture) || at % 20 === 0;
/** Of one recorded stream the dialect is not known. */
const isKnown = ({ expect }: Capture) => expect.dialect !== "gemini-interactions";
const isStream = ({ extension }: Capture) => extension !== "json";

/** Which members differ, and how. */
function differing(found: Record<string, unknown>, wanted: Record<string, unknown>): string[] {
  return Object.keys(wanted)
    .filter((key) => !isDeepStrictEqual(found[key], wanted[key]))
    .map((key) => `${key} is ${brief(found[key])}, not ${brief(wanted[key])}`);
}

function brief(value: unknown): string {
  const json = JSON.stringify(value) ?? "undefined";
  return json.length > 200 ? `${json.slice(0, 200)}…` : json;
}

/** The arguments of a call; those that came as an object as the expectations write it. */
function argumentsOf(call: ToolCall): string {
  return call.isObject ? written(JSON.parse(call.arguments)) : call.arguments;
}

/** JSON with sorted keys and blanks after marks, in ASCII. */
function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([key, member]) => `${written(key)}: ${written(member)}`).join(", ")}}`;
  }
  return JSON.stringify(value).replace(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

over(
  "collect() gives what the expectation says",
  async (capture) => {
    const answer = await collect(await provider.ask(capture));
    const { expect } = capture;
    const error = expect.error ?? expect.error_field_line ?? null;
    const calls = (index: number) => answer.toolCalls.filter((call) => call.index === index);
    const found = {
      ...answer,
      reasoning: digest(answer.reasoning),
      output: digest(answer.output),
      tools: calls(0).map((call) => ({
        name: call.name,
        arguments: digest(argumentsOf(call)),
      })),
    };
    // Many of Mistral's say nothing that other chat completions do not.
    const byMistral = expect.dialect === "mistral" && answer.dialect === "openai-chat";
    const ended = expect.terminated ? "complete" : "truncated";
    const wrong = differing(found, {
      dialect: byMistral ? "openai-chat" : expect.dialect,
      reasoning: expect.reasoning,
      output: expect.output,
      reasoningTokens: expect.reasoning_tokens,
      usage: expect.usage,
      finish: expect.finish === null ? null : String(expect.finish),
      tools: expect.tools,
      error,
      // A stream that reports an error has failed, whether it ended or not.
      verdict: error !== null ? "failed" : ended,
      events: expect.events,
      comments: expect.comments,
      restarts: expect.restarted ? 1 : 0,
    });
    if (calls(0).length !== expect.tool_calls) wrong.push(`${calls(0).length} calls`);
    for (const [index, wanted] of Object.entries(expect.by_choice ?? {})) {
      const choice = answer.choices.find((one) => one.index === Number(index));
      const { reasoning = "", output = "", finish = null } = choice ?? {};
      const said = {
        reasoning: digest(reasoning),
        output: digest(output),
        finish,
        tool_calls: calls(Number(index)).length,
      };
      wrong.push(...differing(said, wanted).map((what) => `choice ${index}: ${what}`));
    }
    return wrong;
  },
  isKnown,
);

over(
  "pieces() gives all text in order",
  async (capture) => inOrder(capture, await provider.ask(capture), WORDS),
  isKnown,
);

over(
  "pieces() gives all text in order at its own pace, of streams that take their time",
  async (capture) => inOrder(capture, await provider.ask(capture, "?slowly"), {}),
  (capture, at) => isKnown(capture) && few(capture, at),
);

/** What is wrong with the pieces of a stream. */
async function inOrder(capture: Capture, from: Response, options: Options): Promise<string[]> {
  const { reasoning, output } = capture.expect;
  const stream = pieces(from, { ...options, events: true });
  const { wrong, texts } = await read(stream);
  const found = texts.get(0) ?? { reasoning: "", output: "" };
  const { bytesIn, bytesOut, queuedBytes } = stream.stats();
  const digests = { reasoning: digest(found.reasoning), output: digest(found.output) };
  wrong.push(...differing(digests, { reasoning, output }));
  if (bytesIn !== bytesOut) wrong.push(`${bytesIn} bytes went in, ${bytesOut} came out`);
  if (queuedBytes !== 0) wrong.push(`${queuedBytes} bytes are left`);
  return wrong;
}

interface Texts {
  reasoning: string;
  output: string;
}

/** The texts of pieces, and what is wrong with their numbers. */
async function read(
  stream: AsyncIterable<Piece | Event>,
): Promise<{ texts: Map<number, Texts>; wrong: string[] }> {
  const texts = new Map<number, Texts>();
  const blocks = new Map<number, { block: number; part: number; ends: boolean }>();
  const wrong: string[] = [];
  let seq = -1;
  for await (const item of stream) {
    if (item instanceof Event) {
      if (item.attempt !== undefined) texts.clear();
      if (item.index !== undefined) {
        const text = texts.get(item.index);
        if (text) texts.set(item.index, { reasoning: text.reasoning + text.output, output: "" });
      }
      continue;
    }
    const { index, kind, block, part, endsBlock } = item;
    const text = texts.get(index) ?? { reasoning: "", output: "" };
    text[kind] += item.text;
    texts.set(index, text);
    if (item.seq <= seq) wrong.push(`piece ${item.seq} follows ${seq}`);
    seq = item.seq;
    const last = blocks.get(index);
    const isNext = last !== undefined && block > last.block && part === 0;
    const isSame = last?.block === block && part === last.part + 1 && !last.ends;
    if (last !== undefined && !isNext && !isSame) {
      wrong.push(`part ${part} of block ${block} follows ${last.part} of ${last.block}`);
    }
    blocks.set(index, { block, part, ends: endsBlock });
  }
  return { texts, wrong };
}

/** What came out, to be collected again, and what the stream itself knew at its end. */
interface Out {
  items: unknown[];
  told: Told;
  framing?: Framing | undefined;
}

/** An answer but for the number of its events, of which some are cut and some are joined. */
function comparable(answer: Answer): Record<string, unknown> {
  const { events: _, ...rest } = answer;
  return rest;
}

function told(known: Told | Answer): Record<string, unknown> {
  const { dialect, usage, tokens, toolCalls, finish, error, verdict, reason } = known;
  return { dialect, usage, tokens, toolCalls, finish, error, verdict, reason };
}

/** A form that a stream is wrapped in. */
type Form = (response: Response, options: Options, capture: Capture) => Promise<Out>;

async function gathered<T>(items: AsyncIterable<T> & Told): Promise<Out> {
  return { items: await all(items), told: items };
}

/** The chunks of a stream, for who has no stream but an iterable. */
async function* chunksOf<T>(stream: ReadableStream<T>): AsyncGenerator<T, undefined> {
  for await (const chunk of iterable(stream)) yield chunk;
}

/** The type of web streams does not say that they are iterable; in Node they are. */
function iterable<T>(stream: ReadableStream<T>): AsyncIterable<T> {
  return stream as ReadableStream<T> & AsyncIterable<T>;
}

function decoded(response: Response): AsyncGenerator<string, undefined> {
  return chunksOf(response.body!.pipeThrough(new TextDecoderStream()));
}

/** Cut anew, also between the two units of a character; short streams at every unit. */
async function* recut({ data }: Capture, response: Response): AsyncGenerator<string, undefined> {
  const size = data.length < 10_000 ? 1 : 997;
  for await (const text of decoded(response)) {
    for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
  }
}

/** Cuts texts into lines, without their ends. */
class Splitter {
  /** The beginning of a line. */
  rest = "";

  split(text: string): string[] {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop()!;
    return lines;
  }
}

/** As line readers give them. */
async function* linesOf(response: Response): AsyncGenerator<string, undefined> {
  const splitter = new Splitter();
  for await (const text of decoded(response)) {
    for (const line of splitter.split(text)) yield line;
  }
  if (splitter.rest) yield splitter.rest;
}

/** As clients with a parser of their own give them: objects, or pairs with the event's name. */
async function* eventsOf(
  { extension }: Capture,
  response: Response,
): AsyncGenerator<unknown, undefined> {
  if (extension === "json") {
    yield* (await response.json()) as unknown[];
    return;
  }
  const splitter = new Splitter();
  const parse = extension === "sse" ? sseParser() : parsed;
  for await (const text of decoded(response)) {
    for (const line of splitter.split(text)) {
      const event = parse(line);
      if (event !== undefined) yield event;
    }
  }
  const last = parse(splitter.rest);
  if (last !== undefined) yield last;
}

/** Takes lines of an event stream, gives events where they end. */
function sseParser(): (line: string) => unknown {
  let name: string | undefined;
  let data = "";
  return (ended) => {
    const line = ended.endsWith("\r") ? ended.slice(0, -1) : ended;
    const colon = line.indexOf(":");
    const value = line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (line.startsWith("event:")) name = value;
    if (line.startsWith("data:")) data += value;
    if (line !== "") return undefined;
    const event = parsed(data);
    const found = event === undefined || name === undefined ? event : [name, event];
    name = undefined;
    data = "";
    return found;
  };
}

/** The object that a text is; nothing for what is none, such as `[DONE]`. */
function parsed(data: string): object | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

const FORMS: Record<string, Form> = {
  "a ReadableStream": async (response, options) => {
    const stream = wrap(response.body!, options);
    assert.ok(stream instanceof ReadableStream);
    return { items: await all(iterable(stream)), told: stream };
  },
  "a Response": async (response, options) => {
    const wrapped = wrap(response, options);
    assert.ok(wrapped instanceof Response);
    return { items: [new Uint8Array(await wrapped.arrayBuffer())], told: wrapped };
  },
  "a Node Readable": async (response, options) => {
    const stream = wrap(Readable.fromWeb(response.body as never), options);
    assert.ok(stream instanceof Readable);
    return gathered(stream);
  },
  "a transform": async (response, options) => {
    const transform = new DeclusterStream(options);
    const stream = response.body!.pipeThrough(transform);
    return { items: await all(iterable(stream)), told: transform };
  },
  "an iterable of bytes": (response, options) => gathered(wrap(chunksOf(response.body!), options)),
  "an iterable of strings": (response, options) => gathered(wrap(decoded(response), options)),
  "an iterable of strings with halves of characters": async (response, options, capture) => {
    // What is cut so finely could be lines as well.
    const framing = "bytes";
    const stream = wrap(recut(capture, response), { ...options, framing });
    return { ...(await gathered(stream)), framing };
  },
  "an iterable of lines": async (response, options) => {
    const out = await gathered(wrap(linesOf(response), options));
    for (const line of out.items as string[]) assert.ok(!line.includes("\n"));
    return { ...out, framing: "lines" };
  },
};

const answers = new Map<string, Promise<Answer>>();

/** What the stream says where nothing wraps it. */
function direct(capture: Capture): Promise<Answer> {
  const known = answers.get(capture.name);
  if (known !== undefined) return known;
  const answer = provider.ask(capture).then((response) => collect(response));
  answers.set(capture.name, answer);
  return answer;
}

/** In what a stream that was wrapped differs from one that was not. */
async function lost(out: Out, wanted: Answer): Promise<string[]> {
  const again = await collect(out.items, { framing: out.framing });
  return [
    ...differing({ ...again }, comparable(wanted)),
    ...differing(told(out.told), told(wanted)).map((what) => `the stream's ${what}`),
  ];
}

/** Not all streams have a content type of one; and one unit after the other takes long. */
const PICKS: Record<string, Pick> = {
  "a Response": isStream,
  "an iterable of strings with halves of characters": few,
};

for (const [form, open] of Object.entries(FORMS)) {
  over(
    `wrap() loses nothing of ${form}`,
    async (capture) => {
      const options = form.includes("iterable") ? WORDS : BLOCKS;
      const out = await open(await provider.ask(capture), options, capture);
      return lost(out, await direct(capture));
    },
    PICKS[form] ?? every,
  );
}

over(
  "wrap() loses nothing at its own pace of streams that take their time",
  async (capture) => {
    const forms = Object.entries(FORMS).filter(
      ([form]) => form !== "a Response" || isStream(capture),
    );
    const found = forms.map(async ([form, open]) => {
      const out = await open(await provider.ask(capture, "?slowly"), {}, capture);
      return (await lost(out, await direct(capture))).map((what) => `${form}: ${what}`);
    });
    return (await Promise.all(found)).flat();
  },
  few,
);

over(
  "wrap() loses nothing of parsed events",
  async (capture) => {
    const events = await all(eventsOf(capture, await provider.ask(capture)));
    const out = await gathered(wrap(eventsOf(capture, await provider.ask(capture)), WORDS));
    const wanted = await collect(events);
    const texts = { reasoning: digest(wanted.reasoning), output: digest(wanted.output) };
    const { reasoning, output } = capture.expect;
    return [...differing(texts, { reasoning, output }), ...(await lost(out, wanted))];
  },
  isKnown,
);

over(
  "a client that knows nothing of decluster reads the same text",
  async (capture) => {
    const body = wrap((await provider.ask(capture)).body!, WORDS);
    let content = "";
    for await (const event of eventsOf(capture, new Response(body))) {
      const { choices = [] } = event as ChatChunk;
      for (const { index = 0, delta } of choices) if (index === 0) content += delta?.content ?? "";
    }
    const { content_raw, output } = capture.expect;
    return differing({ content: digest(content) }, { content: content_raw ?? output });
  },
  ({ expect }) => expect.dialect === "openai-chat",
);

interface ChatChunk {
  choices?: { index?: number; delta?: { content?: string | null } }[];
}

over(
  "a response that is no stream of events stays itself",
  async (capture) => {
    const response = await provider.ask(capture);
    const isSame = wrap(response) === response;
    const isWhole = (await response.text()) === capture.data.toString();
    return isSame && isWhole ? [] : ["it is another one"];
  },
  (capture) => !isStream(capture),
);

test("a stream of no known dialect passes byte for byte", { skip: absent(CAPTURES) }, async () => {
  const unknown = captures().filter((capture) => !isKnown(capture));
  assert.equal(unknown.length, 1);
  const stream = wrap((await provider.ask(unknown[0]!)).body!);
  assert.deepEqual(Buffer.concat(await all(iterable(stream))), unknown[0]!.data);
  assert.equal(stream.dialect, null);
});
