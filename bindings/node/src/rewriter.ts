/** A stream of a provider in the engine: what goes in, what comes out, what is known of it. */

import { types } from "node:util";
import type { Budget } from "./budget.js";
import { ConfigError, ProviderError, ReasoningBudgetExceeded, Stalled } from "./errors.js";
import { changed, dump } from "./events.js";
import { type Exceeded, type Fields, readFields } from "./fields.js";
import { now } from "./flow.js";
import { Halves } from "./halves.js";
import type { Account } from "./ledger.js";
import { Lines } from "./lines.js";
import { type Machine, Next, TURN_MAX } from "./machine.js";
import { count } from "./metrics.js";
import { CANCEL, DIALECTS, type Dialect, FRAMING, MODE, OUTPUT, STATUS } from "./names.js";
import {
  AT,
  encode,
  give,
  given,
  type Handle,
  long,
  native,
  OUTPUT_SIZE,
  out,
  outBytes,
  outName,
  outText,
} from "./native.js";
import { Event, Piece } from "./outputs.js";
import { withConfig } from "./parameters.js";
import { Queue } from "./queue.js";
import { refusal } from "./refusal.js";
import type { Settings } from "./settings.js";
import { readStats, type Stats } from "./stats.js";
import type { Watch } from "./watch.js";

/** How the items of a source stand to the stream's bytes; `text` are bare texts, of no provider. */
export type Framing = "lines" | "bytes" | "text";

/** What comes out: the stream again, its pieces, or these and what is not text. */
export type Mode = "stream" | "pieces" | "pieces+events";

export interface How {
  mode: Mode;
  framing: Framing | undefined;
  dialect: Dialect | undefined;
  settings: Settings;
  /** Who warns of it. */
  watch: Watch | undefined;
  /** What it shares with other streams. */
  budget?: Budget | undefined;
  /** Where it is entered once it is over. */
  account?: Account | undefined;
  /** Whether it counts in the sums of all streams. */
  isCounted?: boolean;
}

/** What kind of items a source gives. */
type Kind = "text" | "bytes" | "events";

export class Rewriter implements Machine<unknown> {
  #handle: Handle;
  readonly #mode: Mode;
  readonly #framing: Framing | undefined;
  #kind: Kind | undefined;
  /** Whether bytes come as Buffers, which are texts where others are lists of numbers. */
  #hasBuffers = false;
  readonly #watch: Watch | undefined;
  readonly #account: Account | undefined;
  readonly #isCounted: boolean;
  readonly #halves = new Halves();
  /** The bare texts of this turn: a burst is one delta. */
  #text = "";
  readonly #ready = new Queue<unknown>();
  /** What the stream's lines are cut into, once it is known that it comes in lines. */
  #lines: Lines | undefined;
  #framingKnown: boolean;
  /** Of lines that were named so: whether they come with their ends. */
  #hasEnds: boolean | undefined;
  /** Events that were pushed and may still come out, by their numbers. */
  readonly #events = new Map<number, unknown>();
  #pushed = 0;
  #isDropped = false;
  #done = 0;
  fault: Error | undefined;
  at = 0;
  /** What was known when the handle was freed. */
  #last: { stats: Stats; fields: Fields } | undefined;
  /** Why nothing was known then: the library has failed. */
  #unknown: unknown;

