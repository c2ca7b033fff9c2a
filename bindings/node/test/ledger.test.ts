/** What streams and responses cost: usage of finished ones, and ledgers that add up. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BodyError,
  ConfigError,
  collect,
  DeclusterStream,
  examplePrices,
  Full,
  Ledger,
  type LedgerEntry,
  type Options,
  type PriceTable,
  pieces,
  ReasoningBudgetExceeded,
  type Tokens,
  UnknownModel,
  usage,
  wrap,
} from "../src/index.js";
import { allAndError, bytes, Hanging, Server, settle } from "./streams.js";
import { all, warnings } from "./support.js";
import { absent, CAPTURES, type Capture, captures } from "./vectors.js";

const FAST = { pace: "off" } as const;
const TOML = `
as_of = 2026-11-30
[models."m-1"]
prompt = 2
cached = 0.5
reasoning = 6
output = 4.00
aliases = ["provider/m-1"]
`;
const TABLE: PriceTable = {
  as_of: "2026-11-30",
  models: {
    "m-1": { prompt: 2, cached: 0.5, reasoning: 6, output: "4.00", aliases: ["provider/m-1"] },
  },
};
// 100 x 2 of input, 10 x 6 of reasoning and 20 x 4 of the rest of 30: 340 by the million.
const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 30,
  total_tokens: 130,
  completion_tokens_details: { reasoning_tokens: 10 },
};
const TOTAL = "0.00034";

function wire(model = "m-1"): string[] {
  const events = [
    { model, choices: [{ index: 0, delta: { content: "One two. " } }] },
    { choices: [{ index: 0, delta: { content: "Three four." }, finish_reason: "stop" }] },
    { choices: [], usage: USAGE },
  ];
  return [...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), "data: [DONE]\n\n"];
}

const WIRE = wire();
const priced = () => new Ledger(TOML);
const counts = ({ streams, unreported, unpriced }: LedgerEntry) => [streams, unreported, unpriced];

// Finished responses.

const BODY = {
  id: "c",
  object: "chat.completion",
  model: "m-1",
  choices: [
    {
      index: 0,
      message: { role: "assistant", reasoning_content: "Hm, naïve.", content: "Yes." },
      finish_reason: "stop",
    },
  ],
  usage: { ...USAGE, cost: 0.0012 },
};

/** As classes of SDKs are: members that are not in the JSON, and those that are not enumerable. */
class Completion {
  readonly id = "c";
  constructor(body: object) {
    Object.assign(this, body);
    Object.defineProperty(this, "_request_id", { value: "r", enumerable: false });
  }
  get text(): string {
    return "Yes.";
  }
}

for (const [name, body] of Object.entries<unknown>({
  "a string": JSON.stringify(BODY),
  bytes: bytes(JSON.stringify(BODY)),
  "a part of a Buffer": Buffer.from(`  ${JSON.stringify(BODY)}`).subarray(1),
  "an ArrayBuffer": bytes(JSON.stringify(BODY)).buffer,
  "an object": BODY,
  "an object of an SDK": new Completion(BODY),
  "an object with counts of any size": {
    ...BODY,
    usage: { ...BODY.usage, prompt_tokens: 100n },
  },
})) {
  test(`a response says the same in every type: ${name}`, () => {
    const { raw, ...found } = usage(body);
    assert.deepEqual(found, {
      input: 100,
      cachedInput: null,
      cacheWrite: null,
      output: 30,
      reasoning: 10,
      visible: 20,
      costPicodollars: 1_200_000_000,
      reasoningText: "Hm, naïve.",
      outputText: "Yes.",
      encrypted: [],
      model: "m-1",
      dialect: "openai-chat",
      finish: "stop",
      error: null,
    });
    assert.deepEqual(raw, BODY.usage);
  });
}

test("bytes that an SDK has decoded are written as they were", () => {
  const content = [{ reasoningContent: { redactedContent: bytes("A") } }];
  const { dialect, encrypted, output } = usage({
    $metadata: {},
    output: { message: { role: "assistant", content } },
    stopReason: "end_turn",
    usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
  });
  assert.deepEqual([dialect, encrypted, output], ["bedrock-converse", ["QQ=="], 2]);
});

test("an error of the provider is no exception", () => {
  const { error, dialect, input } = usage('{"error": {"code": 429}}');
  assert.deepEqual([error, dialect, input], [{ code: 429 }, null, null]);
});

