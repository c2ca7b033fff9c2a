/**
 * The errors of decluster itself, by whose fault they are. A source's own errors come through as
 * they are, and an abort rejects with the signal's reason.
 */

import type { Answer } from "./answer.js";
import type { CountSource, Exceeded } from "./fields.js";

/** Base of all errors that decluster throws, but for `TypeError`s about arguments. */
export class DeclusterError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    // Not among what is shown beside the message.
    Object.defineProperty(this, "name", {
      value: new.target.name,
      configurable: true,
      writable: true,
    });
  }
}

/** The caller asked for what cannot be. */
export class CallerError extends DeclusterError {}

/** The stream is not what it should be. All text before that was delivered. */
export class ProviderError extends DeclusterError {}

/** An option that does not exist, a value out of its bounds, or a price table that cannot be read. */
export class ConfigError extends CallerError {}

/** The price table has no price for a model; nothing was added to the ledger. */
export class UnknownModel extends CallerError {
  /** The name that was asked for; null if nobody named a model. */
  readonly model: string | null;

  constructor(message: string, model: string | null) {
    super(message);
    this.model = model;
  }
}

/**
 * The queue would exceed `maxQueueBytes`; nothing was taken in: poll first. Or a ledger would have more
 * than 10,000 pairs of model and key.
 */
export class Full extends CallerError {}

/** It was finished or closed; it takes no more input. */
export class Finished extends CallerError {}

/** What was given is no finished response of a provider. */
export class BodyError extends ProviderError {}

/** An event or delta exceeds `maxEventBytes`. All text before it was delivered. */
export class TooLarge extends ProviderError {}

/** Nothing but comments and pings came for `maxSilence`. All text before that was delivered. */
export class Stalled extends ProviderError {
  /** Milliseconds of it, without those in which no input was wanted or nobody took any. */
  readonly silence: number;

  constructor(message: string, silence: number) {
    super(message);
    this.silence = silence;
  }
}

/**
 * More reasoning came than `maxReasoningTokens` or a shared `Budget` allows. What is within it was
 * delivered.
 */
export class ReasoningBudgetExceeded extends DeclusterError implements Exceeded {
  readonly used: number;
  readonly limit: number;
  readonly source: CountSource;
  readonly shared: boolean;
  /** From `collect`: what had come by then. */
  answer: Answer | null = null;

  constructor(message: string, { used, limit, source, shared }: Exceeded) {
    super(message);
    this.used = used;
    this.limit = limit;
    this.source = source;
    this.shared = shared;
  }
}

/** libdecluster is not to be found here, or is not the one that this package needs. */
export class LibraryError extends DeclusterError {}
