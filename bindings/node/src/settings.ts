/** The parameters as options. Written from the library's table by settings.test.ts. */

/**
 * The engine's parameters. `preset` or `profile` gives the values to begin with; the others
 * override them. Durations are milliseconds.
 */
export interface Settings {
  /** Named values to begin with. */
  preset?: "balanced" | "steady" | "snappy" | undefined;
  /** Values to begin with that were published under a name. */
  profile?: "codex-low-latency" | undefined;
  /**
   * What is released at once: `block` whole semantic blocks, cut at a word only against a stall or
   * a deadline; `word` a word or two (`quantum`); `whole` complete blocks only, even beyond
   * `maxDelay`. Initially `block`.
   */
  unit?: "block" | "word" | "whole" | undefined;
  /**
   * How releases are timed: `adaptive` learns the stream's silences; `fixed` is a token bucket of
   * `rate` and `burst`, under the bound of `maxDelay`; `off` releases text as soon as its block or
   * word is complete. Initially `adaptive`.
   */
  pace?: "adaptive" | "fixed" | "off" | undefined;
  /**
   * Where blocks end: `semantic` at sentences, lines and clauses, near `target`; `off` makes each
   * delta a block, cut nowhere and held for no half character; `sentences` at sentences and lines
   * alone. Initially `semantic`.
   */
  segment?: "semantic" | "off" | "sentences" | undefined;
  /**
   * Tokens per block that the segmenter aims at, on average. Has no effect with `segment =
   * sentences`. 4 to 64 tokens, initially 12.4.
   */
  target?: number | undefined;
  /**
   * The most that text is delayed, while the caller polls when told: every byte leaves within this
   * time of its arrival. `maxRate` and `unit = whole` come before it. 100 to 60000 milliseconds,
   * initially 1500.
   */
  maxDelay?: number | undefined;
  /**
   * How long the first text may wait for the end of its first word. 0 to 1000 milliseconds,
   * initially 45.
   */
  firstHold?: number | undefined;
  /**
   * How long text may still take once a tool call or the end is queued behind it. 0 to 10000
   * milliseconds, initially 300.
   */
  maxTail?: number | undefined;
  /**
   * The longest silence a reader should see while there are words to show: then a block is cut at a
   * word. 20 to 10000 milliseconds, initially 240.
   */
  maxGap?: number | undefined;
  /**
   * `maxGap` for `unit = word`, where it takes no more than a word to end a silence. 20 to 10000
   * milliseconds, initially 195.
   */
  wordGap?: number | undefined;
  /**
   * When a block is cut to end a silence, this share of the queued text leaves, two tokens at
   * least. 0 to 1, initially 0.7.
   */
  cutPart?: number | undefined;
  /**
   * How long a character that may still grow (an accent, an emoji sequence) is held at the end of
   * the text. It can only be lowered. 0 to 100 milliseconds, initially 100.
   */
  graphemeHold?: number | undefined;
  /**
   * Tokens per second of `pace = fixed`. Deadlines come before it: for a hard limit there is
   * `maxRate`. 1 to 1000000 tokens/s, initially 240.
   */
  rate?: number | undefined;
  /**
   * Tokens that `pace = fixed` lets through at once after a silence. 1 to 1000000 tokens, initially
   * 32.
   */
  burst?: number | undefined;
  /**
   * The most tokens per second that are released, for readers who want no more; 0 sets no limit. It
   * comes before `maxDelay` and `maxTail`. Intake pauses (`wantsInput`) while more is queued than
   * can be read within half of `maxDelay`, so that a caller who heeds it is late with nothing. 0 to
   * 1000000 tokens/s, initially 0.
   */
  maxRate?: number | undefined;
  /**
   * How much time a piece of words holds: short enough to look continuous, long enough to be worth
   * an event. 5 to 1000 milliseconds, initially 33.
   */
  quantum?: number | undefined;
  /**
   * The most tokens of a piece of words, unless a single one that cannot be cut has more. 1 to 1000
   * tokens, initially 12.
   */
  pieceMax?: number | undefined;
  /**
   * In `word`, at most `clusterBurst` + `clusterRate` x mean rate x w tokens leave in any time w,
   * unless a deadline or a tail asks for more. 4 to 1000 tokens, initially 12.
   */
  clusterBurst?: number | undefined;
  /**
   * How much of the mean rate may leave in the long run, on top of `clusterBurst`. 1 to 1000,
   * initially 1.5.
   */
  clusterRate?: number | undefined;
  /**
   * Arrivals within this time of a group's first belong to it: beyond the jitter of networks, below
   * any pause that a reader could notice. 1 to 1000 milliseconds, initially 30.
   */
  groupGap?: number | undefined;
  /**
   * The silence expected next, the *horizon*, is this quantile of the last 24 silences that were
   * longer than the present one has lasted, weighted by their time. 0.05 to 1, initially 0.85.
   */
  silenceQuantile?: number | undefined;
  /**
   * Once a silence outlasts every one that is remembered, it is expected to last this many times
   * what it has already. 1 to 10, initially 4.
   */
  latePart?: number | undefined;
  /**
   * The shortest horizon. 1 to 1000 milliseconds, initially 10.
   */
  horizonMin?: number | undefined;
  /**
   * Up to this horizon `horizonPartWord` or `horizonPartBlock` holds. 1 to 60000 milliseconds,
   * initially 250.
   */
  silenceShort?: number | undefined;
  /**
   * From this horizon on `horizonPartLong` holds; in between the part changes in proportion. 1 to
   * 60000 milliseconds, initially 750.
   */
  silenceLong?: number | undefined;
  /**
   * In `word`, the queue is planned to be gone after this part of a short horizon. Less means less
   * delay, and less text left when a silence lasts. 0.05 to 4, initially 0.55.
   */
  horizonPartWord?: number | undefined;
  /**
   * The same in `block`, for a short horizon. 0.05 to 4, initially 0.32.
   */
  horizonPartBlock?: number | undefined;
  /**
   * The same in both, for a long horizon. 0.05 to 4, initially 0.39.
   */
  horizonPartLong?: number | undefined;
  /**
   * What is kept back in `word`, to drip word by word through a silence that is longer than
   * expected. 0 to 1000 tokens, initially 4.
   */
  reserveWord?: number | undefined;
  /**
   * What is kept back in `block`, where the next block must be complete to go. 0 to 1000 tokens,
   * initially 12.5.
   */
  reserveBlock?: number | undefined;
  /**
   * Either reserve is at most this much time of the mean rate, lest slow streams be delayed for it.
   * 0 to 60000 milliseconds, initially 180.
   */
  reserveTime?: number | undefined;
  /**
   * From this horizon on the whole reserve is kept, below it less, in proportion. 1 to 10000
   * milliseconds, initially 35.
   */
  reserveSilence?: number | undefined;
  /**
   * The most that the rate may be, in mean rates, unless a deadline or a tail asks for more. 1 to
   * 1000, initially 4.
   */
  rateCap?: number | undefined;
  /**
   * How fast a tail goes, in mean rates, if `maxTail` asks for no more. 0.1 to 100, initially 2.
   */
  drain?: number | undefined;
  /**
   * The silence to expect after a first group of `priorTokens`, before any was seen; after a
   * smaller group less, in proportion. 0 to 60000 milliseconds, initially 1400.
   */
  priorSilence?: number | undefined;
  /**
   * The size of the first group after which `priorSilence` is expected. 1 to 10000 tokens,
   * initially 80.
   */
  priorTokens?: number | undefined;
  /**
   * The mean rate to expect of a stream of which nothing is known. 1 to 1000000 tokens/s, initially
   * 150.
   */
  rateFirst?: number | undefined;
  /**
   * Time over which the mean rate forgets. 100 to 600000 milliseconds, initially 4000.
   */
  rateMemory?: number | undefined;
  /**
   * Time after which the measured mean rate is trusted alone. 1 to 60000 milliseconds, initially
   * 2000.
   */
  rateTrust?: number | undefined;
  /**
   * After this many arrival groups the measured mean rate is trusted alone, even before
   * `rateTrust`. 1 to 24 count, initially 16.
   */
  rateTrustGroups?: number | undefined;
  /**
   * Plans aim this much before a deadline, since a piece leaves as a whole. 0 to 50 milliseconds,
   * initially 30.
   */
  deadlineMargin?: number | undefined;
  /**
   * Bytes that may be queued. Intake should pause at half of it (`wantsInput`) and resumes at a
   * quarter; beyond it a delta is refused as a whole. 65536 to 1073741824 bytes, initially 4194304.
   */
  maxQueueBytes?: number | undefined;
  /**
   * Bytes of a single event or delta; a larger one is an error. 1024 to 1073741824 bytes, initially
   * 16777216.
   */
  maxEventBytes?: number | undefined;
  /**
   * Choices (`n`) that one stream may interleave. 1 to 4096 count, initially 128.
   */
  maxChoices?: number | undefined;
  /**
   * The most reasoning of a stream that is let through, in tokens; 0 sets no limit. The provider's
   * running count holds where it has one, else text is estimated. What is within the limit leaves
   * at once when it is exceeded, the piece that exceeds it is the last, and the stream ends, by
   * default with an error, so that the source is closed. Reasoning that neither is sent nor counted
   * while the stream runs is checked at the end, by the final usage; `maxSilence` bounds its time.
   * An engine driven by hand lets everything through. 0 to 1000000000 tokens, initially 0.
   */
  maxReasoningTokens?: number | undefined;
  /**
   * Which tags in visible text hold reasoning: `common` are `<think>` and `<thinking>`; `all` adds
   * `<thought>`, `<reasoning>`, `<seed:think>`, `◁think▷`, `[THINK]` and the channels of gpt-oss;
   * `off` takes tags for text. Once a stream has sent reasoning in a field of its own, tags are
   * text. Initially `common`.
   */
  thinkTags?: "common" | "all" | "off" | undefined;
  /**
   * Visible text begins as reasoning, since the prompt's template holds the opening tag. Initially
   * false.
   */
  startsInside?: boolean | undefined;
  /**
   * A tag opens reasoning also after visible text. Answers that mention tags are then misread.
   * Initially false.
   */
  thinkReopens?: boolean | undefined;
  /**
   * Where reasoning comes in a field of its own, what stands between tags is a copy of it and is
   * left out of pieces. Initially false.
   */
  thinkCopies?: boolean | undefined;
  /**
   * When no event has come in full for so long, comments and pings aside, the stream ends with an
   * error, after all that had come; 0 sets no limit. Time in which no input is wanted, or nobody
   * polls, does not count. Collecting a stream has no clock and takes no notice of it. 0 to
   * 86400000 milliseconds, initially 0.
   */
  maxSilence?: number | undefined;
  /**
   * What a stream does when it exceeds `maxReasoningTokens` or a budget that it shares: `raise`
   * ends it with an error; `event` without one, and where events are given, one says so. Initially
   * `raise`.
   */
  overBudget?: "raise" | "event" | undefined;
  /**
   * A cluster is a group of arrivals of at least so many tokens, next to a silence of
   * `clusterMinGap`. This and the next two say what is counted as clustering (`stats`); pacing does
   * not depend on them. 1 to 1000000 tokens, initially 40.
   */
  clusterMinTokens?: number | undefined;
  /**
   * The shortest silence that makes a large group beside it a cluster. 1 to 3600000 milliseconds,
   * initially 1000.
   */
  clusterMinGap?: number | undefined;
  /**
   * Arrivals no later than this after the first of a group belong to it. 0 to 3600000 milliseconds,
   * initially 30.
   */
  clusterGroupGap?: number | undefined;
}
