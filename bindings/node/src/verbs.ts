/** The verbs: `wrap`, `pieces`, `blocks`, `collect`. */

import type { Readable } from "node:stream";
import { type Answer, collectFrom } from "./answer.js";
import { Budget } from "./budget.js";
import { ConfigError } from "./errors.js";
import { Flow, now } from "./flow.js";
import { type Account, accountOf, type Ledger } from "./ledger.js";
import type { Dialect } from "./names.js";
import type { Event, Piece } from "./outputs.js";
import { refuseNoObject } from "./parameters.js";
import { type Framing, type Mode, Rewriter } from "./rewriter.js";
import type { Settings } from "./settings.js";
import { isResponse, type Opened, open, type SdkStream, type Source } from "./source.js";
import { nodeStream, Stream, sdkStream, webStream } from "./stream.js";
import { Known, type Told, tell } from "./told.js";
import { Watch } from "./watch.js";

/** What the verbs take besides their source: all parameters, and these. */
export interface Options extends Settings {
  /** Ends the stream, closes its source and rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Told from the data unless named; `text` says that the items are bare texts. */
  framing?: Framing | undefined;
  /** Told from the data unless named. */
  dialect?: Dialect | undefined;
  /** Limits the reasoning of all streams together that have the same one. */
  budget?: Budget | undefined;
  /** Where the stream is entered once it is over, in whatever way. */
  ledger?: Ledger | Account | undefined;
}

/** An iterable of chunks or lines, parsed events, or pairs of a name and an event. */
export type Items<T> = AsyncIterable<T> | Iterable<T>;
/** What `pieces`, `blocks` and `collect` read. */
export type AnySource = Response | ReadableStream | Readable | Items<unknown>;

/**
 * Gives back what it was given, re-cut and paced: the code around it does not change.
 *
 * A `ReadableStream`, a Node `Readable` and a stream of the openai or @anthropic-ai/sdk package come
 * back as one of the same kind, a `Response` with its body paced, and any other iterable as an async
 * one whose items are of the same type: chunks or lines (strings, `Uint8Array`s), or parsed events.
 * Each text delta becomes one or more events with the same JSON but for the text; everything else
 * is passed on as it is. Events come out as these very objects, or as copies with other text.
 *
 * A `Response` that is not ok, or is no event stream and no JSON lines, comes back as it is (nothing is
 * known of it), so that `wrap` may stand in a client's `fetch`:
 * `async (...request) => wrap(await fetch(...request))`.
 *
 * `preset` or `profile` gives the parameters to begin with; single ones (`parameters()`) override it.
 *
 * Throws `ConfigError` for a parameter out of bounds, `TypeError` for what is no stream, and while it
 * is read the source's own error, `TooLarge`, `Stalled` (after `maxSilence`) or another `ProviderError`,
 * each after all text that had arrived before it, and `ReasoningBudgetExceeded` beyond
 * `maxReasoningTokens` or `budget`; with `overBudget: "event"` the stream just ends then, and its
 * `exceeded` says so. Where somebody has aborted the source (the signal of its `fetch`), what is queued
 * is dropped, as with `signal`.
 */
export function wrap(source: Response, options?: Options): Response & Told;
export function wrap<T>(source: ReadableStream<T>, options?: Options): ReadableStream<T> & Told;
export function wrap(source: Readable, options?: Options): Readable & Told;
export function wrap<S extends SdkStream>(source: S, options?: Options): S & Told;
export function wrap<T>(source: Items<T>, options?: Options): Stream<T>;
export function wrap(source: unknown, options: Options = {}): unknown {
  refuseNoObject(options, "options");
  if (isResponse(source)) return wrapResponse(source, options);
  const opened = open(source);
  const { rewriter, flow } = start(opened, { mode: "stream" }, options);
  switch (opened.kind) {
    case "web":
      return webStream(flow, new Known(rewriter, flow), opened.isBytes && !hasLines(options));
    case "node":
      return nodeStream(flow, new Known(rewriter, flow), opened.original);
    case "sdk":
      return sdkStream(new Stream(rewriter, flow), opened.original);
    case "iterable":
      return new Stream(rewriter, flow);
  }
}

/**
 * The text as it is released, piece by piece: `String(piece)`, `piece.kind`, `piece.block`.
 *
 * With `events: true` everything that is not text comes in its place as an `Event`, and with
 * `overBudget: "event"` also `budget_exceeded` before the end. Else as `wrap`.
 */
export function pieces(source: AnySource, options?: Options & { events?: false }): Stream<Piece>;
export function pieces(
  source: AnySource,
  options: Options & { events?: boolean | undefined },
): Stream<Piece | Event>;
export function pieces(
  source: AnySource,
  given: Options & { events?: boolean | undefined } = {},
): Stream<Piece | Event> {
  refuseNoObject(given, "options");
  const { events, ...options } = given;
  const watch = new Watch("nothing of it is known", events === true);
  const mode = events ? "pieces+events" : "pieces";
  const { rewriter, flow } = start(open(source), { mode, watch }, options);
  return new Stream(rewriter, flow as Flow<Piece | Event>);
}

