/** What goes in comes out, no more is read than there is room for, and errors come in their place. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { mock, test } from "node:test";
import { runInNewContext } from "node:vm";
import {
  blocks,
  ConfigError,
  collect,
  DeclusterStream,
  type Options,
  type Piece,
  ProviderError,
  pieces,
  ReasoningBudgetExceeded,
  smoothStream,
  TooLarge,
  wrap,
} from "../src/index.js";
import {
  all,
  allAndError,
  bodyOf,
  bytes,
  countHandles,
  DONE,
  event,
  Hanging,
  median,
  said,
  saidBy,
  settle,
  sse,
  timers,
  until,
  webOf,
  words,
} from "./streams.js";

const FAST: Options = { pace: "off", maxDelay: 100 };
/** The least queue that there can be: intake pauses at half of it. */
const SMALL: Options = { ...FAST, maxQueueBytes: 65_536 };
const MANY = words(20_000);
const MANY_TEXT = MANY.join("");
/** How many of these items may be read ahead of what is taken. */
const PULLED = 400;
/** The same where a burst goes in as one text: half of the queue, in words, and one turn's. */
const PULLED_JOINED = 32_768 / Math.min(...MANY.slice(-10_000).map((word) => word.length)) + 64;

const decoder = new TextDecoder();
const handles = countHandles();

/** Counts what is taken of an iterable. */
class Counted<T> implements Iterable<T> {
  taken = 0;
  isClosed = false;
  readonly #items: readonly T[];

  constructor(items: readonly T[]) {
    this.#items = items;
  }

  *[Symbol.iterator](): Generator<T, void> {
    try {
      for (const item of this.#items) {
        this.taken += 1;
        yield item;
      }
    } finally {
      this.isClosed = true;
    }
  }
}

/** Waits until nothing more is taken. */
async function still(source: { taken: number }): Promise<void> {
  let before = -1;
  while (before !== source.taken) {
    before = source.taken;
    await settle();
  }
}

/** A stream over 20,000 deltas, as chunks of its text. */
const paced: Record<string, () => { source: { taken: number }; texts: AsyncIterator<string> }> = {
  "pieces of chunks": () => {
    const source = new Counted(MANY.map((text) => sse(text)));
    return { source, texts: mapped(pieces(source, SMALL), String) };
  },
  "blocks of chunks": () => {
    const source = new Counted(MANY.map((text) => sse(text)));
    return { source, texts: mapped(blocks(source, SMALL), String) };
  },
  "wrap of chunks": () => {
    const source = new Counted(MANY.map((text) => sse(text)));
    return { source, texts: mapped(wrap(source, SMALL), said) };
  },
  "wrap of events": () => {
    const source = new Counted(MANY.map((text) => event(text)));
    return { source, texts: mapped(wrap(source, SMALL), saidBy) };
  },
  "wrap of bare texts": () => {
    const source = new Counted(MANY);
    return { source, texts: mapped(wrap(source, { ...SMALL, framing: "text" }), String) };
  },
  "a ReadableStream": () => {
    const source = new Counted(MANY.map((text) => bytes(sse(text))));
    return { source, texts: mapped(wrap(webOf(source), SMALL), (chunk) => saidIn(chunk)) };
  },
  "a byte stream": () => {
    const source = new Counted(MANY.map((text) => sse(text)));
    return { source, texts: mapped(wrap(bodyOf(source), SMALL), (chunk) => saidIn(chunk)) };
  },
  "a Readable": () => {
    const source = new Counted(MANY.map((text) => sse(text)));
    return { source, texts: mapped(wrap(Readable.from(source), SMALL), said) };
  },
  "a transform": () => {
    const source = new Counted(MANY.map((text) => bytes(sse(text))));
    const stream = webOf(source).pipeThrough(new DeclusterStream(SMALL));
    return { source, texts: mapped(stream, (chunk) => saidIn(chunk)) };
  },
  "a smoothStream": () => {
    const source = new Counted(MANY.map((text) => ({ type: "text-delta", id: "0", text })));
    const stream = webOf<object>(source).pipeThrough(smoothStream(SMALL)());
    return { source, texts: mapped(stream, (part) => (part as { text: string }).text) };
  },
};

const saidIn = (chunk: unknown) => said(decoder.decode(chunk as Uint8Array));

async function* mapped<T>(
  items: AsyncIterable<T>,
  by: (item: T) => string,
): AsyncGenerator<string, void> {
  for await (const item of items) yield by(item);
}

