/** Counters of an engine or a stream. */

import { type Dialect, STAGE } from "./names.js";
import type { Handle } from "./native.js";

/** How values are spread; null where there is none. */
export interface Spread {
  /** The median, at most 1 % too large. */
  p50: number | null;
  /** 95 of 100 are no larger; at most 1 % too large. */
  p95: number | null;
  max: number | null;
  mean: number | null;
}

/** How clustered text is, on one side of the pacer. */
export interface Clusters {
  /** Groups of `clusterMinTokens` and more beside a silence of `clusterMinGap` and more. */
  events: number;
  /** The same by the hour; null before any time has passed. */
  eventsPerHour: number | null;
  /** All groups: tokens within `clusterGroupGap` of the first of them. */
  groups: number;
  /** Tokens, as estimated where the provider does not count them. */
  tokens: number;
  /** Seconds from the first group to the last. */
  seconds: number;
  /** Tokens of the groups. */
  size: Spread;
  /** Milliseconds between them. */
  gap: Spread;
}

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
  /** How clustered it came (`before`) and left (`after`). */
  clusters: { before: Clusters; after: Clusters };
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

/** Asks the library for the counters of a handle, and for how clustered it is. */
export function readStats(
  ask: (handle: Handle, to: BigUint64Array, size: number) => number,
  askClusters: (handle: Handle, stage: number, to: BigUint64Array, size: number) => number,
  handle: Handle,
): Stats {
  const clusters = {
    before: readClusters(askClusters, handle, STAGE.BEFORE),
    after: readClusters(askClusters, handle, STAGE.AFTER),
  };
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
    clusters,
  };
}

function readClusters(
  ask: (handle: Handle, stage: number, to: BigUint64Array, size: number) => number,
  handle: Handle,
  stage: number,
): Clusters {
  words.fill(0n);
  ask(handle, stage, words, words.byteLength);
  const [events, perHour, groups, tokens, streams, watched, ...spreads] = [...words].map(Number);
  // A group has no silence before the first of its stream.
  const gaps = groups! - streams!;
  return {
    events: events!,
    eventsPerHour: watched! > 0 ? perHour! / 1e3 : null,
    groups: groups!,
    tokens: tokens!,
    seconds: watched! / 1e9,
    size: spread(spreads.slice(0, 4), groups!),
    gap: spread(spreads.slice(4, 8), gaps),
  };
}

function spread([p50, p95, max, sum]: number[], count: number): Spread {
  if (count <= 0) return { p50: null, p95: null, max: null, mean: null };
  return { p50: p50!, p95: p95!, max: max!, mean: sum! / count };
}
