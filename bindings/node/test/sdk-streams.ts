/** Small streams of four dialects, and what an SDK must tell of each. */

import type { Name } from "./sdk-readers.js";

// biome-ignore lint/suspicious/noExplicitAny: events of all providers, in which tests look for anything.
export type Members = Record<string, any>;

/** A stream, and what it says. */
export interface Own {
  name: string;
  dialect: Name;
  body: string;
  /** All its text, by place. */
  texts: Record<string, string>;
  /** Of what is put together, some members by path. */
  final?: Record<string, unknown>;
  error?: string;
}

export const WHY =
  "The lease ends while the worker still runs. So the job is handed out again, and both write. " +
  "That explains what the log shows.";
export const HOW =
  "Renew the lease from a thread of its own.\n\nOr take a longer one: naïve, but it works 🦀. " +
  "Nothing else has to change.";
export const NO =
  "I cannot help with that. It would delete what others rely on, and nobody could bring it back. " +
  "Ask the one who owns it.";

/** A chunk of a chat stream with these choices. */
export function chunk(choices: Members[], more: Members = {}): Members {
  const told = choices.map(({ delta = {}, ...choice }) => ({
    index: 0,
    finish_reason: null,
    ...choice,
    delta,
  }));
  return {
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: told,
    ...more,
  };
}

/** A chunk whose only choice says this. */
export function says(delta: Members, more: Members = {}): Members {
  return chunk([{ delta }], more);
}

export function chat(...chunks: Members[]): string {
  return [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), "data: [DONE]\n\n"].join(
    "",
  );
}