  constructor(now: number, how: How) {
    const { mode, framing, dialect, settings, watch, budget } = how;
    const number = dialect === undefined ? 0 : DIALECTS.indexOf(dialect);
    if (number < 0) {
      const known = DIALECTS.slice(1).join(", ");
      throw new ConfigError(`dialect is one of ${known}, not ${String(dialect)}`);
    }
    if (framing !== undefined && !["lines", "bytes", "text"].includes(framing)) {
      throw new ConfigError(`framing is lines, bytes or text, not ${String(framing)}`);
    }
    this.#mode = mode;
    this.#account = how.account;
    this.#isCounted = how.isCounted ?? false;
    this.#framing = framing;
    this.#framingKnown = framing === "bytes" || mode !== "stream";
    // Bare texts come out as texts, and every character stays.
    const isText = framing === "text";
    this.#watch = isText ? undefined : watch;
    const as = isText && mode === "stream" ? MODE.PIECES : MODES[mode];
    const all: Settings = isText ? { ...settings, thinkTags: "off" } : settings;
    this.#handle = withConfig(all, (config) => {
      const { status, handle } = give((to) => native().rewriter_new(config, number, as, now, to));
      if (status !== STATUS.OK) throw refusal(status, CONFLICT);
      return handle;
    });
    // It refuses none that is new.
    budget?.share(this.#handle);
  }

  push(now: number, item: unknown): void {
    if (typeof item === "string") this.#pushText(now, item);
    // Each realm has classes of its own, as in test runners: `instanceof` knows but one.
    else if (types.isUint8Array(item)) this.#pushBytes(now, item);
    else if (types.isArrayBuffer(item)) this.#pushBytes(now, new Uint8Array(item));
    else this.#pushEvent(now, item);
  }

  settle(now: number): void {
    // Other items go in at once: only the library knows what is in them.
    if (this.#text === "") return;
    const text = this.#halves.join(this.#text);
    this.#text = "";
    if (text) this.#pushJson(now, "", JSON.stringify(textEvent(text)));
  }

  finish(now: number): void {
    this.settle(now);
    const rest = this.#halves.rest();
    if (rest && this.isText) this.#pushJson(now, "", JSON.stringify(textEvent(rest)));
    else if (rest) this.#pushChunk(now, rest);
    this.#check(native().rewriter_finish(this.#handle, now));
  }

  poll(now: number): Next {
    if (this.#ready.length > 0) return Next.READY;
    this.settle(now);
    const lib = native();
    for (;;) {
      const status = lib.rewriter_poll(this.#handle, now, out, OUTPUT_SIZE);
      if (status !== STATUS.OK) {
        this.#check(status);
        continue;
      }
      switch (out[AT.TYPE]) {
        case OUTPUT.NEED_INPUT:
          return Next.NEED_INPUT;
        case OUTPUT.WAIT:
          this.at = long(AT.AT);
          return Next.WAIT;
        case OUTPUT.FINISHED:
          if (this.#lines?.finish(this.#ready)) return Next.READY;
          this.#watch?.end(this);
          return Next.FINISHED;
        default:
          this.#give(out[AT.TYPE]!);
      }
      if (this.#ready.length > 0) return Next.READY;
    }
  }

  take(): unknown {
    this.#watch?.look(this);
    return this.#ready.shift();
  }

  wantsInput(): boolean {
    return this.#handle !== 0 && native().rewriter_wants_input(this.#handle) === 1;
  }

  flush(): void {
    this.settle(now());
    this.#check(native().rewriter_flush(this.#handle));
  }

  cancel(how: "flush" | "drop"): void {
    if (how === "drop") {
      this.#ready.clear();
      this.#text = "";
      this.#isDropped = true;
    } else {
      this.settle(now());
    }
    this.#watch?.cut();
    this.#check(native().rewriter_cancel(this.#handle, CANCEL[how]));
  }

  free(): void {
    if (this.#handle === 0) return;
    try {
      this.#last = { stats: this.stats(), fields: this.fields() };
    } catch (error) {
      this.#unknown = error;
    }
    if (this.#isCounted) count(this.#handle);
    const { model, tokens } = this.#last?.fields ?? { model: null, tokens: null };
    this.#account?.ledger.enter(this.#handle, this.#account, { model, tokens });
    native().rewriter_free(this.#handle);
    this.#handle = 0;
    this.#events.clear();
  }

  /** The counters so far. */
  stats(): Stats {
    const { rewriter_stats, rewriter_clusters } = native();
    return this.#last?.stats ?? readStats(rewriter_stats, rewriter_clusters, this.#handle);
  }

  /** What is known of the stream so far. */
  fields(): Fields {
    if (this.#last !== undefined) return this.#last.fields;
    if (this.#unknown !== undefined) throw this.#unknown;
    const json = given((pointer, size) => native().rewriter_answer(this.#handle, pointer, size));
    if (typeof json === "number") throw refusal(json, native().rewriter_error(this.#handle));
    const fields = readFields(json);
    // What was read ahead does not say how the stream ended for whoever left it.
    return this.#isDropped ? { ...fields, verdict: null, reason: LEFT } : fields;
  }

  /** Whether bare texts come, of which nothing is known. */
  get isText(): boolean {
    return this.#framing === "text";
  }

  #pushText(now: number, item: string): void {
    this.#is("text");
    if (!this.isText) {
      this.#pushChunk(now, this.#halves.join(item));
      return;
    }
    this.#text += item;
    if (this.#text.length > TURN_MAX) this.settle(now);
  }

  #pushChunk(now: number, text: string): void {
    const { bytes, length } = encode(text);
    this.#pushItem(now, bytes, length);
  }

  #pushBytes(now: number, item: Uint8Array): void {
    this.#is("bytes");
    this.#hasBuffers = Buffer.isBuffer(item);
    this.#pushItem(now, item, lengthOf.call(item));
  }

  #pushItem(now: number, bytes: Uint8Array, length: number): void {
    // An empty view may have no memory at all, which the library takes for a mistake.
    const view = length === 0 ? NOTHING : bytes;
    this.#check(this.#pushAs(bytes, length)(this.#handle, now, view, length));
    if (!this.#framingKnown) {
      const framing = native().rewriter_framing(this.#handle);
      if (framing !== FRAMING.UNKNOWN) this.#comeAs(framing);
    }
  }

  /** How an item goes in. */
  #pushAs(bytes: Uint8Array, length: number): ReturnType<typeof native>["rewriter_push"] {
    const lib = native();
    if (this.#framing === undefined) return lib.rewriter_push_item;
    if (this.#framing === "bytes") return lib.rewriter_push;
    const hasEnd = length > 0 && bytes[length - 1] === NEWLINE;
    this.#hasEnds ??= hasEnd;
    if (!this.#framingKnown) this.#comeAs(hasEnd ? FRAMING.LINES_WITH_ENDS : FRAMING.LINES);
    // Of lines with ends, one without is the beginning of one.
    return this.#hasEnds && !hasEnd ? lib.rewriter_push : lib.rewriter_push_line;
  }

  #comeAs(framing: number): void {
    this.#framingKnown = true;
    if (framing !== FRAMING.BYTES) this.#lines = new Lines(framing === FRAMING.LINES_WITH_ENDS);
  }

  #pushEvent(now: number, item: unknown): void {
    const isPair = Array.isArray(item) && item.length === 2 && isName(item[0]);
    const event: unknown = isPair ? item[1] : item;
    if (typeof event !== "object" || event === null || Array.isArray(event) || isMemory(event)) {
      throw gave(item);
    }
    this.#is("events");
    if (this.#mode === "stream") this.#events.set(this.#pushed, item);
    this.#pushed += 1;
    this.#pushJson(now, isPair ? ((item[0] as string | null) ?? "") : "", dump(event));
  }

  #pushJson(now: number, name: string, json: string): void {
    const { bytes, length } = encode(json);
    // The name is short, and the buffer is taken.
    const label = name ? Buffer.from(name) : NOTHING;
    const size = name ? label.length : 0;
    this.#check(native().rewriter_push_event(this.#handle, now, label, size, bytes, length));
  }

  /** A source gives items of one kind. */
  #is(kind: Kind): void {
    if (this.#kind === kind) return;
    if (this.#kind !== undefined) {
      throw new TypeError(`the source gave ${NAMES[kind]} after ${NAMES[this.#kind]}`);
    }
    if (this.#framing !== undefined && (kind === "events" || (this.isText && kind !== "text"))) {
      throw new TypeError(
        `the source gave ${NAMES[kind]}, but framing says that it gives ${this.#framing}`,
      );
    }
    this.#kind = kind;
  }

  /** What was polled, as items. */
  #give(type: number): void {
    const ready = this.#ready;
    switch (type) {
      case OUTPUT.BYTES:
        if (this.#kind !== "text") {
          const own = outBytes();
          const bytes = this.#hasBuffers ? Buffer.from(own.buffer) : own;
          if (this.#lines === undefined) ready.push(bytes);
          else this.#lines.cutBytes(bytes, ready);
        } else if (this.#lines === undefined) {
          ready.push(outText());
        } else {
          this.#lines.cutText(outText(), ready);
        }
        return;
      case OUTPUT.OBJECT:
        ready.push(this.#object());
        return;
      case OUTPUT.PIECE: {
        const piece = new Piece();
        if (this.#mode !== "stream") ready.push(piece);
        else if (piece.text) ready.push(piece.text);
        return;
      }
      case OUTPUT.EVENT:
        ready.push(new Event(outName(), { data: outText() }));
        return;
      case OUTPUT.RESTARTED:
        if (this.#mode !== "stream")
          ready.push(new Event("restarted", { attempt: long(AT.NUMBER) }));
        return;
      case OUTPUT.RECLASSIFIED:
        if (this.#mode !== "stream")
          ready.push(new Event("reclassified", { index: out[AT.INDEX]! }));
        return;
      case OUTPUT.BUDGET_EXCEEDED:
        ready.push(new Event("budget_exceeded", { exceeded: JSON.parse(outText()) as Exceeded }));
    }
  }

  /** The event that is polled, or one like it that says what it says now. */
  #object(): unknown {
    const number = long(AT.NUMBER);
    const item = this.#events.get(number);
    const done = long(AT.DONE);
    for (; this.#done < done; this.#done++) this.#events.delete(this.#done);
    return out[AT.CHANGED] === 1 ? changed(item, outText()) : item;
  }

  /** Keeps what is wrong with the stream; throws what is wrong with us. */
  #check(status: number): void {
    if (status === STATUS.OK) return;
    const error = refusal(status, native().rewriter_error(this.#handle));
    // Whoever says so also says by how much.
    if (status === STATUS.REASONING_BUDGET_EXCEEDED) {
      this.fault = new ReasoningBudgetExceeded(error.message, this.fields().exceeded!);
    } else if (status === STATUS.STALLED) {
      this.fault = new Stalled(error.message, this.fields().stalledNs! / 1e6);
    } else if (error instanceof ProviderError) {
      this.fault = error;
    } else {
      throw error;
    }
  }
}

/** A bare text as an event, in the form that most providers have. */
function textEvent(text: string): object {
  return { choices: [{ index: 0, delta: { content: text } }] };
}

function isName(value: unknown): boolean {
  return typeof value === "string" || value === null || value === undefined;
}

/** Views and buffers that are no bytes to us: as events they would say nothing. */
function isMemory(value: object): boolean {
  return ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value);
}

/** The length that the memory has, whatever a subclass says. */
const lengthOf = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  "length",
)!.get as (this: Uint8Array) => number;

function gave(item: unknown): TypeError {
  const type =
    typeof item === "object" ? Object.prototype.toString.call(item).slice(8, -1) : typeof item;
  const kind = item == null ? String(item) : Array.isArray(item) ? "an array" : `a ${type}`;
  return new TypeError(`the source gave ${kind}; ${KNOWN}`);
}

const LEFT = "the reader left before the end";
const KNOWN = "lines or chunks are strings or Uint8Arrays, events are objects or [name, object]";
const CONFLICT = "unit = whole is for blocks(), which gives whole blocks";
const NAMES: Record<Kind, string> = { text: "strings", bytes: "bytes", events: "events" };
const MODES: Record<Mode, number> = {
  stream: MODE.STREAM,
  pieces: MODE.PIECES,
  "pieces+events": MODE.PIECES_AND_EVENTS,
};
const NEWLINE = 0x0a;
const NOTHING = new Uint8Array(1);