for (const [name, open] of Object.entries(paced)) {
  test(`a slow consumer bounds what is read, and loses nothing: ${name}`, async (t) => {
    const { source, texts } = open();
    let text = String((await texts.next()).value);
    await still(source);
    const first = source.taken;
    t.diagnostic(`${first} of ${MANY.length} deltas were read before the second item`);
    const isJoined = name === "a smoothStream" || name === "wrap of bare texts";
    const pulled = isJoined ? PULLED_JOINED : PULLED;
    assert.ok(first <= pulled, `${first} items were read`);
    // It goes on where it stopped, by as much as was taken.
    for (let item = 0; item < 100; item++) text += (await texts.next()).value ?? "";
    await still(source);
    const given = text.split(" ").length - 1;
    assert.ok(source.taken - given <= pulled, `${source.taken} items were read, ${given} given`);
    for (;;) {
      const { done, value } = await texts.next();
      if (done) break;
      text += value;
    }
    assert.equal(text, MANY_TEXT);
    assert.equal(source.taken, MANY.length);
  });
}

test("pipe() into a slow Writable bounds what is read, and loses nothing", async (t) => {
  const source = new Counted(MANY.map((text) => bytes(sse(text))));
  const stream = wrap(Readable.from(source, { objectMode: false }), SMALL);
  const chunks: string[] = [];
  let release: (() => void) | undefined;
  let isSlow = true;
  const slow = new Writable({
    highWaterMark: 1,
    write(chunk, _encoding, done) {
      chunks.push(decoder.decode(chunk as Uint8Array));
      if (isSlow) release = done;
      else done();
    },
  });
  const piped = pipeline(stream, slow);
  await until(() => release !== undefined, "something is written");
  await still(source);
  t.diagnostic(`${source.taken} of ${MANY.length} deltas were read while the first write goes on`);
  assert.equal(chunks.length, 1);
  assert.ok(source.taken <= PULLED, `${source.taken} items were read`);
  isSlow = false;
  release!();
  await piped;
  assert.equal(said(chunks.join("")), MANY_TEXT);
});

test("of a source that is read slowly Node's own buffers hold no more than usual", async () => {
  const source = new Counted(MANY.map((text) => sse(text)));
  const stream = wrap(Readable.from(source), SMALL);
  stream.once("readable", () => {});
  await still(source);
  assert.equal(stream.readableLength, 1);
  stream.destroy();
  await once(stream, "close");
  assert.ok(source.isClosed);
});

/** Text, then an error of the source, in every form. */
const failing: Record<string, (error: Error) => AsyncIterable<string>> = {
  "an async iterable of chunks": (error) => mapped(wrap(thenFails(wire(), error), FAST), said),
  "a sync iterable": (error) =>
    mapped(
      wrap(
        (function* () {
          yield* wire();
          throw error;
        })(),
        FAST,
      ),
      said,
    ),
  events: (error) =>
    mapped(
      wrap(
        thenFails(
          TEXTS.map((text) => event(text)),
          error,
        ),
        FAST,
      ),
      saidBy,
    ),
  "bare texts": (error) =>
    mapped(wrap(thenFails(TEXTS, error), { ...FAST, framing: "text" }), String),
  pieces: (error) => mapped(pieces(thenFails(wire(), error)), String),
  blocks: (error) => mapped(blocks(thenFails(wire(), error)), String),
  "a ReadableStream": (error) => mapped(wrap(webOf(wire().map(bytes), error), FAST), saidIn),
  "a byte stream": (error) => mapped(wrap(bodyOf(wire(), error), FAST), saidIn),
  "a Response": (error) => {
    const headers = { "content-type": "text/event-stream" };
    return mapped(wrap(new Response(bodyOf(wire(), error), { headers }), FAST).body!, saidIn);
  },
  "a Readable": (error) =>
    mapped(wrap(Readable.from(thenFails(wire(), error)), FAST), (chunk) => said(String(chunk))),
  "a Readable of bytes": (error) =>
    mapped(
      wrap(Readable.from(thenFails(wire().map(bytes), error), { objectMode: false }), FAST),
      (chunk) => saidIn(chunk),
    ),
  "a transform": (error) =>
    mapped(webOf(wire().map(bytes), error).pipeThrough(new DeclusterStream(FAST)), saidIn),
  "a smoothStream": (error) =>
    mapped(
      webOf<object>(
        TEXTS.map((text) => ({ type: "text-delta", id: "0", text })),
        error,
      ).pipeThrough(smoothStream()()),
      (part) => (part as { text: string }).text,
    ),
};

const TEXTS = ["It took hours to find. ", "Then it held, and nobody knew why. ", "So they"];
const wire = () => TEXTS.map((text) => sse(text));

