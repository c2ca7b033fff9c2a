/**
 * The errors of decluster itself, by whose fault they are. A source's own errors come through as
 * they are, and an abort rejects with the signal's reason.
 */

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

/** An option that does not exist, or a value out of its bounds. */
export class ConfigError extends CallerError {}

/** The queue would exceed `maxQueueBytes`; nothing was taken in. Poll first. */
export class Full extends CallerError {}

/** It was finished or closed; it takes no more input. */
export class Finished extends CallerError {}

/** An event or delta exceeds `maxEventBytes`. All text before it was delivered. */
export class TooLarge extends ProviderError {}

/** More reasoning came than `maxReasoningTokens` allows. What is within it was delivered. */
export class ReasoningBudgetExceeded extends DeclusterError {
  /** Tokens that were delivered, as estimated: at most one piece above the limit. */
  readonly used: number;
  readonly limit: number;

  constructor(message: string, used: number, limit: number) {
    super(message);
    this.used = used;
    this.limit = limit;
  }
}

/** libdecluster is not to be found here, or is not the one that this package needs. */
export class LibraryError extends DeclusterError {}
