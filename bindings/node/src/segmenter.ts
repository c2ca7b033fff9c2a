/** Cuts text into semantic blocks, without pacing. */

import { Finished } from "./errors.js";
import { Halves } from "./halves.js";
import { OUTPUT, STATUS } from "./names.js";
import { AT, encode, give, given, type Handle, native, OUTPUT_SIZE, out } from "./native.js";
import { Block } from "./outputs.js";
import { withConfig } from "./parameters.js";
import { refusal } from "./refusal.js";
import type { Settings } from "./settings.js";

/**
 * Cuts text into blocks: sentences, clauses, steps. Where they end depends on the text alone, not on
 * how it was cut when it came in.
 *
 * ```js
 * const segmenter = new Segmenter();
 * const blocks = [...segmenter.push("It took hours. Then it"), ...segmenter.finish()];
 * ```
 */
export class Segmenter {
  #handle: Handle;
  readonly #halves = new Halves();

  /** Of the settings `segment`, `target`, `maxEventBytes` and `maxQueueBytes` count. Throws `ConfigError`. */
  constructor(settings: Settings = {}) {
    this.#handle = withConfig(settings, (config) => {
      const { status, handle } = give((to) => native().segmenter_new(config, to));
      if (status !== STATUS.OK) throw refusal(status, "segment is off: there is nothing to cut");
      return handle;
    });
    registry.register(this, this.#handle, this);
  }

  /** Takes in more of the text; gives the blocks that are complete now. Throws `TooLarge`. */
  push(text: string): Block[] {
    if (typeof text !== "string") throw new TypeError(`text is a string, not ${typeof text}`);
    const { held } = this.#halves;
    try {
      this.#take(this.#halves.join(text));
    } catch (error) {
      this.#halves.held = held;
      throw error;
    }
    return this.#blocks();
  }

  /** The text ends here: what is left of it becomes a block. A push after this begins a new text. */
  finish(): Block[] {
    this.#take(this.#halves.rest());
    this.#check(native().segmenter_finish(this.#open()));
    return this.#blocks();
  }

  /** Makes what is held a block if a sentence or a line may end there, as when a stream falls silent. */
  flush(): Block[] {
    this.#check(native().segmenter_flush(this.#open()));
    return this.#blocks();
  }

  /** The text that is in no block yet. */
  get pending(): string {
    const handle = this.#open();
    const text = given((pointer, size) => native().segmenter_pending(handle, pointer, size));
    if (typeof text === "number") throw refusal(text, native().segmenter_error(handle));
    return text + this.#halves.held;
  }

  /** Frees it now, and not when it is collected. A second call does nothing. */
  close(): void {
    if (this.#handle === 0) return;
    registry.unregister(this);
    native().segmenter_free(this.#handle);
    this.#handle = 0;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #take(text: string): void {
    const { bytes, length } = encode(text);
    this.#check(native().segmenter_push(this.#open(), bytes, length));
  }

  #blocks(): Block[] {
    const blocks: Block[] = [];
    for (;;) {
      this.#check(native().segmenter_poll(this.#handle, out, OUTPUT_SIZE));
      if (out[AT.TYPE] !== OUTPUT.BLOCK) return blocks;
      blocks.push(new Block());
    }
  }

  #open(): Handle {
    if (this.#handle === 0) throw new Finished("this segmenter was closed");
    return this.#handle;
  }

  #check(status: number): void {
    if (status !== STATUS.OK) throw refusal(status, native().segmenter_error(this.#handle));
  }
}

/** What nobody closed. */
const registry = new FinalizationRegistry<Handle>((handle) => native().segmenter_free(handle));
