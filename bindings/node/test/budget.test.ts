/** What reasons for too long, or whose server falls silent, ends, and its connection with it. */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import {
  Budget,
  blocks,
  ConfigError,
  collect,
  DeclusterStream,
  Event,
  type Exceeded,
  type Options,
  type Piece,
  pieces,
  ReasoningBudgetExceeded,
  Stalled,
  wrap,
} from "../src/index.js";
import { all, allAndError, bodyOf, DONE, Hanging, Server, sse, until } from "./streams.js";

const FAST: Options = { pace: "off", maxDelay: 100 };
const THOUGHT = "Let me see. And once more, from the beginning. ";
const thought = (text = THOUGHT) => sse(text, "reasoning_content");
const thoughts = (count: number) => Array.from({ length: count }, () => thought());
const STOP = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
const usage = (tokens: number) =>
  `data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":${tokens},"completion_tokens_details":{"reasoning_tokens":${tokens}}}}\n\n`;

/** Sends endless thoughts, as fast as they are taken. */
function ramble(response: ServerResponse): void {
  const more = () => {
    while (!response.destroyed && response.write(thought()));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
}

function over(error: unknown): Exceeded {
  assert.ok(error instanceof ReasoningBudgetExceeded, String(error));
  const { used, limit, source, shared } = error;
  return { used, limit, source, shared };
}

test("beyond its budget a stream ends with an error that says by whose count, and closes its connection", async () => {
  await using server = await Server.start(ramble);
  const stream = pieces(await fetch(server.url), { ...FAST, maxReasoningTokens: 100 });
  const { found, error } = await allAndError(stream);
  const { used, ...rest } = over(error);
  assert.deepEqual(rest, { limit: 100, source: "estimate", shared: false });
  assert.equal(used, tokensOf(found));
  assert.ok(used > 100 && used < 120, `${used} tokens`);
  assert.deepEqual(stream.exceeded, over(error));
  await until(() => server.open === 0, "the server sees that the client is gone");
});

test("streams that share a budget exceed it by one piece at the most", async () => {
  const budget = new Budget(200);
  const sources = Array.from({ length: 5 }, () => new Hanging(thoughts(50)));
  const ended = await Promise.all(
    sources.map((source) => allAndError(pieces(source, { ...FAST, budget }))),
  );
  const used = ended.reduce((sum, { found }) => sum + tokensOf(found), 0);
  const largest = Math.max(...ended.flatMap(({ found }) => found.map(({ tokens }) => tokens)));
  assert.ok(used >= 200 && used < 200 + largest, `${used} tokens`);
  assert.deepEqual([budget.used, budget.limit, budget.remaining], [used, 200, 0]);
  for (const { error } of ended) {
    const { limit, source, shared } = over(error);
    assert.deepEqual([limit, source, shared], [200, "estimate", true]);
  }
  assert.ok(sources.every(({ isClosed }) => isClosed));
});

const forms: Record<string, (source: Iterable<string>, options: Options) => Promise<unknown>> = {
  wrap: (source, options) => all(wrap(source, options)),
  pieces: (source, options) => all(pieces(source, options)),
  blocks: (source, options) => all(blocks(source, options)),
  collect: (source, options) => collect(source, options),
  "a Response": (source, options) => {
    const headers = { "content-type": "text/event-stream" };
    return wrap(new Response(bodyOf(source), { headers }), options).text();
  },
  DeclusterStream: (source, options) =>
    all(bodyOf(source).pipeThrough(new DeclusterStream(options))),
};

for (const [name, read] of Object.entries(forms)) {
  test(`a stream charges its budget with what it gives out: ${name}`, async () => {
    const budget = new Budget(1000);
    await read([...thoughts(5), STOP, DONE], { ...FAST, budget });
    const { used } = budget;
    assert.ok(used > 50 && used < 100, `${used} tokens`);
    assert.equal(budget.remaining, 1000 - used);
    await read([...thoughts(5), STOP, DONE], { ...FAST, budget });
    assert.equal(budget.used, 2 * used);
  });
}

test("what the provider counts corrects what was charged", async () => {
  const budget = new Budget(1000);
  await all(pieces([thought(), STOP, usage(40), DONE], { ...FAST, budget }));
  assert.equal(budget.used, 40);
});

test("a budget of 0 lets no reasoning through, and all else", async () => {
  const budget = new Budget(0);
  const { found, error } = await allAndError(
    pieces([sse("Yes. "), thought(), sse("No.")], { ...FAST, budget }),
  );
  assert.equal(found.map(String).join("").trimEnd(), "Yes.");
  assert.deepEqual(over(error).used, 0);
});

test("what is no budget is refused", () => {
  for (const tokens of [-1, 0.5, Number.NaN, 2 ** 53, "5", undefined] as number[]) {
    assert.throws(() => new Budget(tokens), ConfigError);
  }
  assert.throws(() => wrap([], { budget: 5 as never }), /TypeError: budget is a number/);
});

function tokensOf(found: readonly Piece[]): number {
  return found.reduce((sum, { tokens }) => sum + tokens, 0);
}

test("the provider's final count is told as such, after everything", async () => {
  const stream = pieces([thought(), STOP, usage(900), DONE], { ...FAST, maxReasoningTokens: 100 });
  const { found, error } = await allAndError(stream);
  assert.equal(found.map(String).join(""), THOUGHT);
  assert.deepEqual(over(error), { used: 900, limit: 100, source: "usage", shared: false });
});

test("a stream within its budget has exceeded nothing", async () => {
  const stream = pieces([thought(), DONE], { ...FAST, maxReasoningTokens: 100 });
  await all(stream);
  assert.equal(stream.exceeded, null);
});

/** Streams over their budget that end without an error. */
const quiet: Record<string, (source: ReadableStream<Uint8Array>, options: Options) => Ended> = {
  pieces: (source, options) => {
    const stream = pieces(source, options);
    return { items: stream, told: stream };
  },
  blocks: (source, options) => {
    const stream = blocks(source, options);
    return { items: stream, told: stream };
  },
  wrap: (source, options) => {
    const stream = wrap(source, options);
    return { items: stream as ReadableStream & AsyncIterable<unknown>, told: stream };
  },
  DeclusterStream: (source, options) => {
    const told = new DeclusterStream(options);
    const items = source.pipeThrough(told) as ReadableStream & AsyncIterable<unknown>;
    return { items, told };
  },
};

interface Ended {
  items: AsyncIterable<unknown>;
  told: { readonly exceeded: Exceeded | null };
}

for (const [name, open] of Object.entries(quiet)) {
  test(`with overBudget: "event" the stream ends without an error, and its connection too: ${name}`, async () => {
    await using server = await Server.start(ramble);
    const { body } = await fetch(server.url);
    const options = { ...FAST, maxReasoningTokens: 100, overBudget: "event" } as const;
    const { items, told } = open(body!, options);
    assert.ok((await all(items)).length > 1);
    assert.ok(told.exceeded!.used > 100);
    await until(() => server.open === 0, "the server sees that the client is gone");
  });
}

test('with overBudget: "event" an event says so, last of all', async () => {
  const source = new Hanging(thoughts(20));
  const options = { ...FAST, maxReasoningTokens: 50, overBudget: "event", events: true } as const;
  const stream = pieces(source, options);
  const found = await all(stream);
  const last = found.at(-1);
  assert.ok(last instanceof Event);
  assert.deepEqual([last.name, last.exceeded], ["budget_exceeded", stream.exceeded]);
  assert.equal(found.filter((each) => each instanceof Event).length, 1);
  assert.ok(source.isClosed);
});

test("collect's error has the answer so far", async () => {
  const source = new Hanging([thought(), sse("Yes."), ...thoughts(20)]);
  const error = await collect(source, { maxReasoningTokens: 50 }).then(
    () => assert.fail("it is over its budget"),
    (error: unknown) => error,
  );
  const exceeded = over(error);
  const { answer } = error as ReasoningBudgetExceeded;
  assert.ok(answer!.reasoning.startsWith(THOUGHT.repeat(4)), answer!.reasoning);
  assert.deepEqual([answer!.output, answer!.exceeded], ["Yes.", exceeded]);
  assert.ok(source.isClosed);
});

test('collect gives what came by then with overBudget: "event"', async () => {
  const options = { maxReasoningTokens: 50, overBudget: "event" } as const;
  const { reasoning, exceeded } = await collect(new Hanging(thoughts(20)), options);
  assert.ok(reasoning.startsWith(THOUGHT.repeat(4)), reasoning);
  assert.equal(exceeded!.limit, 50);
});

for (const [name, read] of Object.entries<(response: Response) => Promise<unknown>>({
  "a Response": (response) => wrap(response, { maxSilence: 100 }).text(),
  "its body": (response) => new Response(wrap(response.body!, { maxSilence: 100 })).text(),
  pieces: (response) => all(pieces(response, { maxSilence: 100 })),
  "a transform": (response) =>
    all(response.body!.pipeThrough(new DeclusterStream({ maxSilence: 100 }))),
})) {
  test(`the connection to a silent server is closed: ${name}`, async () => {
    await using server = await Server.start((response) => response.write(sse("It took hours. ")));
    const response = await fetch(server.url);
    await assert.rejects(read(response), Stalled);
    await until(() => server.open === 0, "the server sees that the client is gone");
  });
}