async function* thenFails<T>(items: Iterable<T>, error: Error): AsyncGenerator<T, void> {
  yield* items;
  throw error;
}

for (const [name, open] of Object.entries(failing)) {
  test(`an error of the source comes after the text before it: ${name}`, async () => {
    const before = handles();
    const broken = new Error("the connection broke");
    const { found, error } = await allAndError(open(broken));
    assert.equal(found.join(""), TEXTS.join(""));
    assert.equal(error, broken);
    assert.equal(handles(), before);
  });

  test(`an error of the source lets out text that is paced, and at once: ${name}`, async () => {
    // A consumer that comes late finds all of it, though no time passes.
    const broken = new Error("the connection broke");
    const iterator = open(broken)[Symbol.asyncIterator]();
    let text = String((await iterator.next()).value);
    await settle();
    for (;;) {
      try {
        const { done, value } = await iterator.next();
        assert.ok(!done, "the error is not lost");
        text += value;
      } catch (error) {
        assert.equal(error, broken);
        break;
      }
    }
    assert.equal(text, TEXTS.join(""));
  });
}

test("collect rejects with the source's error", async () => {
  const broken = new Error("the connection broke");
  await assert.rejects(collect(thenFails(wire(), broken)), (error) => error === broken);
});

test("after its error a stream is at its end", async () => {
  const stream = pieces(thenFails(wire(), new Error("broken")), FAST);
  await allAndError(stream);
  assert.deepEqual(await stream.next(), { done: true, value: undefined });
  assert.equal(stream.stats().bytesOut, Buffer.byteLength(TEXTS.join("")));
  await stream.close();
});

test("an error before any text comes at once", async () => {
  const broken = new Error("no route");
  await assert.rejects(pieces(thenFails([], broken)).next(), (error) => error === broken);
});

test("an error of a Readable that comes before anybody reads is told to the first who does", async () => {
  const broken = new Error("the connection broke");
  for (const isWrapped of [false, true]) {
    const source = new Readable({ objectMode: true, read() {} });
    const stream = isWrapped ? wrap(source, FAST) : pieces(source, FAST);
    source.destroy(broken);
    await settle();
    assert.ok(source.closed);
    const { found, error } = await allAndError<unknown>(stream);
    assert.deepEqual(found, []);
    assert.equal(error, broken);
  }
});

