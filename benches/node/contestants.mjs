// Who is compared: what lies between a source of deltas and a reader.
//
// There are two places for it. One is that of the AI SDK's `experimental_transform`, a transform of
// its text stream parts between web streams. The other is between two async iterables. `ai` is made
// for the first, the smoother of @librechat/agents for the second, and the smoother can be put into
// the first by an async generator before it and a web stream behind. decluster has something of its
// own for both.
//
// The smoother's file is imported by path. Its package's root exports the same function, but loads
// LangChain and OpenTelemetry with it. The file itself needs nothing, so package.json overrides all
// dependencies of that package by one that is small and here anyway; this is in the smoother's
// favour, too: its process is smaller.

import { smoothStream as ai } from "ai";
import { smoothStream as decluster, pieces } from "../../bindings/node/dist/index.js";
import { smoothStream as librechat } from "./node_modules/@librechat/agents/dist/esm/llm/stream/smoother.mjs";

/** Its default, which its callers put in before they call it. */
const LIBRECHAT_MS = 25;

const START = { type: "text-start", id: "0" };
const END = { type: "text-end", id: "0" };
const delta = (text) => ({ type: "text-delta", id: "0", text });

/** Opens a stream: `push` a delta, `end` it, and `read` what comes out until it is at its end. */
function piped(through) {
  let controller;
  const parts = new ReadableStream({
    start(given) {
      controller = given;
    },
  });
  controller.enqueue(START);
  const output = through(parts);
  return {
    push: (text) => controller.enqueue(delta(text)),
    end() {
      controller.enqueue(END);
      controller.close();
    },
    async read(take) {
      const reader = output.getReader();
      for (let next = await reader.read(); !next.done; next = await reader.read()) take(next.value);
    },
  };
}

/** The same with an async generator of texts before it, read by `for await`. */
function generated(through) {
  let waiting = [];
  let ended = false;
  let wake = () => {};
  async function* texts() {
    while (waiting.length > 0 || !ended) {
      if (waiting.length === 0) {
        await new Promise((resolve) => {
          wake = resolve;
        });
      }
      const came = waiting;
      waiting = [];
      yield* came;
    }
  }
  const output = through(texts());
  return {
    push(text) {
      waiting.push(text);
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    async read(take) {
      for await (const out of output) take(out);
    },
  };
}

/** What its users write: items that say how to make what comes out of a text or of a piece of it. */
async function* textItems(texts) {
  const emit = ({ text }) => ({ text });
  for await (const text of texts) yield { text, smooth: true, emit };
}

async function* partItems(parts) {
  for await (const part of parts) {
    const smooth = part.type === "text-delta";
    yield {
      text: part.text ?? "",
      smooth,
      emit: ({ text }) => (smooth ? { ...part, text } : part),
    };
  }
}

const transform = (made) => () => piped((parts) => parts.pipeThrough(made({ tools: {} })));

/** In the place of a transform of the AI SDK; the first does nothing. */
export const transforms = {
  "identity transform": transform(() => new TransformStream()),
  "ai, delay null": transform(ai({ delayInMs: null })),
  "ai, 10 ms": transform(ai()),
  "librechat, 25 ms": () =>
    piped((parts) =>
      ReadableStream.from(librechat({ source: partItems(parts), delayMs: LIBRECHAT_MS })),
    ),
  decluster: transform(decluster()),
  "decluster, word": transform(decluster({ unit: "word" })),
};

/** Between async iterables; the first does nothing. */
export const iterables = {
  "async generator": () =>
    generated(async function* (texts) {
      for await (const text of texts) yield { text };
    }),
  "librechat, 25 ms": () =>
    generated((texts) => librechat({ source: textItems(texts), delayMs: LIBRECHAT_MS })),
  decluster: () => generated((texts) => pieces(texts, { framing: "text" })),
  "decluster, word": () => generated((texts) => pieces(texts, { framing: "text", unit: "word" })),
};

/** Whoever does nothing at all. */
export const direct = () => piped((parts) => parts);
