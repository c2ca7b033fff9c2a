/** Abandons streams of every kind, without closing them, and says whose source was not closed. Needs `--expose-gc`. */

import { Readable } from "node:stream";
import {
  Budget,
  blocks,
  DeclusterStream,
  Engine,
  Ledger,
  pieces,
  Segmenter,
  smoothStream,
  wrap,
} from "../../src/index.js";
import { bytes, countHandles, event, Hanging, settle, sse, words } from "../streams.js";

const TEXTS = words(5);
const WIRE = TEXTS.map((text) => sse(text));
const fast = { pace: "off" } as const;
const handles = countHandles();
const stopping = new AbortController();

const cases: Record<string, (source: Hanging<string>) => Promise<void>> = {
  "pieces, begun": async (source) => {
    await pieces(source, { ...fast, signal: stopping.signal }).next();
  },
  "pieces, not begun": async (source) => {
    pieces(source);
  },
  "blocks, not begun": async (source) => {
    blocks(source);
  },
  "wrap of an iterable": async (source) => {
    await wrap(source, fast).next();
  },
  "an iterable with text that waits for its time": async (source) => {
    await wrap(source, { pace: "fixed", rate: 1, burst: 1, unit: "word", maxDelay: 60_000 }).next();
  },
  "a ReadableStream": async (source) => {
    await wrap(ReadableStream.from(source), fast).getReader().read();
  },
  "a ReadableStream, not begun": async (source) => {
    wrap(ReadableStream.from(source), { ...fast, signal: stopping.signal });
  },
  "a Response": async (source) => {
    const encoded = new TransformStream<string, Uint8Array>({
      transform: (text, controller) => controller.enqueue(bytes(text)),
    });
    const body = ReadableStream.from(source).pipeThrough(encoded);
    wrap(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  },
  "a Readable": async (source) => {
    await wrap(Readable.from(source), fast)[Symbol.asyncIterator]().next();
  },
  "a Readable, not begun": async (source) => {
    wrap(Readable.from(source));
  },
  "a transform": async (source) => {
    const given = ReadableStream.from(source).pipeThrough(new DeclusterStream<string>(fast));
    await given.getReader().read();
  },
  "a smoothStream": async (source) => {
    const parts = new TransformStream<string, object>({
      transform: (text, controller) => controller.enqueue({ type: "text-delta", id: "0", text }),
    });
    const given = ReadableStream.from(source).pipeThrough(parts).pipeThrough(smoothStream(fast)());
    await given.getReader().read();
  },
};

const sources: Record<string, Hanging<string>> = {};
for (const [name, abandon] of Object.entries(cases)) {
  sources[name] = new Hanging(WIRE);
  await abandon(sources[name]);
}
const engines = () => {
  new Engine().push(7n, "output", TEXTS.join(""));
  new Segmenter().push(TEXTS.join(""));
  new Ledger().add(null);
  pieces([], { budget: new Budget(5) });
  wrap([event("a")]);
};
engines();
const before = handles();
const late = performance.now() + 20_000;
const left = () => Object.keys(cases).filter((name) => !sources[name]!.isClosed);
while ((left().length > 0 || handles() > 0) && performance.now() < late) {
  gc!();
  await settle();
}
console.log(JSON.stringify({ before, handles: handles(), left: left() }));
process.exit(0);
