/** `smoothStream()` where the AI SDK's own goes: the same parts, and the same results. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  jsonSchema,
  type ModelMessage,
  readUIMessageStream,
  type StreamTextTransform,
  stepCountIs,
  streamText,
  smoothStream as theirs,
  tool,
  type UIMessageChunk,
} from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { ConfigError, smoothStream } from "../src/index.js";
import { HOW, type Members, WHY } from "./sdk-streams.js";
import { all } from "./support.js";

/** What hangs is a defect. */
const LIMIT = { timeout: 20_000 };
/** All that can be cut is cut, and nothing waits. */
const CUT = { pace: "off", unit: "word" } as const;

type Stream = Awaited<ReturnType<MockLanguageModelV3["doStream"]>>["stream"];
type ModelPart = Stream extends ReadableStream<infer P> ? P : never;
// biome-ignore lint/suspicious/noExplicitAny: the AI SDK takes transforms of any parts.
type Transform = (options?: any) => TransformStream<any, any>;
type Transforms = Transform | Transform[] | undefined;

const USAGE = {
  inputTokens: { total: 9, noCache: 9, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 57, text: 26, reasoning: 31 },
};
const SIGNATURE = { anthropic: { signature: "c2ln" } };
const BEGIN: ModelPart[] = [
  { type: "stream-start", warnings: [] },
  { type: "response-metadata", id: "r", modelId: "m", timestamp: new Date(0) },
];

function end(unified: "stop" | "tool-calls" = "stop"): ModelPart {
  return {
    type: "finish",
    usage: USAGE,
    finishReason: { unified, raw: unified },
    providerMetadata: { test: { cost: 1 } },
  };
}

/** The parts of a text or of reasoning. */
function said(kind: "text" | "reasoning", id: string, ...deltas: string[]): ModelPart[] {
  return [
    { type: `${kind}-start`, id },
    ...deltas.map((delta) => ({ type: `${kind}-delta` as const, id, delta })),
    { type: `${kind}-end`, id },
  ];
}

const THINKING: ModelPart[] = [
  { type: "reasoning-start", id: "0" },
  { type: "reasoning-delta", id: "0", delta: WHY },
  { type: "reasoning-delta", id: "0", delta: "", providerMetadata: SIGNATURE },
  { type: "reasoning-end", id: "0" },
];
const CALL: ModelPart[] = [
  { type: "tool-input-start", id: "call", toolName: "renew" },
  { type: "tool-input-delta", id: "call", delta: '{"seconds":' },
  { type: "tool-input-delta", id: "call", delta: " 30}" },
  { type: "tool-input-end", id: "call" },
  { type: "tool-call", toolCallId: "call", toolName: "renew", input: '{"seconds": 30}' },
];
const SOURCE: ModelPart = {
  type: "source",
  sourceType: "url",
  id: "s",
  url: "https://example.org/",
};
/** An answer in two steps, with everything in it. */
const STEPS: ModelPart[][] = [
  [...BEGIN, ...THINKING, ...said("text", "1", HOW), ...CALL, end("tool-calls")],
  [...BEGIN, ...said("reasoning", "2", WHY), SOURCE, ...said("text", "3", HOW, WHY), end()],
];

const tools = {
  renew: tool({
    inputSchema: jsonSchema<{ seconds: number }>({
      type: "object",
      properties: { seconds: { type: "number" } },
    }),
    execute: ({ seconds }) => ({ until: seconds + 1 }),
  }),
};

/** A model that streams one list after the other. */
function model(steps: ModelPart[][]): MockLanguageModelV3 {
  const rest = [...steps];
  return new MockLanguageModelV3({
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: rest.shift() ?? [],
        initialDelayInMs: null,
        chunkDelayInMs: null,
      }),
    }),
  });
}

function streaming(steps: ModelPart[][], transform: Transforms) {
  const errors: unknown[] = [];
  const result = streamText({
    model: model(steps),
    prompt: "?",
    tools,
    stopWhen: stepCountIs(3),
    onError: ({ error }) => void errors.push(error),
    ...(transform ? { experimental_transform: transform } : {}),
  });
  return { result, errors };
}