const endless: Record<string, unknown> = {};
endless.usage = endless;
for (const [body, says] of [
  ['{"usage":\n{"prompt_tokens":}}', /not JSON: expected value at line 2 column 18/],
  ["", /not JSON/],
  [Buffer.from('{"a":"\xff"}', "latin1"), /byte 6 of the body is not UTF-8/],
  [WIRE.join(""), /a stream of events/],
  [{ a: 1 }, /no known dialect/],
  ["[".repeat(200) + "]".repeat(200), /deeper than 127 levels/],
  [7, /this is a number/],
  [null, /this is null/],
  [endless, /circular/],
] as [unknown, RegExp][]) {
  test(`what is no response is refused with the reason: ${says}`, () => {
    assert.throws(
      () => usage(body),
      (error) => {
        assert.ok(error instanceof BodyError);
        assert.match(error.message, says);
        return true;
      },
    );
  });
}

test("what must be awaited or read first is told so", () => {
  assert.throws(() => usage(Promise.resolve(BODY)), /TypeError: a promise .* await it/);
  assert.throws(() => usage(new Response("{}")), /TypeError: .* await response.text\(\)/);
  assert.throws(() => usage(undefined), TypeError);
});

// What is added by hand.

for (const [name, table] of Object.entries<string | PriceTable>({
  TOML,
  JSON: JSON.stringify(TABLE),
  "an object": TABLE,
})) {
  test(`a price table says the same in every form: ${name}`, () => {
    const ledger = new Ledger(table);
    const cost = ledger.add(usage(BODY), { key: "search" });
    assert.deepEqual(cost, {
      prompt: "0.0002",
      cached: "0",
      cacheWrite: "0",
      reasoning: "0.00006",
      output: "0.00008",
      total: TOTAL,
      currency: "USD",
    });
    const row: LedgerEntry = {
      model: "m-1",
      key: "search",
      streams: 1,
      unreported: 0,
      unpriced: 0,
      tokens: {
        input: 100,
        cachedInput: null,
        cacheWrite: null,
        output: 30,
        reasoning: 10,
        visible: 20,
        costPicodollars: 1_200_000_000,
      },
      costsTold: 1,
      cost,
    };
    assert.deepEqual(ledger.rows(), [row]);
    assert.deepEqual(ledger.byModel(), [{ ...row, key: null }]);
    assert.deepEqual(ledger.byKey(), [{ ...row, model: null }]);
    assert.deepEqual(ledger.total, { ...row, model: null, key: null });
  });
}

test("a table that cannot be read is refused with what is wrong, and its line where somebody wrote it", () => {
  for (const [table, says] of [
    ["prices.toml", /^line 1: this is not TOML/],
    ["[models.m]\nprompt = -1\noutput = 1", /^line 2: model "m", prompt is /],
    [{ models: { m: { prompt: 1 } } }, /^model "m" has no output$/],
    [{ models: { m: { prompt: "x", output: 1 } } }, /^model "m", prompt is no decimal number: "x"/],
  ] as [string, RegExp][]) {
    assert.throws(
      () => new Ledger(table),
      (error) => {
        assert.ok(error instanceof ConfigError);
        assert.match(error.message, says);
        return true;
      },
    );
  }
  for (const table of [5, [], new Date()] as never[]) assert.throws(() => new Ledger(table));
});

test("numbers are taken as they are written", () => {
  // The nearest double to 0.1 is not 0.1, and three of them are not 0.3.
  const table = { models: { m: { prompt: 0.1, output: "0.2" } } };
  const ledger = new Ledger(table, { currency: "EUR", rate: 0.9 });
  for (let time = 0; time < 3; time++) ledger.add({ input: 1_000_000, output: 0 }, { model: "m" });
  assert.equal(ledger.total.cost!.total, "0.27");
  assert.equal(ledger.currency, "EUR");
});

test("a second currency needs its rate, and prices", () => {
  for (const options of [{ currency: "CNY" }, { rate: 7.1 }]) {
    assert.throws(() => new Ledger(TOML, options), /currency and rate go together/);
  }
  assert.throws(() => new Ledger(null, { currency: "CNY", rate: "7.1" }), ConfigError);
  assert.throws(() => new Ledger(TOML, { currency: "CNY", rate: "0" }), ConfigError);
  assert.throws(() => new Ledger(TOML, { currency: "a b", rate: "7.1" }), ConfigError);
  assert.throws(() => new Ledger(TOML, { rates: 7.1 } as object), /rates/);
});

