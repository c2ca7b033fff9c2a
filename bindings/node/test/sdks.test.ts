/** The vendors' own SDKs: their streams wrapped, and `wrap` in their `fetch`. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { APIError as AnthropicError } from "@anthropic-ai/sdk";
import { Stream as AnthropicStream } from "@anthropic-ai/sdk/streaming";
import { GenerateContentResponse, ApiError as GoogleError } from "@google/genai";
import { APIError as OpenAIError } from "openai";
import { Stream as OpenAIStream } from "openai/streaming";
import { blocks, collect, type Told as Known, type Piece, pieces, wrap } from "../src/index.js";
import { type Exchange, type Loopback, loopback, type Script } from "./loopback.js";
import {
  type Clients,
  CREATE,
  type Cuts,
  clients,
  HELPER,
  type Name,
  readEvents,
  readHelper,
  type Told,
} from "./sdk-readers.js";
import {
  at,
  BEGIN,
  CALL,
  chat,
  chunk,
  GEMINI_USAGE,
  gemini,
  generated,
  HOW,
  type Members,
  messages,
  responses,
  STOP,
  STREAMS,
  says,
  textBlock,
  USAGE,
  USED,
  WHY,
} from "./sdk-streams.js";
import { all, warnings } from "./support.js";

/** All that can be cut is cut, and nothing waits. */
const CUT = { pace: "off", unit: "word" } as const;
const UNITS = ["block", "word"] as const;
/** What hangs is a defect; nothing here takes a second. */
const LIMIT = { timeout: 20_000 };

let server: Loopback;
let direct: Clients;

before(async () => {
  server = await loopback();
  direct = clients(server.url);
});

after(() => server.close());

/** Clients whose responses are paced below the SDK. */
function paced(unit: (typeof UNITS)[number]): Clients {
  return clients(server.url, async (...request) =>
    wrap(await fetch(...request), { pace: "off", unit }),
  );
}

type Through = (stream: AsyncIterable<unknown>) => AsyncIterable<unknown>;
type Read = Told & { cuts: Cuts };

function reading(name: Name, body: string, from = direct, through?: Through): Promise<Read> {
  server.answer(body);
  return readEvents(name, from, through);
}

function helping(name: keyof typeof HELPER, body: string, from = direct): Promise<Read> {
  server.answer(body);
  return readHelper(name, from);
}

function same(again: Read, told: Read, how: string): void {
  assert.deepEqual({ ...again, cuts: undefined }, { ...told, cuts: undefined }, how);
}

/** A stream of the SDK as it gives it. */
function create<N extends Name>(name: N, script: string | Script): ReturnType<(typeof CREATE)[N]> {
  server.answer(script);
  return CREATE[name](direct) as ReturnType<(typeof CREATE)[N]>;
}

for (const own of STREAMS) {
  test(`${own.dialect}: a program tells the same of wrapped events: ${own.name}`, async () => {
    const told = await reading(own.dialect, own.body);
    assert.deepEqual([told.texts, told.error], [own.texts, own.error]);
    for (const unit of UNITS) {
      const through = (stream: AsyncIterable<unknown>) => wrap(stream, { pace: "off", unit });
      const again = await reading(own.dialect, own.body, direct, through);
      same(again, told, unit);
      assert.ok(again.cuts.events > told.cuts.events, "nothing was cut");
    }
  });
  test(`${own.dialect}: with wrap in fetch an SDK tells the same: ${own.name}`, async () => {
    const told = await reading(own.dialect, own.body);
    for (const unit of UNITS) {
      const again = await reading(own.dialect, own.body, paced(unit));
      same(again, told, unit);
      assert.ok(again.cuts.events > told.cuts.events, "nothing was cut");
    }
  });
  if (own.dialect === "gemini") continue;
  const name = own.dialect;
  test(`${name}: with wrap in fetch a helper puts the same together: ${own.name}`, async () => {
    const told = await helping(name, own.body);
    assert.deepEqual(told.texts, own.texts);
    const { answer } = told.final as { answer: unknown };
    for (const [path, value] of Object.entries(own.final ?? {}))
      assert.deepEqual(at(answer, path), value, path);
    for (const unit of UNITS) same(await helping(name, own.body, paced(unit)), told, unit);
  });
}

