/**
 * The clustered stream of a reasoning model, as a steady flow.
 *
 * - `wrap(source)`: the stream itself, re-cut and paced, in the form that went in;
 * - `pieces(source)`: its text, piece by piece as it is released;
 * - `blocks(source)`: its text in whole blocks, for speech and pipelines;
 * - `collect(source)`: all of it, unpaced, as an `Answer`;
 * - `DeclusterStream`: `wrap` as a transform of web streams;
 * - `smoothStream()`: a transform for the AI SDK, in place of its own.
 *
 * Several streams may share a `Budget` of reasoning. `Ledger` adds up what answers cost, `usage` reads
 * finished ones, `metrics` gives the sums of all streams for Prometheus.
 *
 * For text alone there is `Segmenter`, for a clock of your own `Engine`. `parameters()` lists what
 * all of them can be told. Durations are milliseconds, points of time nanoseconds (bigint).
 */

export type { Answer, Choice } from "./answer.js";
export { Budget } from "./budget.js";
export { Engine } from "./engine.js";
export {
  BodyError,
  CallerError,
  ConfigError,
  DeclusterError,
  Finished,
  Full,
  LibraryError,
  ProviderError,
  ReasoningBudgetExceeded,
  Stalled,
  TooLarge,
  UnknownModel,
} from "./errors.js";
export type { CountSource, Exceeded, Tokens, ToolCall } from "./fields.js";
export {
  type Account,
  type Cost,
  type Costly,
  examplePrices,
  Ledger,
  type LedgerEntry,
  type Names,
  type PriceTable,
} from "./ledger.js";
export { metrics } from "./metrics.js";
export type { Boundary, Dialect, Kind, Verdict } from "./names.js";
export { Block, Event, FINISHED, Mark, NEED_INPUT, Piece, Wait } from "./outputs.js";
export { type Parameter, parameters } from "./parameters.js";
export type { Framing } from "./rewriter.js";
export { Segmenter } from "./segmenter.js";
export type { Settings } from "./settings.js";
export { smoothStream } from "./smooth.js";
export type { SdkStream } from "./source.js";
export type { Stats, StreamStats } from "./stats.js";
export type { Stream } from "./stream.js";
export type { Told } from "./told.js";
export { DeclusterStream } from "./transform.js";
export { type Usage, usage } from "./usage.js";
export {
  type AnySource,
  blocks,
  collect,
  type Items,
  type Options,
  pieces,
  wrap,
} from "./verbs.js";
