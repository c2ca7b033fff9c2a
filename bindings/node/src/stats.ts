/** Counters of an engine or a stream. */

import type { Dialect } from "./names.js";
import type { Handle } from "./native.js";

/** Counters so far. */
export interface Stats {
  /** Deltas accepted. */
  deltas: number;
  /** Pieces released. */
  pieces: number;
  /** Blocks of which something was released. */
  blocks: number;
  /** Pieces that ended inside a block. */
  cuts: number;
  /** Pieces for which a deadline or a tail asked for more than pacing would have given. */
  hurried: number;
  /** Tokens that came in, as estimated. */
  tokensIn: number;
  /** Tokens that went out, as estimated. */
  tokensOut: number;
  /** Bytes of text that came in. */
  bytesIn: number;
  /** Bytes of text that went out. */
  bytesOut: number;
  /** Bytes queued, with the bookkeeping. */
  queuedBytes: number;
  /** The longest that the first byte of a piece was delayed, in milliseconds. */
  maxDelay: number;
  /** Mean rate of release at the last plan, in tokens per second. */
  rate: number;
}

/** Counters of a stream, and what was read of it. */
export interface StreamStats extends Stats {
  dialect: Dialect | null;
  /** Whether its dialect is known: else it passes as it is. */
  paced: boolean;
  events: number;
  comments: number;
  repairs: number;
  malformed: number;
}

const words = new BigUint64Array(16);

/** Asks the library for the counters of a handle. */
export function readStats(
  ask: (handle: Handle, to: BigUint64Array, size: number) => number,
  handle: Handle,
): Stats {
  words.fill(0n);
  // It cannot refuse a handle that is alive.
  ask(handle, words, words.byteLength);
  const [deltas, pieces, blocks, cuts, hurried, tokensIn, tokensOut, ...rest] = [...words].map(
    Number,
  );
  const [bytesIn, bytesOut, queuedBytes, maxDelay, rate] = rest;
  return {
    deltas: deltas!,
    pieces: pieces!,
    blocks: blocks!,
    cuts: cuts!,
    hurried: hurried!,
    tokensIn: tokensIn!,
    tokensOut: tokensOut!,
    bytesIn: bytesIn!,
    bytesOut: bytesOut!,
    queuedBytes: queuedBytes!,
    maxDelay: maxDelay! / 1e6,
    rate: rate!,
  };
}
