/** What all streams of this thread add up to. */

import { STATUS } from "./names.js";
import { give, type Handle, native, wordPair } from "./native.js";
import { refusal } from "./refusal.js";

/**
 * The sums over all streams that are over, in the Prometheus text format, version 0.0.4: streams by
 * verdict, tokens, pieces, clusters, and histograms of group sizes (tokens) and silences (seconds).
 *
 * Each stream of `wrap`, `pieces` and `blocks` and each `DeclusterStream` is added once, when it has
 * ended, is closed or is abandoned; what `collect` reads does not count, nor does `smoothStream`. The
 * sums are those of this thread: each worker thread and each process has its own.
 *
 * ```js
 * response.setHeader("content-type", "text/plain; version=0.0.4; charset=utf-8");
 * response.end(metrics());
 * ```
 */
export function metrics(): string {
  const text = Buffer.allocUnsafe(TEXT_MAX);
  const length = new Uint32Array(2);
  const status = native().totals_text(totals(), text, TEXT_MAX, length);
  if (status !== STATUS.OK) throw refusal(status, "the sums cannot be told");
  return text.toString("utf8", 0, wordPair(length, 0));
}

/** Adds a rewriter that is over. */
export function count(rewriter: Handle): void {
  // It refuses none but one whose library has failed.
  native().totals_add(totals(), rewriter);
}

/** `DECLUSTER_TOTALS_TEXT_MAX`. */
export const TEXT_MAX = 32_768;

let made: Handle | undefined;

function totals(): Handle {
  if (made === undefined) {
    const { status, handle } = give((to) => native().totals_new(to));
    if (status !== STATUS.OK) throw refusal(status, "no sums can be made");
    made = handle;
  }
  return made;
}