test("a next() that throws instead of rejecting is an error of the source", async () => {
  const source = {
    next() {
      throw new Error("not even a promise");
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  await assert.rejects(pieces(source as never).next(), /not even a promise/);
});

test("a result of next() that is none is an error of the source", async () => {
  const throwing = {
    get value(): never {
      throw new Error("no value either");
    },
  };
  for (const [result, says] of [
    [undefined, /undefined/],
    [null, /null/],
    [throwing, /no value either/],
  ] as const) {
    const next = () => result as never;
    for (const source of [
      { [Symbol.asyncIterator]: () => ({ next }) },
      { [Symbol.iterator]: () => ({ next }) },
    ]) {
      const stream = pieces(source as Iterable<unknown>);
      await assert.rejects(stream.next(), says);
      assert.equal((await stream.next()).done, true);
    }
  }
});

/** A fault: text before it, then the error; the source is closed, and told why where it can be. */
const faults: Record<string, { bad: string; options: Options; is: (error: unknown) => void }> = {
  "an event that is too large": {
    bad: sse("x".repeat(10_000)),
    options: { ...FAST, maxEventBytes: 4096 },
    is: (error) => {
      assert.ok(error instanceof TooLarge && error instanceof ProviderError);
      assert.match(error.message, /larger than 4096 bytes/);
    },
  },
  "more reasoning than allowed": {
    bad: sse("Let me see. And once more, from the beginning. ".repeat(20), "reasoning_content"),
    options: { ...FAST, maxReasoningTokens: 50 },
    is: (error) => {
      assert.ok(error instanceof ReasoningBudgetExceeded);
      assert.equal(error.limit, 50);
      assert.ok(error.used > 50 && error.used < 100, `${error.used} tokens`);
    },
  },
};

const choices = {
  bad: `data: ${JSON.stringify({
    choices: Array.from({ length: 5 }, (_, index) => ({ index, delta: { content: "a b. " } })),
  })}\n\n`,
  options: { ...FAST, maxChoices: 2 },
};

for (const [name, { bad, options, is }] of Object.entries(faults)) {
  test(`a fault ends the stream after the text before it, and closes the source: ${name}`, async () => {
    const before = handles();
    for (const isWrapped of [false, true]) {
      const source = new Hanging([...wire(), bad, ...wire()]);
      const stream = isWrapped ? wrap(source, options) : pieces(source, options);
      const { found, error } = await allAndError<unknown>(stream);
      const text = isWrapped ? said(found.join("")) : found.join("");
      assert.ok(text.startsWith(TEXTS.join("")), text.slice(0, 200));
      is(error);
      assert.ok(source.isClosed);
    }
    assert.equal(handles(), before);
  });

  test(`whoever writes into a transform is told the fault: ${name}`, async () => {
    const transform = new DeclusterStream(options);
    let cancelled: unknown;
    const items = [...wire(), bad].values();
    const source = new ReadableStream<Uint8Array>({
      pull(controller) {
        const { done, value } = items.next();
        if (!done) controller.enqueue(bytes(value));
      },
      cancel(reason) {
        cancelled = reason;
      },
    });
    const piped = assert.rejects(source.pipeTo(transform.writable), (error) => {
      is(error);
      return true;
    });
    const { found, error } = await allAndError(transform.readable);
    assert.ok(found.map(saidIn).join("").startsWith(TEXTS.join("")));
    is(error);
    await piped;
    is(cancelled);
  });
}

test("more choices than allowed end pieces, and pass unchanged through wrap", async () => {
  const { bad, options } = choices;
  const source = new Hanging([...wire(), bad]);
  const { found, error } = await allAndError(pieces(source, options));
  assert.equal(found.map(String).join(""), TEXTS.join(""));
  assert.ok(error instanceof ProviderError && !(error instanceof TooLarge));
  assert.match(error.message, /choice/);
  assert.ok(source.isClosed);
  const passed = await all(wrap([...wire(), bad], options));
  assert.ok(passed.join("").includes(bad));
});

test("collect takes the options of wrap, and waits for nothing all the same", async () => {
  const options: Options = { pace: "fixed", rate: 1, burst: 1, unit: "word", maxDelay: 60_000 };
  assert.equal((await collect(wire(), options)).output, TEXTS.join(""));
});

test("collect takes for reasoning what turns out to be, however much it is", async () => {
  // More blocks than a function takes arguments.
  const text = "It is so.\n\n".repeat(1_000);
  const events = Array.from({ length: 200 }, () => event(text));
  const { reasoning, output } = await collect([...events, event("</think>Yes.")]);
  assert.equal(reasoning, text.repeat(200));
  assert.equal(output, "Yes.");
});

test("collect rejects with a fault", async () => {
  const { bad, options } = faults["more reasoning than allowed"]!;
  await assert.rejects(collect([...wire(), bad], options), ReasoningBudgetExceeded);
});

/** What a source may not give. */
const wrong: [string, unknown[], Options, RegExp][] = [
  ["events after strings", [sse("a"), event("b")], {}, /gave events after strings/],
  ["strings after events", [event("a"), sse("b")], {}, /gave strings after events/],
  ["bytes after strings", [sse("a"), bytes(sse("b"))], {}, /gave bytes after strings/],
  ["a number", [sse("a"), 5], {}, /gave a number; lines or chunks are strings or Uint8Arrays/],
  ["null", [sse("a"), null], {}, /gave null; /],
  ["undefined", [sse("a"), undefined], {}, /gave undefined; /],
  ["a list", [[1, 2, 3]], {}, /gave an array; /],
  ["a function", [() => sse("a")], {}, /gave a function; /],
  ["numbers of 16 bits", [new Uint16Array(8)], {}, /gave a Uint16Array; /],
  ["a view", [new DataView(new ArrayBuffer(8))], {}, /gave a DataView; /],
  ["memory that is shared", [new SharedArrayBuffer(8)], {}, /gave a SharedArrayBuffer; /],
  ["events where bytes are said to come", [event("a")], { framing: "bytes" }, /gives bytes/],
  ["events where lines are said to come", [event("a")], { framing: "lines" }, /gives lines/],
  ["bytes where texts are said to come", [bytes("a")], { framing: "text" }, /gives text/],
];

for (const [name, items, options, says] of wrong) {
  test(`a source that gives what is no item is told so, and closed: ${name}`, async () => {
    const before = handles();
    const source = new Hanging(items);
    const { error } = await allAndError(wrap(source, { ...FAST, ...options }));
    assert.ok(error instanceof TypeError, String(error));
    assert.match(error.message, says);
    assert.ok(source.isClosed);
    assert.equal(handles(), before);
  });
}

test("the text before an item that is none is not lost", async () => {
  const { found, error } = await allAndError(pieces([...wire(), 5], FAST));
  assert.equal(found.map(String).join(""), TEXTS.join(""));
  assert.ok(error instanceof TypeError);
});

test("framing and dialect are names that there are", () => {
  assert.throws(() => wrap([], { framing: "chunks" as never }), {
    name: "ConfigError",
    message: /framing is lines, bytes or text, not chunks/,
  });
  assert.throws(() => wrap([], { dialect: "openai" as never }), ConfigError);
});

test("empty items are no text and no end", async () => {
  const empty = new Uint8Array(0);
  const detached = new Uint8Array(0);
  structuredClone(detached, { transfer: [detached.buffer] });
  const items = wire().flatMap((text) => [empty, bytes(text), detached]);
  assert.equal((await all(pieces(items, FAST))).join(""), TEXTS.join(""));
  const texts = wire().flatMap((text) => ["", text]);
  assert.equal((await all(pieces(texts, FAST))).join(""), TEXTS.join(""));
  const bare = TEXTS.flatMap((text) => ["", text]);
  assert.equal((await all(wrap(bare, { ...FAST, framing: "text" }))).join(""), TEXTS.join(""));
});

test("bytes of another realm are bytes", async () => {
  const made = (text: string) => runInNewContext(`new Uint8Array([${bytes(text)}])`) as Uint8Array;
  const views = wire().map(made);
  assert.ok(!(views[0] instanceof Uint8Array));
  assert.equal((await all(pieces(views, FAST))).join(""), TEXTS.join(""));
  const buffers = views.map(({ buffer }) => buffer);
  assert.equal((await all(pieces(buffers, FAST))).join(""), TEXTS.join(""));
});

test("Buffers come back as Buffers, whole and in lines", async () => {
  const lines = wire().flatMap((text) => text.split("\n").slice(0, 2));
  for (const items of [wire(), lines, lines.map((line) => `${line}\n`)]) {
    const buffers = items.map((text) => Buffer.from(text));
    const found = await all(wrap(buffers, FAST));
    assert.ok(found.every(Buffer.isBuffer));
    assert.equal(said(found.join("\n")), TEXTS.join(""));
    const views = await all(wrap(items.map(bytes), FAST));
    assert.ok(!views.some(Buffer.isBuffer));
  }
});

test("of bytes no more is read than there are, whatever they say", async () => {
  class Lying extends Uint8Array {
    override get length(): number {
      return 4096;
    }
  }
  const chunk = new Lying(bytes(sse("a")).buffer);
  const found = await all(wrap([chunk], { ...FAST, framing: "bytes" }));
  assert.equal(Buffer.concat(found).toString(), sse("a"));
});

test("a Response that is no stream is the same one, and says that nothing is known", async () => {
  const type = { "content-type": "application/json" };
  for (const response of [
    new Response("{}", { headers: type }),
    new Response("{}", { headers: type, status: 429 }),
    new Response(null, { status: 204 }),
  ]) {
    await using wrapped = wrap(response);
    assert.equal(wrapped, response);
    assert.equal(await wrapped.text(), response.status === 204 ? "" : "{}");
    assert.equal(wrapped.stats().events, 0);
    assert.deepEqual([wrapped.dialect, wrapped.usage, wrapped.verdict], [null, null, null]);
    assert.equal(wrap(wrapped), response);
  }
});

test("an empty source is at its end", async () => {
  for (const source of [[], webOf([]), Readable.from([])]) {
    assert.deepEqual(await all(pieces(source as Iterable<unknown>)), []);
  }
  assert.deepEqual(await all(wrap([])), []);
  assert.deepEqual(await all(wrap(bodyOf([]))), []);
  assert.deepEqual(await all(wrap(Readable.from([]))), []);
  assert.deepEqual(await all(webOf<Uint8Array>([]).pipeThrough(new DeclusterStream())), []);
  assert.deepEqual(await all(webOf([]).pipeThrough(smoothStream()())), []);
  const { output, verdict } = await collect([]);
  assert.deepEqual([output, verdict], ["", "truncated"]);
});

test("a byte stream stays one, whatever its chunks look like", async () => {
  // Each is a line with its end: of an iterable they would be lines.
  const lines = wire().flatMap((text) => [text.slice(0, -1), "\n"]);
  const json = jsonLines().map((line) => `${line}\n`);
  for (const [chunks, textOfWire] of [
    [lines, said],
    [json, saidByLines],
  ] as const) {
    const through = await all(wrap(bodyOf(chunks), FAST));
    assert.equal(textOfWire(decoder.decode(Buffer.concat(through))), TEXTS.join(""));
    const headers = { "content-type": "text/event-stream" };
    const response = new Response(webOf(chunks.map(bytes)), { headers });
    assert.equal(textOfWire(await wrap(response, FAST).text()), TEXTS.join(""));
  }
});

test("a byte stream whose chunks are said to be lines comes back as a stream of lines", async () => {
  const found = await all(wrap(bodyOf(jsonLines()), { ...FAST, framing: "lines" }));
  assert.ok(found.length >= TEXTS.length);
  const text = found.map((line) => saidByLines(decoder.decode(line))).join("");
  assert.equal(text, TEXTS.join(""));
});

/** Lines of JSON, without their ends. */
function jsonLines(): string[] {
  return TEXTS.map((content) =>
    JSON.stringify({ model: "m", message: { role: "assistant", content }, done: false }),
  );
}

function saidByLines(lines: string): string {
  return lines
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { message: { content: string } }).message.content)
    .join("");
}

