/** Small streams of several dialects, with what a right decoder gets from them. */

import { type Capture, type Digest, type Expectation, sha256 } from "./vectors.js";

const REASONING = [
  "The counter is read before the lock is taken, so two workers",
  " see the same value. Wait, th",
  "at is only half of it: the second write wins. So a job is lost,",
  " not doubled.\n\n",
];
const OUTPUT = [
  "Take the lock first. Then read, add, and write — in that",
  " order.\n\n- Naïve 🦀 code",
  " fails 👩‍👩‍👧‍👦, wor",
  "ds are cut",
  " anywhere: 今日は良い天気です。明日も。",
];
const ARGUMENTS = ['{"city": "Łó', 'dź", "days": 3}'];

export function digest(text: string): Digest {
  return { sha256: sha256(text), chars: [...text].length };
}

const BASE = {
  comments: 0,
  reasoning: digest(REASONING.join("")),
  output: digest(OUTPUT.join("")),
  reasoning_tokens: null,
  usage: null,
  finish: null,
  terminated: true,
  tool_calls: 0,
  tools: [],
  error: null,
};
const CALLED = {
  tool_calls: 1,
  tools: [{ name: "weather", arguments: digest(ARGUMENTS.join("")) }],
};

function made(
  name: string,
  extension: Capture["extension"],
  text: string,
  expect: Partial<Expectation> & Pick<Expectation, "dialect" | "events">,
): Capture {
  const all = { ...BASE, ...expect };
  return { name, extension, data: Buffer.from(text), expect: all, lengths: undefined };
}

function chunk(delta: object, finish: string | null = null, index = 0): string {
  const choices = [{ index, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices })}\n\n`;
}

const thought = REASONING.map((text) => chunk({ reasoning_content: text }));
const said = OUTPUT.map((text) => chunk({ content: text }));

function chat(): Capture {
  const call = { index: 0, id: "call", type: "function" };
  const usage = {
    prompt_tokens: 12,
    completion_tokens: 90,
    completion_tokens_details: { reasoning_tokens: 40 },
  };
  const events = [
    chunk({ role: "assistant", content: "" }),
    ...thought,
    ...said,
    chunk({ tool_calls: [{ ...call, function: { name: "weather", arguments: "" } }] }),
    ...ARGUMENTS.map((text) =>
      chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
    ),
    chunk({}, "tool_calls"),
    `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
    "data: [DONE]\n\n",
  ];
  return made("chat", "sse", `: keep-alive\n\n${events.join("")}`, {
    dialect: "openai-chat",
    events: events.length,
    comments: 1,
    reasoning_tokens: 40,
    usage,
    finish: "tool_calls",
    ...CALLED,
  });
}

function twoChoices(): Capture {
  const events = OUTPUT.flatMap((text, at) => [
    chunk({ content: text }, null, 0),
    chunk({ content: REASONING[at % REASONING.length]! }, null, 1),
  ]);
  events.push(chunk({}, "stop", 0), chunk({}, "length", 1), "data: [DONE]\n\n");
  const second = OUTPUT.map((_, at) => REASONING[at % REASONING.length]!).join("");
  const nothing = digest("");
  return made("two-choices", "sse", events.join(""), {
    dialect: "openai-chat",
    events: events.length,
    reasoning: nothing,
    finish: "stop",
    by_choice: {
      0: { reasoning: nothing, output: BASE.output, finish: "stop", tool_calls: 0 },
      1: { reasoning: nothing, output: digest(second), finish: "length", tool_calls: 0 },
    },
  });
}

function cutShort(): Capture {
  const events = [...thought, ...said];
  // The last event has no blank line behind it, so it is none.
  const lost = chunk({ content: " And so" }).trimEnd();
  return made("cut-short", "sse", events.join("") + lost.slice(0, -9), {
    dialect: "openai-chat",
    events: events.length,
    terminated: false,
  });
}

function failed(): Capture {
  const error = { message: "The server had an error", type: "server_error", code: 500 };
  const events = [...thought, ...said, `data: ${JSON.stringify({ error })}\n\n`];
  return made("failed", "sse", events.join(""), {
    dialect: "openai-chat",
    events: events.length,
    terminated: false,
    error,
  });
}