/** A chat stream with everything in it. */
const CHAT = chat(
  BEGIN,
  says({ reasoning_content: WHY, content: null }),
  says({ reasoning_content: null, content: HOW }),
  says({ tool_calls: [CALL] }),
  chunk([{ finish_reason: "tool_calls" }]),
  USED,
);
const MESSAGES = messages("end_turn", ...textBlock(0, WHY), ...textBlock(1, HOW));
const GEMINI = gemini(
  generated([{ text: WHY, thought: true }]),
  generated([
    { text: HOW },
    { functionCall: { name: "renew", args: {} }, thoughtSignature: "c2ln" },
  ]),
  generated([], { finishReason: "STOP" }, { usageMetadata: GEMINI_USAGE }),
);

/** What a chat stream's deltas say. */
function content(chunks: Members[]): string {
  return chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
}

describe("a stream of an SDK's own class", LIMIT, () => {
  test("comes back as one of the same class, with its controller", async () => {
    const chatStream = await create("openai-chat", CHAT);
    const wrapped = wrap(chatStream, CUT);
    assert.ok(wrapped instanceof OpenAIStream);
    assert.equal(wrapped.controller, chatStream.controller);
    assert.equal(content(await all(wrapped)), HOW);
    const response = await create("openai-responses", responses());
    assert.ok(wrap(response) instanceof OpenAIStream);
    await all(response);
    const message = await create("anthropic", MESSAGES);
    const again = wrap(message, CUT);
    assert.ok(again instanceof AnthropicStream);
    assert.equal(again.controller, message.controller);
    assert.ok((await all(again)).length > (MESSAGES.match(/^data/gm)?.length ?? 0));
  });

  test("is read by the SDK's own tee() in two, both re-cut", async () => {
    const [left, right] = wrap(await create("openai-chat", CHAT), CUT).tee();
    assert.ok(left instanceof OpenAIStream && right instanceof OpenAIStream);
    const [ours, theirs] = await Promise.all([all(left), all(right)]);
    assert.deepEqual(ours, theirs);
    assert.equal(content(ours), HOW);
    assert.ok(ours.length > 10);
  });

  for (const name of ["openai-chat", "anthropic"] as const) {
    test(`goes through toReadableStream() and back: ${name}`, async () => {
      const body = name === "anthropic" ? MESSAGES : CHAT;
      const told = await reading(name, body);
      const again = await reading(name, body, direct, (stream) => {
        const wrapped = wrap(stream as OpenAIStream<unknown>, CUT);
        const Class = wrapped.constructor as typeof OpenAIStream;
        return Class.fromReadableStream(wrapped.toReadableStream(), new AbortController());
      });
      same(again, told, name);
      assert.ok(again.cuts.events > told.cuts.events);
    });
  }

  test("cannot be read twice, as the SDK says itself", async () => {
    const wrapped = wrap(await create("openai-chat", CHAT), CUT);
    for await (const _ of wrapped) break;
    await assert.rejects(all(wrapped), /Cannot iterate over a consumed stream/);
  });

  test("knows what was said besides text", async () => {
    const wrapped = wrap(await create("openai-chat", CHAT), CUT);
    assert.deepEqual([wrapped.usage, wrapped.verdict], [null, null]);
    await all(wrapped);
    assert.deepEqual(wrapped.usage, USAGE);
    assert.deepEqual(
      [wrapped.dialect, wrapped.verdict, wrapped.finish, wrapped.tokens?.output],
      ["openai-chat", "complete", "tool_calls", 57],
    );
    assert.deepEqual(
      wrapped.toolCalls.map(({ name, arguments: json }) => [name, json]),
      [["renew", '{"seconds": 30}']],
    );
    const { dialect, paced, events } = wrapped.stats();
    assert.deepEqual([dialect, paced, events], ["openai-chat", true, 6]);
  });

  test("is paced", async () => {
    const at: number[] = [];
    for await (const _ of wrap(await create("openai-chat", CHAT), { unit: "word" }))
      at.push(performance.now());
    assert.ok(at.at(-1)! - at[0]! > 50, "what came at once left at once");
  });
});

