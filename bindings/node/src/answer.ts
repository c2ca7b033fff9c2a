/** A stream read to its end. */

import { ReasoningBudgetExceeded } from "./errors.js";
import type { Exceeded, Fields, Tokens, ToolCall } from "./fields.js";
import type { Dialect, Verdict } from "./names.js";
import { type Event, Piece } from "./outputs.js";
import type { Rewriter } from "./rewriter.js";
import type { Stream } from "./stream.js";

/** What one choice says. */
export interface Choice {
  index: number;
  reasoning: string;
  output: string;
  finish: string | null;
}

/** A stream read to its end. `reasoning` and `output` are those of choice 0. */
export interface Answer {
  reasoning: string;
  output: string;
  toolCalls: ToolCall[];
  /** As the provider names it. */
  model: string | null;
  /** The provider's own usage object. */
  usage: unknown;
  /** The usage in one meaning for all providers. */
  tokens: Tokens | null;
  /** As the provider counts them. */
  reasoningTokens: number | null;
  /** The provider's own word for why it stopped. */
  finish: string | null;
  /** How it ended; null where the dialect is not known. */
  verdict: Verdict | null;
  /** Why, where the verdict alone does not tell. */
  reason: string | null;
  /** The first error object in the stream. */
  error: unknown;
  /** By how much the reasoning exceeded its limit; reading stopped there. */
  exceeded: Exceeded | null;
  dialect: Dialect | null;
  choices: Choice[];
  events: number;
  comments: number;
  /** How often the answer began anew within the stream; what came before is not part of it. */
  restarts: number;
  repairs: number;
  malformed: number;
}

export async function collectFrom(
  stream: Stream<Piece | Event>,
  rewriter: Rewriter,
): Promise<Answer> {
  const texts: Texts = new Map();
  const of = (index: number) => {
    let text = texts.get(index);
    if (text === undefined) {
      text = { reasoning: [], output: [] };
      texts.set(index, text);
    }
    return text;
  };
  try {
    for await (const found of stream) {
      if (found instanceof Piece) {
        if (found.text) of(found.index)[found.kind].push(found.text);
      } else if (found.attempt !== undefined) {
        texts.clear();
      } else if (found.index !== undefined) {
        const text = of(found.index);
        text.reasoning = text.reasoning.concat(text.output);
        text.output = [];
      }
    }
  } catch (error) {
    if (error instanceof ReasoningBudgetExceeded) error.answer = answerOf(rewriter, texts);
    throw error;
  }
  return answerOf(rewriter, texts);
}

/** What each choice has said, by its index. */
type Texts = Map<number, { reasoning: string[]; output: string[] }>;

function answerOf(rewriter: Rewriter, texts: Texts): Answer {
  const { recognised: _, stalledNs: __, choices, ...fields } = rewriter.fields();
  const said = choicesOf(choices, texts);
  const first = said.find(({ index }) => index === 0);
  const answer: Answer = {
    ...fields,
    reasoning: first?.reasoning ?? "",
    output: first?.output ?? "",
    choices: said,
  };
  // Bare texts have no dialect, and nothing that says how they ended.
  return rewriter.isText ? { ...answer, dialect: null, verdict: null, reason: null } : answer;
}

function choicesOf(ended: Fields["choices"], texts: Texts): Choice[] {
  const indexes = new Set([...texts.keys(), ...ended.map(({ index }) => index)]);
  return [...indexes]
    .sort((a, b) => a - b)
    .map((index) => ({
      index,
      reasoning: texts.get(index)?.reasoning.join("") ?? "",
      output: texts.get(index)?.output.join("") ?? "",
      finish: ended.find((choice) => choice.index === index)?.finish ?? null,
    }));
}