test("a reader with memory of its own reads the body of a fetch, in parts of any size", async () => {
  for (const size of [1, 7, 4096]) {
    const reader = (wrap(bodyOf([...wire(), DONE]), FAST) as ReadableStream<Uint8Array>).getReader({
      mode: "byob",
    });
    let text = "";
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(size));
      if (done) break;
      text += decoder.decode(value, { stream: true });
      assert.ok(value.length <= size);
    }
    assert.equal(said(text), TEXTS.join(""));
  }
});

test("a reader with memory of its own is told of an error, too", async () => {
  const broken = new Error("the connection broke");
  const reader = (wrap(bodyOf(wire(), broken), FAST) as ReadableStream<Uint8Array>).getReader({
    mode: "byob",
  });
  const read = async () => {
    for (;;) if ((await reader.read(new Uint8Array(4096))).done) return;
  };
  await assert.rejects(read(), (error) => error === broken);
});

test("both branches of a tee give everything, at their own paces", async () => {
  const [one, other] = wrap(bodyOf([...wire(), DONE]), FAST).tee();
  const first = (await all(one)).map(saidIn).join("");
  const second = (await all(other)).map(saidIn).join("");
  assert.equal(first, TEXTS.join(""));
  assert.equal(second, TEXTS.join(""));
});

