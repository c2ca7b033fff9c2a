/** A transform for the AI SDK, at the place of its own `smoothStream`. */

import { ConfigError } from "./errors.js";
import { Flow, now } from "./flow.js";
import { Halves } from "./halves.js";
import { type Machine, Next } from "./machine.js";
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
import { withConfig } from "./parameters.js";
import { Queue } from "./queue.js";
import { refusal } from "./refusal.js";
import type { Settings } from "./settings.js";
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
 * signature) comes once, behind the text that it came with. A tool call or the end hurries the text
 * before it out within `maxTail`. It takes parts of versions 4 and later, and chunks of UI message
 * streams.
 *
 * Throws `ConfigError` for a parameter that does not exist or is out of bounds.
 */
export function smoothStream(
  settings: Settings = {},
  // biome-ignore lint/suspicious/noExplicitAny: the AI SDK's types are its own, and change.
): (options?: any) => TransformStream<any, any> {
  if (settings.maxReasoningTokens != null) {
    throw new ConfigError(
      "maxReasoningTokens is for wrap(): it cannot end the AI SDK's own source",
    );
  }
  const own = { ...settings };
  // What cannot be is said here, not with the first stream.
  open(own).free();
  return () => {
    const flow = new Flow<unknown>(open(own), undefined, undefined);
    return pair<unknown, unknown>(flow, lazyStream(flow, false));
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

class Parts implements Machine<unknown> {
  #handle: Handle;
  readonly isFaulty = false;
  at = 0;
  /** What the last poll found. */
  #found: unknown;
  /** The texts of this turn: a burst is one delta. */
  #text = "";
  /** For each mark under way: a part that is no plain text, or what texts look like from there. */
  readonly #marks = new Queue<{ part?: unknown; template?: Template }>();
  /** What the texts that go in look like. */
  #entering: Template | undefined;
  /** What those that come out look like. */
  #leaving: Template | undefined;
  readonly #halves = new Halves();

  constructor(handle: Handle) {
    this.#handle = handle;
  }

  push(now: number, item: unknown): void {
    const part = item as Part;
    const field = textField(part);
    if (field === undefined) {
      this.#endText(now);
      this.#mark(now, { part }, hurries(part));
      return;
    }
    this.#enter(now, part, field);
    this.#text += part[field] as string;
    if (this.#text.length > TURN_MAX) this.settle(now);
    if (!isPlain(part, field)) {
      this.#endText(now);
      this.#mark(now, { part: { ...part, [field]: "" } }, false);
    }
  }

  settle(now: number): void {
    if (this.#text === "") return;
    const { part, field, kind } = this.#entering!;
    const text = this.#halves.join(this.#text);
    // Also if it is refused: it would be again.
    this.#text = "";
    if (!isWellFormed(text)) {
      // Half a character within a text has no UTF-8: it passes as it is.
      this.#mark(now, { part: { ...part, [field]: text } }, false);
    } else if (text) {
      const { bytes, length } = encode(text);
      this.#check(native().engine_push(this.#handle, now, kind, 0, bytes, length, 0));
    }
  }

  finish(now: number): void {
    this.#endText(now);
    this.#check(native().engine_finish(this.#handle, now));
  }

  poll(now: number): Next {
    this.settle(now);
    for (;;) {
      this.#check(native().engine_poll(this.#handle, now, out, OUTPUT_SIZE));
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
          const { part, template } = this.#marks.shift()!;
          if (template !== undefined) {
            this.#leaving = template;
            continue;
          }
          this.#found = part;
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
    return this.#handle !== 0 && native().engine_wants_input(this.#handle) === 1;
  }

  flush(): void {
    this.settle(now());
    this.#check(native().engine_flush(this.#handle));
  }

  cancel(how: "flush" | "drop"): void {
    if (how === "drop") this.#text = "";
    else this.#endText(now());
    this.#check(native().engine_cancel(this.#handle, CANCEL[how]));
  }

  takeFault(): undefined {
    return undefined;
  }

  free(): void {
    if (this.#handle === 0) return;
    native().engine_free(this.#handle);
    this.#handle = 0;
    this.#marks.clear();
  }

  /** Texts from here on look like this part. */
  #enter(now: number, part: Part, field: string): void {
    const entering = this.#entering;
    if (
      entering?.field === field &&
      entering.part.type === part.type &&
      entering.part.id === part.id
    ) {
      return;
    }
    this.#endText(now);
    const plain: Part = { type: part.type };
    if ("id" in part) plain.id = part.id;
    const kind = KINDS.indexOf(String(part.type).startsWith("reasoning") ? "reasoning" : "output");
    this.#entering = { part: plain, field, kind };
    this.#mark(now, { template: this.#entering }, false);
  }

  /** What comes now is other text, or none. */
  #endText(now: number): void {
    if (this.#entering === undefined) return;
    this.settle(now);
    const half = this.#halves.rest();
    if (half) {
      const { part, field } = this.#entering;
      this.#mark(now, { part: { ...part, [field]: half } }, false);
    }
  }

  #mark(now: number, mark: { part?: unknown; template?: Template }, hurry: boolean): void {
    this.#check(native().engine_mark(this.#handle, now, 0, Number(hurry)));
    this.#marks.push(mark);
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
function hurries({ type }: Part): boolean {
  return typeof type === "string" && (type.startsWith("tool-") || ENDS.has(type));
}

/** UTF-16 units that may wait for the end of a turn: so many that joining more would gain nothing. */
const TURN_MAX = 4096;
const TEXTS: ReadonlySet<unknown> = new Set(["text-delta", "reasoning-delta", "reasoning"]);
const FIELDS = ["text", "textDelta", "delta"];
const ENDS: ReadonlySet<string> = new Set([
  "finish",
  "finish-step",
  "step-finish",
  "error",
  "abort",
]);
