/** Cuts what comes out of a stream into lines, as its source gave it. */

import type { Queue } from "./queue.js";

export class Lines {
  readonly #withEnds: boolean;
  /** The beginning of a line whose end has not come: an event need not end with its line. */
  #begunText = "";
  #begunBytes: Uint8Array[] = [];

  constructor(withEnds: boolean) {
    this.#withEnds = withEnds;
  }

  cutText(text: string, to: Queue<unknown>): void {
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      const line = text.slice(start, this.#withEnds ? end + 1 : end);
      to.push(this.#begunText + line);
      this.#begunText = "";
      start = end + 1;
    }
    this.#begunText += text.slice(start);
  }

  cutBytes(bytes: Uint8Array, to: Queue<unknown>): void {
    let start = 0;
    for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
      const line = bytes.subarray(start, this.#withEnds ? end + 1 : end);
      to.push(this.#begunBytes.length === 0 ? line : Buffer.concat([...this.#begunBytes, line]));
      this.#begunBytes = [];
      start = end + 1;
    }
    if (start < bytes.length) this.#begunBytes.push(bytes.subarray(start));
  }

  /** The stream ended: gives a line without its end; says whether there was one. */
  finish(to: Queue<unknown>): boolean {
    if (this.#begunText) to.push(this.#begunText);
    else if (this.#begunBytes.length > 0) to.push(Buffer.concat(this.#begunBytes));
    else return false;
    this.#begunText = "";
    this.#begunBytes = [];
    return true;
  }
}
