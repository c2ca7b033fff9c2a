/** Whatever is asked wrongly is refused with words that help, and never ends the process. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Block,
  blocks,
  CallerError,
  ConfigError,
  collect,
  DeclusterError,
  DeclusterStream,
  Engine,
  FINISHED,
  Finished,
  Full,
  Mark,
  NEED_INPUT,
  Piece,
  parameters,
  pieces,
  Segmenter,
  smoothStream,
  TooLarge,
  Wait,
  wrap,
} from "../src/index.js";
import { all, bytes, countHandles, sse } from "./streams.js";

const handles = countHandles();

// biome-ignore lint/suspicious/noExplicitAny: what is wrong has no type.
type Wrong = any;

/** Everything that takes settings. */
const takers: Record<string, (settings: Wrong) => unknown> = {
  Engine: (settings) => new Engine(settings),
  Segmenter: (settings) => new Segmenter(settings),
  wrap: (settings) => wrap([], settings),
  pieces: (settings) => pieces([], settings),
  DeclusterStream: (settings) => new DeclusterStream(settings),
  smoothStream: (settings) => smoothStream(settings),
  "wrap of what is passed on": (settings) =>
    wrap(new Response("not found", { status: 404 }), settings),
};

const refusals: [string, Wrong, string, RegExp][] = [
  [
    "a name in other letters",
    { maxdelay: 500 },
    "ConfigError",
    /no option maxdelay; did you mean maxDelay\?/,
  ],
  [
    "the name of other languages",
    { max_delay: 500 },
    "ConfigError",
    /no option max_delay; did you mean maxDelay\?/,
  ],
  [
    "a name with a slip",
    { maxDelya: 500 },
    "ConfigError",
    /no option maxDelya; did you mean maxDelay\?/,
  ],
  [
    "a name that there is not",
    { colour: "red" },
    "ConfigError",
    /no option colour; there are unit, pace, /,
  ],
  [
    "an option of another package",
    { delayInMs: 10 },
    "ConfigError",
    /no delayInMs: decluster learns the pace/,
  ],
  [
    "too little",
    { maxDelay: 5 },
    "ConfigError",
    /maxDelay = 5 is out of bounds: 100 to 60000 milliseconds/,
  ],
  ["too much", { target: 65 }, "ConfigError", /target = 65 is out of bounds: 4 to 64 tokens/],
  ["less than nothing", { target: -1 }, "ConfigError", /target = -1 is out of bounds: 4 to 64/],
  ["no number", { target: Number.NaN }, "ConfigError", /target = NaN is out of bounds: 4 to 64/],
  [
    "infinity",
    { maxDelay: Number.POSITIVE_INFINITY },
    "ConfigError",
    /maxDelay = Infinity is out of bounds/,
  ],
  [
    "more than 64 bits",
    { maxQueueBytes: 2 ** 80 },
    "ConfigError",
    /maxQueueBytes = .* is out of bounds/,
  ],
  [
    "half a byte",
    { maxQueueBytes: 65536.5 },
    "TypeError",
    /maxQueueBytes takes a whole number \(bytes\)/,
  ],
  [
    "a text for a number",
    { maxDelay: "500" },
    "TypeError",
    /maxDelay takes a number \(milliseconds\)/,
  ],
  ["a bigint for a number", { maxDelay: 500n }, "TypeError", /maxDelay takes a number/],
  ["a list for a number", { maxDelay: [500] }, "TypeError", /maxDelay takes a number/],
  [
    "a choice that there is not",
    { unit: "sentence" },
    "ConfigError",
    /unit is one of block, word, whole, not "sentence"/,
  ],
  [
    "a number for a choice",
    { unit: 1 },
    "ConfigError",
    /unit is one of block, word, whole, not number/,
  ],
  ["a text for a switch", { startsInside: "yes" }, "TypeError", /startsInside takes true or false/],
  ["a number for a switch", { startsInside: 1 }, "TypeError", /startsInside takes true or false/],
  [
    "a preset that there is not",
    { preset: "fast" },
    "ConfigError",
    /preset = "fast" is none of: balanced steady snappy/,
  ],
  [
    "a profile that there is not",
    { profile: "fast" },
    "ConfigError",
    /profile = "fast" is none of: codex-low-latency/,
  ],
  ["a number for a preset", { preset: 5 }, "TypeError", /preset takes a name/],
  [
    "preset and profile",
    { preset: "steady", profile: "codex-low-latency" },
    "ConfigError",
    /exclude each other/,
  ],
  ["nothing", null, "TypeError", /(settings|options) are an object such as .*, not null/],
  ["a number", 5, "TypeError", /(settings|options) are an object such as .*, not a number/],
  ["a text", "word", "TypeError", /(settings|options) are an object such as .*, not a string/],
  ["a list", ["word"], "TypeError", /(settings|options) are an object such as .*, not an array/],
];