/** Events with their type as their name. */
function named(events: Members[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

/** A stream of the Responses API: numbered events, the first of them the response's creation. */
export function responses(...events: Members[]): string {
  const created = { type: "response.created", response: RESPONSE };
  return named([created, ...events].map((event, at) => ({ ...event, sequence_number: at })));
}

export function completed(...output: Members[]): Members {
  const response = { ...RESPONSE, status: "completed", output, usage: RESPONSE_USAGE };
  return { type: "response.completed", response };
}

/** An item that is opened, filled and closed. */
export function item(place: number, whole: Members, ...within: Members[]): Members[] {
  const begun = { ...whole };
  for (const list of ["content", "summary"]) if (list in whole) begun[list] = [];
  if ("arguments" in whole) begun.arguments = "";
  return [
    { type: "response.output_item.added", output_index: place, item: begun },
    ...within.map((event) => ({ item_id: whole.id, output_index: place, ...event })),
    { type: "response.output_item.done", output_index: place, item: whole },
  ];
}

/** The events of a part of an item, its text in one delta. */
export function part(type: string, stem: string, text: string, key = "text"): Members[] {
  const at = { content_index: 0 };
  const isOutput = type === "output_text";
  const own = isOutput ? { annotations: [] } : {};
  const more = isOutput ? { logprobs: [] } : {};
  return [
    { type: "response.content_part.added", ...at, part: { type, [key]: "", ...own } },
    { type: `response.${stem}.delta`, ...at, delta: text, ...more },
    { type: `response.${stem}.done`, ...at, [key]: text, ...more },
    { type: "response.content_part.done", ...at, part: { type, [key]: text, ...own } },
  ];
}

function summary(place: number, text: string): Members[] {
  const at = { summary_index: place };
  const stem = "response.reasoning_summary_";
  return [
    { type: `${stem}part.added`, ...at, part: { type: "summary_text", text: "" } },
    { type: `${stem}text.delta`, ...at, delta: text, obfuscation: "xK2" },
    { type: `${stem}text.done`, ...at, text },
    { type: `${stem}part.done`, ...at, part: { type: "summary_text", text } },
  ];
}

function message(content: Members): Members {
  return { type: "message", id: "m", role: "assistant", status: "completed", content: [content] };
}

/** A content block of Anthropic's, opened, filled and closed. */
export function block(index: number, content_block: Members, ...deltas: Members[]): Members[] {
  return [
    { type: "content_block_start", index, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

function thinking(index: number, text: string): Members[] {
  return block(
    index,
    { type: "thinking", thinking: "", signature: "" },
    { type: "thinking_delta", thinking: text },
    { type: "signature_delta", signature: "c2ln" },
  );
}

export function textBlock(index: number, text: string): Members[] {
  return block(index, { type: "text", text: "" }, { type: "text_delta", text });
}

/** A message of Anthropic's; without a reason to stop it is cut short. */
export function messages(stop: string | null, ...events: Members[]): string {
  const begun = {
    type: "message_start",
    message: {
      id: "msg",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  };
  const end = {
    type: "message_delta",
    delta: { stop_reason: stop, stop_sequence: null },
    usage: { output_tokens: 57 },
  };
  const ends = stop === null ? [] : [end, { type: "message_stop" }];
  return named([begun, { type: "ping" }, ...events, ...ends]);
}

/** A response of Gemini's with these parts. */
export function generated(parts: Members[], candidate: Members = {}, more: Members = {}): Members {
  const content = { role: "model", parts };
  return {
    candidates: [{ content, index: 0, ...candidate }],
    modelVersion: "g",
    responseId: "r",
    ...more,
  };
}

export function gemini(...events: Members[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join("");
}

export const USAGE = { prompt_tokens: 9, completion_tokens: 57, total_tokens: 66 };
export const GEMINI_USAGE = {
  promptTokenCount: 9,
  candidatesTokenCount: 26,
  thoughtsTokenCount: 31,
  totalTokenCount: 66,
};
const RESPONSE_USAGE = {
  input_tokens: 9,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 57,
  output_tokens_details: { reasoning_tokens: 31 },
  total_tokens: 66,
};
const RESPONSE: Members = {
  id: "resp",
  object: "response",
  created_at: 1,
  model: "m",
  status: "in_progress",
  output: [],
  parallel_tool_calls: true,
  tool_choice: "auto",
  tools: [],
};
export const BEGIN = says({ role: "assistant", content: "" });
export const STOP = chunk([{ finish_reason: "stop" }]);
export const USED = chunk([], { usage: USAGE });
export const CALL = {
  index: 0,
  id: "call",
  type: "function",
  function: { name: "renew", arguments: '{"seconds": 30}' },
};
const CALLED = {
  type: "function_call",
  id: "fc",
  call_id: "call",
  name: "renew",
  arguments: '{"seconds": 30}',
  status: "completed",
};
export const TEXT = message({ type: "output_text", text: HOW, annotations: [] });
const REFUSAL = message({ type: "refusal", refusal: NO });
const SUMMARY = {
  type: "reasoning",
  id: "rs",
  summary: [WHY, HOW].map((text) => ({ type: "summary_text", text })),
  encrypted_content: "b3BhcXVl",
};
const RAW = {
  type: "reasoning",
  id: "rs",
  summary: [],
  content: [{ type: "reasoning_text", text: WHY }],
};

function fragment(text: string): Members {
  return says({ tool_calls: [{ index: 0, function: { arguments: text } }] });
}

const CHAT: Omit<Own, "dialect">[] = [
  {
    name: "reasoning, then an answer, then usage",
    body: chat(
      BEGIN,
      says({ reasoning_content: WHY, content: null }),
      says({ reasoning_content: null, content: HOW }),
      STOP,
      USED,
    ),
    texts: { "0 reasoning_content": WHY, "0 content": HOW },
    final: { "choices.0.message.content": HOW, "choices.0.finish_reason": "stop", usage: USAGE },
  },
  {
    name: "reasoning said twice, with details and a signature",
    body: chat(
      BEGIN,
      says({
        reasoning: WHY,
        reasoning_details: [{ type: "reasoning.text", text: WHY, index: 0, signature: "c2ln" }],
      }),
      says({ content: HOW }),
      STOP,
    ),
    texts: { "0 reasoning": WHY, "0 details 0 text": WHY, "0 content": HOW },
    final: { "choices.0.message.content": HOW },
  },
  {
    name: "everything in one chunk",
    body: chat(
      BEGIN,
      chunk(
        [
          {
            delta: { reasoning_content: WHY, content: HOW, tool_calls: [CALL] },
            finish_reason: "tool_calls",
            logprobs: { content: null, refusal: null },
            content_filter_results: { hate: { filtered: false, severity: "safe" } },
          },
        ],
        { usage: USAGE },
      ),
    ),
    texts: { "0 reasoning_content": WHY, "0 content": HOW },
    final: {
      "choices.0.message.content": HOW,
      "choices.0.message.tool_calls.0.id": "call",
      "choices.0.message.tool_calls.0.function.arguments": '{"seconds": 30}',
      "choices.0.finish_reason": "tool_calls",
      usage: USAGE,
    },
  },
  {
    name: "two tool calls in fragments after text",
    body: chat(
      BEGIN,
      says({ content: HOW }),
      says({ tool_calls: [{ ...CALL, function: { name: "renew", arguments: "" } }] }),
      fragment('{"seco'),
      fragment('nds": 30}'),
      says({ tool_calls: [{ ...CALL, index: 1, id: "next" }] }),
      chunk([{ finish_reason: "tool_calls" }]),
    ),
    texts: { "0 content": HOW },
    final: {
      "choices.0.message.content": HOW,
      "choices.0.message.tool_calls.0.function.name": "renew",
      "choices.0.message.tool_calls.0.function.arguments": '{"seconds": 30}',
      "choices.0.message.tool_calls.1.id": "next",
      "choices.0.finish_reason": "tool_calls",
    },
  },
  {
    name: "two choices by turns",
    body: chat(
      chunk([{ delta: { role: "assistant", content: WHY.slice(0, 50) } }]),
      chunk([{ index: 1, delta: { role: "assistant", content: HOW.slice(0, 70) } }]),
      says({ content: WHY.slice(50) }),
      chunk([{ index: 1, delta: { content: HOW.slice(70) } }]),
      STOP,
      chunk([{ index: 1, finish_reason: "length" }]),
    ),
    texts: { "0 content": WHY, "1 content": HOW },
    final: {
      "choices.0.message.content": WHY,
      "choices.1.message.content": HOW,
      "choices.1.finish_reason": "length",
    },
  },
  {
    name: "two choices in one chunk",
    body: chat(
      chunk([
        { delta: { role: "assistant", content: WHY } },
        { index: 1, delta: { role: "assistant", content: HOW } },
      ]),
      chunk([{ finish_reason: "stop" }, { index: 1, finish_reason: "length" }]),
    ),
    texts: { "0 content": WHY, "1 content": HOW },
    final: { "choices.0.message.content": WHY, "choices.1.message.content": HOW },
  },
  {
    name: "a refusal",
    body: chat(BEGIN, says({ refusal: NO }), STOP, USED),
    texts: { "0 refusal": NO },
    final: { "choices.0.message.refusal": NO, usage: USAGE },
  },
  {
    name: "usage on every chunk",
    body: chat(
      BEGIN,
      says({ content: WHY }, { usage: { ...USAGE, completion_tokens: 30, total_tokens: 39 } }),
      says({ content: HOW }, { usage: USAGE }),
      chunk([{ finish_reason: "stop" }], { usage: USAGE }),
    ),
    texts: { "0 content": WHY + HOW },
    final: { "choices.0.message.content": WHY + HOW, usage: USAGE },
  },
  {
    name: "an error after text",
    body: chat(BEGIN, says({ content: HOW }), { error: { message: "too busy", code: 503 } }),
    texts: { "0 content": HOW },
    error: "APIError: too busy",
  },
];

const ARGUMENTS = "response.function_call_arguments";
const RESPONSES: Omit<Own, "dialect">[] = [
  {
    name: "an answer after a summary in two parts",
    body: responses(
      ...item(0, SUMMARY, ...summary(0, WHY), ...summary(1, HOW)),
      ...item(1, TEXT, ...part("output_text", "output_text", HOW)),
      completed(SUMMARY, TEXT),
    ),
    texts: {
      "0 0 response.reasoning_summary_text.delta": WHY,
      "0 1 response.reasoning_summary_text.delta": HOW,
      "1 0 response.output_text.delta": HOW,
    },
    final: {
      "output.0.summary.1.text": HOW,
      "output.0.encrypted_content": "b3BhcXVl",
      "output.1.content.0.text": HOW,
      usage: RESPONSE_USAGE,
    },
  },
  {
    name: "raw reasoning, then a tool call",
    body: responses(
      ...item(0, RAW, ...part("reasoning_text", "reasoning_text", WHY)),
      ...item(
        1,
        CALLED,
        { type: `${ARGUMENTS}.delta`, delta: '{"seco' },
        { type: `${ARGUMENTS}.delta`, delta: 'nds": 30}' },
        { type: `${ARGUMENTS}.done`, arguments: '{"seconds": 30}' },
      ),
      completed(RAW, CALLED),
    ),
    texts: { "0 0 response.reasoning_text.delta": WHY },
    final: { "output.0.content.0.text": WHY, "output.1.arguments": '{"seconds": 30}' },
  },
  {
    name: "a refusal",
    body: responses(
      ...item(0, REFUSAL, ...part("refusal", "refusal", NO, "refusal")),
      completed(REFUSAL),
    ),
    texts: { "0 0 response.refusal.delta": NO },
    final: { "output.0.content.0.refusal": NO },
  },
  {
    name: "an error after text",
    body: responses(...item(0, TEXT, ...part("output_text", "output_text", HOW)), {
      type: "error",
      error: { message: "too busy", code: "busy" },
    }),
    texts: { "0 0 response.output_text.delta": HOW },
    error: "APIError: too busy",
  },
];

const ANTHROPIC: Omit<Own, "dialect">[] = [
  {
    name: "thinking, a signature, text and a tool",
    body: messages(
      "tool_use",
      ...thinking(0, WHY),
      ...block(1, { type: "redacted_thinking", data: "b3BhcXVl" }),
      { type: "ping" },
      ...textBlock(2, HOW),
      ...block(
        3,
        { type: "tool_use", id: "call", name: "renew", input: {} },
        { type: "input_json_delta", partial_json: "" },
        { type: "input_json_delta", partial_json: '{"seco' },
        { type: "input_json_delta", partial_json: 'nds": 30}' },
      ),
    ),
    texts: { "0 thinking": WHY, "2 text": HOW },
    final: {
      "content.0.thinking": WHY,
      "content.0.signature": "c2ln",
      "content.1.data": "b3BhcXVl",
      "content.2.text": HOW,
      "content.3.input": { seconds: 30 },
      stop_reason: "tool_use",
      "usage.output_tokens": 57,
    },
  },
  {
    name: "text in two blocks",
    body: messages("refusal", ...textBlock(0, WHY), ...textBlock(1, HOW)),
    texts: { "0 text": WHY, "1 text": HOW },
    final: { "content.0.text": WHY, "content.1.text": HOW, stop_reason: "refusal" },
  },
  {
    name: "an error after text",
    body: messages(null, ...textBlock(0, HOW).slice(0, 2), {
      type: "error",
      error: { type: "overloaded_error", message: "Overloaded" },
    }),
    texts: { "0 text": HOW },
    error: 'APIError: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
  },
];

const FUNCTION_CALL = {
  functionCall: { name: "renew", args: { seconds: 30 } },
  thoughtSignature: "c2ln",
};
const GEMINI: Omit<Own, "dialect">[] = [
  {
    name: "thoughts, an answer, a signature and usage",
    body: gemini(
      generated([{ text: WHY, thought: true }]),
      generated([{ text: HOW }]),
      generated(
        [{ text: "", thoughtSignature: "c2ln" }],
        { finishReason: "STOP" },
        { usageMetadata: GEMINI_USAGE },
      ),
    ),
    texts: { "0 thought": WHY, "0 text": HOW },
  },
  {
    name: "thoughts, an answer and a function call in one chunk",
    body: gemini(
      generated(
        [{ text: WHY, thought: true }, { text: HOW }, FUNCTION_CALL],
        { finishReason: "STOP" },
        { usageMetadata: GEMINI_USAGE },
      ),
    ),
    texts: { "0 thought": WHY, "0 text": HOW },
  },
  {
    name: "a function call in a chunk of its own",
    body: gemini(generated([{ text: HOW }]), generated([FUNCTION_CALL], { finishReason: "STOP" })),
    texts: { "0 text": HOW },
  },
  {
    name: "two candidates",
    body: gemini(
      generated([{ text: WHY }]),
      generated([{ text: HOW }], { index: 1 }),
      generated([], { finishReason: "STOP" }),
      generated([], { index: 1, finishReason: "STOP" }),
    ),
    texts: { "0 text": WHY, "1 text": HOW },
  },
  {
    name: "an error after text",
    body: gemini(generated([{ text: HOW }]), {
      error: { code: 503, message: "too busy", status: "UNAVAILABLE" },
    }),
    texts: { "0 text": HOW },
    error:
      'ApiError: got status: UNAVAILABLE. {"error":{"code":503,"message":"too busy","status":"UNAVAILABLE"}}',
  },
];

export const STREAMS: Own[] = [
  ...CHAT.map((own) => ({ ...own, dialect: "openai-chat" as const })),
  ...RESPONSES.map((own) => ({ ...own, dialect: "openai-responses" as const })),
  ...ANTHROPIC.map((own) => ({ ...own, dialect: "anthropic" as const })),
  ...GEMINI.map((own) => ({ ...own, dialect: "gemini" as const })),
];

/** A member by a dotted path, such as `choices.0.finish_reason`. */
export function at(told: unknown, path: string): unknown {
  let found = told;
  for (const name of path.split(".")) found = (found as Members)[name];
  return found;
}
