/** Statuses of the library as errors. */

import {
  CallerError,
  ConfigError,
  DeclusterError,
  Finished,
  Full,
  ProviderError,
  TooLarge,
} from "./errors.js";
import { STATUS } from "./names.js";

/** The error for a status, with the handle's own message. */
export function refusal(status: number, message: string | null): DeclusterError {
  const says = message || `libdecluster refused (${status})`;
  switch (status) {
    case STATUS.FULL:
      return new Full(says);
    case STATUS.FINISHED:
      return new Finished(says);
    case STATUS.TOO_LARGE:
      return new TooLarge(says);
    case STATUS.TOO_MANY_CHOICES:
      return new ProviderError(says);
    case STATUS.CONFLICT:
    case STATUS.OUT_OF_BOUNDS:
      return new ConfigError(says);
    // Defects of the library.
    case STATUS.PANIC:
    case STATUS.POISONED:
      return new DeclusterError(says);
    default:
      return new CallerError(says);
  }
}