describe("events", LIMIT, () => {
  /** The stream, whose events are kept here, too. */
  function kept<T>(stream: OpenAIStream<T>, events: T[]): OpenAIStream<T> {
    async function* each(): AsyncGenerator<T> {
      for await (const event of stream) {
        events.push(event);
        yield event;
      }
    }
    return new OpenAIStream(each, stream.controller);
  }

  test("that are not re-cut are the SDK's own objects", async () => {
    const given: unknown[] = [];
    const stream = kept(await create("openai-chat", CHAT), given as never[]);
    const out: unknown[] = await all(wrap(stream, CUT));
    const [begin, , , call, stop, used] = given;
    assert.deepEqual(
      [out.indexOf(begin), out.slice(-3).map((event, at) => event === [call, stop, used][at])],
      [0, [true, true, true]],
    );
    const whole: unknown[] = [];
    const again = kept(await create("openai-chat", CHAT), whole as never[]);
    const uncut = await all(wrap(again, { pace: "off", segment: "off" }));
    assert.equal(uncut.length, 6);
    assert.ok(uncut.every((event, at) => event === whole[at]));
  });

  test("that are re-cut leave the SDK's own object as it was", async () => {
    const given: Members[] = [];
    const stream = kept(await create("openai-chat", CHAT), given as never[]);
    await all(wrap(stream, CUT));
    assert.equal(content(given), HOW);
  });

  test("of @google/genai keep their class and its getters", async (t) => {
    // Its getters warn of parts that are no text.
    t.mock.method(console, "warn", () => undefined);
    const out = await all(wrap(await create("gemini", GEMINI), CUT));
    assert.ok(out.length > 10);
    assert.ok(out.every((response) => response instanceof GenerateContentResponse));
    assert.equal(out.map((response) => response.text ?? "").join(""), HOW);
    const calls = out.flatMap((response) => response.functionCalls ?? []);
    assert.deepEqual(calls, [{ name: "renew", args: {} }]);
    // What is no text is said once, by the last part of a response.
    const told = out.filter(({ sdkHttpResponse }) => sdkHttpResponse?.headers?.["content-type"]);
    assert.equal(told.length, 3);
  });

  test("keep members that JSON cannot hold, also where they are frozen", async () => {
    const mark = Symbol("mark");
    class Chunk {
      // biome-ignore lint/suspicious/noExplicitAny: events of all kinds.
      [member: PropertyKey]: any;
      constructor(members: Members) {
        Object.assign(this, members);
      }
      get said(): string {
        return content([this]);
      }
    }
    const day = new Date(0);
    const event = new Chunk({
      ...says({ content: HOW, role: undefined }),
      [mark]: "ours",
      nothing: undefined,
      count: 12n,
      rest: Number.NaN,
      day,
      call: () => "called",
    });
    deepFreeze(event);
    const out: Members[] = await all(wrap([event], CUT));
    assert.ok(out.length > 10);
    for (const copy of out) {
      assert.ok(copy instanceof Chunk);
      assert.deepEqual(
        [copy[mark], copy.count, copy.rest, copy.day],
        ["ours", 12n, Number.NaN, day],
      );
      assert.equal(copy.call(), "called");
      assert.ok("nothing" in copy && "role" in copy.choices[0].delta);
    }
    assert.equal(out.map(({ said }) => said).join(""), HOW);
    assert.equal(event.said, HOW);
  });

  test("keep a bigint where the program says how JSON writes it", async (t) => {
    const prototype = BigInt.prototype as unknown as { toJSON?: () => string };
    prototype.toJSON = function (this: bigint) {
      return String(this);
    };
    t.after(() => delete prototype.toJSON);
    const out: Members[] = await all(wrap([{ ...says({ content: HOW }), count: 12n }], CUT));
    assert.ok(out.length > 10);
    for (const copy of out) assert.equal(copy.count, 12n);
  });

  test("with half a character join it with its other half", async () => {
    const halves = ["One \ud83e", "\udd80 two.", " Three."];
    const body = chat(BEGIN, ...halves.map((text) => says({ content: text })), STOP);
    const out = await all(wrap(await create("openai-chat", body)));
    assert.equal(content(out), "One 🦀 two. Three.");
    assert.ok(out.every((event) => !/\p{Surrogate}/u.test(content([event]))));
  });

  test("with log probabilities pass whole", async () => {
    const token = { token: "a", logprob: -0.5, bytes: [97], top_logprobs: [] };
    const told = chunk([
      { delta: { content: HOW }, logprobs: { content: [token], refusal: null } },
    ]);
    const stream = await create("openai-chat", chat(BEGIN, told, says({ content: WHY }), STOP));
    const whole = (await all(wrap(stream, CUT))).filter((event) => event.choices[0]?.logprobs);
    assert.deepEqual(whole, [told]);
  });
});

