/**
 * Runs 10,000 streams and says how memory grows; `leak` runs 3,000 and keeps them all. Needs `--expose-gc`.
 *
 * Prints JSON: megabytes after warming up and at the end, handles of the library that are left, and
 * sources that were not closed.
 */

import { getEventListeners } from "node:events";
import { Readable } from "node:stream";
import {
  Budget,
  DeclusterStream,
  Engine,
  Ledger,
  pieces,
  Segmenter,
  smoothStream,
  wrap,
} from "../../src/index.js";
import { bytes, countHandles, DONE, settle, sse, words } from "../streams.js";

const leaks = process.argv[2] === "leak";
const kept: unknown[] = [];
const handles = countHandles();
const STREAMS = leaks ? 3_000 : 10_000;
const WARM_UP = 1_000;
const ROUND = 100;

const wire = [...words(20).map((word) => sse(word)), DONE];
const fast = { pace: "off" } as const;
/** As a service has one, for as long as it runs. */
const stopping = new AbortController();
let openSources = 0;

/** Counts as open from its first item until its end, or until it is closed. */
async function* source(): AsyncGenerator<string, void> {
  openSources += 1;
  try {
    yield* wire;
  } finally {
    openSources -= 1;
  }
}

/** One that waits without end after its items, but can be closed. */
function hanging(): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream(
    {
      pull(controller) {
        if (at === 0) openSources += 1;
        if (at < 10) controller.enqueue(bytes(wire[at++]!));
        return at < 10 ? undefined : new Promise(() => {});
      },
      cancel() {
        if (at > 0) openSources -= 1;
      },
    },
    { highWaterMark: 0 },
  );
}

const ends: (() => Promise<unknown>)[] = [
  // Read to the end.
  async () => {
    const stream = wrap(source(), { ...fast, signal: stopping.signal });
    for await (const _ of stream);
    return stream;
  },
  async () => {
    const stream = wrap(Readable.from(source()), fast);
    for await (const _ of stream);
    return stream;
  },
  async () => {
    const transform = new DeclusterStream<string>({ ...fast, signal: stopping.signal });
    for await (const _ of ReadableStream.from(source()).pipeThrough(transform));
    return transform;
  },
  async () => {
    const parts = words(20).map((text) => ({ type: "text-delta", id: "0", text }));
    for await (const _ of ReadableStream.from(parts).pipeThrough(smoothStream(fast)()));
    return undefined;
  },
  async () => {
    const stream = wrap(source(), { ...fast, budget: new Budget(500), ledger: new Ledger() });
    for await (const _ of stream);
    return stream;
  },
  // Broken off.
  async () => {
    const stream = pieces(source(), { signal: stopping.signal });
    for await (const _ of stream) break;
    return stream;
  },
  async () => {
    const stream = wrap(hanging(), fast);
    for await (const _ of stream) break;
    return stream;
  },
  // Aborted.
  async () => {
    const controller = new AbortController();
    const stream = pieces(hanging(), { signal: controller.signal });
    await stream.next();
    const reading = stream.next();
    controller.abort();
    await reading.catch(() => {});
    return stream;
  },
  async () => {
    const controller = new AbortController();
    const stream = pieces(source(), { pace: "fixed", rate: 1, signal: controller.signal });
    await stream.next();
    const reading = stream.next();
    await Promise.resolve();
    controller.abort();
    await reading.catch(() => {});
    return stream;
  },
  // Abandoned: nobody closes them.
  async () => {
    const stream = pieces(hanging(), { signal: stopping.signal });
    await stream.next();
    return stream;
  },
  async () => {
    const stream = wrap(hanging(), { ...fast, signal: stopping.signal });
    await stream.getReader().read();
    return stream;
  },
  async () => wrap(new Response(hanging(), { headers: { "content-type": "text/event-stream" } })),
  async () => {
    const engine = new Engine();
    engine.push(5n, "output", "It took hours. Then it");
    const segmenter = new Segmenter();
    segmenter.push("It took hours. Then it");
    return [engine, segmenter];
  },
];

async function megabytes(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    gc!();
    await settle();
  }
  return process.memoryUsage().rss / 2 ** 20;
}

let warm = 0;
for (let stream = 0; stream < STREAMS; stream++) {
  const what = await ends[stream % ends.length]!();
  // A deliberate leak keeps the handle alive by a stream that is not at its end.
  if (leaks) {
    const held = pieces(source(), { unit: "word" });
    await held.next();
    kept.push(what, held);
  }
  if (stream % ROUND === ROUND - 1) {
    gc!();
    await settle();
  }
  if (stream === WARM_UP) warm = await megabytes();
}
const end = await megabytes();
console.log(
  JSON.stringify({
    warm,
    end,
    handles: handles(),
    openSources,
    listeners: getEventListeners(stopping.signal, "abort").length,
    kept: kept.length,
  }),
);
process.exit(0);
