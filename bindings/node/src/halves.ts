/** Characters of two UTF-16 units, of which a delta may end with the first. */

/** Joins texts so that none ends with half a character. */
export class Halves {
  #half = "";

  /** The text with the half before it, but without one at its end. */
  join(text: string): string {
    const all = this.#half ? this.#half + text : text;
    const last = all.charCodeAt(all.length - 1);
    // A first half: 0xd800 to 0xdbff.
    if (last >= 0xd800 && last <= 0xdbff) {
      this.#half = all.slice(-1);
      return all.slice(0, -1);
    }
    this.#half = "";
    return all;
  }

  /** The half whose other half has not come, or nothing. */
  rest(): string {
    const half = this.#half;
    this.#half = "";
    return half;
  }

  /** What is held. */
  get held(): string {
    return this.#half;
  }

  /** What was held before a text that was refused is held again. */
  set held(half: string) {
    this.#half = half;
  }
}
