/** A transform for the AI SDK, at the place of its own `smoothStream`. */

import { isDeepStrictEqual } from "node:util";
import { ConfigError } from "./errors.js";
import { Flow, now } from "./flow.js";
import { Halves } from "./halves.js";
import { type Machine, Next, TURN_MAX } from "./machine.js";
import { CANCEL, KINDS, OUTPUT, STATUS } from "./names.js";
import {
  AT,
  encode,
  give,
  type Handle,
  isWellFormed,
  long,
  native,
  OUTPUT_SIZE,
  out,
  outText,
} from "./native.js";
import { refuseNoObject, withConfig } from "./parameters.js";
import { Queue } from "./queue.js";
import { refusal } from "./refusal.js";
import type { Settings } from "./settings.js";
import { readStats, type Stats } from "./stats.js";
import { lazyStream } from "./stream.js";
import { pair } from "./transform.js";

/**
 * Stands where the AI SDK's `smoothStream()` does:
 *
 * ```js
 * import { smoothStream } from "decluster";
 * const result = streamText({ model, prompt, experimental_transform: smoothStream() });
 * ```
 *
 * Text and reasoning are re-cut and paced; everything else keeps its place, and provider metadata (a
 * signature) comes once, behind the text that it came with, or behind the last of the deltas that
 * repeat it. A tool call or the end hurries the text before it out within `maxTail`, an abort at
 * once. It takes parts of versions 4 and later, and chunks of UI message streams. What it gives has
 * `stats()`, too: its counters so far.
 *
 * Throws `ConfigError` for a parameter that does not exist or is out of bounds.
 */
export function smoothStream(
  settings: Settings = {},
  // biome-ignore lint/suspicious/noExplicitAny: the AI SDK's types are its own, and change.
): (options?: any) => TransformStream<any, any> & { stats(): Stats } {
  refuseNoObject(settings, "settings");
  const own = { ...settings };
  // What cannot be is said here, not with the first stream.
  open(own).free();
  const idle = IDLE.find((name) => settings[name] != null);
  if (idle !== undefined) {
    throw new ConfigError(
      `${idle} is for wrap(), which reads what the provider sends, not the AI SDK's parts`,
    );
  }
  return () => {
    const parts = open(own);
    const flow = new Flow<unknown>(parts, undefined, undefined);
    const ends = pair<unknown, unknown>(flow, lazyStream(flow, false));
    return { ...ends, stats: () => parts.stats() };
  };
}

/** A part of the AI SDK's streams. */
type Part = Record<string, unknown>;

/** Text parts between two marks are alike but for their text. */
interface Template {
  part: Part;
  field: string;
  /** What they are for the engine. */
  kind: number;
}

function open(settings: Settings): Parts {
  return withConfig(settings, (config) => {
    const { status, handle } = give((to) => native().engine_new(config, now(), to));
    if (status !== STATUS.OK) throw refusal(status, "no engine can be made");
    return new Parts(handle);
  });
}

/** What stands between texts: a part that is no plain text, or what texts look like from there on. */
type Mark = { part: unknown } | { template: Template };

/** What goes into the engine. */
type Input =
  | { text: string; template: Template }
  | { mark: Mark; hurry: boolean }
  | { end: "finish" | "cancel" };

class Parts implements Machine<unknown> {
  #handle: Handle;
  /** The counters when the handle was freed. */
  #stats: Stats | undefined;
  readonly fault = undefined;
  at = 0;
  /** What the last poll found. */
  #found: unknown;
  /** What has not gone in: of this turn, whose texts go in as one, or for want of room. */
  readonly #inputs = new Queue<Input>();
  #isFull = false;
  /** Whether the engine wants input, as the last poll said; undefined since more went in. */
  #wantsInput: boolean | undefined;
  /** What finds room from now on is due at once. */
  #isUnpaced = false;
  /** What the texts that come in look like. */
  #entering: Template | undefined;
  /** The marks that have gone in and not come out. */
  readonly #marks = new Queue<Mark>();
  /** What the last text that went in looked like. */
  #last: Template | undefined;
  /** What the texts that come out look like. */
  #leaving: Template | undefined;
  readonly #halves = new Halves();
  /**
   * What the texts that came in last say besides, as a part without text. Some providers repeat it
   * with every delta: then it comes once, behind the last of them, and cuts no text in between.
   */
  #said: Part | undefined;