test("a model without a price is an error that can be read, and nothing is added", () => {
  const ledger = priced();
  assert.throws(
    () => ledger.add({ input: 1, output: 1 }, { model: "m-2" }),
    (error) => {
      assert.ok(error instanceof UnknownModel);
      assert.match(error.message, /no price for the model "m-2"/);
      assert.equal(error.model, "m-2");
      return true;
    },
  );
  assert.throws(
    () => ledger.add({ input: 1, output: 1 }),
    (error) => {
      assert.ok(error instanceof UnknownModel);
      assert.equal(error.model, null);
      return true;
    },
  );
  assert.equal(ledger.total.streams, 0);
});

test("an alias is its model, and the model that is given counts", () => {
  const ledger = priced();
  ledger.add({ input: 1, output: 1 }, { model: "provider/m-1" });
  ledger.add({ ...usage(BODY), model: "deployment-7" }, { model: "m-1" });
  assert.deepEqual(
    ledger.rows().map(({ model, streams }) => [model, streams]),
    [["m-1", 2]],
  );
});

test("an answer without usage is unreported, and without prices no cost is told", () => {
  const ledger = new Ledger();
  assert.equal(ledger.add(null, { model: "m" }), null);
  assert.equal(ledger.add({ input: 4 }), null);
  assert.deepEqual(counts(ledger.total), [2, 1, 0]);
  assert.deepEqual([ledger.total.cost, ledger.currency], [null, null]);
});

test("what has no tokens is told so", () => {
  const ledger = new Ledger();
  for (const what of [undefined, 5, "m-1", {}, [], { tokens: 5 }, { input: -1 }, { output: 0.5 }]) {
    assert.throws(() => ledger.add(what as Partial<Tokens>), TypeError, JSON.stringify(what));
  }
  assert.throws(() => ledger.add(null, { model: 5 as never }), TypeError);
  assert.equal(ledger.total.streams, 0);
});

test("a name that is too long, or one too many, is refused", () => {
  const ledger = new Ledger();
  assert.throws(() => ledger.add(null, { key: "x".repeat(300) }), ConfigError);
  for (let key = 0; key < 10_000; key++) ledger.add(null, { key: String(key) });
  assert.throws(() => ledger.add(null, { key: "more" }), Full);
});

test("names are any text", () => {
  const ledger = new Ledger();
  const key = 'naïve 🦀 "quoted"\n';
  ledger.add(null, { key });
  assert.equal(ledger.byKey()[0]!.key, key);
});

test("ledgers merge, but not with themselves", () => {
  const [one, other] = [priced(), new Ledger()];
  one.add(usage(BODY));
  other.add(usage(BODY), { key: "k" });
  one.merge(other);
  assert.deepEqual([one.total.streams, one.total.cost!.total], [2, "0.00068"]);
  assert.throws(() => one.merge(one), ConfigError);
  assert.throws(() => one.merge({} as Ledger), TypeError);
});

test("the examples are a table", () => {
  const ledger = new Ledger(examplePrices(), { currency: "CNY", rate: "7.1" });
  const cost = ledger.add({ input: 1000, output: 500 }, { model: "gpt-4.1" });
  // 1000 x 3 + 500 x 8 by the million are 0.007 dollars.
  assert.deepEqual([cost!.total, cost!.currency], ["0.0497", "CNY"]);
});

// Streams that enter a ledger by themselves.