test("several that wait at once are served in order", async () => {
  const stream = pieces(thenEnds(wire()), FAST);
  const reads = Array.from({ length: 20 }, () => stream.next());
  const found = await Promise.all(reads);
  const firstDone = found.findIndex(({ done }) => done);
  assert.ok(firstDone > 0);
  assert.ok(found.slice(firstDone).every(({ done }) => done));
  const texts = found.slice(0, firstDone).map(({ value }) => String(value));
  assert.equal(texts.join(""), TEXTS.join(""));
});

test("as many may wait as like: each more takes as long as the one before", async () => {
  const worked = async (count: number) => {
    const stream = wrap(words(count), { ...FAST, framing: "text" });
    const waiting = Array.from({ length: count }, () => stream.next());
    const before = process.cpuUsage();
    await Promise.all(waiting);
    return process.cpuUsage(before).user / 1e3;
  };
  await worked(10_000);
  const few = median([await worked(10_000), await worked(10_000), await worked(10_000)]);
  const many = await worked(100_000);
  assert.ok(many < 30 * few, `${few} ms of work for 10,000, ${many} ms for 100,000`);
});

test("of several that wait one is told the error, and the others the end", async () => {
  const broken = new Error("broken");
  const stream = pieces(thenFails([], broken));
  const told = await Promise.allSettled([stream.next(), stream.next(), stream.next()]);
  assert.deepEqual(
    told.map(({ status }) => status),
    ["rejected", "fulfilled", "fulfilled"],
  );
});

test("the end comes also to one who waits while the source ends", async () => {
  for (const stream of [pieces(thenEnds([])), wrap(thenEnds([]))]) {
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
  }
});

test("after the end next() gives the end, and everything known stays known", async () => {
  const usage = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };
  const last = `data: ${JSON.stringify({
    choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
    usage,
  })}\n\n`;
  const stream = wrap([...wire(), last, DONE], FAST);
  await all(stream);
  for (let time = 0; time < 3; time++) {
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
  }
  const { deltas, bytesIn, bytesOut, queuedBytes, dialect, paced: isPaced } = stream.stats();
  const length = Buffer.byteLength(TEXTS.join(""));
  assert.deepEqual(
    { deltas, bytesIn, bytesOut, queuedBytes, dialect, isPaced },
    {
      deltas: TEXTS.length,
      bytesIn: length,
      bytesOut: length,
      queuedBytes: 0,
      dialect: "openai-chat",
      isPaced: true,
    },
  );
  assert.equal(stream.verdict, "complete");
  assert.equal(stream.finish, "stop");
  assert.deepEqual(stream.usage, usage);
  assert.equal(stream.tokens?.output, 7);
  assert.deepEqual(stream.toolCalls, []);
  assert.equal(stream.error, null);
  stream.flush();
  await stream.close();
});