for (const [name, settings, error, says] of refusals) {
  test(`settings are refused with what there is: ${name}`, () => {
    const before = handles();
    for (const [taker, take] of Object.entries(takers)) {
      assert.throws(() => take(settings), { name: error, message: says }, taker);
    }
    assert.equal(handles(), before);
  });
}

test("each bound of each parameter is taken, and what is beyond is refused with its bounds", () => {
  for (const { name, min, max, unit, choices } of parameters()) {
    if (choices.length > 0) {
      for (const choice of choices)
        assert.doesNotThrow(() => new Engine({ [name]: choice }).close());
    }
    if (min === undefined || max === undefined) continue;
    for (const value of [min, max]) new Engine({ [name]: value }).close();
    for (const value of [min - 1, max + 1]) {
      const says = `${name} = ${value} is out of bounds: ${min} to ${max} ${unit}`;
      assert.throws(() => new Engine({ [name]: value }), { name: "ConfigError", message: says });
    }
  }
});

test("what is undefined or null is as it was", () => {
  new Engine({ maxDelay: undefined, unit: null as never, preset: undefined }).close();
  void wrap([], { signal: undefined, framing: undefined, dialect: undefined }).close();
});

test("a misspelt option is refused before the source is touched", async () => {
  const source = new ReadableStream({ start: (controller) => controller.close() });
  assert.throws(() => wrap(source, { unti: "word" } as Wrong), /did you mean unit\?/);
  assert.equal(source.locked, false);
  assert.deepEqual(await all(wrap(source)), []);
});

test("what is no signal is refused", () => {
  for (const signal of [{}, 5, "abort", new AbortController()]) {
    assert.throws(() => wrap([], { signal: signal as Wrong }), {
      name: "TypeError",
      message: "signal is an AbortSignal",
    });
  }
});

test("verbs refuse what they do not take", async () => {
  assert.throws(
    () => blocks([], { unit: "word" }),
    /blocks\(\) gives whole blocks: it takes no unit/,
  );
  assert.throws(() => wrap([], { unit: "whole" }), { name: "ConfigError", message: /blocks\(\)/ });
  assert.throws(() => wrap([], { rate: 10 }), /rate is for pace: "fixed".*maxRate/);
  assert.throws(() => pieces([], { burst: 10 }), /burst is for pace: "fixed"/);
  assert.throws(() => smoothStream({ maxReasoningTokens: 5 }), /maxReasoningTokens is for wrap/);
  assert.throws(() => new Segmenter({ segment: "off" }), { name: "ConfigError" });
  await assert.rejects(collect([], { colour: "red" } as Wrong), /no option colour/);
  await assert.rejects(collect([], null as Wrong), /options are an object/);
});

const sources: [string, () => Wrong, RegExp][] = [
  ["nothing", () => undefined, /undefined is no stream: give a ReadableStream/],
  ["null", () => null, /null is no stream: give a ReadableStream/],
  ["a number", () => 5, /number is no stream/],
  ["a text", () => "data: {}", /a string is no stream: give an iterable of chunks/],
  ["bytes", () => bytes("data: {}"), /a Uint8Array is no stream: give an iterable of chunks/],
  ["a buffer", () => Buffer.from("data: {}"), /a Buffer is no stream/],
  ["a promise", () => Promise.resolve([]), /a promise is no stream yet: await it/],
  ["a function", () => async function* () {}, /a function is no stream: call it/],
  ["an object", () => ({}), /Object is no stream: give a ReadableStream/],
  ["one without a prototype", () => Object.create(null), /object is no stream/],
  ["a finished answer", () => ({ choices: [] }), /finished answer: ask for a stream/],
  ["an answer of axios", () => ({ data: (async function* () {})() }), /give its data/],
  ["a response of the AWS SDK", () => ({ stream: (async function* () {})() }), /give its stream/],
  ["a response without a body", () => new Response(null), /this response has no body/],
];