/** Streams that end in every way, and what is known of them then: streams, unreported, unpriced. */
const ways: Record<string, [(options: Options) => Promise<unknown>, number[]]> = {
  "wrap, finished": [(options) => all(wrap(WIRE, options)), [1, 0, 0]],
  "pieces, finished": [(options) => all(pieces(WIRE, options)), [1, 0, 0]],
  collect: [(options) => collect(WIRE, options), [1, 0, 0]],
  "a transform": [
    (options) =>
      all(ReadableStream.from(WIRE.map(bytes)).pipeThrough(new DeclusterStream(options))),
    [1, 0, 0],
  ],
  "failed after its usage": [
    (options) =>
      allAndError(
        wrap(
          (function* () {
            yield* WIRE.slice(0, 3);
            throw new Error("reset");
          })(),
          options,
        ),
      ),
    [1, 0, 0],
  ],
  "closed early, more than once": [
    async (options) => {
      const stream = wrap(new Hanging(WIRE.slice(0, 2)), options);
      await stream.next();
      await stream.close();
      await stream.close();
    },
    [1, 1, 0],
  ],
  aborted: [
    async (options) => {
      const controller = new AbortController();
      const stream = pieces(new Hanging(WIRE.slice(0, 2)), {
        ...options,
        signal: controller.signal,
      });
      await stream.next();
      controller.abort();
    },
    [1, 1, 0],
  ],
  "over its budget": [
    async (options) => {
      const thought = { choices: [{ index: 0, delta: { reasoning_content: "A b c d e f g h." } }] };
      const source = [`data: ${JSON.stringify({ model: "m-1", ...thought })}\n\n`];
      const over = collect(source, { ...options, maxReasoningTokens: 1 });
      await assert.rejects(over, ReasoningBudgetExceeded);
    },
    [1, 1, 0],
  ],
};

for (const [name, [run, wanted]] of Object.entries(ways)) {
  test(`a stream is entered once, however it ends: ${name}`, async () => {
    const ledger = priced();
    await run({ ...FAST, ledger: ledger.account({ key: "k" }) });
    assert.deepEqual(
      ledger.rows().map((entry) => [entry.model, entry.key, counts(entry)]),
      [["m-1", "k", wanted]],
    );
    if (wanted[1] === 0) assert.equal(ledger.total.cost!.total, TOTAL);
  });
}

test("a stream is not entered before it is over", async () => {
  const ledger = priced();
  const stream = wrap(WIRE, { ...FAST, ledger });
  await stream.next();
  assert.equal(ledger.total.streams, 0);
  await all(stream);
  assert.equal(ledger.total.streams, 1);
});

test("in a client's fetch each streamed response is entered, and nothing else", async () => {
  await using server = await Server.start((response, request) => {
    if (request.url === "/none") response.statusCode = 404;
    response.end(WIRE.join(""));
  });
  const ledger = priced();
  for (let time = 0; time < 2; time++) {
    await wrap(await fetch(server.url), { ...FAST, ledger }).text();
  }
  wrap(new Response("not found", { status: 404 }), { ledger });
  await settle();
  assert.deepEqual(counts(ledger.total), [2, 0, 0]);
});

test("a model without a price breaks no stream, and is told once", async () => {
  const ledger = priced();
  for (const [model, told] of [
    ["other", 1],
    ["other", 0],
    ["m-1", 0],
    ["third", 1],
  ] as const) {
    const found = await warnings(() => all(wrap(wire(model), { ...FAST, ledger })));
    const says = `a stream is in the ledger without its cost: no price for the model "${model}"; `;
    assert.deepEqual(
      found.map((message) => message.slice(0, says.length)),
      Array(told).fill(says),
    );
  }
  assert.deepEqual(counts(ledger.total), [4, 0, 3]);
  assert.deepEqual([ledger.total.tokens.input, ledger.total.cost!.total], [400, TOTAL]);
});

test("a ledger that is full breaks no stream, and says so", async () => {
  const ledger = new Ledger();
  for (let key = 0; key < 10_000; key++) ledger.add(null, { key: String(key) });
  const found = await warnings(() => collect(WIRE, { ledger }));
  assert.match(found.join(), /a stream is not in the ledger: a ledger has at most/);
});

test("an account names the model", async () => {
  const ledger = priced();
  await collect(wire("deployment-7"), { ledger: ledger.account({ model: "m-1" }) });
  assert.deepEqual(
    ledger.rows().map(({ model }) => model),
    ["m-1"],
  );
});

test("a stream, and an answer, can be added by hand", async () => {
  const ledger = priced();
  const stream = pieces(WIRE, FAST);
  assert.equal(stream.model, null);
  await all(stream);
  assert.equal(stream.model, "m-1");
  const answer = await collect(WIRE);
  assert.equal(answer.model, "m-1");
  assert.equal(ledger.add(stream)!.total, TOTAL);
  assert.equal(ledger.add(answer)!.total, TOTAL);
});

