/** The vendors' own SDKs, reading from a server: what they tell of a stream. */

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import type { Members } from "./sdk-streams.js";

export type Name = "openai-chat" | "openai-responses" | "anthropic" | "gemini";

/**
 * What an SDK made of a stream. Two are equal if a program that reads it cannot tell them apart but
 * by where the text was cut.
 */
export interface Told {
  /** All text that came in deltas, by where it belongs. */
  texts: Record<string, string>;
  /** Events without such text, whole and in order. */
  others: unknown[];
  /** What may stand beside text: finish reasons, usage, tool calls, signatures. */
  ends: Record<string, unknown>;
  /** What the SDK itself put together, and said besides. */
  final: unknown;
  /** Class and message of what was raised. */
  error: string | undefined;
}

/** How the text was cut, which may differ. */
export interface Cuts {
  events: number;
  /** Characters of the longest delta. */
  longest: number;
}

export interface Clients {
  openai: OpenAI;
  anthropic: Anthropic;
  google: GoogleGenAI;
}

/** The SDKs' clients; `fetch` is what they are given for it, if anything. */
export function clients(url: string, fetch?: typeof globalThis.fetch): Clients {
  const options = { apiKey: "none", baseURL: url, maxRetries: 0, ...(fetch ? { fetch } : {}) };
  return {
    openai: new OpenAI(options),
    anthropic: new Anthropic(options),
    google: new GoogleGenAI({
      apiKey: "none",
      httpOptions: { baseUrl: url, ...(fetch ? { fetch } : {}) },
    }),
  };
}

const messages = [{ role: "user" as const, content: "?" }];

/** The SDKs' calls that give plain streams of events. */
export const CREATE = {
  "openai-chat": ({ openai }: Clients) =>
    openai.chat.completions.create({ model: "m", messages, stream: true }),
  "openai-responses": ({ openai }: Clients) =>
    openai.responses.create({ model: "m", input: "?", stream: true }),
  anthropic: ({ anthropic }: Clients) =>
    anthropic.messages.create({ model: "m", max_tokens: 9, messages, stream: true }),
  gemini: ({ google }: Clients) =>
    google.models.generateContentStream({ model: "m", contents: "?" }),
};

/** Their helpers, which put the answer together. */
export const HELPER = {
  "openai-chat": ({ openai }: Clients) => openai.chat.completions.stream({ model: "m", messages }),
  "openai-responses": ({ openai }: Clients) => openai.responses.stream({ model: "m", input: "?" }),
  anthropic: ({ anthropic }: Clients) =>
    anthropic.messages.stream({ model: "m", max_tokens: 9, messages }),
};

/** Reads a plain stream to its end, or to where the SDK raises. */
export async function readEvents(
  name: Name,
  clients: Clients,
  through: (stream: AsyncIterable<unknown>) => AsyncIterable<unknown> = (stream) => stream,
): Promise<Told & { cuts: Cuts }> {
  const teller = new Teller();
  try {
    for await (const event of through(await CREATE[name](clients))) teller[name](event as Members);
  } catch (error) {
    teller.raised(error);
  }
  return teller.told();
}

/** Reads by a helper that puts the answer together. */
export async function readHelper(
  name: keyof typeof HELPER,
  clients: Clients,
): Promise<Told & { cuts: Cuts }> {
  const teller = new Teller();
  const said: Record<string, unknown[]> = {};
  const keep = (event: string) => (value: unknown) => {
    said[event] ??= [];
    said[event].push(structuredClone(value));
  };
  /** The text so far, as the last delta had it. */
  const snapshots: Record<string, unknown> = {};
  try {
    let final: () => Promise<unknown>;
    let events: AsyncIterable<unknown>;
    switch (name) {
      case "openai-chat": {
        const helper = HELPER[name](clients);
        helper.on("content.delta", ({ snapshot }) => Object.assign(snapshots, { snapshot }));
        helper.on("refusal.delta", ({ snapshot }) =>
          Object.assign(snapshots, { refusal: snapshot }),
        );
        for (const event of ["content.done", "refusal.done"] as const)
          helper.on(event, keep(event));
        helper.on("tool_calls.function.arguments.done", keep("arguments"));
        events = helper;
        final = async () => withoutOverwritten(await helper.finalChatCompletion());
        break;
      }
      case "openai-responses": {
        const helper = HELPER[name](clients);
        helper.on("response.output_text.delta", ({ output_index, content_index, snapshot }) => {
          snapshots[`${output_index} ${content_index}`] = snapshot;
        });
        events = helper;
        final = () => helper.finalResponse();
        break;
      }
      case "anthropic": {
        const helper = HELPER[name](clients);
        helper.on("text", (_, snapshot) => Object.assign(snapshots, { snapshot }));
        helper.on("thinking", (_, snapshot) => Object.assign(snapshots, { thinking: snapshot }));
        for (const event of ["signature", "contentBlock", "message"] as const)
          helper.on(event, keep(event));
        events = helper;
        final = () => helper.finalMessage();
      }
    }
    for await (const event of events) teller[name](event as Members);
    teller.final = { said, snapshots, answer: JSON.parse(JSON.stringify(await final())) };
  } catch (error) {
    teller.raised(error);
    teller.final = { said, snapshots };
  }
  return teller.told();
}