/** All that a program can know of an answer. */
async function read(steps: ModelPart[][], transform?: Transforms) {
  const { result, errors } = streaming(steps, transform);
  const parts: Members[] = await all(result.fullStream);
  const messages: ModelMessage[] = (await result.response).messages;
  return {
    parts,
    told: {
      joined: joined(parts),
      errors,
      text: await result.text,
      reasoning: await result.reasoning,
      usage: await result.totalUsage,
      finish: await result.finishReason,
      steps: JSON.parse(JSON.stringify(await result.steps)),
      messages: JSON.parse(JSON.stringify(messages)),
    },
  };
}

/** Parts, neighbouring texts as one, and what a delta says besides as a part of its own behind it. */
function joined(parts: Members[]): Members[] {
  const found: Members[] = [];
  const repeated = new Map<string, string>();
  for (const part of parts) {
    const field = ["text", "delta", "textDelta"].find((name) => typeof part[name] === "string");
    if (field === undefined || !/^(text|reasoning)(-delta)?$/.test(part.type)) {
      // Calls are numbered, and when they were made is nobody's concern.
      found.push(JSON.parse(JSON.stringify(part)));
      continue;
    }
    const { [field]: text, type, id, ...besides } = part;
    const last = found.at(-1);
    if (last?.type === type && last?.id === id && last?.joined !== undefined) last.joined += text;
    else if (text) found.push({ type, id, joined: text });
    // The AI SDK itself repeats what a text's delta said, with each one that follows.
    const said = JSON.stringify(besides);
    if (said !== "{}" && said !== repeated.get(id)) found.push({ type, id, ...besides });
    repeated.set(id, said);
  }
  return found;
}

/** Reads with and without us, and compares; gives the parts with us. */
async function same(steps: ModelPart[][], transform: Transforms = smoothStream(CUT)) {
  const without = await read(steps);
  const { parts, told } = await read(steps, transform);
  assert.deepEqual(told, without.told);
  return parts;
}

function deltas(parts: Members[], type = "text-delta"): string[] {
  return parts.filter((part) => part.type === type && part.text).map((part) => part.text);
}

describe("smoothStream() in streamText()", LIMIT, () => {
  test("gives the same parts in the same order, over two steps with a tool between", async () => {
    const parts = await same(STEPS);
    assert.ok(deltas(parts).length > 20, "nothing was cut");
    assert.ok(deltas(parts, "reasoning-delta").length > 20, "nothing was cut");
    assert.deepEqual(
      parts.filter(({ type }) => type === "tool-result").map(({ output }) => output),
      [{ until: 31 }],
    );
    assert.equal(parts.at(-1)?.totalUsage.outputTokens, 114);
  });

  test("does so when it is paced", async () => {
    const begin = performance.now();
    await same(STEPS, smoothStream());
    assert.ok(performance.now() - begin > 50, "what came at once left at once");
  });

  test("takes the options of decluster", async () => {
    const [whole] = deltas(await same(STEPS, smoothStream({ pace: "off", segment: "off" })));
    assert.equal(whole, HOW);
  });

  test("leaves parts that are no text as they are", async () => {
    const given: unknown[] = [];
    const out: unknown[] = [];
    const keep = (kept: unknown[]) => () =>
      new TransformStream({
        transform(part, controller) {
          kept.push(part);
          controller.enqueue(part);
        },
      });
    const transforms = [keep(given), smoothStream(CUT), keep(out)];
    await all(streaming(STEPS, transforms).result.fullStream);
    const others = (parts: unknown[]) =>
      parts.filter((part) => (part as Members).text === undefined);
    assert.ok(others(given).length > 15);
    assert.ok(others(given).every((part, at) => part === others(out)[at]));
  });

  test("stands together with other transforms, and with the AI SDK's own", async () => {
    const own = theirs({ delayInMs: null });
    await same(STEPS, [smoothStream(CUT), own]);
    await same(STEPS, [own, smoothStream(CUT)]);
    const upper = () =>
      new TransformStream({
        transform(part, controller) {
          controller.enqueue(
            part.type === "text-delta" ? { ...part, text: part.text.toUpperCase() } : part,
          );
        },
      });
    const { told } = await read(STEPS, [upper, smoothStream(CUT)]);
    assert.equal(told.text, (HOW + WHY).toUpperCase());
  });

  test("serves a response of UI messages", async () => {
    const chunks = async (transform?: Transforms): Promise<Members[]> => {
      const options = { sendReasoning: true, generateMessageId: () => "m" };
      const response = streaming(STEPS, transform).result.toUIMessageStreamResponse(options);
      const lines = (await response.text())
        .split("\n")
        .filter((line) => line.startsWith("data: {"));
      return lines.map((line) => JSON.parse(line.slice(6)));
    };
    const [ours, direct] = [await chunks(smoothStream(CUT)), await chunks()];
    assert.deepEqual(joined(ours), joined(direct));
    assert.ok(ours.length > direct.length + 40, "nothing was cut");
  });

  test("is made once, and may serve many calls at once", async () => {
    const transform = smoothStream(CUT);
    await Promise.all([same(STEPS, transform), same(STEPS, transform)]);
  });
});