for (const [name, make, says] of sources) {
  test(`what is no stream is refused with what to give instead: ${name}`, async () => {
    assert.throws(() => pieces(make()), { name: "TypeError", message: says });
    await assert.rejects(collect(make()), { name: "TypeError", message: says });
    // What has no body passes.
    if (name !== "a response without a body") {
      assert.throws(() => wrap(make()), { name: "TypeError", message: says });
    }
  });
}

test("a stream that somebody else reads is refused", async () => {
  const stream = new ReadableStream();
  const reader = stream.getReader();
  assert.throws(() => wrap(stream), /this ReadableStream is locked/);
  reader.releaseLock();
  const paced = wrap(stream);
  assert.throws(() => wrap(stream), /this ReadableStream is locked/);
  void paced.close();
  const response = new Response("data: {}\n\n", {
    headers: { "content-type": "text/event-stream" },
  });
  await response.text();
  assert.throws(() => wrap(response), /was read before it came here/);
  assert.throws(() => pieces(response), /was read before it came here/);
});

test("an engine refuses wrong arguments by name", () => {
  using engine = new Engine();
  const wrongs: [() => unknown, string, RegExp][] = [
    [() => engine.push(0 as Wrong, "output", "a"), "TypeError", /nowNs is a bigint, not number/],
    [() => engine.push(undefined as Wrong, "output", "a"), "TypeError", /nowNs is a bigint/],
    [() => engine.push(-1n, "output", "a"), "RangeError", /nowNs = -1 has no 64 bits/],
    [() => engine.push(2n ** 64n, "output", "a"), "RangeError", /nowNs = 18446744073709551616/],
    [
      () => engine.push(0n, "text" as Wrong, "a"),
      "TypeError",
      /kind is reasoning or output, not text/,
    ],
    [() => engine.push(0n, 1 as Wrong, "a"), "TypeError", /kind is reasoning or output, not 1/],
    [
      () => engine.push(0n, "output", undefined as Wrong),
      "TypeError",
      /text is a string, not undefined/,
    ],
    [
      () => engine.push(0n, "output", bytes("a") as Wrong),
      "TypeError",
      /text is a string, not object/,
    ],
    [() => engine.push(0n, "output", "a\ud83d"), "TypeError", /half a character/],
    [() => engine.push(0n, "output", "\ude00a"), "TypeError", /half a character/],
    [() => engine.push(0n, "output", "a", { index: -1 }), "RangeError", /index = -1 /],
    [() => engine.push(0n, "output", "a", { index: 0.5 }), "RangeError", /index = 0.5 /],
    [() => engine.push(0n, "output", "a", { index: 2 ** 32 }), "RangeError", /index = 4294967296 /],
    [
      () => engine.push(0n, "output", "a", { index: "0" as Wrong }),
      "TypeError",
      /index is a number/,
    ],
    [() => engine.push(0n, "output", "a", { tokens: Number.NaN }), "RangeError", /tokens = NaN /],
    [
      () => engine.push(0n, "output", "a", { tokens: 5n as Wrong }),
      "TypeError",
      /tokens is a number/,
    ],
    [
      () => engine.push(0n, "output", "a", null as Wrong),
      "TypeError",
      /options are an object of index and tokens/,
    ],
    [
      () => engine.push(0n, "output", "a", 5 as Wrong),
      "TypeError",
      /options are an object of index and tokens/,
    ],
    [() => engine.mark(0n, 5 as Wrong), "TypeError", /id is a bigint, not number/],
    [() => engine.mark(0n, -5n), "RangeError", /id = -5 has no 64 bits/],
    [() => engine.mark(0n, 5n, "yes" as Wrong), "TypeError", /hurry is a boolean, not string/],
    [() => engine.endBlock("0" as Wrong), "TypeError", /nowNs is a bigint/],
    [() => engine.beginAttempt(0.5 as Wrong), "TypeError", /nowNs is a bigint/],
    [() => engine.finish(null as Wrong), "TypeError", /nowNs is a bigint/],
    [() => engine.poll(Date.now() as Wrong), "TypeError", /nowNs is a bigint/],
    [() => engine.cancel("now" as Wrong), "TypeError", /how is flush or drop, not now/],
    [() => engine.cancel("toString" as Wrong), "TypeError", /how is flush or drop/],
    [() => engine.cancel(undefined as Wrong), "TypeError", /how is flush or drop/],
  ];
  for (const [call, name, message] of wrongs) assert.throws(call, { name, message });
  // Nothing of it came in.
  assert.equal(engine.stats().deltas, 0);
  assert.equal(engine.poll(0n), NEED_INPUT);
});

