/** What a stream amounts to apart from its text, from the library's JSON. */

import type { Dialect, Verdict } from "./names.js";
import { camel } from "./parameters.js";

/** What an answer cost in tokens. `null` is what the provider does not say. */
export interface Tokens {
  /** All of the input, also what was read from a cache or written to one. */
  input: number | null;
  /** Of the input, what was read from a cache. */
  cachedInput: number | null;
  /** Of the input, what was written to a cache. */
  cacheWrite: number | null;
  /** All of the output, reasoning included, whatever the provider's own count holds. */
  output: number | null;
  /** Of the output, the reasoning. May exceed the output by a little: some count in two ways. */
  reasoning: number | null;
  /** Of the output, what is no reasoning; not below 0. */
  visible: number | null;
  /** What it cost, where the provider says so: in 10^-12 dollars. */
  costPicodollars: number | null;
}

/** Who counted tokens of reasoning. */
export type CountSource = "estimate" | "provider" | "usage";

/** By how much reasoning exceeded its limit. */
export interface Exceeded {
  /**
   * Tokens that were delivered: at most one piece above the limit where text is counted as it comes.
   * Of a shared budget, those of all its streams.
   */
  readonly used: number;
  readonly limit: number;
  /**
   * Who counted: `estimate` are we, from the text; `provider` its count while the stream ran; `usage`
   * its final one, when everything had been delivered.
   */
  readonly source: CountSource;
  /** The limit is that of a `Budget`. */
  readonly shared: boolean;
}

/** A tool call, put together. */
export interface ToolCall {
  /** The choice. */
  index: number;
  id: string;
  name: string;
  /** JSON, if the model wrote it well. */
  arguments: string;
  /** Whether the provider sent the arguments as an object and not as text. */
  isObject: boolean;
  complete: boolean;
}

/** The library's own object, with the provider's parts parsed. */
export interface Fields {
  dialect: Dialect | null;
  /** As the provider names it. */
  model: string | null;
  verdict: Verdict | null;
  reason: string | null;
  finish: string | null;
  toolCalls: ToolCall[];
  choices: { index: number; finish: string | null }[];
  /** The provider's own. */
  usage: unknown;
  tokens: Tokens | null;
  reasoningTokens: number | null;
  /** The provider's own. */
  error: unknown;
  restarts: number;
  events: number;
  comments: number;
  repairs: number;
  malformed: number;
  /** Whether this is a stream that decluster reads; null while that cannot be said. */
  recognised: boolean | null;
  exceeded: Exceeded | null;
  /** The silence that ended it. */
  stalledNs: number | null;
}

export function readFields(json: string): Fields {
  const found = named(JSON.parse(json) as Members) as unknown as Fields;
  found.toolCalls = found.toolCalls.map((call) => named(call as unknown as Members) as never);
  if (found.tokens) found.tokens = readTokens(found.tokens as unknown as Members);
  return found;
}

/** The members of `decluster_tokens`, in its order. */
export const TOKENS = [
  "input",
  "cachedInput",
  "cacheWrite",
  "output",
  "reasoning",
  "visible",
  "costPicodollars",
] as const;

/** `sizeof (decluster_tokens)`. */
export const TOKENS_SIZE = 80;

export function readTokens(members: Members): Tokens {
  return named(members) as unknown as Tokens;
}

type Members = Record<string, unknown>;

/** The same in the names of JavaScript. */
export function named(members: Members): Members {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [camel(name), value]));
}