describe("provider metadata", LIMIT, () => {
  /** What leaves our transform with metadata: behind it, the AI SDK repeats the last of a text. */
  const metadata = async (steps: ModelPart[][], transform = smoothStream(CUT)) => {
    const parts: Members[] = [];
    const keep = () =>
      new TransformStream({
        transform(part, controller) {
          parts.push(part);
          controller.enqueue(part);
        },
      });
    await all(streaming(steps, [transform, keep]).result.fullStream);
    return parts.filter((part) => part.providerMetadata && /delta/.test(part.type));
  };

  test("without text comes once, in its place", async () => {
    const steps = [[...BEGIN, ...THINKING, ...said("text", "1", HOW), end()]];
    await same(steps);
    assert.deepEqual(await metadata(steps), [
      { type: "reasoning-delta", id: "0", text: "", providerMetadata: SIGNATURE },
    ]);
  });

  test("on a delta comes once, behind its text", async () => {
    const steps: ModelPart[][] = [
      [
        ...BEGIN,
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: HOW, providerMetadata: { google: { sign: "a" } } },
        { type: "text-delta", id: "1", delta: WHY },
        { type: "text-delta", id: "1", delta: NEXT, providerMetadata: { google: { sign: "b" } } },
        { type: "text-end", id: "1" },
        end(),
      ],
    ];
    await same(steps);
    const told = await metadata(steps);
    assert.deepEqual(
      told.map(({ text, providerMetadata }) => [text, providerMetadata.google.sign]),
      [
        ["", "a"],
        ["", "b"],
      ],
    );
  });

  test("that every delta repeats comes once, behind the last, and cuts no word", async () => {
    // As of the Responses API, whose deltas name their item.
    const providerMetadata = { openai: { itemId: "rs" } };
    const inside = /[\s\S]{1,7}/g;
    const steps = [
      [
        ...BEGIN,
        { type: "reasoning-start" as const, id: "rs:0" },
        ...WHY.match(inside)!.map((delta) => ({
          type: "reasoning-delta" as const,
          id: "rs:0",
          delta,
          providerMetadata: { openai: { itemId: "rs" } },
        })),
        { type: "reasoning-end" as const, id: "rs:0" },
        ...said("text", "1", HOW),
        end(),
      ],
    ];
    const { parts, told } = await read(steps, smoothStream());
    assert.deepEqual(await metadata(steps), [
      { type: "reasoning-delta", id: "rs:0", text: "", providerMetadata },
    ]);
    const { steps: direct, messages } = (await read(steps)).told;
    assert.deepEqual([told.steps, told.messages], [direct, messages]);
    const cuts = deltas(parts, "reasoning-delta");
    assert.equal(cuts.join(""), WHY);
    assert.ok(cuts.length < 10, `${cuts.length} parts`);
    for (const text of cuts) assert.match(text, /[\s.,]$/);
  });

  test("comes before an error that ends the stream", async () => {
    const source = new ReadableStream<Members>({
      start(controller) {
        controller.enqueue({ type: "text-delta", id: "1", text: HOW, providerMetadata: SIGNATURE });
      },
      pull(controller) {
        controller.error(new Error("broken"));
      },
    });
    const parts: Members[] = [];
    await assert.rejects(async () => {
      for await (const part of source.pipeThrough(smoothStream()())) parts.push(part);
    }, /broken/);
    assert.deepEqual(joined(parts), [
      { type: "text-delta", id: "1", joined: HOW },
      { type: "text-delta", id: "1", providerMetadata: SIGNATURE },
    ]);
  });
});