test("nothing is read before the first item is asked for", async () => {
  const opened: [string, (source: Counted<string>) => { next(): Promise<unknown> }][] = [
    ["pieces", (source) => pieces(source)],
    ["wrap", (source) => wrap(source)],
    [
      "a ReadableStream",
      (source) => {
        const reader = wrap(webOf(source)).getReader();
        return { next: () => reader.read() };
      },
    ],
    [
      "a Readable",
      (source) => {
        const stream = wrap(Readable.from(source));
        return { next: () => stream[Symbol.asyncIterator]().next() };
      },
    ],
  ];
  for (const [name, open] of opened) {
    const source = new Counted(wire());
    const stream = open(source);
    await settle();
    assert.equal(source.taken, 0, name);
    await stream.next();
    assert.ok(source.taken > 0, name);
  }
});

test("a source is read on while the consumer is busy", async () => {
  const source = new Counted(wire());
  const stream = pieces(source);
  await stream.next();
  await still(source);
  assert.equal(source.taken, TEXTS.length);
  await stream.close();
});

test("a burst that a source has at hand lets others have their turn", async () => {
  const source = new Counted(MANY.map((text) => sse(text)));
  const stream = pieces(source, { ...FAST, maxQueueBytes: 64 << 20 });
  let turns = 0;
  let counts = true;
  const count = () => {
    turns += 1;
    if (counts) setImmediate(count);
  };
  setImmediate(count);
  await stream.next();
  await until(() => source.taken === MANY.length, "everything was read");
  counts = false;
  assert.ok(turns >= MANY.length / 64 / 2, `${turns} turns`);
  await stream.close();
});

test("flush() lets out at once what is paced", async () => {
  const source = new Hanging(wire());
  const stream = pieces(source, { pace: "fixed", rate: 1, burst: 1, maxDelay: 60_000 });
  let text = String((await stream.next()).value);
  await until(() => source.pulled === TEXTS.length + 1, "everything was read");
  stream.flush();
  while (text.length < TEXTS.join("").length - TEXTS.at(-1)!.length) {
    text += String((await stream.next()).value);
  }
  assert.ok(TEXTS.join("").startsWith(text));
  await stream.close();
});

test("flush() wakes whoever waits for a time", async () => {
  const before = timers();
  const source = new Hanging([sse(words(200).join(""))]);
  const options = { pace: "fixed", rate: 1, burst: 1, maxDelay: 60_000, unit: "word" } as const;
  const stream = pieces(source, options);
  await stream.next();
  const reading = stream.next();
  await until(() => timers() > before, "a read waits for its time");
  stream.flush();
  assert.ok(String((await reading).value).includes("word"));
  assert.equal(timers(), before);
  await stream.close();
});

test("a timer runs only while somebody waits", async () => {
  const before = timers();
  let send!: (chunk: string) => void;
  const chunks = new ReadableStream<string>({
    start(controller) {
      send = (chunk) => controller.enqueue(chunk);
    },
  });
  // However slow this machine is, the second piece is not due yet.
  const options = { pace: "fixed", rate: 1, burst: 1, maxDelay: 60_000, unit: "word" } as const;
  const stream = pieces(chunks, options);
  send(sse(words(60).join("")));
  await stream.next();
  assert.equal(timers(), before, "nobody waits yet");
  const reading = stream.next();
  await until(() => timers() > before, "a read waits for its time");
  stream.flush();
  await reading;
  assert.equal(timers(), before, "nobody waits any more");
  await stream.close();
});