test("a segmenter refuses what is no text", () => {
  using segmenter = new Segmenter();
  for (const text of [undefined, null, 5, bytes("a"), ["a"], {}]) {
    assert.throws(() => segmenter.push(text as Wrong), {
      name: "TypeError",
      message: /text is a string/,
    });
  }
  assert.equal(segmenter.pending, "");
});

test("after close everything is refused but to close again", async () => {
  const engine = new Engine();
  engine.push(1n, "output", "a");
  engine.close();
  engine.close();
  engine[Symbol.dispose]();
  const calls = [
    () => engine.push(1n, "output", "a"),
    () => engine.mark(1n, 1n),
    () => engine.endBlock(1n),
    () => engine.beginAttempt(1n),
    () => engine.finish(1n),
    () => engine.flush(),
    () => engine.cancel("drop"),
    () => engine.poll(1n),
    () => engine.wantsInput,
    () => engine.stats(),
  ];
  for (const call of calls)
    assert.throws(call, { name: "Finished", message: "this engine was closed" });
  const segmenter = new Segmenter();
  segmenter.close();
  segmenter.close();
  segmenter[Symbol.dispose]();
  for (const call of [
    () => segmenter.push("a"),
    () => segmenter.finish(),
    () => segmenter.flush(),
    () => segmenter.pending,
  ]) {
    assert.throws(call, { name: "Finished", message: "this segmenter was closed" });
  }
  const stream = pieces([sse("a")]);
  await stream.close();
  await stream.close();
  stream.flush();
  assert.equal(stream.stats().deltas, 0);
});

test("an engine that was closed before its first call stays closed", () => {
  const engine = new Engine();
  engine.close();
  const before = handles();
  assert.throws(() => engine.push(5n, "output", "a"), Finished);
  assert.equal(handles(), before);
});

test("an engine that was cancelled before its first call stays cancelled", () => {
  for (const how of ["flush", "drop"] as const) {
    using engine = new Engine();
    engine.cancel(how);
    assert.throws(() => engine.push(5n, "output", "a"), Finished);
    assert.equal(engine.poll(5n), FINISHED);
  }
});

test("after finish an engine takes no more, but gives what it has", () => {
  using engine = new Engine();
  engine.push(0n, "output", "It took hours.");
  engine.finish(1n);
  for (const call of [
    () => engine.push(2n, "output", "a"),
    () => engine.mark(2n, 1n),
    () => engine.beginAttempt(2n),
  ]) {
    assert.throws(call, (error) => error instanceof Finished && error instanceof CallerError);
  }
  engine.finish(3n);
  let text = "";
  let now = 4n;
  for (let step = 0; step < 100; step++) {
    const found = engine.poll(now);
    if (found === FINISHED) break;
    if (found instanceof Wait) now = found.atNs;
    else text += String(found);
  }
  assert.equal(text, "It took hours.");
  assert.equal(engine.poll(now), FINISHED);
});