  constructor(handle: Handle) {
    this.#handle = handle;
  }

  push(now: number, item: unknown): void {
    const part = item as Part;
    const field = textField(part);
    if (field === undefined) {
      this.#endSaid();
      this.#inputs.push({ mark: { part }, hurry: hurries(part) });
      // Whoever aborts does not wait.
      if (part?.type === "abort") {
        this.#isUnpaced = true;
        this.flush();
      }
      return;
    }
    const template = this.#enter(part, field);
    const said = isPlain(part, field) ? undefined : { ...part, [field]: "" };
    if (this.#said !== undefined && !isDeepStrictEqual(this.#said, said)) this.#endSaid();
    this.#said = said;
    const last = this.#inputs.last();
    const text = part[field] as string;
    if (last === undefined || !("text" in last)) this.#inputs.push({ text, template });
    else {
      last.text += text;
      if (last.text.length > TURN_MAX) this.settle(now);
    }
  }

  settle(now: number): void {
    for (let input = this.#inputs.first(); input !== undefined; input = this.#inputs.first()) {
      try {
        this.#isFull = !this.#goIn(now, input);
      } catch (error) {
        // It would be refused again.
        this.#inputs.shift();
        throw error;
      }
      if (this.#isFull) return;
      this.#inputs.shift();
      this.#wantsInput = undefined;
    }
  }

  finish(now: number): void {
    this.#endSaid();
    this.#inputs.push({ end: "finish" });
    this.settle(now);
  }

  poll(now: number): Next {
    this.settle(now);
    if (this.#isFull && this.#isUnpaced) this.#check(native().engine_flush(this.#handle));
    for (;;) {
      this.#check(native().engine_poll(this.#handle, now, out, OUTPUT_SIZE));
      this.#wantsInput = out[AT.WANTS_INPUT] === 1;
      switch (out[AT.TYPE]) {
        case OUTPUT.WAIT:
          this.at = long(AT.AT);
          return Next.WAIT;
        case OUTPUT.FINISHED:
          return Next.FINISHED;
        case OUTPUT.PIECE: {
          const { part, field } = this.#leaving!;
          this.#found = { ...part, [field]: outText() };
          return Next.READY;
        }
        case OUTPUT.MARK: {
          const mark = this.#marks.shift()!;
          if ("template" in mark) {
            this.#leaving = mark.template;
            continue;
          }
          this.#found = mark.part;
          return Next.READY;
        }
        default:
          return Next.NEED_INPUT;
      }
    }
  }

  take(): unknown {
    return this.#found;
  }

  wantsInput(): boolean {
    if (this.#handle === 0 || this.#isFull) return false;
    this.#wantsInput ??= native().engine_wants_input(this.#handle) === 1;
    return this.#wantsInput;
  }

  flush(): void {
    this.settle(now());
    this.#check(native().engine_flush(this.#handle));
  }

  cancel(how: "flush" | "drop"): void {
    if (how === "drop") {
      this.#inputs.clear();
      this.#check(native().engine_cancel(this.#handle, CANCEL.drop));
    } else {
      this.#isUnpaced = true;
      this.#endSaid();
      this.#inputs.push({ end: "cancel" });
      this.settle(now());
    }
  }

  /** The counters so far. */
  stats(): Stats {
    const { engine_stats, engine_clusters } = native();
    return this.#stats ?? readStats(engine_stats, engine_clusters, this.#handle);
  }

  free(): void {
    if (this.#handle === 0) return;
    this.#stats = this.stats();
    native().engine_free(this.#handle);
    this.#handle = 0;
    this.#marks.clear();
  }

  /** What texts look like that are like this part. */
  #enter(part: Part, field: string): Template {
    const { type, id } = part;
    const before = this.#entering;
    if (before?.field === field && before.part.type === type && before.part.id === id)
      return before;
    const kind = KINDS.indexOf(String(type).startsWith("reasoning") ? "reasoning" : "output");
    const template = { part: "id" in part ? { type, id } : { type }, field, kind };
    this.#endSaid();
    this.#inputs.push({ mark: { template }, hurry: false });
    this.#entering = template;
    return template;
  }

  /** What comes now is other text, or none. */
  #endSaid(): void {
    if (this.#said === undefined) return;
    this.#inputs.push({ mark: { part: this.#said }, hurry: false });
    this.#said = undefined;
  }

  /** Says whether there was room. */
  #goIn(now: number, input: Input): boolean {
    if ("text" in input) return this.#textGoesIn(now, input);
    // The other half of a character can come no more.
    const half = this.#halves.held;
    if (half) {
      const { part, field } = this.#last!;
      if (!this.#markGoesIn(now, { part: { ...part, [field]: half } }, false)) return false;
      this.#halves.rest();
    }
    if ("mark" in input) return this.#markGoesIn(now, input.mark, input.hurry);
    const lib = native();
    if (input.end === "finish") this.#check(lib.engine_finish(this.#handle, now));
    else this.#check(lib.engine_cancel(this.#handle, CANCEL.flush));
    return true;
  }

  #textGoesIn(now: number, input: { text: string; template: Template }): boolean {
    const { part, field, kind } = input.template;
    this.#last = input.template;
    const text = this.#halves.join(input.text);
    let hadRoom = true;
    if (!isWellFormed(text)) {
      // Half a character within a text has no UTF-8: it passes as it is.
      hadRoom = this.#markGoesIn(now, { part: { ...part, [field]: text } }, false);
    } else if (text) {
      const { bytes, length } = encode(text);
      const lib = native();
      hadRoom = this.#hadRoom(lib.engine_push(this.#handle, now, kind, 0, bytes, length, 0));
    }
    // To be tried again as a whole.
    if (!hadRoom) input.text = text + this.#halves.rest();
    return hadRoom;
  }

  #markGoesIn(now: number, mark: Mark, hurry: boolean): boolean {
    const hadRoom = this.#hadRoom(native().engine_mark(this.#handle, now, 0, Number(hurry)));
    if (hadRoom) this.#marks.push(mark);
    return hadRoom;
  }

  #hadRoom(status: number): boolean {
    if (status === STATUS.FULL) return false;
    this.#check(status);
    return true;
  }

  #check(status: number): void {
    if (status !== STATUS.OK) throw refusal(status, native().engine_error(this.#handle));
  }
}

/** Where a part has its text: `text` in version 5 and later, `textDelta` in 4, `delta` in UI messages. */
function textField(part: Part): string | undefined {
  if (part === null || typeof part !== "object" || !TEXTS.has(part.type)) return undefined;
  return FIELDS.find((field) => typeof part[field] === "string" && part[field] !== "");
}

/** Whether a part says nothing but its text. */
function isPlain(part: Part, field: string): boolean {
  for (const key in part) {
    if (key !== "type" && key !== "id" && key !== field && part[key] !== undefined) return false;
  }
  return true;
}

/** Whether the text before this part should not linger: the reader waits for what this part says. */
function hurries(part: Part): boolean {
  const type = part?.type;
  return typeof type === "string" && (type.startsWith("tool-") || ENDS.has(type));
}

const TEXTS: ReadonlySet<unknown> = new Set(["text-delta", "reasoning-delta", "reasoning"]);
const FIELDS = ["text", "textDelta", "delta"];
/** What would do nothing here, or not end the AI SDK's own source. */
const IDLE = [
  "maxReasoningTokens",
  "overBudget",
  "maxSilence",
  "maxChoices",
  "thinkTags",
  "startsInside",
  "thinkReopens",
  "thinkCopies",
] as const;
const ENDS: ReadonlySet<string> = new Set([
  "finish",
  "finish-step",
  "step-finish",
  "error",
  "abort",
]);
