/** What the numbers of `decluster.h` mean. A test compares them with the header. */

export const ABI_VERSION = 0;

/** `decluster_status`. */
export const STATUS = {
  OK: 0,
  BAD_ARGUMENT: -2,
  TOO_LARGE: -9,
  TOO_MANY_CHOICES: -10,
  OUT_OF_BOUNDS: -4,
  UNKNOWN_NAME: -5,
  FULL: -8,
  FINISHED: -11,
  CONFLICT: -13,
  REASONING_BUDGET_EXCEEDED: -14,
  PANIC: -16,
  POISONED: -17,
  STALLED: -18,
  UNREADABLE: -20,
  LEDGER_FULL: -21,
} as const;

/** `decluster_output_type`. */
export const OUTPUT = {
  NEED_INPUT: 0,
  WAIT: 1,
  FINISHED: 2,
  PIECE: 3,
  MARK: 4,
  RESTARTED: 5,
  RECLASSIFIED: 6,
  BYTES: 7,
  OBJECT: 8,
  EVENT: 9,
  BLOCK: 11,
  BUDGET_EXCEEDED: 12,
} as const;

/** `decluster_framing`. */
export const FRAMING = { UNKNOWN: 0, LINES: 1, LINES_WITH_ENDS: 2, BYTES: 3 } as const;

/** `decluster_mode`. */
export const MODE = { STREAM: 0, PIECES: 1, PIECES_AND_EVENTS: 2 } as const;

/** `decluster_stage`. */
export const STAGE = { BEFORE: 0, AFTER: 1 } as const;

/** `decluster_cancel`. */
export const CANCEL = { flush: 0, drop: 1 } as const;

/** `decluster_measure`. */
export const MEASURE = [
  "nanoseconds",
  "tokens",
  "tokens_per_second",
  "millitokens",
  "thousandths",
  "bytes",
  "count",
  "choice",
  "switch",
] as const;

/** `decluster_kind`. */
export const KINDS = ["reasoning", "output"] as const;
/** Which channel a text belongs to. */
export type Kind = (typeof KINDS)[number];

/** `decluster_boundary`. */
export const BOUNDARIES = ["paragraph", "line", "sentence", "clause", "word", "grapheme"] as const;
/** How a block or a piece ends, best first. */
export type Boundary = (typeof BOUNDARIES)[number];

/** `decluster_dialect`; 0 is not known. */
export const DIALECTS = [
  undefined,
  "openai-chat",
  "openai-responses",
  "anthropic",
  "gemini",
  "ollama",
  "mistral",
  "cohere",
  "bedrock-converse",
  "incident",
] as const;
/** The form of a stream's events. */
export type Dialect = Exclude<(typeof DIALECTS)[number], undefined>;

/** How a stream ended. */
export type Verdict = "complete" | "failed" | "truncated";