test("a clock that runs backwards stands still", () => {
  using engine = new Engine({ unit: "word" });
  const late = 10n ** 18n;
  engine.push(late, "output", "It took hours to find. ");
  let now = late;
  let text = "";
  for (let step = 0; step < 100; step++) {
    // Every other time it is told a time long ago.
    const told = step % 2 === 0 ? now : BigInt(step);
    const found = engine.poll(told);
    if (found === NEED_INPUT) continue;
    if (found instanceof Wait) {
      assert.ok(found.atNs >= now, "no wait ends before the clock's time");
      if (told === now) now = found.atNs;
      continue;
    }
    assert.ok(found instanceof Piece);
    assert.equal(found.arrivedNs, late);
    text += found;
  }
  assert.equal(text, "It took hours to find. ");
  assert.ok(now > late && now < late + 2n * 10n ** 9n);
});

test("times are exact at both ends of 64 bits", () => {
  for (const begin of [0n, 1n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n]) {
    using engine = new Engine();
    engine.push(begin, "output", "Hello there. ");
    const found = engine.poll(begin);
    assert.ok(found instanceof Piece);
    assert.equal(found.arrivedNs, begin);
    engine.mark(begin, 2n ** 64n - 1n, true);
    engine.flush();
    const rest: unknown[] = [];
    for (let step = 0; step < 10; step++) rest.push(engine.poll(begin));
    const mark = rest.find((one) => one instanceof Mark);
    assert.equal(mark?.id, 2n ** 64n - 1n);
  }
});

test("texts beyond every bound are refused as a whole, and the rest goes on", () => {
  const before = handles();
  {
    using engine = new Engine({ maxEventBytes: 4096, pace: "off" });
    assert.throws(() => engine.push(0n, "output", "x".repeat(4097)), TooLarge);
    engine.push(0n, "output", "y".repeat(4096));
    engine.finish(0n);
    let text = "";
    for (let found = engine.poll(0n); found instanceof Piece; found = engine.poll(0n))
      text += found;
    assert.equal(text, "y".repeat(4096));
  }
  {
    using engine = new Engine({ maxQueueBytes: 65_536, unit: "word" });
    assert.ok(engine.wantsInput);
    const fill = () => {
      for (;;) engine.push(0n, "output", "word ".repeat(1000));
    };
    assert.throws(fill, (error) => error instanceof Full && error instanceof CallerError);
    assert.equal(engine.wantsInput, false);
    assert.ok(engine.stats().queuedBytes <= 65_536);
  }
  assert.equal(handles(), before);
});

test("text of more than a megabyte goes through whole, in every alphabet", async () => {
  for (const part of ["word ", "wörter ", "語が続く。", "😀 "]) {
    const text = part.repeat(Math.ceil((9 << 17) / Buffer.byteLength(part)));
    const segmenter = new Segmenter();
    const cut = [...segmenter.push(text), ...segmenter.finish()];
    assert.ok(cut.join("") === text);
    segmenter.close();
    const through = await all(wrap([text.slice(0, 99), text], { framing: "text", pace: "off" }));
    assert.ok(through.join("") === text.slice(0, 99) + text);
    const wire = await all(pieces([sse(text), sse("End.")], { pace: "off" }));
    assert.ok(wire.join("") === `${text}End.`);
  }
});

test("a segmenter that refuses a text keeps the half character that it holds", () => {
  using segmenter = new Segmenter({ maxEventBytes: 4096 });
  segmenter.push("Well \ud83d");
  assert.equal(segmenter.pending, "Well \ud83d");
  assert.throws(() => segmenter.push(`\ude00${"x".repeat(5000)}\ud83d`), TooLarge);
  assert.equal(segmenter.pending, "Well \ud83d");
  const found: Block[] = [...segmenter.push("\ude00 said. "), ...segmenter.finish()];
  assert.equal(found.join(""), "Well 😀 said. ");
});

test("halves of characters that never meet become U+FFFD, and lose nothing beside them", async () => {
  using segmenter = new Segmenter();
  const found = [
    ...segmenter.push("a\ude00b"),
    ...segmenter.push("c\ud83d"),
    ...segmenter.finish(),
  ];
  assert.equal(found.join(""), "a\ufffdbc\ufffd");
  const bare = await all(wrap(["a\ud83d", "\ude00b\ud83dc"], { framing: "text", pace: "off" }));
  assert.equal(bare.join(""), "a😀b\ufffdc");
});

