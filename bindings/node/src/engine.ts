/** The engine with explicit times, for callers with a clock or a loop of their own. */

import { Finished } from "./errors.js";
import { CANCEL, KINDS, type Kind, OUTPUT, STATUS } from "./names.js";
import {
  AT,
  bigLong,
  encode,
  give,
  type Handle,
  isWellFormed,
  native,
  OUTPUT_SIZE,
  out,
} from "./native.js";
import { Event, FINISHED, Mark, NEED_INPUT, Piece, Wait } from "./outputs.js";
import { refuseNoObject, withConfig } from "./parameters.js";
import { refusal } from "./refusal.js";
import type { Settings } from "./settings.js";
import { readStats, type Stats } from "./stats.js";

/**
 * Takes the deltas of one stream and gives them back as paced pieces, on the caller's own clock.
 *
 * Times are nanoseconds of one monotonic clock, such as `process.hrtime.bigint()`, from any beginning.
 *
 * ```js
 * const engine = new Engine();
 * engine.push(0n, "output", "It took hours. Then it held");
 * let now = 0n;
 * for (let found; (found = engine.poll(now)) !== NEED_INPUT; ) {
 *   if (found instanceof Wait) now = found.atNs; // your loop waits until then, or until there is input
 *   else console.log(String(found));
 * }
 * ```
 */
export class Engine {
  #handle: Handle;
  #settings: Settings;
  #started = false;

