/** What engines, segmenters and streams give. */

import type { Exceeded } from "./fields.js";
import { BOUNDARIES, type Boundary, KINDS, type Kind } from "./names.js";
import { AT, bigLong, long, out, outText } from "./native.js";

/** Text that is released at once. `String(piece)` is the text. */
export class Piece {
  /** Empty where a delta was a count of tokens alone. */
  readonly text: string;
  readonly kind: Kind;
  /** The choice. */
  readonly index: number;
  /** Number of the piece among all that leaves, from 0; marks and events take one each, too. */
  readonly seq: number;
  /** Number of the block within its choice, from 0. */
  readonly block: number;
  /** Number of the piece within its block, from 0. */
  readonly part: number;
  /** What stands at its end. */
  readonly boundary: Boundary;
  /** Whether the block is known to end here. */
  readonly endsBlock: boolean;
  /** Estimate of its LLM tokens. */
  readonly tokens: number;
  /** Number of the delta that holds its last byte, from 0. */
  readonly origin: number;
  /** When its first byte arrived: nanoseconds on the engine's clock; of a verb that of `performance.now()`. */
  readonly arrivedNs: bigint;

  /** @internal Reads the last output. */
  constructor() {
    this.text = outText();
    this.kind = KINDS[out[AT.KIND]!]!;
    this.index = out[AT.INDEX]!;
    this.seq = long(AT.SEQ);
    this.block = long(AT.BLOCK);
    this.part = out[AT.PART]!;
    this.boundary = BOUNDARIES[out[AT.BOUNDARY]!]!;
    this.endsBlock = out[AT.ENDS_BLOCK] === 1;
    this.tokens = out[AT.TOKENS]!;
    this.origin = long(AT.ORIGIN);
    this.arrivedNs = bigLong(AT.ARRIVED);
  }

  toString(): string {
    return this.text;
  }
}

/** What is not text, in its place. */
export class Event {
  /**
   * The provider's name for it (`message` if it has none), with `data`; or, of decluster:
   * `restarted` (the answer began anew, what came so far is void, `attempt` follows), `reclassified`
   * (all output of choice `index` so far was reasoning) and `budget_exceeded` (with `overBudget:
   * "event"`: the stream ends, since more reasoning came than is allowed).
   */
  readonly name: string;
  /** The event's data as it came; undefined where the event is decluster's. */
  readonly data: string | undefined;
  readonly attempt: number | undefined;
  readonly index: number | undefined;
  /** By how much, of `budget_exceeded`. */
  readonly exceeded: Exceeded | undefined;

  /** @internal */
  constructor(name: string, told: Partial<Pick<Event, "data" | "attempt" | "index" | "exceeded">>) {
    this.name = name;
    this.data = told.data;
    this.attempt = told.attempt;
    this.index = told.index;
    this.exceeded = told.exceeded;
  }
}

/** A number of the caller's whose turn has come. */
export class Mark {
  readonly id: bigint;

  /** @internal */
  constructor(id: bigint) {
    this.id = id;
  }
}

/** Nothing before this time unless there is input; then something. */
export class Wait {
  /** Nanoseconds on the engine's clock. */
  readonly atNs: bigint;

  /** @internal */
  constructor(atNs: bigint) {
    this.atNs = atNs;
  }
}

/** Nothing until there is input. */
export const NEED_INPUT: unique symbol = Symbol("decluster.NEED_INPUT");
/** Everything is out, and no more will come. */
export const FINISHED: unique symbol = Symbol("decluster.FINISHED");

/** A semantic block of text. `String(block)` is the text. */
export class Block {
  readonly text: string;
  /** Its number, from 0. */
  readonly block: number;
  /** What stands at its end. */
  readonly boundary: Boundary;
  /** Estimate of its LLM tokens. */
  readonly tokens: number;

  /** @internal Reads the last output. */
  constructor() {
    this.text = outText();
    this.block = long(AT.BLOCK);
    this.boundary = BOUNDARIES[out[AT.BOUNDARY]!]!;
    this.tokens = out[AT.TOKENS]!;
  }

  toString(): string {
    return this.text;
  }
}