test("what is no ledger is refused", async () => {
  for (const ledger of [TOML, {}, 5] as never[]) {
    assert.throws(() => wrap(WIRE, { ledger }), /ledger is a .*: give a Ledger or its account\(\)/);
    await assert.rejects(collect(WIRE, { ledger }), TypeError);
  }
});

// biome-ignore lint/suspicious/noExplicitAny: providers' own objects.
type Raw = any;
/** Input, output with the reasoning, and the reasoning where it is counted. */
type Counts = [number, number, number | null];

function chat(raw: Raw): Counts {
  const { prompt_tokens: input, completion_tokens, total_tokens } = raw;
  const details = raw.completion_tokens_details ?? {};
  const reasoning = details.reasoning_tokens ?? raw.reasoning_tokens ?? null;
  const isBeside = reasoning && total_tokens === input + completion_tokens + reasoning;
  return [input, completion_tokens + (isBeside ? reasoning : 0), reasoning];
}

/** What each provider counted, read plainly from its own object. */
const PLAIN: Record<string, (raw: Raw) => Counts> = {
  anthropic: (raw) => [
    raw.input_tokens + (raw.cache_read_input_tokens ?? 0) + (raw.cache_creation_input_tokens ?? 0),
    raw.output_tokens,
    raw.output_tokens_details?.thinking_tokens ?? null,
  ],
  "bedrock-converse": (raw) => [raw.inputTokens, raw.outputTokens, null],
  cohere: ({ tokens }) => [
    tokens.input_tokens,
    tokens.output_tokens,
    tokens.reasoning_tokens ?? null,
  ],
  gemini: (raw) => [
    raw.promptTokenCount,
    (raw.candidatesTokenCount ?? 0) + (raw.thoughtsTokenCount ?? 0),
    raw.thoughtsTokenCount ?? null,
  ],
  mistral: chat,
  ollama: (raw) => [raw.prompt_eval_count, raw.eval_count, null],
  "openai-chat": chat,
  "openai-responses": (raw) => [
    raw.input_tokens,
    raw.output_tokens,
    raw.output_tokens_details?.reasoning_tokens ?? null,
  ],
};
/** Its counts contradict their own total: the reasoning is in no sum, and is output, too. */
const IN_NO_SUM = "openai-chat/gateway-vercel-gemini3";

function plain({ name, expect }: Capture): Counts | null {
  if (Object.keys(expect.usage ?? {}).length === 0) return null;
  let [input, output, reasoning] = PLAIN[expect.dialect]!(expect.usage);
  if (name === IN_NO_SUM) output += reasoning ?? 0;
  // Text came, so this is no count.
  if (reasoning === 0 && expect.reasoning.chars > 0) reasoning = null;
  return [input, output, reasoning];
}

test("on recorded streams a ledger's totals are the providers'", {
  skip: absent(CAPTURES),
}, async () => {
  const price = { prompt: "0.7", cached: "0.7", cache_write: "0.7", output: "1.3" };
  const ledger = new Ledger({ models: { any: price } });
  const sums: Counts = [0, 0, 0];
  let [streams, unreported] = [0, 0];
  for (const capture of captures()) {
    const { name, data, expect } = capture;
    // Of one recorded stream the dialect is not known.
    if (expect.dialect === "gemini-interactions") continue;
    const part = new Ledger({ models: { any: price } });
    await collect([data], {
      framing: "bytes",
      ledger: part.account({ model: "any", key: expect.dialect }),
    });
    ledger.merge(part);
    streams += 1;
    const counted = plain(capture);
    const { total } = part;
    assert.deepEqual([total.streams, total.unreported], [1, counted === null ? 1 : 0], name);
    if (counted === null) {
      unreported += 1;
      continue;
    }
    const { input, output, reasoning } = total.tokens;
    assert.deepEqual([input, output, reasoning], counted, name);
    for (const at of sums.keys()) sums[at] = sums[at]! + (counted[at] ?? 0);
  }
  assert.ok(streams > 200, `${streams} streams`);
  const { total } = ledger;
  const { input, output, reasoning } = total.tokens;
  assert.deepEqual([input, output, reasoning], sums);
  assert.deepEqual(counts(total), [streams, unreported, 0]);
  // In units of 0.1 by the million, which are whole.
  assert.equal(Math.round(Number(total.cost!.total) * 1e7), sums[0] * 7 + sums[1] * 13);
});