describe("texts", LIMIT, () => {
  test("with half a character at the end of a delta come whole", async () => {
    const halves = said("text", "1", "One \ud83e", "\udd80 two.", " Three.");
    const parts = await same([[...BEGIN, ...halves, end()]]);
    assert.equal(deltas(parts).join(""), "One 🦀 two. Three.");
    assert.ok(deltas(parts).every((text) => !/\p{Surrogate}/u.test(text)));
  });

  test("with half a character that stays half lose nothing", async () => {
    const halves = ["One \ud83e", " two \udd80.", "Three \ud83e"];
    const parts = await same([[...BEGIN, ...said("text", "1", ...halves), end()]]);
    assert.equal(deltas(parts).join(""), halves.join(""));
  });

  test("of several ids by turns keep their ids and order", async () => {
    const by = (id: string, delta: string) => ({ type: "text-delta" as const, id, delta });
    const [one, two] = [HOW.match(/[\s\S]{1,30}/g)!, WHY.match(/[\s\S]{1,30}/g)!];
    await same([
      [
        ...BEGIN,
        { type: "text-start", id: "1" },
        { type: "text-start", id: "2" },
        ...one.flatMap((text, at) => [by("1", text), by("2", two[at] ?? "")]),
        { type: "text-end", id: "1" },
        { type: "text-end", id: "2" },
        end(),
      ],
    ]);
  });

  test("that are no parts pass", async () => {
    const items: unknown[] = [null, undefined, 5, "text-delta", [], { text: "no type" }];
    const given = ReadableStream.from(items).pipeThrough(smoothStream()());
    const found: unknown[] = [];
    for await (const item of given) found.push(item);
    assert.deepEqual(found, items);
  });

  test("that are empty pass", async () => {
    await same([
      [...BEGIN, ...said("text", "1", "", HOW, ""), ...said("reasoning", "2", ""), end()],
    ]);
  });
});

describe("what goes wrong", LIMIT, () => {
  test("an error part comes in its place", async () => {
    const failed: ModelPart[] = [
      ...BEGIN,
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: HOW },
      { type: "error", error: "too busy" },
      { type: "text-delta", id: "1", delta: WHY },
      { type: "text-end", id: "1" },
      end(),
    ];
    const parts = await same([failed], smoothStream());
    const types = joined(parts).map(({ type }) => type);
    assert.equal(types[types.indexOf("error") - 1], "text-delta");
  });

  test("a model whose stream breaks does so after its text", async () => {
    const broken = (transform?: Transform) => {
      const failing = new MockLanguageModelV3({
        doStream: async () => ({
          stream: new ReadableStream<ModelPart>({
            start(controller) {
              for (const part of [...BEGIN, ...said("text", "1", HOW).slice(0, 2)])
                controller.enqueue(part);
            },
            pull(controller) {
              controller.error(new Error("connection lost"));
            },
          }),
        }),
      });
      const result = streamText({
        model: failing,
        prompt: "?",
        onError: () => undefined,
        ...(transform ? { experimental_transform: transform } : {}),
      });
      return found(result.fullStream);
    };
    const found = async (stream: AsyncIterable<unknown>) => {
      const parts: Members[] = [];
      try {
        for await (const part of stream) parts.push(part as Members);
      } catch (error) {
        parts.push({ type: "thrown", error: String(error) });
      }
      return joined(parts);
    };
    const [ours, direct] = [await broken(smoothStream()), await broken()];
    assert.deepEqual(ours, direct);
    assert.match(JSON.stringify(ours), /Nothing else has to change/);
  });

  test("an abort ends the stream at once, with all text before it", async () => {
    const abort = new AbortController();
    const endless = new MockLanguageModelV3({
      doStream: async ({ abortSignal }) => ({
        stream: new ReadableStream<ModelPart>({
          start(controller) {
            const texts = Array<string>(20).fill(HOW);
            for (const part of [...BEGIN, ...said("text", "1", ...texts).slice(0, -1)])
              controller.enqueue(part);
            abortSignal?.addEventListener("abort", () => controller.error(abortSignal.reason));
          },
        }),
      }),
    });
    let aborted = 0;
    const result = streamText({
      model: endless,
      prompt: "?",
      abortSignal: abort.signal,
      onAbort: () => void aborted++,
      // Without the abort this would take many minutes.
      experimental_transform: smoothStream({
        pace: "fixed",
        rate: 1,
        burst: 1,
        maxDelay: 60_000,
        maxTail: 10_000,
      }),
    });
    const parts: Members[] = [];
    const begin = performance.now();
    for await (const part of result.fullStream) {
      parts.push(part);
      // The abort comes when everything is queued.
      if (deltas(parts).length === 1) setTimeout(() => abort.abort(), 20);
    }
    assert.equal(parts.at(-1)?.type, "abort");
    assert.ok(performance.now() - begin < 5000, "the abort waited for the text before it");
    assert.equal(deltas(parts).join(""), HOW.repeat(20));
    assert.equal(aborted, 1);
  });

  test("an item that does not fit cancels what is piped in", async () => {
    let reason: unknown;
    const source = new ReadableStream<Members>({
      pull(controller) {
        controller.enqueue({ type: "text-delta", id: "1", text: "x".repeat(2000) });
      },
      cancel(error) {
        reason = error;
      },
    });
    const paced = source.pipeThrough(smoothStream({ maxEventBytes: 1024 })());
    await assert.rejects(all(paced), { name: "TooLarge" });
    while (reason === undefined) await new Promise((resolve) => setImmediate(resolve));
    assert.equal((reason as Error).name, "TooLarge");
  });
});