describe("what ends early", LIMIT, () => {
  /** More text than anybody waits for, and no end. */
  const ENDLESS: Script = (response) => {
    const event = JSON.stringify(says({ content: HOW }));
    response.write(`data: ${JSON.stringify(BEGIN)}\n\n${`data: ${event}\n\n`.repeat(100)}`);
  };
  const SLOWLY = { pace: "fixed", rate: 1, burst: 1 } as const;

  async function endless(): Promise<{
    exchange: Exchange;
    wrapped: OpenAIStream<unknown> & Known;
  }> {
    const exchange = server.answer(ENDLESS);
    return { exchange, wrapped: wrap(await CREATE["openai-chat"](direct), SLOWLY) };
  }

  test("closes the connection when the loop is left", async () => {
    const { exchange, wrapped } = await endless();
    for await (const _ of wrapped) break;
    assert.equal(await exchange.cut, true);
    assert.equal(wrapped.controller.signal.aborted, true);
  });

  test("closes the connection of @anthropic-ai/sdk when the loop is left", async () => {
    const exchange = server.answer((response) => response.write(MESSAGES.slice(0, -100)));
    for await (const _ of wrap(await CREATE.anthropic(direct))) break;
    assert.equal(await exchange.cut, true);
  });

  test("closes the connection when toReadableStream() is cancelled", async () => {
    const { exchange, wrapped } = await endless();
    const reader = (wrapped.toReadableStream() as ReadableStream).getReader();
    await reader.read();
    await reader.cancel();
    assert.equal(await exchange.cut, true);
  });

  test("ends in silence, and drops what is queued, when its controller aborts", async () => {
    const { exchange, wrapped } = await endless();
    let events = 0;
    for await (const _ of wrapped) {
      events += 1;
      if (events === 3) wrapped.controller.abort();
    }
    assert.equal(events, 3);
    assert.equal(await exchange.cut, true);
  });

  test("ends so also when all has arrived", async () => {
    const stream = await create(
      "openai-chat",
      chat(BEGIN, ...Array(100).fill(says({ content: HOW }))),
    );
    const wrapped = wrap(stream, SLOWLY);
    let isOver = false;
    let text = "";
    for await (const event of wrapped) {
      text += content([event]);
      if (isOver || text === "") continue;
      isOver = true;
      // The source is read on while nobody asks.
      while (wrapped.stats().events < 101) await new Promise((resolve) => setImmediate(resolve));
      wrapped.controller.abort();
    }
    assert.ok(text.length < HOW.length, text);
  });

  test("ends so by the signal of the request, too", async () => {
    const exchange = server.answer(ENDLESS);
    const abort = new AbortController();
    const stream = await direct.openai.chat.completions.create(
      { model: "m", messages: [], stream: true },
      { signal: abort.signal },
    );
    let events = 0;
    for await (const _ of wrap(stream, SLOWLY)) {
      events += 1;
      if (events === 3) abort.abort();
    }
    assert.equal(events, 3);
    assert.equal(await exchange.cut, true);
  });

  test("rejects with the reason of the signal that wrap was given, and closes the connection", async () => {
    const exchange = server.answer(ENDLESS);
    const abort = new AbortController();
    const stream = wrap(await CREATE["openai-chat"](direct), { ...SLOWLY, signal: abort.signal });
    const reason = new Error("the reader left");
    const warned = await warnings(() =>
      assert.rejects(
        async () => {
          for await (const _ of stream) abort.abort(reason);
        },
        (error) => error === reason,
      ),
    );
    assert.deepEqual(warned, []);
    assert.equal(await exchange.cut, true);
  });

  test("rejects with the reason of a signal that the request has as well", async () => {
    const exchange = server.answer(STREAMS.find(({ dialect }) => dialect === "openai-chat")!.body);
    const abort = new AbortController();
    const { signal } = abort;
    const stream = await direct.openai.chat.completions.create(
      { model: "m", messages: [], stream: true },
      { signal },
    );
    // All of it comes: its source can tell of nothing more.
    assert.equal(await exchange.cut, false);
    const reason = new Error("the reader left");
    await assert.rejects(
      async () => {
        for await (const _ of wrap(stream, { ...SLOWLY, signal })) {
          await new Promise((resolve) => setImmediate(resolve));
          abort.abort(reason);
        }
      },
      (error) => error === reason,
    );
  });

  test("rejects as @google/genai does when the request's signal aborts", async () => {
    const exchange = server.answer((response) => response.write(GEMINI));
    const abort = new AbortController();
    const config = { abortSignal: abort.signal };
    const stream = await direct.google.models.generateContentStream({
      model: "m",
      contents: "?",
      config,
    });
    await assert.rejects(
      async () => {
        for await (const _ of wrap(stream, SLOWLY)) abort.abort();
      },
      { name: "AbortError" },
    );
    assert.equal(await exchange.cut, true);
  });

  test("below an SDK closes the connection when the loop is left", async () => {
    const exchange = server.answer(ENDLESS);
    for await (const _ of await CREATE["openai-chat"](paced("word"))) break;
    assert.equal(await exchange.cut, true);
  });

  test("below a helper closes the connection, and drops what is queued, when it is aborted", async () => {
    const exchange = server.answer(ENDLESS);
    const from = clients(server.url, async (...request) => wrap(await fetch(...request), SLOWLY));
    const helper = HELPER["openai-chat"](from);
    let text = "";
    helper.on("content", (delta) => {
      text += delta;
      helper.abort();
    });
    await assert.rejects(helper.done(), { name: "Error", message: "Request was aborted." });
    assert.ok(text.length < HOW.length, text);
    assert.equal(await exchange.cut, true);
  });
});

