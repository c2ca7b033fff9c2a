/** Warnings about streams that are not what they should be: nothing is passed by in silence. */

import type { Fields } from "./fields.js";
import { DIALECTS } from "./names.js";

/** What is watched. */
interface Watched {
  fields(): Fields;
  stats(): { deltas: number };
}

/** Looks at one stream, and warns of it at most once for each reason. */
export class Watch {
  readonly #otherwise: string;
  readonly #showsErrors: boolean;
  /** It is not known yet whether this is a stream that decluster reads. */
  #unsure = true;
  #ended = false;
  #isCut = false;

  /** `otherwise` says what becomes of a stream that is not recognised, `showsErrors` whether the
   * provider's errors are among the items. */
  constructor(otherwise: string, showsErrors: boolean) {
    this.#otherwise = otherwise;
    this.#showsErrors = showsErrors;
  }

  /** After an item. */
  look(stream: Watched): void {
    if (!this.#unsure) return;
    const { recognised, verdict, reason } = stream.fields();
    if (recognised === null) return;
    this.#unsure = false;
    if (recognised || verdict === "failed") return;
    const why = reason === null ? "" : ` (${reason})`;
    warn(
      `decluster does not recognise this stream${why}: ${this.#otherwise}. The dialects are ` +
        `${DIALECTS.slice(1).join(", ")}; the option dialect names one, and framing: "text" is for bare texts`,
    );
  }

  /** The stream is cut short: what it would have been is not known. */
  cut(): void {
    this.#unsure = false;
    this.#isCut = true;
  }

  /** At the end: tells of a failure that the items did not show. */
  end(stream: Watched): void {
    this.look(stream);
    const { verdict, reason, error, events } = stream.fields();
    // Bytes without any event are no stream, but compressed, or something else altogether.
    const isNothing = verdict === "truncated" && events === 0 && !this.#isCut;
    if (this.#ended || (verdict !== "failed" && !isNothing)) return;
    this.#ended = true;
    const told = messageOf(error);
    if (reason !== null && stream.stats().deltas === 0) {
      const hint = HINTS.find(([word]) => reason.includes(word))?.[1] ?? "";
      warn(`this is no stream: ${reason}${told === undefined ? hint : `. It says: ${told}`}`);
    } else if (error !== null && !this.#showsErrors) {
      warn(
        `the provider reported an error: ${told ?? JSON.stringify(error)} (.error has all of it)`,
      );
    }
  }
}

function messageOf(error: unknown): string | undefined {
  if (typeof error === "string") return error;
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === "string" ? message : undefined;
}

function warn(message: string): void {
  process.emitWarning(message, "DeclusterWarning");
}

const HINTS = [
  ["is JSON", "; was it asked for with stream: true?"],
  ["is text", '; framing: "text" is for bare texts'],
  ["no event", "; is it compressed?"],
] as const;