/** The opening tag stood in the prompt: that all of it was reasoning is known at the closing one. */
function closed(): Capture {
  const texts = [...REASONING.slice(0, -1), " not doubled.</th", "ink>", ...OUTPUT];
  const events = [...texts.map((content) => chunk({ content })), chunk({}, "stop")];
  return made("closed", "sse", events.join(""), {
    dialect: "openai-chat",
    events: events.length,
    reasoning: digest(`${REASONING.slice(0, -1).join("")} not doubled.`),
    content_raw: digest(texts.join("")),
    finish: "stop",
  });
}

function anthropic(): Capture {
  const part = (index: number, delta: object) => ({ type: "content_block_delta", index, delta });
  const begin = (index: number, content_block: object) => ({
    type: "content_block_start",
    index,
    content_block,
  });
  const end = (index: number) => ({ type: "content_block_stop", index });
  const message = { type: "message", role: "assistant", content: [], model: "m" };
  const start = (id: string) => ({
    type: "message_start",
    message: { ...message, id, usage: { input_tokens: 9, output_tokens: 1 } },
  });
  const events: { type: string }[] = [
    // The answer begins anew: what came before is void.
    start("first"),
    begin(0, { type: "text", text: "" }),
    part(0, { type: "text_delta", text: "No, it is the other way round. " }),
    start("second"),
    { type: "ping" },
    begin(0, { type: "thinking", thinking: "", signature: "" }),
    ...REASONING.map((text) => part(0, { type: "thinking_delta", thinking: text })),
    part(0, { type: "signature_delta", signature: "c2lnbmVk" }),
    end(0),
    begin(1, { type: "text", text: "" }),
    ...OUTPUT.map((text) => part(1, { type: "text_delta", text })),
    end(1),
    begin(2, { type: "tool_use", id: "t", name: "weather", input: {} }),
    ...ARGUMENTS.map((text) => part(2, { type: "input_json_delta", partial_json: text })),
    end(2),
    {
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { output_tokens: 80 },
    } as { type: string },
    { type: "message_stop" },
  ];
  const text = events.map(
    (event) => `event: ${event.type}\r\ndata: ${JSON.stringify(event)}\r\n\r\n`,
  );
  return made("anthropic", "sse", text.join(""), {
    dialect: "anthropic",
    events: events.length,
    usage: { input_tokens: 9, output_tokens: 80 },
    finish: "tool_use",
    restarted: true,
    ...CALLED,
  });
}

function gemini(): Capture {
  const parts = [
    ...REASONING.map((text) => ({ text, thought: true })),
    ...OUTPUT.map((text) => ({ text })),
    { functionCall: { name: "weather", args: { days: 3, city: "Łódź" } } },
  ];
  const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 50, thoughtsTokenCount: 40 };
  const events = parts.map((part, at) => {
    const content = { parts: [part], role: "model" };
    const isLast = at === parts.length - 1;
    return isLast
      ? { candidates: [{ content, index: 0, finishReason: "STOP" }], usageMetadata }
      : { candidates: [{ content, index: 0 }] };
  });
  const text = `[${events.map((event) => JSON.stringify(event, null, 2)).join("\n,\r\n")}\n]`;
  // With sorted keys and in ASCII, as an expectation writes what came as an object.
  const written = '{"city": "\\u0141\\u00f3d\\u017a", "days": 3}';
  return made("gemini-array", "json", text, {
    dialect: "gemini",
    events: events.length,
    reasoning_tokens: 40,
    usage: usageMetadata,
    finish: "STOP",
    tool_calls: 1,
    tools: [{ name: "weather", arguments: digest(written) }],
  });
}

function ollama(): Capture {
  const line = (message: object, more: object = { done: false }) =>
    `${JSON.stringify({ model: "m", message: { role: "assistant", ...message }, ...more })}\n`;
  const counts = { prompt_eval_count: 7, eval_count: 70 };
  const lines = [
    ...REASONING.map((thinking) => line({ content: "", thinking })),
    ...OUTPUT.map((content) => line({ content })),
    line({ content: "" }, { done: true, done_reason: "stop", ...counts }),
  ];
  return made("ollama", "ndjson", lines.join(""), {
    dialect: "ollama",
    events: lines.length,
    usage: counts,
    finish: "stop",
  });
}

export const OWN: Capture[] = [
  chat(),
  twoChoices(),
  cutShort(),
  failed(),
  closed(),
  anthropic(),
  gemini(),
  ollama(),
];