describe("errors of the SDK", LIMIT, () => {
  const raised = [
    ["openai-chat", OpenAIError, "too busy"],
    ["openai-responses", OpenAIError, "too busy"],
    ["anthropic", AnthropicError, "Overloaded"],
    ["gemini", GoogleError, "too busy"],
  ] as const;
  for (const [name, Class, message] of raised) {
    test(`are its own, and come after the text before them: ${name}`, async () => {
      const own = STREAMS.find(({ dialect, error }) => dialect === name && error !== undefined)!;
      server.answer(own.body);
      let text = "";
      await assert.rejects(
        async () => {
          // Paced: what is queued when the error comes is due at once.
          for await (const piece of pieces(await CREATE[name](direct))) text += piece.text;
        },
        (error) => error instanceof Class && error.message.includes(message),
      );
      assert.equal(text, HOW);
      const told = await reading(name, own.body, direct, (stream) => wrap(stream));
      assert.deepEqual([told.texts, told.error], [own.texts, own.error]);
    });
  }

  for (const name of Object.keys(CREATE) as Name[]) {
    test(`come after the text if the connection breaks: ${name}`, async () => {
      const { body, texts } = STREAMS.find(({ dialect }) => dialect === name)!;
      const broken: Script = (response) => {
        response.write(body.slice(0, body.lastIndexOf("usage")), () => {
          response.socket!.resetAndDestroy();
        });
      };
      const read = (through?: Through): Promise<Read> => {
        server.answer(broken);
        return readEvents(name, direct, through);
      };
      const told = await read();
      assert.ok(told.error, "nothing was raised");
      assert.deepEqual(told.texts, texts);
      same(await read((stream) => wrap(stream)), told, "wrapped");
    });
  }

  test("are told also where they are no events: @google/genai", async () => {
    // A body of errors stands in the stream as it is, in many lines.
    const error = { error: { code: 503, message: "too busy", status: "UNAVAILABLE" } };
    const script: Script = (response) => {
      response.write(gemini(generated([{ text: HOW }])));
      // In a chunk of its own.
      setTimeout(() => response.end(JSON.stringify(error, null, 2)), 20);
    };
    for (const from of [direct, paced("word")]) {
      server.answer(script);
      const told = await readEvents("gemini", from);
      assert.match(told.error ?? "", /^ApiError: .*too busy/);
      assert.deepEqual(told.texts, { "0 text": HOW });
    }
  });

  test("before any text are no sign of a stream that is not known", async () => {
    const body = responses({ type: "error", error: { message: "too busy" } });
    const warned = await warnings(async () => {
      const told = await reading("openai-responses", body, direct, (stream) => wrap(stream));
      assert.equal(told.error, "APIError: too busy");
    });
    assert.deepEqual(warned, []);
  });
});