test("characters that are cut between chunks are put together", async () => {
  const wire = sse("😀 and 😀.");
  const at = wire.indexOf("\ud83d") + 1;
  const chunks = [wire.slice(0, at), wire.slice(at)];
  assert.equal((await all(pieces(chunks, { framing: "bytes" }))).join(""), "😀 and 😀.");
  const raw = bytes(wire);
  for (let cut = 1; cut < raw.length; cut++) {
    const parts = [raw.subarray(0, cut), raw.subarray(cut)];
    const found = await all(pieces(parts, { pace: "off", framing: "bytes" }));
    assert.equal(found.join(""), "😀 and 😀.");
  }
});

test("errors say what they are", () => {
  try {
    new Engine({ maxDelay: 1 });
    assert.fail("it was not refused");
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    assert.ok(error instanceof CallerError && error instanceof DeclusterError);
    assert.equal(error.name, "ConfigError");
    assert.match(String(error.stack), /^ConfigError: maxDelay = 1/);
    assert.deepEqual(Object.keys(error), []);
  }
});

/** Numbers that look random, the same in each run. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** Below `bound`. */
  next(bound: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * bound);
  }

  of<T>(items: readonly T[]): T {
    return items[this.next(items.length)]!;
  }
}

const JUNK: readonly Wrong[] = [
  undefined,
  null,
  true,
  0,
  -1,
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  2 ** 64,
  0n,
  1n,
  -1n,
  10n ** 9n,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
  2n ** 64n,
  2n ** 200n,
  "",
  "a",
  "output",
  "reasoning",
  "flush",
  "drop",
  "__proto__",
  "constructor",
  "It took hours. Then it held, and nobody knew why.\n\n",
  "\0",
  "\ud800",
  "\udc00",
  "😀",
  "e\u0301\u0302",
  "x".repeat(5000),
  "語".repeat(3000),
  'data: {"choices":[{"index":0,"delta":{"content":"a. "}}]}\n\n',
  "data: {",
  "data: [DONE]\n\n",
  "event: x\r\n\r\n",
  Symbol("junk"),
  () => {},
  [],
  [1, 2],
  ["name", { a: 1 }],
  ["name", null],
  {},
  { index: 1 },
  { index: 2 ** 31, tokens: 2 ** 32 - 1 },
  { choices: [{ index: 0, delta: { content: "Well. " } }] },
  { choices: [{ index: 2 ** 40, delta: { content: 5 } }] },
  { type: "content_block_delta", index: -1, delta: { type: "text_delta", text: "a" } },
  { type: "text-delta", id: "0", text: "a b. " },
  { type: "text-delta", id: "0", text: "\ud83d" },
  { type: "finish" },
  Object.create(null),
  new Uint8Array(0),
  new Uint8Array([0xff, 0xfe, 0]),
  new Uint8Array([0xf0, 0x9f]),
  new Float64Array(3),
  new ArrayBuffer(8),
  new DataView(new ArrayBuffer(8)),
  Buffer.from("data: {}\n\n"),
  new Date(Number.NaN),
  new Proxy({}, {}),
  {
    get choices() {
      throw new Error("junk");
    },
  },
  {
    toJSON() {
      throw new Error("junk");
    },
  },
];
const CYCLE: Wrong = {};
CYCLE.self = CYCLE;