/**
 * A completion without what the helper does not join: of members that it does not know, such as
 * `reasoning_content`, the last delta's overwrites all before.
 */
function withoutOverwritten(completion: Members): unknown {
  const choices = completion.choices.map((choice: Members) => {
    const { role, content, refusal, tool_calls, parsed } = choice.message;
    return { ...choice, message: { role, content, refusal, tool_calls, parsed } };
  });
  return { ...completion, choices };
}

class Teller {
  readonly #told: Told = { texts: {}, others: [], ends: {}, final: undefined, error: undefined };
  readonly #cuts: Cuts = { events: 0, longest: 0 };

  set final(final: unknown) {
    this.#told.final = final;
  }

  raised(error: unknown): void {
    const raised = error as Error;
    this.#told.error = `${raised.constructor.name}: ${raised.message}`;
  }

  told(): Told & { cuts: Cuts } {
    return { ...this.#told, cuts: this.#cuts };
  }

  "openai-chat"(chunk: Members): void {
    let isText = false;
    for (const { index, delta, finish_reason, logprobs } of chunk.choices ?? []) {
      if (finish_reason != null) this.#end(`${index} finish_reason`, finish_reason);
      for (const token of logprobs?.content ?? []) this.#more(`${index} logprobs`, token);
      if (delta == null) continue;
      if (delta.role) this.#end(`${index} role`, delta.role);
      for (const call of delta.tool_calls ?? []) this.#more(`${index} tool_calls`, call);
      for (const field of CHAT_TEXTS)
        isText = this.#text(`${index} ${field}`, delta[field]) || isText;
      for (const entry of delta.reasoning_details ?? []) {
        const place = `${index} details ${entry.index}`;
        for (const field of ["text", "summary"])
          isText = this.#text(`${place} ${field}`, entry[field]) || isText;
        for (const field of ["signature", "data"])
          if (entry[field]) this.#more(`${place} ${field}`, entry[field]);
      }
    }
    if (chunk.usage != null) this.#end("usage", chunk.usage);
    this.#event(isText, chunk);
  }

  "openai-responses"(event: Members): void {
    let isText = false;
    if (RESPONSES_TEXTS.test(event.type)) {
      const part = event.content_index ?? event.summary_index;
      const place = `${event.output_index} ${part} ${event.type}`;
      isText = this.#text(place, event.delta);
      if (isText) for (const token of event.logprobs ?? []) this.#more(`${place} logprobs`, token);
    }
    this.#event(isText, event);
  }

  anthropic(event: Members): void {
    let isText = false;
    if (event.type === "content_block_delta") {
      for (const field of ["text", "thinking"])
        isText = this.#text(`${event.index} ${field}`, event.delta[field]) || isText;
    } else if (event.type === "completion" && event.stop_reason == null) {
      // The events before Messages, which the SDK passes on.
      isText = this.#text("completion", event.completion);
    }
    this.#event(isText, event);
  }

  gemini(response: Members): void {
    let isText = false;
    for (const { index = 0, content, finishReason } of response.candidates ?? []) {
      if (finishReason != null) this.#end(`${index} finishReason`, finishReason);
      for (const { text, thought, ...part } of content?.parts ?? []) {
        isText = this.#text(`${index} ${thought ? "thought" : "text"}`, text) || isText;
        if (Object.keys(part).length > 0) this.#more(`${index} parts`, part);
      }
    }
    for (const field of ["usageMetadata", "responseId", "modelVersion", "sdkHttpResponse"])
      if (response[field] != null) this.#end(field, response[field]);
    this.#event(isText, response);
  }

  #text(place: string, text: unknown): boolean {
    if (typeof text !== "string" || text === "") return false;
    this.#told.texts[place] = (this.#told.texts[place] ?? "") + text;
    this.#cuts.longest = Math.max(this.#cuts.longest, text.length);
    return true;
  }

  #end(place: string, value: unknown): void {
    this.#told.ends[place] = structuredClone(value);
  }

  /** One more of what comes in parts that are no text. */
  #more(place: string, value: unknown): void {
    this.#told.ends[place] ??= [];
    (this.#told.ends[place] as unknown[]).push(structuredClone(value));
  }

  #event(isText: boolean, event: Members): void {
    this.#cuts.events += 1;
    // As it is now: helpers go on to write into what they were given.
    if (!isText) this.#told.others.push(JSON.parse(JSON.stringify(event)));
  }
}

const CHAT_TEXTS = [
  "content",
  "refusal",
  "reasoning_content",
  "reasoning",
  "reasoning_text",
  "thinking",
];
const RESPONSES_TEXTS =
  /^response\.(output_text|refusal|reasoning_text|reasoning_summary_text|reasoning|reasoning_summary)\.delta$/;