describe("pieces, blocks and collect", LIMIT, () => {
  const bodies = { "openai-chat": CHAT, anthropic: MESSAGES, gemini: GEMINI } as const;
  const kinds = (found: Piece[], kind: string): string =>
    found.filter((piece) => piece.kind === kind).join("");

  for (const name of Object.keys(bodies) as (keyof typeof bodies)[]) {
    const reasoning = name === "anthropic" ? "" : WHY;
    const output = name === "anthropic" ? WHY + HOW : HOW;
    test(`read an SDK's stream: ${name}`, async () => {
      const read = async <T>(verb: (stream: AsyncIterable<unknown>) => T): Promise<T> =>
        verb(await create(name, bodies[name]));
      for (const found of [
        await all(await read((stream) => pieces(stream, { pace: "off" }))),
        await all(await read((stream) => blocks(stream, { pace: "off" }))),
      ]) {
        assert.equal(kinds(found, "reasoning"), reasoning);
        assert.equal(kinds(found, "output"), output);
      }
      const answer = await read((stream) => collect(stream));
      const { dialect, verdict, tokens } = await answer;
      assert.deepEqual([(await answer).reasoning, (await answer).output], [reasoning, output]);
      assert.deepEqual([dialect, verdict, tokens?.output], [name, "complete", 57]);
    });
  }
});

describe("what is no stream is refused with what to do", LIMIT, () => {
  const refused = (value: unknown, message: RegExp): void => {
    for (const verb of [wrap, pieces, blocks] as ((source: never) => unknown)[])
      assert.throws(() => verb(value as never), { name: "TypeError", message });
  };

  test("helpers that put the answer together", async () => {
    const [messages, input] = [[{ role: "user" as const, content: "?" }], "?"];
    const { openai, anthropic } = direct;
    const helpers = [
      openai.chat.completions.stream({ model: "m", messages }),
      openai.chat.completions.runTools({ model: "m", messages, stream: true, tools: [] }),
      openai.responses.stream({ model: "m", input }),
      anthropic.messages.stream({ model: "m", max_tokens: 9, messages }),
      anthropic.beta.messages.stream({ model: "m", max_tokens: 9, messages }),
    ];
    for (const helper of helpers) {
      // What it is answered is not what this is about.
      server.answer("");
      (helper as EventSource).on("error", () => undefined);
    }
    for (const helper of helpers) {
      const name = helper.constructor.name;
      refused(helper, new RegExp(`a ${name} cannot be wrapped: .* create\\({ stream: true }\\)`));
      refused(helper, /fetch: async \(\.\.\.request\) => wrap\(await fetch\(\.\.\.request\)\)/);
      await helper.done().catch(() => undefined);
    }
  });

  test("promises", async () => {
    for (const name of Object.keys(CREATE) as Name[]) {
      const promise = create(name, "");
      refused(promise, /promise .* await it/);
      await promise;
    }
  });

  test("the pair of a stream and its response", async () => {
    server.answer(CHAT);
    const both = await CREATE["openai-chat"](direct).withResponse();
    refused(both, /give its data/);
    assert.equal(content(await all(wrap(both.data))), HOW);
  });

  test("finished answers", async () => {
    const answers = [
      { id: "c", object: "chat.completion", choices: [] },
      { id: "resp", object: "response", status: "completed", output: [] },
      { id: "msg", type: "message", content: [] },
      Object.assign(new GenerateContentResponse(), { candidates: [] }),
    ];
    for (const answer of answers) refused(answer, /finished answer: ask for a stream/);
  });

  test("but the SDK's raw response is one", async () => {
    server.answer(CHAT);
    const response = await CREATE["openai-chat"](direct).asResponse();
    const wrapped = wrap(response, CUT);
    assert.ok((await wrapped.text()).split("data:").length > CHAT.split("data:").length);
    assert.deepEqual(wrapped.usage, USAGE);
  });
});

