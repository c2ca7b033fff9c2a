/** Reads streams of which only one end is held, with a collection before every item. Needs `--expose-gc`. */

import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import OpenAI from "openai";
import { DeclusterStream, Engine, pieces, Segmenter, smoothStream, wrap } from "../../src/index.js";
import { all, bytes, DONE, event, Server, said, saidBy, settle, sse, words } from "../streams.js";

const TEXTS = words(12);
const TEXT = TEXTS.join("");
const WIRE = [...TEXTS.map((text) => sse(text)), DONE];
const fast = { pace: "off" } as const;

async function collectGarbage(): Promise<void> {
  gc!();
  await settle();
  gc!();
  await settle();
}

/** Collects before every item: what nobody holds is closed, and its text missing. */
async function* slowly<T>(items: Iterable<T>): AsyncGenerator<T, void> {
  for (const item of items) {
    await collectGarbage();
    yield item;
  }
}

async function joined(chunks: AsyncIterable<unknown>): Promise<string> {
  const decoder = new TextDecoder();
  let wire = "";
  for await (const chunk of chunks) {
    await collectGarbage();
    wire += typeof chunk === "string" ? chunk : decoder.decode(chunk as Uint8Array);
  }
  return said(wire);
}

const bodies = () => ReadableStream.from(slowly(WIRE.map(bytes)));

const cases: Record<string, () => Promise<string>> = {
  "a for await over pieces": async () => {
    let text = "";
    for await (const piece of pieces(slowly(WIRE), fast)) {
      await collectGarbage();
      text += piece;
    }
    return text;
  },
  "next() of an iterator": async () => {
    const iterator = wrap(slowly(WIRE), fast)[Symbol.asyncIterator]();
    const chunks: string[] = [];
    for (;;) {
      const { done, value } = await iterator.next();
      if (done) return said(chunks.join(""));
      chunks.push(value);
      await collectGarbage();
    }
  },
  "a read that waits": async () => {
    // Nobody holds the stream but who waits for what it gives.
    const first = await new Promise<unknown>((resolve) => {
      void pieces(slowly(WIRE), fast).next().then(resolve);
    });
    return TEXT.startsWith(String((first as { value: unknown }).value)) ? TEXT : "it was closed";
  },
  "a ReadableStream": () => joined(wrap(bodies(), fast)),
  "a reader of one": async () => {
    const reader = wrap(bodies(), fast).getReader();
    const read = async function* () {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        yield value;
      }
    };
    return joined(read());
  },
  "a branch of a tee": async () => {
    const [one, other] = wrap(bodies(), fast).tee();
    const texts = await Promise.all([joined(one), joined(other)]);
    return texts[0] === texts[1] ? texts[0] : "the branches differ";
  },
  "a Response": async () => {
    const headers = { "content-type": "text/event-stream" };
    const response = wrap(new Response(bodies(), { headers }), fast);
    await collectGarbage();
    return said(await response.text());
  },
  "the clone of a Response": async () => {
    const headers = { "content-type": "text/event-stream" };
    const clone = wrap(new Response(bodies(), { headers }), fast).clone();
    await collectGarbage();
    return said(await clone.text());
  },
  "a Response of fetch, whose own nobody holds": async () => {
    await using server = await Server.start(async (response) => {
      for await (const chunk of slowly(WIRE)) response.write(chunk);
      response.end();
    });
    const response = wrap(await fetch(server.url), fast);
    await collectGarbage();
    return await joined(response.body!);
  },
  "the body of a fetch, whose Response nobody holds": async () => {
    await using server = await Server.start(async (response) => {
      for await (const chunk of slowly(WIRE)) response.write(chunk);
      response.end();
    });
    const stream = pieces((await fetch(server.url)).body!, fast);
    await collectGarbage();
    return (await all(stream)).join("");
  },
  "the readable end of a transform": async () => {
    const { readable } = (() => {
      const ends = new DeclusterStream(fast);
      void bodies().pipeTo(ends.writable);
      return { readable: ends.readable };
    })();
    return joined(readable);
  },
  "a transform whose readable end is asked for late": async () => {
    const transform = new DeclusterStream(fast);
    void bodies().pipeTo(transform.writable);
    await collectGarbage();
    return joined(transform.readable);
  },
  "a smoothStream": async () => {
    const parts = TEXTS.map((text) => ({ type: "text-delta", id: "0", text }));
    let text = "";
    for await (const part of ReadableStream.from(slowly(parts)).pipeThrough(smoothStream(fast)())) {
      await collectGarbage();
      text += (part as { text: string }).text;
    }
    return text;
  },
  "a Node Readable": () => joined(wrap(Readable.from(slowly(WIRE)), fast)),
  "a Node Readable that is piped": async () => {
    const to = new PassThrough();
    wrap(Readable.from(slowly(WIRE.map(bytes)), { objectMode: false }), fast).pipe(to);
    return joined(to);
  },
  "a Node Readable whose events are listened to": async () => {
    const chunks: string[] = [];
    const ended = (() => {
      const stream = wrap(Readable.from(slowly(WIRE)), fast);
      stream.on("data", (chunk) => chunks.push(String(chunk)));
      return once(stream, "end");
    })();
    await ended;
    return said(chunks.join(""));
  },
  "a stream of an SDK": async () => {
    await using server = await Server.start(async (response) => {
      for await (const chunk of slowly(WIRE)) response.write(chunk);
      response.end();
    });
    const client = new OpenAI({ apiKey: "none", baseURL: server.url });
    const stream = wrap(
      await client.chat.completions.create({ model: "m", messages: [], stream: true }),
      fast,
    );
    await collectGarbage();
    let text = "";
    for await (const chunk of stream) {
      await collectGarbage();
      text += saidBy(chunk);
    }
    return text;
  },
  "the stream of the web that an SDK's stream gives": async () => {
    await using server = await Server.start(async (response) => {
      for await (const chunk of slowly(WIRE)) response.write(chunk);
      response.end();
    });
    const client = new OpenAI({ apiKey: "none", baseURL: server.url });
    const made = async () =>
      wrap(
        await client.chat.completions.create({ model: "m", messages: [], stream: true }),
        fast,
      ).toReadableStream() as ReadableStream<Uint8Array>;
    const lines: string[] = [];
    const decoder = new TextDecoder();
    for await (const chunk of await made()) {
      await collectGarbage();
      lines.push(decoder.decode(chunk));
    }
    return lines
      .join("")
      .split("\n")
      .filter((line) => line)
      .map((line) => saidBy(JSON.parse(line)))
      .join("");
  },
  events: async () => {
    let text = "";
    for await (const chunk of wrap(slowly(TEXTS.map((text) => event(text))), fast)) {
      await collectGarbage();
      text += saidBy(chunk);
    }
    return text;
  },
  "an engine and a segmenter": async () => {
    const engine = new Engine(fast);
    const segmenter = new Segmenter();
    await collectGarbage();
    engine.push(0n, "output", TEXT);
    await collectGarbage();
    engine.finish(1n);
    const blocks = segmenter.push(TEXT);
    await collectGarbage();
    blocks.push(...segmenter.finish());
    let text = "";
    for (let found = engine.poll(2n); "text" in Object(found); found = engine.poll(2n)) {
      text += String(found);
    }
    return text === blocks.join("") ? text : "engine and segmenter differ";
  },
};

const failed: string[] = [];
for (const [name, read] of Object.entries(cases)) {
  const text = await read().catch(String);
  if (text !== TEXT) failed.push(`${name}: ${text.slice(0, 200)}`);
}
console.log(JSON.stringify({ cases: Object.keys(cases).length, failed }));
process.exit(0);