/** Whole blocks only, late rather than broken: for speech, for pipelines. Else as `pieces`. */
export function blocks(source: AnySource, options?: Options & { events?: false }): Stream<Piece>;
export function blocks(
  source: AnySource,
  options: Options & { events?: boolean | undefined },
): Stream<Piece | Event>;
export function blocks(
  source: AnySource,
  options: Options & { events?: boolean | undefined } = {},
): Stream<Piece | Event> {
  refuseNoObject(options, "options");
  if (options.unit != null) throw new TypeError("blocks() gives whole blocks: it takes no unit");
  return pieces(source, { ...options, unit: "whole" });
}

/**
 * Reads a stream to its end without pacing: for batch jobs.
 *
 * Of the parameters only these count: `maxEventBytes`, `maxReasoningTokens`, `overBudget`, `thinkTags`,
 * `startsInside`, `thinkReopens`, `thinkCopies`.
 *
 * Rejects with the source's own error or `TooLarge`, and then gives no part of the answer: loop over
 * `pieces` to have it. Beyond `maxReasoningTokens` or `budget` reading stops, and the error,
 * `ReasoningBudgetExceeded`, has what had come (`error.answer`); with `overBudget: "event"` that is the
 * answer, and its `exceeded` is set.
 */
export async function collect(source: AnySource, options: Options = {}): Promise<Answer> {
  refuseNoObject(options, "options");
  const unpaced: Options = { ...options, ...UNPACED };
  const how = { mode: "pieces+events", isCounted: false } as const;
  const { rewriter, flow } = start(open(source), how, unpaced);
  return collectFrom(new Stream(rewriter, flow as Flow<Piece | Event>), rewriter);
}

function wrapResponse(response: Response, options: Options): Response & Told {
  const { status, statusText, headers, body } = response;
  const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (!response.ok || body === null || !STREAMS.has(type)) {
    // What cannot be is said also where nothing is to be done, and what is asked is answered.
    const how = { mode: "stream", isCounted: false, isEntered: false } as const;
    const { rewriter, flow } = start(open([]), how, options);
    void flow.close();
    return tell(response, new Known(rewriter, flow));
  }
  const opened = open(response);
  const { rewriter, flow } = start(opened, { mode: "stream" }, options);
  const known = new Known(rewriter, flow);
  const own = new Headers(headers);
  // Of the body as it was on the wire; it is not as long any more, nor compressed.
  for (const name of ["content-length", "content-encoding"]) own.delete(name);
  const paced = new Response(webStream(flow, known, !hasLines(options)), {
    status,
    statusText,
    headers: own,
  });
  // A response that is made has none.
  Object.defineProperty(paced, "url", { value: response.url, configurable: true });
  return tell(paced, known);
}

/** What a verb makes of a stream. */
interface Verb {
  mode: Mode;
  /** Who warns of it; of what passes as it is, one that says that. */
  watch?: Watch;
  /** Whether it counts in `metrics()`. */
  isCounted?: boolean;
  /** Whether it is entered in a ledger. */
  isEntered?: boolean;
}

/** The engine of a stream, and its flow. */
export function start(
  opened: Opened | undefined,
  { mode, watch, isCounted = true, isEntered = true }: Verb,
  options: Options,
): { rewriter: Rewriter; flow: Flow<unknown> } {
  const { signal, framing, dialect, budget, ledger, ...settings } = options;
  if (signal != null && typeof signal.addEventListener !== "function") {
    throw new TypeError("signal is an AbortSignal");
  }
  if (budget != null && !(budget instanceof Budget)) {
    throw new TypeError(`budget is a ${typeof budget}: give a Budget`);
  }
  const account = accountOf(ledger);
  for (const name of ["rate", "burst"] as const) {
    if (settings[name] != null && settings.pace !== "fixed") {
      throw new ConfigError(`${name} is for pace: "fixed"; a limit for any pace is maxRate`);
    }
  }
  const isBytes = opened !== undefined && "isBytes" in opened && opened.isBytes;
  const framed = framing ?? (isBytes ? "bytes" : undefined);
  const passes = mode === "stream" ? new Watch("it passes as it is, unpaced", true) : undefined;
  const rewriter = new Rewriter(now(), {
    mode,
    framing: framed,
    dialect: dialect ?? undefined,
    settings,
    watch: watch ?? passes,
    budget: budget ?? undefined,
    account: isEntered ? account : undefined,
    isCounted,
  });
  const source: Source | undefined = opened?.source;
  return { rewriter, flow: new Flow<unknown>(rewriter, source, signal ?? undefined) };
}

/** Whether the chunks are said to be lines: of a byte stream only the bytes would stay. */
function hasLines({ framing }: Options): boolean {
  return framing != null && framing !== "bytes";
}

/** Settings with which nothing waits, and nothing but what the provider sent can be too much. */
const UNPACED = {
  unit: "block",
  pace: "off",
  rate: undefined,
  burst: undefined,
  segment: "semantic",
  maxChoices: 4096,
  maxSilence: undefined,
} as const;

/** Content types of streams that are told apart line by line. */
const STREAMS: ReadonlySet<string> = new Set([
  "text/event-stream",
  "application/x-ndjson",
  "application/ndjson",
  "application/jsonl",
  "application/x-jsonlines",
  "application/stream+json",
]);