const CAPTURES = new URL("../../../../../shared/captures/", import.meta.url);
/** Bytes. Three of four recordings have less, and together a fifth of all. */
const LARGE = process.env.ALL_RECORDINGS ? Number.POSITIVE_INFINITY : 60_000;
const skip = existsSync(CAPTURES) ? false : "the recordings are not here";

/** The recordings of a dialect that are not large. */
function recordings(name: Name): Map<string, string> {
  const found = new Map<string, string>();
  for (const file of readdirSync(new URL(`${name}/`, CAPTURES))) {
    if (!file.endsWith(".sse")) continue;
    const body = readFileSync(new URL(`${name}/${file}`, CAPTURES), "utf8");
    if (body.length < LARGE) found.set(file.replace(".sse", ""), body);
  }
  return found;
}

const NO_ROLE = "missing role for choice 0";
const NO_FINISH = "missing finish_reason for choice";
/** Recordings that a helper cannot read for reasons of its own: what it raises. */
const UNREADABLE: Record<string, Record<string, string>> = {
  "openai-chat": {
    "azure-filter-per-chunk": NO_ROLE,
    "gpustack-qwen3": NO_ROLE,
    "gpustack-qwen3-error-line": NO_FINISH,
    "groq-gpt-oss-web-search": NO_ROLE,
    "litellm-proxy-n2": NO_FINISH,
    "snowflake-thinking-tool": NO_FINISH,
  },
  "openai-responses": {
    // A resumed stream has no beginning.
    "background-starting-after-1": "expected 'response.created' event",
    "genai-no-output-field": "rsp.output is not iterable",
    "multi-output-items": "rsp.output is not iterable",
  },
  anthropic: {
    "duplicate-message-start": "Unexpected event order",
    "legacy-completion-crlf": "without sending any chunks",
    "spliced-message-start": "Unexpected event order",
  },
};

describe("of recorded streams", { skip }, () => {
  for (const name of Object.keys(CREATE) as Name[]) {
    test(`an SDK tells the same, wrapped or with wrap in fetch: ${name}`, async () => {
      for (const [file, body] of recordings(name)) {
        const told = await reading(name, body);
        assert.match(told.error ?? "ApiError", /^ApiError|^APIError/i, file);
        const through: Through = (stream) => wrap(stream, CUT);
        const again = await reading(name, body, direct, through);
        same(again, told, `${file}, wrapped`);
        same(await reading(name, body, paced("word")), told, `${file}, in fetch`);
        // Longer than any word in them.
        if (told.cuts.longest > 40) assert.ok(again.cuts.longest < told.cuts.longest, file);
      }
    });
    if (name === "gemini") continue;
    test(`a helper puts the same together with wrap in fetch: ${name}`, async () => {
      const bodies = recordings(name);
      const unread = { ...UNREADABLE[name] };
      for (const [file, body] of bodies) {
        const told = await helping(name, body);
        same(await helping(name, body, paced("word")), told, file);
        if (told.error?.startsWith("APIError")) continue;
        const reason = unread[file];
        delete unread[file];
        if (reason === undefined) assert.equal(told.error, undefined, file);
        else assert.ok(told.error?.includes(reason), `${file}: ${told.error}`);
      }
      const stale = Object.keys(unread).filter((file) => bodies.has(file));
      assert.deepEqual(stale, [], "the list of what a helper cannot read is stale");
    });
  }
});

interface EventSource {
  on(event: "error", listener: () => void): unknown;
}

function deepFreeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const key of Object.keys(value)) deepFreeze((value as Members)[key]);
}