describe("options", () => {
  for (const [name, value] of [
    ["delayInMs", 10],
    ["delayInMs", null],
    ["chunking", "word"],
    ["chunking", /\s/],
  ] as const) {
    test(`of the AI SDK's own are refused with the reason: ${name}: ${String(value)}`, () => {
      assert.throws(
        () => smoothStream({ [name]: value } as never),
        (error) => {
          assert.ok(error instanceof ConfigError);
          assert.match(
            error.message,
            new RegExp(`no ${name}: decluster learns the pace, and cuts by unit`),
          );
          return true;
        },
      );
    });
  }

  test("that cannot be kept are refused before any stream", () => {
    assert.throws(() => smoothStream({ maxReasoningTokens: 9 }), ConfigError);
    assert.throws(() => smoothStream({ maxDelay: 1 }), ConfigError);
  });

  test("have types that the AI SDK takes", () => {
    const typed: StreamTextTransform<typeof tools> = smoothStream();
    const untyped: StreamTextTransform<Record<string, never>>[] = [smoothStream({ unit: "word" })];
    // @ts-expect-error There is no such option.
    assert.throws(() => smoothStream({ chunking: "line" }));
    assert.deepEqual([typeof typed, untyped.length], ["function", 1]);
  });
});

describe("other streams of the AI SDK", LIMIT, () => {
  test("chunks of UI messages are re-cut, and make the same message", async () => {
    const chunks: UIMessageChunk[] = [
      { type: "start", messageId: "m" },
      { type: "reasoning-start", id: "0" },
      { type: "reasoning-delta", id: "0", delta: WHY },
      { type: "reasoning-end", id: "0", providerMetadata: SIGNATURE },
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: HOW },
      { type: "text-end", id: "1" },
      { type: "finish" },
    ];
    const source = () =>
      simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null });
    const last = async (stream: ReadableStream<UIMessageChunk>) =>
      (await all(readUIMessageStream({ stream }))).at(-1);
    const out: Members[] = await all(source().pipeThrough(smoothStream(CUT)()));
    assert.ok(out.length > 30);
    assert.deepEqual(joined(out), joined(chunks));
    assert.deepEqual(await last(source().pipeThrough(smoothStream(CUT)())), await last(source()));
  });

  test("parts of version 4 are re-cut", async () => {
    const chunks: Members[] = [
      { type: "reasoning", textDelta: WHY },
      { type: "reasoning-signature", signature: "c2ln" },
      { type: "text-delta", textDelta: HOW },
      { type: "tool-call", toolCallId: "call", toolName: "renew", args: {} },
      { type: "step-finish" },
    ];
    const source = simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null });
    const out: Members[] = await all(source.pipeThrough(smoothStream(CUT)()));
    assert.ok(out.length > 30);
    assert.deepEqual(joined(out), joined(chunks));
  });
});

const NEXT = "Then look at the log again.";