test("on a clock that is told the time, text comes when it is due, and late at most by a bound", async () => {
  // Milliseconds; the engine's clock and the timers are both this one.
  let time = 1000;
  mock.timers.enable({ apis: ["setTimeout"] });
  const clock = mock.method(performance, "now", () => time);
  try {
    const source = new Hanging([sse(words(120).join(""))]);
    const stream = pieces(source);
    const came: { at: number; piece: Piece }[] = [];
    const reading = (async () => {
      for await (const piece of stream) came.push({ at: time, piece });
    })();
    const settled = async () => {
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    };
    await settled();
    assert.ok(came.length > 0, "the first text comes at once");
    const atOnce = came.length;
    for (let step = 0; step < 3000; step++) {
      time += 1;
      mock.timers.tick(1);
      await settled();
    }
    await stream.close();
    await reading;
    assert.ok(came.length > atOnce, "the rest is paced");
    const delays = came.map(({ at, piece }) => at - Number(piece.arrivedNs) / 1e6);
    assert.ok(Math.max(...delays) <= 1500, `text was late by ${Math.max(...delays)} ms`);
    assert.ok(Math.max(...delays) > 100, "it did not all come at once");
    const text = came.map(({ piece }) => piece.text).join("");
    assert.ok(words(120).join("").startsWith(text.trimEnd()));
    assert.ok(text.length > words(118).join("").length);
  } finally {
    clock.mock.restore();
    mock.timers.reset();
  }
});

test("smoothStream takes a part that is larger than its queue", async () => {
  const sizes = [5000, 40_000, 10, 40_000];
  const texts = sizes.map((count, at) => `word${at} `.repeat(count));
  const parts = [
    ...texts.map((text) => ({ type: "text-delta", id: "0", text })),
    { type: "tool-call", toolCallId: "1" },
    { type: "text-delta", id: "1", text: "Done." },
    { type: "finish" },
  ];
  const transform = () => smoothStream({ ...SMALL, maxTail: 0 })();
  const found = await all(webOf<object>(parts).pipeThrough(transform()));
  const types = found.map((part) => (part as { type: string }).type);
  assert.equal(textOf(found), `${texts.join("")}Done.`);
  assert.deepEqual(
    types.filter((type, at) => type !== types[at - 1]),
    ["text-delta", "tool-call", "text-delta", "finish"],
  );
  // An error comes after all of it, too.
  const broken = new Error("the connection broke");
  const stream = webOf<object>(parts.slice(0, 3), broken).pipeThrough(transform());
  const failed = await allAndError(stream);
  assert.equal(failed.error, broken);
  assert.equal(textOf(failed.found), texts.slice(0, 3).join(""));
});

test("smoothStream ends with an error for a part that is too large, after the text before it", async () => {
  for (const size of [2000, 20_000]) {
    const parts = ["It took hours. ", "x".repeat(size)].map((text, at) => ({
      type: "text-delta",
      id: String(at),
      text,
    }));
    const transform = smoothStream({ maxEventBytes: 1024 })();
    const { found, error } = await allAndError(webOf<object>(parts).pipeThrough(transform));
    assert.equal(textOf(found), "It took hours. ");
    assert.ok(error instanceof TooLarge, String(error));
  }
});

function textOf(parts: unknown[]): string {
  return parts.map((part) => (part as { text?: string }).text ?? "").join("");
}

async function* thenEnds<T>(items: Iterable<T>): AsyncGenerator<T, void> {
  for (const item of items) {
    await settle();
    yield item;
  }
  await settle();
}

test("a connection that breaks loses no text, though Node calls that an AbortError", async () => {
  const readable = new Readable({ read() {} });
  const slow: Options = { maxDelay: 10_000, firstHold: 0 };
  const stream = pieces(Readable.toWeb(readable) as ReadableStream, slow);
  for (const chunk of wire()) readable.push(chunk);
  let text = "";
  await assert.rejects(
    async () => {
      for await (const piece of stream) {
        text += piece.text;
        // Most of it is queued now.
        readable.destroy();
      }
    },
    { name: "AbortError" },
  );
  assert.equal(text, TEXTS.join(""));
});

test("who aborts a fetch gets nothing of what is queued", async () => {
  const abort = new AbortController();
  const body = new ReadableStream({
    start(controller) {
      for (const chunk of wire()) controller.enqueue(bytes(chunk));
      abort.signal.addEventListener("abort", () => controller.error(abort.signal.reason));
    },
  });
  let text = "";
  await assert.rejects(
    async () => {
      for await (const piece of pieces(body, { maxDelay: 10_000, firstHold: 0 })) {
        text += piece.text;
        abort.abort();
      }
    },
    { name: "AbortError" },
  );
  assert.ok(text.length < TEXTS.join("").length, text);
});

test("how the provider ended is no verdict for who left before", async () => {
  const stream = pieces([...wire(), "data: [DONE]\n\n"], { maxDelay: 10_000, firstHold: 0 });
  for await (const _ of stream) break;
  assert.equal(stream.verdict, null);
  assert.match(stream.reason!, /the reader left/);
});

test("an iterable of promises gives what they resolve to", async () => {
  const items = wire().map((chunk) => Promise.resolve(chunk));
  assert.equal((await collect(items)).output, TEXTS.join(""));
});