  /** Throws `ConfigError` for a parameter that does not exist or is out of bounds. */
  constructor(settings: Settings = {}) {
    refuseNoObject(settings, "settings");
    this.#settings = { ...settings };
    this.#handle = open(this.#settings, 0n);
    registry.register(this, this.#handle, this);
  }

  /**
   * Takes in one delta, as a whole or not at all. `index` is the choice. `tokens` is how many LLM
   * tokens the provider says this is: of a text it is only recorded, without text it is paced in
   * its place.
   *
   * Throws `Full`, `TooLarge`, `Finished`, or `TypeError` for text that ends or begins with half a
   * character: join it with the delta that has the other half.
   */
  push(
    nowNs: bigint,
    kind: Kind,
    text: string,
    options: { index?: number | undefined; tokens?: number | undefined } = {},
  ): void {
    if (typeof options !== "object" || options === null) {
      throw new TypeError(`options are an object of index and tokens, not ${String(options)}`);
    }
    const { index = 0, tokens = 0 } = options;
    const number = KINDS.indexOf(kind);
    if (number < 0) throw new TypeError(`kind is reasoning or output, not ${String(kind)}`);
    if (typeof text !== "string") throw new TypeError(`text is a string, not ${typeof text}`);
    whole(index, "index");
    whole(tokens, "tokens");
    if (!isWellFormed(text)) throw new TypeError("text holds half a character (a lone surrogate)");
    const handle = this.#at(nowNs);
    const { bytes, length } = encode(text);
    this.#check(native().engine_push(handle, nowNs, number, index, bytes, length, tokens));
  }

  /**
   * Queues a number of yours behind everything that has arrived; it comes back as a `Mark` in its
   * place. With `hurry` the block before it ends here, and all queued text leaves within `maxTail`.
   *
   * Throws `Full` or `Finished`.
   */
  mark(nowNs: bigint, id: bigint, hurry = false): void {
    time(id, "id");
    if (typeof hurry !== "boolean") throw new TypeError(`hurry is a boolean, not ${typeof hurry}`);
    this.#check(native().engine_mark(this.#at(nowNs), nowNs, id, Number(hurry)));
  }

  /** What comes after this belongs to other blocks than what came before. */
  endBlock(nowNs: bigint): void {
    this.#check(native().engine_end_block(this.#at(nowNs), nowNs));
  }

  /** The stream starts again: an `Event` named `restarted` comes in its place. Throws `Full` or `Finished`. */
  beginAttempt(nowNs: bigint): void {
    this.#check(native().engine_begin_attempt(this.#at(nowNs), nowNs));
  }

  /** No more input will come: what is queued leaves within `maxTail`, then `FINISHED`. */
  finish(nowNs: bigint): void {
    this.#check(native().engine_finish(this.#at(nowNs), nowNs));
  }

  /** Stops pacing what is queued at present: it is due at once. */
  flush(): void {
    this.#check(native().engine_flush(this.#open()));
  }

  /** Ends the stream early: what is queued leaves at once (`flush`), or is forgotten (`drop`). */
  cancel(how: "flush" | "drop"): void {
    if (how !== "flush" && how !== "drop") {
      throw new TypeError(`how is flush or drop, not ${String(how)}`);
    }
    this.#check(native().engine_cancel(this.#open(), CANCEL[how]));
    // It stays cancelled, whatever time it is told then.
    this.#started = true;
  }

  /**
   * What to do now. Call it until it gives a `Wait`, `NEED_INPUT` or `FINISHED`; after a `Wait`
   * again at that time, or after input.
   */
  poll(nowNs: bigint): Piece | Mark | Event | Wait | typeof NEED_INPUT | typeof FINISHED {
    this.#check(native().engine_poll(this.#at(nowNs), nowNs, out, OUTPUT_SIZE));
    switch (out[AT.TYPE]) {
      case OUTPUT.WAIT:
        return new Wait(bigLong(AT.AT));
      case OUTPUT.FINISHED:
        return FINISHED;
      case OUTPUT.PIECE:
        return new Piece();
      case OUTPUT.MARK:
        return new Mark(bigLong(AT.NUMBER));
      case OUTPUT.RESTARTED:
        return new Event("restarted", { attempt: Number(bigLong(AT.NUMBER)) });
      default:
        return NEED_INPUT;
    }
  }

  /** Whether the caller should go on reading its source. */
  get wantsInput(): boolean {
    return native().engine_wants_input(this.#open()) === 1;
  }

  /** Counters so far. */
  stats(): Stats {
    const { engine_stats, engine_clusters } = native();
    return readStats(engine_stats, engine_clusters, this.#open());
  }

  /** Frees it now, and not when it is collected. A second call does nothing. */
  close(): void {
    if (this.#handle === 0) return;
    registry.unregister(this);
    native().engine_free(this.#handle);
    this.#handle = 0;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** The handle; its clock begins at the first time that it is told. */
  #at(nowNs: bigint): Handle {
    time(nowNs, "nowNs");
    if (!this.#started) {
      this.#open();
      if (nowNs !== 0n) {
        const handle = open(this.#settings, nowNs);
        this.close();
        this.#handle = handle;
        registry.register(this, handle, this);
      }
      this.#started = true;
    }
    return this.#open();
  }

  #open(): Handle {
    if (this.#handle === 0) throw new Finished("this engine was closed");
    return this.#handle;
  }

  #check(status: number): void {
    if (status !== STATUS.OK) throw refusal(status, native().engine_error(this.#handle));
  }
}

/** What nobody closed. */
const registry = new FinalizationRegistry<Handle>((handle) => native().engine_free(handle));

function open(settings: Settings, nowNs: bigint): Handle {
  return withConfig(settings, (config) => {
    const { status, handle } = give((to) => native().engine_new(config, nowNs, to));
    if (status !== STATUS.OK) throw refusal(status, "no engine can be made");
    return handle;
  });
}

function time(value: bigint, name: string): void {
  if (typeof value !== "bigint") throw new TypeError(`${name} is a bigint, not ${typeof value}`);
  if (value < 0n || value >= 2n ** 64n) throw new RangeError(`${name} = ${value} has no 64 bits`);
}

function whole(value: number, name: string): void {
  if (typeof value !== "number") throw new TypeError(`${name} is a number, not ${typeof value}`);
  if (!Number.isInteger(value) || value < 0 || value >= 2 ** 32) {
    throw new RangeError(`${name} = ${value} is no whole number of 32 bits`);
  }
}