/** What wrong arguments may throw. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof DeclusterError ||
    error instanceof TypeError ||
    error instanceof RangeError ||
    (error instanceof Error && error.message === "junk")
  );
}

test("50,000 calls with anything for arguments are refused or taken, and none ends the process", async () => {
  const random = new Random(8);
  const junk = () => (random.next(50) === 0 ? CYCLE : random.of(JUNK));
  const refused = new Map<string, number>();
  const taken = new Map<string, number>();
  const count = (counts: Map<string, number>, name: string) =>
    counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = parameters().map(({ name }) => name);
  const settings = () => {
    const made: Wrong = {};
    for (let at = random.next(3); at > 0; at--) made[random.of(names)] = junk();
    return random.next(20) === 0 ? junk() : made;
  };
  const attempt = <T>(name: string, call: () => T): T | undefined => {
    try {
      const result = call();
      count(taken, name);
      return result;
    } catch (error) {
      assert.ok(isRefusal(error), `${name} threw ${String(error)}`);
      assert.ok(!/panic|poison|must not be NULL/i.test(String(error)), `${name} threw ${error}`);
      count(refused, name);
      return undefined;
    }
  };
  let engine = new Engine();
  let segmenter = new Segmenter();
  let text = "";
  const engineCalls: Record<string, () => unknown> = {
    push: () => engine.push(junk(), junk(), junk(), junk()),
    "push of text": () => engine.push(BigInt(random.next(2 ** 31)), "output", junk()),
    mark: () => engine.mark(junk(), junk(), junk()),
    endBlock: () => engine.endBlock(junk()),
    beginAttempt: () => engine.beginAttempt(junk()),
    finish: () => engine.finish(junk()),
    flush: () => engine.flush(),
    cancel: () => engine.cancel(junk()),
    poll: () => engine.poll(junk()),
    "poll in time": () => engine.poll(BigInt(random.next(2 ** 31))),
    wantsInput: () => engine.wantsInput,
    stats: () => engine.stats(),
  };
  const segmenterCalls: Record<string, () => unknown> = {
    push: () => segmenter.push(junk()),
    finish: () => segmenter.finish(),
    flush: () => segmenter.flush(),
    pending: () => segmenter.pending,
  };
  for (let call = 0; call < 50_000; call++) {
    switch (random.next(40)) {
      case 0:
        engine.close();
        if (random.next(2)) engine = attempt("new Engine", () => new Engine(settings())) ?? engine;
        else engine = new Engine();
        break;
      case 1:
        segmenter.close();
        if (random.next(2)) {
          segmenter = attempt("new Segmenter", () => new Segmenter(settings())) ?? segmenter;
        } else {
          segmenter = new Segmenter();
        }
        break;
      case 2: {
        const items = Array.from({ length: random.next(5) }, junk);
        const options = random.next(2)
          ? settings()
          : { framing: random.of(["lines", "bytes", "text"]) };
        const verb = random.of([wrap, pieces, blocks]) as (source: Wrong, options: Wrong) => Wrong;
        const stream = attempt("a verb", () => verb(items, { pace: "off", ...options }));
        if (stream === undefined) break;
        try {
          for (let item = 0; item < 20 && !(await stream.next()).done; item++);
        } catch (error) {
          assert.ok(isRefusal(error), `a stream threw ${String(error)}`);
          count(refused, "a stream");
        }
        await stream.close();
        break;
      }
      case 3: {
        attempt("a source", () => pieces(junk(), { signal: junk() ?? undefined }));
        attempt("what there is to a transform", () => new DeclusterStream(settings()));
        attempt("what there is to a smoothStream", () => smoothStream(settings()));
        break;
      }
      case 4: {
        const parts = Array.from({ length: random.next(5) }, junk);
        const { readable, writable } = smoothStream({ pace: "off", maxDelay: 100 })();
        const writer = writable.getWriter();
        for (const part of parts) writer.write(part).catch(() => {});
        writer.close().catch(() => {});
        const found = await all(readable).catch((error) => {
          assert.ok(isRefusal(error), `a smoothStream threw ${String(error)}`);
          return [];
        });
        assert.ok(found.length <= parts.length * 1000);
        break;
      }
      default: {
        const isEngine = random.next(2) === 0;
        const calls = isEngine ? engineCalls : segmenterCalls;
        const name = random.of(Object.keys(calls));
        attempt(`${isEngine ? "engine" : "segmenter"} ${name}`, calls[name]!);
      }
    }
  }
  // The library is as it was.
  using last = new Segmenter();
  text = [...last.push("It took hours. Then it held."), ...last.finish()].join("");
  assert.equal(text, "It took hours. Then it held.");
  for (const name of ["new Engine", "engine push", "engine poll", "segmenter push", "a stream"]) {
    assert.ok((refused.get(name) ?? 0) > 10, `${name} was refused ${refused.get(name)} times`);
  }
  for (const name of ["engine push of text", "engine poll in time", "segmenter push", "a verb"]) {
    assert.ok((taken.get(name) ?? 0) > 100, `${name} was taken ${taken.get(name)} times`);
  }
});
