/*
 * decluster: the clustered stream of a reasoning model, as a steady flow.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reasoning models stream in clusters: a hundred tokens within milliseconds, then a second or more
 * of nothing. This library takes what a provider sends, cuts its text into sentences, clauses and
 * steps, and says when each is to be shown, so that the text flows: the first at once, nothing
 * later than `max_delay` (1.5 s) after it arrived.
 *
 * It has no socket, no thread, no timer, no callback and no clock: bytes and the time go in, and
 * what is to be done now comes out. A sketch of the loop, for a stream that comes in at descriptor
 * 0 and leaves at descriptor 1:
 *
 *     decluster_rewriter *rewriter;
 *     decluster_output out;
 *     struct pollfd in = {0, POLLIN, 0};
 *     char bytes[4096];
 *     ssize_t n;
 *     if (decluster_rewriter_new(NULL, 0, DECLUSTER_MODE_STREAM, now(), &rewriter)) return 1;
 *     while (!decluster_rewriter_poll(rewriter, now(), &out, sizeof out) &&
 *            out.type != DECLUSTER_OUTPUT_FINISHED) {
 *         if (out.type == DECLUSTER_OUTPUT_BYTES) {
 *             fwrite(out.text, 1, out.text_length, stdout);
 *         } else if (fflush(stdout), poll(&in, out.wants_input, wait_ms(&out)) > 0) {
 *             n = read(0, bytes, sizeof bytes);
 *             if (n > 0) decluster_rewriter_push(rewriter, now(), bytes, (size_t)n);
 *             else decluster_rewriter_finish(rewriter, now());
 *         }
 *     }
 *     decluster_rewriter_free(rewriter);
 *
 * There `now()` is a monotonic clock in nanoseconds, and `wait_ms()` the time until `out.at_ns` if
 * `out.type` is `DECLUSTER_OUTPUT_WAIT`, else -1. Whole programs with their errors handled are
 * among the examples: pace_stdin.c, curl_multi.c.
 *
 * There are nine kinds of handles. A `decluster_rewriter` takes a provider's stream and gives the
 * same stream, re-cut and paced (or its text alone). A `decluster_engine` takes text and gives
 * pieces of it, for callers that decode the stream themselves. A `decluster_segmenter` cuts text
 * without pacing it, a `decluster_sse` decodes event streams. A `decluster_config` holds settings
 * for them. The others watch over streams: rewriters share a `decluster_budget` of reasoning,
 * `decluster_totals` add up what streams were, for Prometheus, a `decluster_ledger` what they cost,
 * and a `decluster_body` reads responses that were not streamed.
 *
 * Ownership. What a `_new()` function gives belongs to the caller, who gives it back to the
 * `_free()` of the same name, once; `_free(NULL)` does nothing. What goes in (text, bytes, names)
 * is copied. What comes out (text in an output, JSON, pending text) belongs to the handle and is
 * valid until the next call that takes the handle without `const`; it goes into another handle as
 * it is, into the same one only as a copy. Text that goes in or comes out is a pointer and a
 * length, without a NUL; the pointer may be NULL where the length is 0. Names, messages and
 * versions end with a NUL. A buffer that a foreign language passes for an output need not be
 * aligned.
 *
 * Errors. A call returns 0 (`DECLUSTER_OK`) or a negative status. After one that takes the handle
 * without `const`, the `_error()` function of the handle tells what was wrong, with names and
 * numbers. Outputs are written, and anything is changed, only with `DECLUSTER_OK`; faults of a
 * stream are the exception, and are said with the rewriter. Besides what a function names, every
 * call on a handle may return NULL, BUSY, PANIC and POISONED (in full `DECLUSTER_ERROR_NULL` and so
 * on), and BAD_ARGUMENT where it takes a length. A defect of the library never crosses into the
 * caller: the call returns PANIC, and the handle POISONED from then on. Only where memory runs out
 * does the library end the process, with a line on stderr, as Rust does.
 *
 * Backpressure. Read the source while `wants_input` is 1, which every output says. Memory is
 * bounded all the same: who pushes regardless is told FULL before long, and nothing is lost.
 *
 * Threads. A handle may be used by any thread. Calls that take it with `const` may go on at the
 * same time (many threads may make engines from one config); any other call must be alone on its
 * handle, or is told BUSY and does nothing, so a lock is the caller's to hold. Handles share
 * nothing but a budget that they were given; functions without one may be called at any time, also
 * after fork(). Nothing is read from the environment and nothing is printed.
 *
 * Time. `now_ns` is the caller's: nanoseconds of one monotonic clock for each handle
 * (`clock_gettime(CLOCK_MONOTONIC)`), from any beginning. A clock that runs backwards stands still.
 * `at_ns` is on the same clock: before it, a poll without new input gives the same wait again; at
 * it, something. The same calls at the same times give the same outputs in every language.
 *
 * Versions. `DECLUSTER_ABI_VERSION` is in the SONAME. Within it statuses, parameters and other
 * numbers are only added, never reused, fields stay where they are, and reserved ones are 0.
 */

#ifndef DECLUSTER_H
#define DECLUSTER_H

#include <stddef.h>
#include <stdint.h>

/** The version of this header; `decluster_version()` tells that of the library. */
#define DECLUSTER_VERSION "0.1.0"
#define DECLUSTER_VERSION_MAJOR 0
#define DECLUSTER_VERSION_MINOR 1
#define DECLUSTER_VERSION_PATCH 0


/**
 * The version of the binary interface. A change that could break a program that was compiled before
 * raises it, and the SONAME with it.
 */
#define DECLUSTER_ABI_VERSION 0

/** As many bytes as the text of `decluster_totals_text()` has at most, whatever was counted. */
#define DECLUSTER_TOTALS_TEXT_MAX 32768

/**
 * What a call returns: 0 is success, anything negative an error. Numbers are never reused.
 *
 * Whose fault it is: `TOO_LARGE`, `TOO_MANY_CHOICES`, `REASONING_BUDGET_EXCEEDED` and `STALLED` are
 * the stream's, so expect them; `FULL` asks to poll first; `PANIC` and `POISONED` are a defect of
 * the library; the rest is the caller's.
 */
typedef enum decluster_status {
    /** Done. */
    DECLUSTER_OK = 0,
    /** A pointer that must not be `NULL` is. */
    DECLUSTER_ERROR_NULL = -1,
    /**
     * An argument is none that there can be: a kind, a dialect, a mode, how to cancel, a value's
     * text; or a length over `PTRDIFF_MAX`, as of a number that was negative.
     */
    DECLUSTER_ERROR_BAD_ARGUMENT = -2,
    /** There is no parameter of this number. */
    DECLUSTER_ERROR_UNKNOWN_PARAMETER = -3,
    /** A parameter's value lies outside its bounds. */
    DECLUSTER_ERROR_OUT_OF_BOUNDS = -4,
    /** There is no parameter, preset or profile of this name; or no model in the price table. */
    DECLUSTER_ERROR_UNKNOWN_NAME = -5,
    /**
     * The `size` given for an output struct is less than that of the struct; or the room for a copy
     * is less than the text.
     */
    DECLUSTER_ERROR_TOO_SMALL = -6,
    /** Text is not UTF-8, or ends inside a character. */
    DECLUSTER_ERROR_BAD_UTF8 = -7,
    /** The queue would exceed `max_queue_bytes`: poll first, then call again. */
    DECLUSTER_ERROR_FULL = -8,
    /** A delta or an event exceeds `max_event_bytes`. */
    DECLUSTER_ERROR_TOO_LARGE = -9,
    /** The stream has more choices than `max_choices`. */
    DECLUSTER_ERROR_TOO_MANY_CHOICES = -10,
    /** It was finished or cancelled before; it takes no more input. */
    DECLUSTER_ERROR_FINISHED = -11,
    /**
     * A stream comes as bytes and lines or as events, not as both; or as items
     * (`decluster_rewriter_push_item()`) and nothing else.
     */
    DECLUSTER_ERROR_MIXED = -12,
    /**
     * The settings exclude each other: `unit = whole` without pieces, `segment = off` for a
     * segmenter.
     */
    DECLUSTER_ERROR_CONFLICT = -13,
    /** More reasoning came than `max_reasoning_tokens` or a shared budget allows. */
    DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED = -14,
    /** Another thread is in a call on this handle. */
    DECLUSTER_ERROR_BUSY = -15,
    /** The library panicked inside this call; the handle is poisoned now. Please report it. */
    DECLUSTER_ERROR_PANIC = -16,
    /** An earlier call on this handle panicked. It can only be freed. */
    DECLUSTER_ERROR_POISONED = -17,
    /** Nothing but comments and pings came for `max_silence`. */
    DECLUSTER_ERROR_STALLED = -18,
    /** The call comes too late: a budget after the first push, prices after something was added. */
    DECLUSTER_ERROR_OUT_OF_TURN = -19,
    /** A text is not what it has to be: a price table, a usage, a response. */
    DECLUSTER_ERROR_UNREADABLE = -20,
    /** A ledger would have more than 10,000 pairs of model and key. */
    DECLUSTER_ERROR_LEDGER_FULL = -21,
} decluster_status;

/** What a parameter's number counts. */
typedef enum decluster_measure {
    /** Nanoseconds. */
    DECLUSTER_MEASURE_NANOSECONDS = 0,
    /** LLM tokens. */
    DECLUSTER_MEASURE_TOKENS = 1,
    /** LLM tokens per second. */
    DECLUSTER_MEASURE_TOKENS_PER_SECOND = 2,
    /** Thousandths of an LLM token. */
    DECLUSTER_MEASURE_MILLITOKENS = 3,
    /** Thousandths: 700 is a share of 0.7. */
    DECLUSTER_MEASURE_THOUSANDTHS = 4,
    /** Bytes. */
    DECLUSTER_MEASURE_BYTES = 5,
    /** A plain number. */
    DECLUSTER_MEASURE_COUNT = 6,
    /** A choice, which has a name: `decluster_parameter_choice()`. */
    DECLUSTER_MEASURE_CHOICE = 7,
    /** 0 for no, 1 for yes. */
    DECLUSTER_MEASURE_SWITCH = 8,
} decluster_measure;

/** What a poll gave: `type` of a `decluster_output`. */
typedef enum decluster_output_type {
    /** Nothing until there is input. */
    DECLUSTER_OUTPUT_NEED_INPUT = 0,
    /** Nothing before `at_ns` unless there is input; then something. */
    DECLUSTER_OUTPUT_WAIT = 1,
    /**
     * Everything is out and no more will come. Of a rewriter, `verdict` says how the stream ended.
     */
    DECLUSTER_OUTPUT_FINISHED = 2,
    /**
     * Text to show now (none where a delta was a token count alone): `text`, `kind`, `index`,
     * `seq`, `block`, `part`, `boundary`, `ends_block`, `tokens`, `origin`, `arrived_ns`.
     */
    DECLUSTER_OUTPUT_PIECE = 3,
    /** A mark whose turn has come; `number` is that which was given. */
    DECLUSTER_OUTPUT_MARK = 4,
    /**
     * The answer began anew: what came so far is void, attempt `number` follows, the first being 1.
     */
    DECLUSTER_OUTPUT_RESTARTED = 5,
    /**
     * All output of choice `index` so far was reasoning: a closing tag came that nothing had
     * opened. From a rewriter.
     */
    DECLUSTER_OUTPUT_RECLASSIFIED = 6,
    /** From a rewriter: bytes of a valid stream of the same dialect, in `text`. */
    DECLUSTER_OUTPUT_BYTES = 7,
    /**
     * From a rewriter that was given events: `name` (`message` if it had none) and data (`text`) of
     * an event. `number` says which of those that were pushed it is, from 0 (one that was cut has
     * it several times, of several that were joined it is the last); `changed` whether its data is
     * other than that which was pushed. Events with numbers below `done` will not come any more.
     */
    DECLUSTER_OUTPUT_OBJECT = 8,
    /**
     * An event that is not text, with `name` (`message` if it had none) and data (`text`). From an
     * event stream decoder, which gives all events, also `terminated`.
     */
    DECLUSTER_OUTPUT_EVENT = 9,
    /**
     * From an event stream decoder: in `text` lines that are no event, among them a comment,
     * without the line ends around them.
     */
    DECLUSTER_OUTPUT_COMMENT = 10,
    /** From a segmenter: a block of text: `text`, `block`, `boundary`, `tokens`. */
    DECLUSTER_OUTPUT_BLOCK = 11,
    /**
     * From a rewriter, with `over_budget = event` and events: more reasoning came than is allowed,
     * `number` tokens; the stream ends. `text` is `exceeded` of `decluster_rewriter_answer()`, a
     * JSON object, and `name` is `budget_exceeded`.
     */
    DECLUSTER_OUTPUT_BUDGET_EXCEEDED = 12,
} decluster_output_type;

/** Which channel a text belongs to. */
typedef enum decluster_kind {
    /** The model's thinking, raw or summarised. */
    DECLUSTER_KIND_REASONING = 0,
    /** What the model says to the user; a refusal counts as output. */
    DECLUSTER_KIND_OUTPUT = 1,
} decluster_kind;

/** How a block or a piece ends, best first. */
typedef enum decluster_boundary {
    /** An empty line. */
    DECLUSTER_BOUNDARY_PARAGRAPH = 0,
    /** A newline. */
    DECLUSTER_BOUNDARY_LINE = 1,
    /** The end of a sentence. */
    DECLUSTER_BOUNDARY_SENTENCE = 2,
    /** A comma, a colon, a conjunction, a relation sign. */
    DECLUSTER_BOUNDARY_CLAUSE = 3,
    /** Any blank. */
    DECLUSTER_BOUNDARY_WORD = 4,
    /** Between two characters as the reader sees them. */
    DECLUSTER_BOUNDARY_GRAPHEME = 5,
} decluster_boundary;

/** How a stream ended. */
typedef enum decluster_verdict {
    /**
     * Not settled: an engine, a stream of no known dialect, or one that was dropped
     * (`DECLUSTER_CANCEL_DROP`, a reasoning budget).
     */
    DECLUSTER_VERDICT_NONE = 0,
    /** The provider said that this is the end. */
    DECLUSTER_VERDICT_COMPLETE = 1,
    /** The provider reported an error, or sent what is no stream. */
    DECLUSTER_VERDICT_FAILED = 2,
    /** It stopped without an end. */
    DECLUSTER_VERDICT_TRUNCATED = 3,
} decluster_verdict;

/** On which side of the pacer. */
typedef enum decluster_stage {
    /** As it came in. */
    DECLUSTER_STAGE_BEFORE = 0,
    /** As it left. */
    DECLUSTER_STAGE_AFTER = 1,
} decluster_stage;

/** How to cancel. */
typedef enum decluster_cancel {
    /** What is queued leaves at once, then it is finished. */
    DECLUSTER_CANCEL_FLUSH = 0,
    /** What is queued is forgotten. */
    DECLUSTER_CANCEL_DROP = 1,
} decluster_cancel;

/** The form of a stream's events. */
typedef enum decluster_dialect {
    /** Not known; for a new rewriter: tell it from the first event. */
    DECLUSTER_DIALECT_UNKNOWN = 0,
    /** Chat completions, as `OpenAI` and many others send them. */
    DECLUSTER_DIALECT_OPENAI_CHAT = 1,
    /** The Responses API. */
    DECLUSTER_DIALECT_OPENAI_RESPONSES = 2,
    /** Anthropic's Messages. */
    DECLUSTER_DIALECT_ANTHROPIC = 3,
    /** Gemini's `streamGenerateContent`, as events or as one array. */
    DECLUSTER_DIALECT_GEMINI = 4,
    /** Ollama's `/api/chat` and `/api/generate`. */
    DECLUSTER_DIALECT_OLLAMA = 5,
    /** Mistral's chat completions. */
    DECLUSTER_DIALECT_MISTRAL = 6,
    /** Cohere's chat, version 2. */
    DECLUSTER_DIALECT_COHERE = 7,
    /** Bedrock's Converse stream, in its decoded form. */
    DECLUSTER_DIALECT_BEDROCK_CONVERSE = 8,
    /**
     * `response.reasoning.delta` and `response.output.delta` with counts (`delta_tokens`) or text.
     */
    DECLUSTER_DIALECT_INCIDENT = 9,
} decluster_dialect;

/** What a rewriter gives. */
typedef enum decluster_mode {
    /**
     * The stream again: `DECLUSTER_OUTPUT_BYTES`, or `DECLUSTER_OUTPUT_OBJECT` where events are
     * pushed.
     */
    DECLUSTER_MODE_STREAM = 0,
    /** Its text alone: `DECLUSTER_OUTPUT_PIECE`. */
    DECLUSTER_MODE_PIECES = 1,
    /**
     * Its text, and what is not text: also `DECLUSTER_OUTPUT_EVENT`, `_RESTARTED` and
     * `_RECLASSIFIED`.
     */
    DECLUSTER_MODE_PIECES_AND_EVENTS = 2,
} decluster_mode;

/** How the items of an iterable stand to the stream's bytes. */
typedef enum decluster_framing {
    /** Not told yet; or the stream does not come as items. */
    DECLUSTER_FRAMING_UNKNOWN = 0,
    /** Each is a line without its end. */
    DECLUSTER_FRAMING_LINES = 1,
    /** Each is a line with its end. */
    DECLUSTER_FRAMING_LINES_WITH_ENDS = 2,
    /** Chunks, cut anywhere. */
    DECLUSTER_FRAMING_BYTES = 3,
} decluster_framing;

/** Reads responses that were not streamed, one after the other. */
typedef struct decluster_body decluster_body;

/**
 * LLM tokens of reasoning that several streams may use between them, all together. Every call takes
 * it with `const`: any number of threads may use it at the same time.
 *
 * A rewriter that was given one (`decluster_rewriter_share_budget()`) charges each piece of
 * reasoning before it gives it out. Once the limit is reached it gives out none any more and ends
 * with `REASONING_BUDGET_EXCEEDED`, so over all streams one piece at the most exceeds the limit.
 * What a provider counts itself corrects the charge, up or down.
 */
typedef struct decluster_budget decluster_budget;

/**
 * Settings to make engines, rewriters, segmenters and decoders with. They copy what they need: a
 * config may be changed or freed afterwards. Values that were set are within their bounds, always.
 */
typedef struct decluster_config decluster_config;

/**
 * Takes the deltas of one stream and gives them back as paced pieces.
 *
 * Memory is bounded by `max_queue_bytes` (an empty engine takes any one delta up to
 * `max_event_bytes`).
 */
typedef struct decluster_engine decluster_engine;

/**
 * Adds up what answers used and cost, by model and by key: a customer, a job, whatever the caller
 * names.
 *
 * Counts are integers, costs are decimals, exact unless one would have more than 28 digits, so the
 * order of the answers changes nothing. A ledger has at most 10,000 pairs of model and key, each
 * name of at most 256 bytes. Threads take turns on it, as on any handle; or each has its own, and
 * they are merged.
 *
 * `model` and `key` of the functions that add end with a NUL and are UTF-8; either may be `NULL`:
 * no model named, no key. `keep` says what becomes of an answer whose model has no price: 0 refuses
 * it with `UNKNOWN_NAME` (its message lists the models), anything else counts it as `unpriced`.
 * With `cost` and `cost_length` they say what the answer cost, as a JSON object: `prompt`,
 * `cached`, `cache_write`, `reasoning`, `output`, `total` (decimal numbers, as strings),
 * `currency`; or `null` without prices, without usage, and for an answer that is `unpriced`. Both
 * may be `NULL` where nobody wants to know.
 */
typedef struct decluster_ledger decluster_ledger;

/**
 * Re-cuts and paces one stream in its provider's own form: event streams, JSON lines, one JSON
 * array, or events that were parsed already.
 *
 * Events with text are cut or joined where blocks end; everything else passes unchanged and keeps
 * its place, but for comments and pings, which go at once. A stream of no known dialect passes
 * unchanged and unpaced. Memory is bounded by `max_queue_bytes`, one event and one push.
 *
 * It is finished by `decluster_rewriter_finish()` alone: that the provider said `[DONE]` does not
 * tell that nothing more comes.
 *
 * A *fault* is an error of the stream rather than of the caller: `TOO_LARGE` (an event over
 * `max_event_bytes`), `TOO_MANY_CHOICES` (where pieces are given; in a stream the event passes
 * unchanged), `REASONING_BUDGET_EXCEEDED` and `STALLED`. The rewriter then finishes itself: stop
 * reading the source, and poll on until `DECLUSTER_OUTPUT_FINISHED`. It is told once. If a push
 * tells it, what came before still leaves; if a poll does, all of that has left.
 */
typedef struct decluster_rewriter decluster_rewriter;

/**
 * Cuts a text that arrives in parts into blocks, each given as soon as its end is known. The blocks
 * in a row are the text, byte for byte; how it was cut into pushes changes nothing.
 */
typedef struct decluster_segmenter decluster_segmenter;

/**
 * Decodes a server-sent event stream by the rules of the WHATWG standard, cut anywhere. Time is
 * linear in the input; memory is bounded by `max_event_bytes` and one push.
 */
typedef struct decluster_sse decluster_sse;

/**
 * Adds up streams that are over, for Prometheus. Every call takes it with `const`: any number of
 * threads may use it at the same time, and none waits for another. No sum ever falls.
 */
typedef struct decluster_totals decluster_totals;

/** A parameter. The strings are static and end with a NUL. */
typedef struct decluster_parameter_info {
    /** The least value. */
    uint64_t min;
    /** The greatest value. */
    uint64_t max;
    /** The value where nothing was set. */
    uint64_t initial;
    /** What the number counts: a `decluster_measure`. */
    uint32_t measure;
    /** Reserved: 0. */
    uint32_t reserved;
    /** The name, the same in all languages. */
    const char *name;
    /** What it means. */
    const char *doc;
    /** Reserved: 0. */
    uint64_t reserved_words[2];
} decluster_parameter_info;

/**
 * What a poll writes: one flat struct for all of them. A field that `type` does not list is 0 or
 * `NULL`. What the pointers point at is the handle's, has no NUL at its end, and is valid until the
 * next call on the handle that may change it.
 *
 * The numbers of bytes at which fields stand are fixed, so that a foreign language can read them
 * from a buffer: the integers' everywhere, the pointers' and sizes' where those have 64 bits.
 */
typedef struct decluster_output {
    /** What this is: a `decluster_output_type`. Byte 0. */
    uint32_t type;
    /** 1 if the caller should go on reading its source, else 0; in every output. Byte 4. */
    uint32_t wants_input;
    /** A `decluster_kind`. Byte 8. */
    uint32_t kind;
    /** The choice. Byte 12. */
    uint32_t index;
    /** Number of the piece within its block, from 0. Byte 16. */
    uint32_t part;
    /** What stands at its end: a `decluster_boundary`. Byte 20. */
    uint32_t boundary;
    /** 1 if the block is known to end here, else 0. Byte 24. */
    uint32_t ends_block;
    /** Estimate of its LLM tokens. Byte 28. */
    uint32_t tokens;
    /**
     * Number of the piece among all that leaves, from 0; marks and events take one each, too. Byte
     * 32.
     */
    uint64_t seq;
    /** Number of the block within its choice, from 0. Byte 40. */
    uint64_t block;
    /**
     * Number of the delta that holds its last byte: the n-th that was accepted, from 0. Byte 48.
     */
    uint64_t origin;
    /** When its first byte arrived. Byte 56. */
    uint64_t arrived_ns;
    /** When to poll again. Byte 64. */
    uint64_t at_ns;
    /** Which mark, attempt or event; or how many tokens. Byte 72. */
    uint64_t number;
    /** Events below this number will not come any more. Byte 80. */
    uint64_t done;
    /**
     * From an event stream decoder, in every output: the reconnection time in force, in
     * milliseconds; -1 if none was stated. Byte 88.
     */
    int64_t retry_ms;
    /** 1 if the data is not what was pushed, else 0. Byte 96. */
    uint32_t changed;
    /**
     * 1 if a blank line ended the event, 0 if the input did: the standard ignores those. Byte 100.
     */
    uint32_t terminated;
    /** A `decluster_verdict`. Byte 104. */
    uint32_t verdict;
    /** Reserved: 0. Byte 108. */
    uint32_t reserved;
    /** Text, data or bytes. Byte 112. */
    const char *text;
    /** Its length in bytes. Byte 120. */
    size_t text_length;
    /** The event's name. Byte 128. */
    const char *name;
    /** Its length in bytes. Byte 136. */
    size_t name_length;
    /**
     * From an event stream decoder, in every output: the last event id in force, empty if there is
     * none. Byte 144.
     */
    const char *id;
    /** Its length in bytes. Byte 152. */
    size_t id_length;
    /** Reserved: 0. Bytes 160 to 191. */
    uint64_t reserved_words[4];
} decluster_output;

/** Counters of an engine or a rewriter. */
typedef struct decluster_stats {
    /** Deltas accepted. */
    uint64_t deltas;
    /** Pieces released. */
    uint64_t pieces;
    /** Blocks of which something was released. */
    uint64_t blocks;
    /** Pieces that ended inside a block. */
    uint64_t cuts;
    /** Pieces for which a deadline or a tail asked for more than pacing would have given. */
    uint64_t hurried;
    /** Tokens that came in, as estimated. */
    uint64_t tokens_in;
    /** Tokens that went out, as estimated. */
    uint64_t tokens_out;
    /** Bytes of text that came in. */
    uint64_t bytes_in;
    /** Bytes of text that went out. */
    uint64_t bytes_out;
    /** Bytes queued, with the bookkeeping. */
    uint64_t queued_bytes;
    /** The longest that the first byte of a piece was delayed, in nanoseconds. */
    uint64_t max_delay_ns;
    /** Mean rate of release at the last plan, in tokens per second. */
    uint64_t rate;
    /** Reserved: 0. */
    uint64_t reserved_words[4];
} decluster_stats;

/**
 * How clustered a stream is. Groups are tokens that came (or left) within `cluster_group_gap` of
 * the first of them. A group of `cluster_min_tokens` and more counts as a cluster if a silence of
 * `cluster_min_gap` and more came before it or after it, within the stream. Tokens are counted as
 * in `decluster_stats`. Quantiles exceed the exact ones by 1 % at the most, and values of more than
 * 86,400,000 count as that.
 */
typedef struct decluster_clusters {
    /** Clusters. */
    uint64_t events;
    /** Clusters an hour, in thousandths, over `watched_ns`; 0 as long as that is 0. */
    uint64_t events_per_hour;
    /** Groups. */
    uint64_t groups;
    /** Tokens. */
    uint64_t tokens;
    /** Streams: 1, or 0 before any token. */
    uint64_t streams;
    /** From the first to the last arrival, in nanoseconds. */
    uint64_t watched_ns;
    /** Tokens of a group: the median; this and the next three are 0 where `groups` is. */
    uint64_t size_p50;
    /** 95 of 100 groups have no more. */
    uint64_t size_p95;
    /** The largest. */
    uint64_t size_max;
    /** All of them. */
    uint64_t size_sum;
    /**
     * The silence between two groups, in milliseconds: the median; this and the next three are 0
     * with less than two groups.
     */
    uint64_t gap_p50_ms;
    /** 95 of 100 silences are no longer. */
    uint64_t gap_p95_ms;
    /** The longest. */
    uint64_t gap_max_ms;
    /** All of them. */
    uint64_t gap_sum_ms;
    /** Reserved: 0. */
    uint64_t reserved_words[2];
} decluster_clusters;

/**
 * What an answer cost in tokens, in one meaning for all providers. What the provider does not say
 * is -1.
 */
typedef struct decluster_tokens {
    /** All tokens of the input: also those that were read from a cache or written to one. */
    int64_t input;
    /** Of the input, those that were read from a cache. */
    int64_t cached_input;
    /** Of the input, those that were written to a cache. */
    int64_t cache_write;
    /**
     * All tokens of the output: also those of the reasoning, whatever the provider's own count
     * holds.
     */
    int64_t output;
    /**
     * Of the output, those of the reasoning. May exceed the output by a little: some count the two
     * in different ways.
     */
    int64_t reasoning;
    /** Of the output, what is no reasoning; not below 0. */
    int64_t visible;
    /** What the answer cost, where the provider says so: in 10^-12 dollars. */
    int64_t cost_picodollars;
    /** Reserved: 0. */
    uint64_t reserved_words[3];
} decluster_tokens;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* ---- The library itself ---- */

/**
 * The version of the binary interface that the library has: compare it with `DECLUSTER_ABI_VERSION`
 * where the linker does not, as after `dlopen()`.
 */
uint32_t decluster_abi_version(void);

/** The version of the library, such as `0.1.0`: a static string that ends with a NUL. */
const char *decluster_version(void);

/**
 * What a status means, in a few words: a static string, never `NULL`. For what went wrong in a
 * certain call, with names and numbers, ask the handle: `decluster_engine_error()` and the like.
 */
const char *decluster_status_text(int32_t status);

/**
 * Whether a status is a fault, an error of the stream rather than of the caller (see
 * `decluster_rewriter`): 1 or 0.
 */
int32_t decluster_status_is_fault(int32_t status);

/**
 * Copies `length` bytes of text that an output points at to `to`, where there is room for `size`:
 * for languages that can hold a pointer and not read what is there. The text must still be valid.
 * No NUL is written behind it.
 *
 * Errors: `NULL`, `BAD_ARGUMENT` (the length), `TOO_SMALL` (`size` is less than `length`), `PANIC`;
 * then nothing is written.
 */
enum decluster_status decluster_copy(const char *text,
                                     size_t length,
                                     char *to,
                                     size_t size);

/* ---- Parameters ---- */

/**
 * The parameters, for `decluster_config_set()`.
 *
 * Presets, for `decluster_config_preset()`. `balanced`: The default: bridges the silences that can
 * be bridged and adds little to streams that flow. `steady`: The least variation and the fewest
 * stalls, for about 100 ms more of delay and a tail of 800 ms. `snappy`: About half the delay: long
 * silences stay visible more often.
 *
 * Profiles, for `decluster_config_profile()`. `codex-low-latency`: First text within 45 ms of its
 * arrival, then balanced: the defaults, under the published name.
 */
typedef enum decluster_parameter {
    /**
     * What is released at once: `block` whole semantic blocks, cut at a word only against a stall
     * or a deadline; `word` a word or two (`quantum`); `whole` complete blocks only, even beyond
     * `max_delay`. Initially `block`.
     */
    DECLUSTER_PARAMETER_UNIT = 0,
    /**
     * How releases are timed: `adaptive` learns the stream's silences; `fixed` is a token bucket of
     * `rate` and `burst`, under the bound of `max_delay`; `off` releases text as soon as its block
     * or word is complete. Initially `adaptive`.
     */
    DECLUSTER_PARAMETER_PACE = 1,
    /**
     * Where blocks end: `semantic` at sentences, lines and clauses, near `target`; `off` makes each
     * delta a block, cut nowhere and held for no half character; `sentences` at sentences and lines
     * alone. Initially `semantic`.
     */
    DECLUSTER_PARAMETER_SEGMENT = 2,
    /**
     * Tokens per block that the segmenter aims at, on average. Has no effect with `segment =
     * sentences`. In thousandths of a token: 4000 to 64000, initially 12400.
     */
    DECLUSTER_PARAMETER_TARGET = 3,
    /**
     * The most that text is delayed, while the caller polls when told: every byte leaves within
     * this time of its arrival. `max_rate` and `unit = whole` come before it. In nanoseconds: 100
     * ms to 60 s, initially 1500 ms.
     */
    DECLUSTER_PARAMETER_MAX_DELAY = 4,
    /**
     * How long the first text may wait for the end of its first word. In nanoseconds: 0 ms to 1 s,
     * initially 45 ms.
     */
    DECLUSTER_PARAMETER_FIRST_HOLD = 5,
    /**
     * How long text may still take once a tool call or the end is queued behind it. In nanoseconds:
     * 0 ms to 10 s, initially 300 ms.
     */
    DECLUSTER_PARAMETER_MAX_TAIL = 6,
    /**
     * The longest silence a reader should see while there are words to show: then a block is cut at
     * a word. In nanoseconds: 20 ms to 10 s, initially 240 ms.
     */
    DECLUSTER_PARAMETER_MAX_GAP = 7,
    /**
     * `max_gap` for `unit = word`, where it takes no more than a word to end a silence. In
     * nanoseconds: 20 ms to 10 s, initially 195 ms.
     */
    DECLUSTER_PARAMETER_WORD_GAP = 8,
    /**
     * When a block is cut to end a silence, this share of the queued text leaves, two tokens at
     * least. In thousandths: 0 to 1000, initially 700.
     */
    DECLUSTER_PARAMETER_CUT_PART = 9,
    /**
     * How long a character that may still grow (an accent, an emoji sequence) is held at the end of
     * the text. It can only be lowered. In nanoseconds: 0 ms to 100 ms, initially 100 ms.
     */
    DECLUSTER_PARAMETER_GRAPHEME_HOLD = 10,
    /**
     * Tokens per second of `pace = fixed`. Deadlines come before it: for a hard limit there is
     * `max_rate`. In tokens per second: 1 to 1000000, initially 240.
     */
    DECLUSTER_PARAMETER_RATE = 11,
    /**
     * Tokens that `pace = fixed` lets through at once after a silence. In tokens: 1 to 1000000,
     * initially 32.
     */
    DECLUSTER_PARAMETER_BURST = 12,
    /**
     * The most tokens per second that are released, for readers who want no more; 0 sets no limit.
     * It comes before `max_delay` and `max_tail`. Intake pauses (`wants_input`) while more is
     * queued than can be read within half of `max_delay`, so that a caller who heeds it is late
     * with nothing. In tokens per second: 0 to 1000000, initially 0.
     */
    DECLUSTER_PARAMETER_MAX_RATE = 13,
    /**
     * How much time a piece of words holds: short enough to look continuous, long enough to be
     * worth an event. In nanoseconds: 5 ms to 1 s, initially 33 ms.
     */
    DECLUSTER_PARAMETER_QUANTUM = 14,
    /**
     * The most tokens of a piece of words, unless a single one that cannot be cut has more. In
     * thousandths of a token: 1000 to 1000000, initially 12000.
     */
    DECLUSTER_PARAMETER_PIECE_MAX = 15,
    /**
     * In `word`, at most `cluster_burst` + `cluster_rate` x mean rate x w tokens leave in any time
     * w, unless a deadline or a tail asks for more. In thousandths of a token: 4000 to 1000000,
     * initially 12000.
     */
    DECLUSTER_PARAMETER_CLUSTER_BURST = 16,
    /**
     * How much of the mean rate may leave in the long run, on top of `cluster_burst`. In
     * thousandths: 1000 to 1000000, initially 1500.
     */
    DECLUSTER_PARAMETER_CLUSTER_RATE = 17,
    /**
     * Arrivals within this time of a group's first belong to it: beyond the jitter of networks,
     * below any pause that a reader could notice. In nanoseconds: 1 ms to 1 s, initially 30 ms.
     */
    DECLUSTER_PARAMETER_GROUP_GAP = 18,
    /**
     * The silence expected next, the *horizon*, is this quantile of the last 24 silences that were
     * longer than the present one has lasted, weighted by their time. In thousandths: 50 to 1000,
     * initially 850.
     */
    DECLUSTER_PARAMETER_SILENCE_QUANTILE = 19,
    /**
     * Once a silence outlasts every one that is remembered, it is expected to last this many times
     * what it has already. In thousandths: 1000 to 10000, initially 4000.
     */
    DECLUSTER_PARAMETER_LATE_PART = 20,
    /** The shortest horizon. In nanoseconds: 1 ms to 1 s, initially 10 ms. */
    DECLUSTER_PARAMETER_HORIZON_MIN = 21,
    /**
     * Up to this horizon `horizon_part_word` or `horizon_part_block` holds. In nanoseconds: 1 ms to
     * 60 s, initially 250 ms.
     */
    DECLUSTER_PARAMETER_SILENCE_SHORT = 22,
    /**
     * From this horizon on `horizon_part_long` holds; in between the part changes in proportion. In
     * nanoseconds: 1 ms to 60 s, initially 750 ms.
     */
    DECLUSTER_PARAMETER_SILENCE_LONG = 23,
    /**
     * In `word`, the queue is planned to be gone after this part of a short horizon. Less means
     * less delay, and less text left when a silence lasts. In thousandths: 50 to 4000, initially
     * 550.
     */
    DECLUSTER_PARAMETER_HORIZON_PART_WORD = 24,
    /** The same in `block`, for a short horizon. In thousandths: 50 to 4000, initially 320. */
    DECLUSTER_PARAMETER_HORIZON_PART_BLOCK = 25,
    /** The same in both, for a long horizon. In thousandths: 50 to 4000, initially 390. */
    DECLUSTER_PARAMETER_HORIZON_PART_LONG = 26,
    /**
     * What is kept back in `word`, to drip word by word through a silence that is longer than
     * expected. In thousandths of a token: 0 to 1000000, initially 4000.
     */
    DECLUSTER_PARAMETER_RESERVE_WORD = 27,
    /**
     * What is kept back in `block`, where the next block must be complete to go. In thousandths of
     * a token: 0 to 1000000, initially 12500.
     */
    DECLUSTER_PARAMETER_RESERVE_BLOCK = 28,
    /**
     * Either reserve is at most this much time of the mean rate, lest slow streams be delayed for
     * it. In nanoseconds: 0 ms to 60 s, initially 180 ms.
     */
    DECLUSTER_PARAMETER_RESERVE_TIME = 29,
    /**
     * From this horizon on the whole reserve is kept, below it less, in proportion. In nanoseconds:
     * 1 ms to 10 s, initially 35 ms.
     */
    DECLUSTER_PARAMETER_RESERVE_SILENCE = 30,
    /**
     * The most that the rate may be, in mean rates, unless a deadline or a tail asks for more. In
     * thousandths: 1000 to 1000000, initially 4000.
     */
    DECLUSTER_PARAMETER_RATE_CAP = 31,
    /**
     * How fast a tail goes, in mean rates, if `max_tail` asks for no more. In thousandths: 100 to
     * 100000, initially 2000.
     */
    DECLUSTER_PARAMETER_DRAIN = 32,
    /**
     * The silence to expect after a first group of `prior_tokens`, before any was seen; after a
     * smaller group less, in proportion. In nanoseconds: 0 ms to 60 s, initially 1400 ms.
     */
    DECLUSTER_PARAMETER_PRIOR_SILENCE = 33,
    /**
     * The size of the first group after which `prior_silence` is expected. In thousandths of a
     * token: 1000 to 10000000, initially 80000.
     */
    DECLUSTER_PARAMETER_PRIOR_TOKENS = 34,
    /**
     * The mean rate to expect of a stream of which nothing is known. In tokens per second: 1 to
     * 1000000, initially 150.
     */
    DECLUSTER_PARAMETER_RATE_FIRST = 35,
    /** Time over which the mean rate forgets. In nanoseconds: 100 ms to 600 s, initially 4 s. */
    DECLUSTER_PARAMETER_RATE_MEMORY = 36,
    /**
     * Time after which the measured mean rate is trusted alone. In nanoseconds: 1 ms to 60 s,
     * initially 2 s.
     */
    DECLUSTER_PARAMETER_RATE_TRUST = 37,
    /**
     * After this many arrival groups the measured mean rate is trusted alone, even before
     * `rate_trust`. 1 to 24, initially 16.
     */
    DECLUSTER_PARAMETER_RATE_TRUST_GROUPS = 38,
    /**
     * Plans aim this much before a deadline, since a piece leaves as a whole. In nanoseconds: 0 ms
     * to 50 ms, initially 30 ms.
     */
    DECLUSTER_PARAMETER_DEADLINE_MARGIN = 39,
    /**
     * Bytes that may be queued. Intake should pause at half of it (`wants_input`) and resumes at a
     * quarter; beyond it a delta is refused as a whole. In bytes: 65536 to 1073741824, initially
     * 4194304.
     */
    DECLUSTER_PARAMETER_MAX_QUEUE_BYTES = 40,
    /**
     * Bytes of a single event or delta; a larger one is an error. In bytes: 1024 to 1073741824,
     * initially 16777216.
     */
    DECLUSTER_PARAMETER_MAX_EVENT_BYTES = 41,
    /** Choices (`n`) that one stream may interleave. 1 to 4096, initially 128. */
    DECLUSTER_PARAMETER_MAX_CHOICES = 42,
    /**
     * The most reasoning of a stream that is let through, in tokens; 0 sets no limit. The
     * provider's running count holds where it has one, else text is estimated. What is within the
     * limit leaves at once when it is exceeded, the piece that exceeds it is the last, and the
     * stream ends, by default with an error, so that the source is closed. Reasoning that neither
     * is sent nor counted while the stream runs is checked at the end, by the final usage;
     * `max_silence` bounds its time. An engine driven by hand lets everything through. In tokens: 0
     * to 1000000000, initially 0.
     */
    DECLUSTER_PARAMETER_MAX_REASONING_TOKENS = 43,
    /**
     * Which tags in visible text hold reasoning: `common` are `<think>` and `<thinking>`; `all`
     * adds `<thought>`, `<reasoning>`, `<seed:think>`, `◁think▷`, `[THINK]` and the channels of
     * gpt-oss; `off` takes tags for text. Once a stream has sent reasoning in a field of its own,
     * tags are text. Initially `common`.
     */
    DECLUSTER_PARAMETER_THINK_TAGS = 44,
    /**
     * Visible text begins as reasoning, since the prompt's template holds the opening tag. 0 or 1,
     * initially 0.
     */
    DECLUSTER_PARAMETER_STARTS_INSIDE = 45,
    /**
     * A tag opens reasoning also after visible text. Answers that mention tags are then misread. 0
     * or 1, initially 0.
     */
    DECLUSTER_PARAMETER_THINK_REOPENS = 46,
    /**
     * Where reasoning comes in a field of its own, what stands between tags is a copy of it and is
     * left out of pieces. 0 or 1, initially 0.
     */
    DECLUSTER_PARAMETER_THINK_COPIES = 47,
    /**
     * When no event has come in full for so long, comments and pings aside, the stream ends with an
     * error, after all that had come; 0 sets no limit. Time in which no input is wanted, or nobody
     * polls, does not count. Collecting a stream has no clock and takes no notice of it. In
     * nanoseconds: 0 ms to 86400 s, initially 0 ms.
     */
    DECLUSTER_PARAMETER_MAX_SILENCE = 48,
    /**
     * What a stream does when it exceeds `max_reasoning_tokens` or a budget that it shares: `raise`
     * ends it with an error; `event` without one, and where events are given, one says so.
     * Initially `raise`.
     */
    DECLUSTER_PARAMETER_OVER_BUDGET = 49,
    /**
     * A cluster is a group of arrivals of at least so many tokens, next to a silence of
     * `cluster_min_gap`. This and the next two say what is counted as clustering (`stats`); pacing
     * does not depend on them. In tokens: 1 to 1000000, initially 40.
     */
    DECLUSTER_PARAMETER_CLUSTER_MIN_TOKENS = 50,
    /**
     * The shortest silence that makes a large group beside it a cluster. In nanoseconds: 1 ms to
     * 3600 s, initially 1 s.
     */
    DECLUSTER_PARAMETER_CLUSTER_MIN_GAP = 51,
    /**
     * Arrivals no later than this after the first of a group belong to it. In nanoseconds: 0 ms to
     * 3600 s, initially 30 ms.
     */
    DECLUSTER_PARAMETER_CLUSTER_GROUP_GAP = 52,
} decluster_parameter;

/** The choices of `unit`. */
typedef enum decluster_unit {
    DECLUSTER_UNIT_BLOCK = 0,
    DECLUSTER_UNIT_WORD = 1,
    DECLUSTER_UNIT_WHOLE = 2,
} decluster_unit;

/** The choices of `pace`. */
typedef enum decluster_pace {
    DECLUSTER_PACE_ADAPTIVE = 0,
    DECLUSTER_PACE_FIXED = 1,
    DECLUSTER_PACE_OFF = 2,
} decluster_pace;

/** The choices of `segment`. */
typedef enum decluster_segment {
    DECLUSTER_SEGMENT_SEMANTIC = 0,
    DECLUSTER_SEGMENT_OFF = 1,
    DECLUSTER_SEGMENT_SENTENCES = 2,
} decluster_segment;

/** The choices of `think_tags`. */
typedef enum decluster_think_tags {
    DECLUSTER_THINK_TAGS_COMMON = 0,
    DECLUSTER_THINK_TAGS_ALL = 1,
    DECLUSTER_THINK_TAGS_OFF = 2,
} decluster_think_tags;

/** The choices of `over_budget`. */
typedef enum decluster_over_budget {
    DECLUSTER_OVER_BUDGET_RAISE = 0,
    DECLUSTER_OVER_BUDGET_EVENT = 1,
} decluster_over_budget;

/** How many parameters there are: their numbers are 0 to one less. */
uint32_t decluster_parameter_count(void);

/**
 * The number of the parameter of this name (NUL-terminated), or a negative status: `NULL` or
 * `UNKNOWN_NAME`.
 */
int32_t decluster_parameter_find(const char *name);

/**
 * Tells name, bounds, default and meaning of a parameter. `size` is `sizeof *info`.
 *
 * Errors: `NULL`, `TOO_SMALL`, `UNKNOWN_PARAMETER`; then `info` is as it was.
 */
enum decluster_status decluster_parameter_describe(uint32_t parameter,
                                                   struct decluster_parameter_info *info,
                                                   size_t size);

/**
 * The name of a choice, such as `word` for number 1 of `DECLUSTER_PARAMETER_UNIT`: a static string
 * that ends with a NUL; `NULL` if there is no such parameter, or no such choice of it.
 */
const char *decluster_parameter_choice(uint32_t parameter,
                                       uint64_t choice);

/* ---- Settings ---- */

/**
 * Makes settings, all of them at their defaults. To be freed with `decluster_config_free()`.
 *
 * Errors: `NULL`, `PANIC`; then `config` is as it was.
 */
enum decluster_status decluster_config_new(struct decluster_config **config);

/** Frees it; `NULL` is ignored. */
void decluster_config_free(struct decluster_config *config);

/**
 * Sets a parameter, a `decluster_parameter`, in its unit.
 *
 * Errors: `UNKNOWN_PARAMETER`, `OUT_OF_BOUNDS`, and those of every call; then nothing is changed.
 */
enum decluster_status decluster_config_set(struct decluster_config *config,
                                           uint32_t parameter,
                                           uint64_t value);

/**
 * Sets a parameter by its name, from text, as from a command line or a file of settings: `value` is
 * a number in the parameter's unit, or the name of a choice; of a time, the number may be followed
 * by `ns`, `us`, `ms` or `s`. Both end with a NUL. `decluster_config_set_text(config, "max_delay",
 * "800ms")`
 *
 * Errors: `UNKNOWN_NAME` (its message lists the parameters), `BAD_ARGUMENT` (no number and no
 * choice), `OUT_OF_BOUNDS`, and those of every call; then nothing is changed.
 */
enum decluster_status decluster_config_set_text(struct decluster_config *config,
                                                const char *name,
                                                const char *value);

/**
 * Tells the value of a parameter, in its unit.
 *
 * Errors: `UNKNOWN_PARAMETER`, and those of every call; then `value` is as it was.
 */
enum decluster_status decluster_config_get(const struct decluster_config *config,
                                           uint32_t parameter,
                                           uint64_t *value);

/**
 * Sets all parameters to those of a preset, by its name (NUL-terminated); what was set before is
 * forgotten.
 *
 * Errors: `UNKNOWN_NAME` (its message lists those that there are), and those of every call; then
 * nothing is changed.
 */
enum decluster_status decluster_config_preset(struct decluster_config *config,
                                              const char *name);

/** The same with a profile, which is settings published under a name. */
enum decluster_status decluster_config_profile(struct decluster_config *config, const char *name);

/**
 * The message of the last call on it that failed, with names and numbers, of those that take it
 * without `const`; of a poisoned handle, what the panic said and where. It ends with a NUL, is
 * empty if none failed, and valid until the next call that takes the handle without `const`: do not
 * ask for it among the arguments of a call to which the failing one belongs, too. Of `NULL` it says
 * so.
 */
const char *decluster_config_error(const struct decluster_config *config);

/* ---- Engine: text in, paced pieces out ---- */

/**
 * Makes an engine. `config` may be `NULL` for the defaults; `now_ns` is the first reading of the
 * caller's clock. To be freed with `decluster_engine_free()`.
 *
 * Errors: `NULL`, `PANIC`, and of the config `BUSY`, `POISONED`; then `engine` is as it was.
 */
enum decluster_status decluster_engine_new(const struct decluster_config *config,
                                           uint64_t now_ns,
                                           struct decluster_engine **engine);

/** Frees it; `NULL` is ignored. */
void decluster_engine_free(struct decluster_engine *engine);

/**
 * Takes in a delta, as a whole or not at all: `length` bytes of UTF-8 at `text`, which must not end
 * inside a character, of a `decluster_kind`, for choice `index` (`choices[].index` in chat
 * completions, 0 elsewhere). It copies the text.
 *
 * `tokens` is how many LLM tokens the provider says this is, 0 if it does not say: of a text it is
 * only recorded, without text it is paced in its place. Without text and tokens nothing happens.
 *
 * `wants_input` turns 0 long before the queue is full, but a large delta may not fit even before.
 * Where nothing can leave without more input (`unit = whole`), a refusal with `FULL` ends the block
 * that everything waits for: polling helps always.
 *
 * Errors: `BAD_ARGUMENT`, `BAD_UTF8`, `FULL`, `TOO_LARGE`, `TOO_MANY_CHOICES`, `FINISHED`, and
 * those of every call; then nothing was taken in.
 */
enum decluster_status decluster_engine_push(struct decluster_engine *engine,
                                            uint64_t now_ns,
                                            uint32_t kind,
                                            uint32_t index,
                                            const char *text,
                                            size_t length,
                                            uint32_t tokens);

/**
 * Queues a number of the caller's behind everything that has arrived; it comes back in its place as
 * `DECLUSTER_OUTPUT_MARK`. Where `hurry` is not 0 the block before it ends here, and all queued
 * text leaves within `max_tail`.
 *
 * Errors: `FULL`, `FINISHED`, and those of every call; then nothing was queued.
 */
enum decluster_status decluster_engine_mark(struct decluster_engine *engine,
                                            uint64_t now_ns,
                                            uint64_t number,
                                            uint32_t hurry);

/**
 * What comes after this belongs to other blocks than what came before.
 *
 * Errors: those of every call.
 */
enum decluster_status decluster_engine_end_block(struct decluster_engine *engine, uint64_t now_ns);

/**
 * The stream starts again (a retry): queues `DECLUSTER_OUTPUT_RESTARTED` in its place and ends the
 * blocks before it.
 *
 * Errors: `FULL`, `FINISHED`, and those of every call; then nothing was queued.
 */
enum decluster_status decluster_engine_begin_attempt(struct decluster_engine *engine,
                                                     uint64_t now_ns);

/**
 * No more input will come: what is queued leaves within `max_tail`, then
 * `DECLUSTER_OUTPUT_FINISHED`. A second call changes nothing.
 *
 * Errors: those of every call.
 */
enum decluster_status decluster_engine_finish(struct decluster_engine *engine,
                                              uint64_t now_ns);

/**
 * Stops pacing what is queued at present: it is due at once. (A character that may still grow is
 * held as ever.)
 *
 * Errors: those of every call.
 */
enum decluster_status decluster_engine_flush(struct decluster_engine *engine);

/**
 * Ends the stream early, as a `decluster_cancel` says; nothing more is taken in.
 *
 * Errors: `BAD_ARGUMENT`, and those of every call; then nothing was changed.
 */
enum decluster_status decluster_engine_cancel(struct decluster_engine *engine, uint32_t how);

/**
 * What to do now. Call it until it gives `DECLUSTER_OUTPUT_WAIT`, `DECLUSTER_OUTPUT_NEED_INPUT` or
 * `DECLUSTER_OUTPUT_FINISHED`; after a wait again at `at_ns`, or after input. `size` is `sizeof
 * *output`.
 *
 * A call up to 100 ms late gets what is due at once. Of a longer absence 100 ms count as lateness;
 * for the rest the deadline clock stood still, and what is queued flows out within `max_delay`.
 *
 * Errors: `TOO_SMALL`, and those of every call; then `output` is as it was and nothing was
 * released.
 */
enum decluster_status decluster_engine_poll(struct decluster_engine *engine,
                                            uint64_t now_ns,
                                            struct decluster_output *output,
                                            size_t size);

/**
 * Whether the caller should go on reading its source: 1 or 0, or a negative status (those of every
 * call). It turns 0 at half of `max_queue_bytes`, and 1 again below a quarter, or when nothing can
 * leave without more input.
 */
int32_t decluster_engine_wants_input(const struct decluster_engine *engine);

/**
 * Tells the counters so far. `size` is `sizeof *stats`.
 *
 * Errors: `TOO_SMALL`, and those of every call; then `stats` is as it was.
 */
enum decluster_status decluster_engine_stats(const struct decluster_engine *engine,
                                             struct decluster_stats *stats,
                                             size_t size);

/**
 * Tells how clustered the stream is so far, at a `decluster_stage`. `size` is `sizeof *clusters`.
 *
 * Errors: `BAD_ARGUMENT`, `TOO_SMALL`, and those of every call; then `clusters` is as it was.
 */
enum decluster_status decluster_engine_clusters(const struct decluster_engine *engine,
                                                uint32_t stage,
                                                struct decluster_clusters *clusters,
                                                size_t size);

/** The message of the last call on it that failed; as `decluster_config_error()`. */
const char *decluster_engine_error(const struct decluster_engine *engine);

/* ---- Rewriter: a provider's stream in, the same stream out ---- */

/**
 * Makes a rewriter. `config` may be `NULL` for the defaults, `dialect` is a `decluster_dialect`,
 * `mode` a `decluster_mode`, `now_ns` the first reading of the caller's clock. To be freed with
 * `decluster_rewriter_free()`.
 *
 * Errors: `NULL`, `BAD_ARGUMENT`, `CONFLICT` (`unit = whole` with `DECLUSTER_MODE_STREAM`),
 * `PANIC`, and of the config `BUSY`, `POISONED`; then `rewriter` is as it was.
 */
enum decluster_status decluster_rewriter_new(const struct decluster_config *config,
                                             uint32_t dialect,
                                             uint32_t mode,
                                             uint64_t now_ns,
                                             struct decluster_rewriter **rewriter);

/** Frees it; `NULL` is ignored. */
void decluster_rewriter_free(struct decluster_rewriter *rewriter);

/**
 * Charges the stream's reasoning to a budget that others may share, beside `max_reasoning_tokens`;
 * before the first push. A second one takes the place of the first. The budget may be freed before
 * the rewriter.
 *
 * If others use the budget up, text that a `DECLUSTER_OUTPUT_WAIT` was told for may go sooner.
 *
 * Errors: `OUT_OF_TURN` (something was pushed before), `FINISHED`, and those of every call, of
 * either handle; then nothing is changed.
 */
enum decluster_status decluster_rewriter_share_budget(struct decluster_rewriter *rewriter,
                                                      const struct decluster_budget *budget);

/**
 * Takes in bytes of the stream, cut anywhere. It copies them.
 *
 * Errors: `FULL`, `FINISHED`, `MIXED`, and those of every call, then nothing was taken in; and
 * faults.
 */
enum decluster_status decluster_rewriter_push(struct decluster_rewriter *rewriter,
                                              uint64_t now_ns,
                                              const char *bytes,
                                              size_t length);

/**
 * Takes in one line, with or without its end, perhaps from a library that drops blank lines. Lines
 * may be followed by bytes, not bytes by lines.
 *
 * Errors: as `decluster_rewriter_push()`.
 */
enum decluster_status decluster_rewriter_push_line(struct decluster_rewriter *rewriter,
                                                   uint64_t now_ns,
                                                   const char *line,
                                                   size_t length);

/**
 * Takes in an event that was parsed already: its name (of `name_length` 0 if it has none) and its
 * data as JSON, both UTF-8. What comes out is `DECLUSTER_OUTPUT_OBJECT`.
 *
 * Errors: as `decluster_rewriter_push()`, and `BAD_UTF8`.
 */
enum decluster_status decluster_rewriter_push_event(struct decluster_rewriter *rewriter,
                                                    uint64_t now_ns,
                                                    const char *name,
                                                    size_t name_length,
                                                    const char *data,
                                                    size_t data_length);

/**
 * Takes in one item of an iterable that gives lines or chunks where nobody says which: as a line or
 * as bytes, which is told from the first items. A line without its end cannot be told from a chunk
 * alone, so it is held back until the next item comes or the stream is finished; a poll knows
 * nothing of it until then. A stream comes in this way alone, or not at all. Who knows what the
 * items are takes the functions for lines and bytes.
 *
 * Errors: as `decluster_rewriter_push()`. After `FULL` the same item is to be pushed again; what
 * was held back before it is not lost.
 */
enum decluster_status decluster_rewriter_push_item(struct decluster_rewriter *rewriter,
                                                   uint64_t now_ns,
                                                   const char *item,
                                                   size_t length);

/**
 * No more input will come: what is queued leaves within `max_tail`, then
 * `DECLUSTER_OUTPUT_FINISHED`. A second call changes nothing.
 *
 * Errors: those of every call.
 */
enum decluster_status decluster_rewriter_finish(struct decluster_rewriter *rewriter,
                                                uint64_t now_ns);

/**
 * Stops pacing what is queued at present: it is due at once.
 *
 * Errors: those of every call.
 */
enum decluster_status decluster_rewriter_flush(struct decluster_rewriter *rewriter);

/**
 * Stops pacing for good: what is queued and what still comes is due at once.
 *
 * Errors: those of every call.
 */
enum decluster_status decluster_rewriter_stop_pacing(struct decluster_rewriter *rewriter);

/**
 * Ends the stream early, as a `decluster_cancel` says; nothing more is taken in.
 *
 * Errors: `BAD_ARGUMENT`, and those of every call; then nothing was changed.
 */
enum decluster_status decluster_rewriter_cancel(struct decluster_rewriter *rewriter, uint32_t how);

/**
 * What to do now; as `decluster_engine_poll()`.
 *
 * Errors: `TOO_SMALL`, and those of every call, then `output` is as it was and nothing was
 * released; and faults.
 */
enum decluster_status decluster_rewriter_poll(struct decluster_rewriter *rewriter,
                                              uint64_t now_ns,
                                              struct decluster_output *output,
                                              size_t size);

/**
 * Whether the caller should go on reading its source: 1 or 0, or a negative status (those of every
 * call).
 */
int32_t decluster_rewriter_wants_input(const struct decluster_rewriter *rewriter);

/**
 * Tells the counters so far. `size` is `sizeof *stats`.
 *
 * Errors: `TOO_SMALL`, and those of every call; then `stats` is as it was.
 */
enum decluster_status decluster_rewriter_stats(const struct decluster_rewriter *rewriter,
                                               struct decluster_stats *stats,
                                               size_t size);

/**
 * Tells how clustered the stream is so far, at a `decluster_stage`. `size` is `sizeof *clusters`.
 *
 * Errors: `BAD_ARGUMENT`, `TOO_SMALL`, and those of every call; then `clusters` is as it was.
 */
enum decluster_status decluster_rewriter_clusters(const struct decluster_rewriter *rewriter,
                                                  uint32_t stage,
                                                  struct decluster_clusters *clusters,
                                                  size_t size);

/**
 * The dialect, a `decluster_dialect`, or a negative status (those of every call).
 * `DECLUSTER_DIALECT_UNKNOWN` until an event has told it, and for good if none does: then the
 * stream passes unpaced.
 */
int32_t decluster_rewriter_dialect(const struct decluster_rewriter *rewriter);

/**
 * What the items are that `decluster_rewriter_push_item()` takes in: a `decluster_framing`, or a
 * negative status (those of every call). Who gives out lines where lines came in asks for it.
 */
int32_t decluster_rewriter_framing(const struct decluster_rewriter *rewriter);

/**
 * Gives what the stream amounts to so far, apart from its text, as a JSON object. What is not known
 * is `null`.
 *
 * `dialect` (a name), `model` (as the provider names it), `recognised` (whether this is a stream
 * that is read and paced: `true`, `false`, or `null` as long as that cannot be said), `verdict`
 * (`complete`, `failed`, `truncated`), `reason` (why, in words, where the verdict alone does not
 * tell), `finish` (the provider's own word for why choice 0 stopped), `tool_calls` (`index` of the
 * choice, `id`, `name`, `arguments` as text, `is_object` if the provider sent them as one,
 * `complete`), `choices` (`index`, `finish`), `usage` (the provider's own object), `tokens` (the
 * same in one meaning for all, with the fields of `decluster_tokens`), `reasoning_tokens` (as the
 * provider says), `error` (the provider's own), `exceeded` (once a poll has said
 * `REASONING_BUDGET_EXCEEDED`, or with `over_budget = event` is about to end: `used`, the tokens of
 * reasoning that were let through, of a shared budget those of all its streams, `limit`, `source`,
 * which is who counted them: `estimate`, `provider` or `usage`, and `shared`, whether the limit is
 * that of a shared budget), `stalled_ns` (once a poll has said `STALLED`: how many nanoseconds of
 * the silence counted), and counts: `restarts`, `events`, `comments`, `repairs` (damage that was
 * made good), `malformed` (events that could not be understood, and passed unchanged). What is the
 * provider's own stands as it came, with its line ends.
 *
 * The JSON is the handle's, and valid until the next call that takes the handle without `const`, of
 * which this is one.
 *
 * Errors: those of every call; then `json` and `length` are as they were.
 */
enum decluster_status decluster_rewriter_answer(struct decluster_rewriter *rewriter,
                                                const char **json,
                                                size_t *length);

/**
 * Tells what the answer cost so far, if the provider has said so: mostly at the end. `size` is
 * `sizeof *tokens`.
 *
 * Errors: `TOO_SMALL`, and those of every call; then `tokens` is as it was.
 */
enum decluster_status decluster_rewriter_tokens(const struct decluster_rewriter *rewriter,
                                                struct decluster_tokens *tokens,
                                                size_t size);

/** The message of the last call on it that failed; as `decluster_config_error()`. */
const char *decluster_rewriter_error(const struct decluster_rewriter *rewriter);

/* ---- Segmenter: text in, blocks out, no pacing ---- */

/**
 * Makes a segmenter. `config` may be `NULL` for the defaults; of it `segment`, `target`,
 * `max_event_bytes` and `max_queue_bytes` count. To be freed with `decluster_segmenter_free()`.
 *
 * Errors: `NULL`, `CONFLICT` (`segment = off`), `PANIC`, and of the config `BUSY`, `POISONED`; then
 * `segmenter` is as it was.
 */
enum decluster_status decluster_segmenter_new(const struct decluster_config *config,
                                              struct decluster_segmenter **segmenter);

/** Frees it; `NULL` is ignored. */
void decluster_segmenter_free(struct decluster_segmenter *segmenter);

/**
 * Takes in more of the text: `length` bytes of UTF-8, which must not end inside a character. It
 * copies them. After `decluster_segmenter_finish()` this begins a new text: no block spans both,
 * and numbers go on.
 *
 * Errors: `BAD_UTF8`, `FULL` (blocks of more than `max_queue_bytes` wait to be polled), `TOO_LARGE`
 * (more than `max_event_bytes` in one push), and those of every call; then nothing was taken in.
 */
enum decluster_status decluster_segmenter_push(struct decluster_segmenter *segmenter,
                                               const char *text,
                                               size_t length);

/**
 * The text ends here: what is left of it becomes a block. A second call changes nothing.
 *
 * Errors: those of every call.
 */
enum decluster_status decluster_segmenter_finish(struct decluster_segmenter *segmenter);

/**
 * Makes what is held a block if a sentence or a line may end there, and does nothing otherwise: for
 * who would rather have it now than wait for what follows, as when a stream falls silent. Where
 * blocks end is then no longer a matter of the text alone.
 *
 * Errors: those of every call.
 */
enum decluster_status decluster_segmenter_flush(struct decluster_segmenter *segmenter);

/**
 * Gives the next block: `DECLUSTER_OUTPUT_BLOCK`, or if there is none
 * `DECLUSTER_OUTPUT_NEED_INPUT`, after `decluster_segmenter_finish()` `DECLUSTER_OUTPUT_FINISHED`.
 * `size` is `sizeof *output`.
 *
 * Errors: `TOO_SMALL`, and those of every call; then `output` is as it was and no block was taken.
 */
enum decluster_status decluster_segmenter_poll(struct decluster_segmenter *segmenter,
                                               struct decluster_output *output,
                                               size_t size);

/**
 * Gives the text that is in no block yet: it is the handle's, and valid until the next call on it
 * that may change it.
 *
 * Errors: those of every call; then `text` and `length` are as they were.
 */
enum decluster_status decluster_segmenter_pending(const struct decluster_segmenter *segmenter,
                                                  const char **text,
                                                  size_t *length);

/** The message of the last call on it that failed; as `decluster_config_error()`. */
const char *decluster_segmenter_error(const struct decluster_segmenter *segmenter);

/* ---- Event stream decoder: bytes in, events out ---- */

/**
 * Makes a decoder. `config` may be `NULL` for the defaults; of it `max_event_bytes` counts. To be
 * freed with `decluster_sse_free()`.
 *
 * Errors: `NULL`, `PANIC`, and of the config `BUSY`, `POISONED`; then `sse` is as it was.
 */
enum decluster_status decluster_sse_new(const struct decluster_config *config,
                                        struct decluster_sse **sse);

/** Frees it; `NULL` is ignored. */
void decluster_sse_free(struct decluster_sse *sse);

/**
 * Takes in bytes of the stream, cut anywhere. It copies them.
 *
 * Errors: `FULL` (more than `max_event_bytes` wait: poll first), `FINISHED`, and those of every
 * call; then nothing was taken in.
 */
enum decluster_status decluster_sse_push(struct decluster_sse *sse,
                                         const char *bytes,
                                         size_t length);

/**
 * The stream is at its end: an event without its blank line comes out with `terminated` 0. A second
 * call changes nothing.
 *
 * Errors: those of every call.
 */
enum decluster_status decluster_sse_finish(struct decluster_sse *sse);

/**
 * Gives the next event (`DECLUSTER_OUTPUT_EVENT`) or comment (`DECLUSTER_OUTPUT_COMMENT`), or if
 * there is none `DECLUSTER_OUTPUT_NEED_INPUT`, after the end `DECLUSTER_OUTPUT_FINISHED`. `size` is
 * `sizeof *output`.
 *
 * Errors: `TOO_SMALL`, and those of every call, then `output` is as it was and nothing was taken;
 * and `TOO_LARGE`, once, after all events before the one that exceeds `max_event_bytes`: then the
 * decoder is at its end.
 */
enum decluster_status decluster_sse_poll(struct decluster_sse *sse,
                                         struct decluster_output *output,
                                         size_t size);

/** The message of the last call on it that failed; as `decluster_config_error()`. */
const char *decluster_sse_error(const struct decluster_sse *sse);

/* ---- Budget: reasoning that several rewriters share ---- */

/**
 * Makes a budget of `limit` LLM tokens, of which none is used; one of 0 lets no reasoning through.
 * To be freed with `decluster_budget_free()`.
 *
 * Errors: `NULL`, `PANIC`; then `budget` is as it was.
 */
enum decluster_status decluster_budget_new(uint64_t limit,
                                           struct decluster_budget **budget);

/** Frees it; `NULL` is ignored. Rewriters that share it go on sharing it. */
void decluster_budget_free(struct decluster_budget *budget);

/**
 * Tells how many tokens were charged so far, over all streams. It may exceed the limit by one
 * piece, and by what a provider counts itself. A stream that was freed or cancelled stays charged
 * with what it had given out.
 *
 * Errors: those of every call; then `used` is as it was.
 */
enum decluster_status decluster_budget_used(const struct decluster_budget *budget,
                                            uint64_t *used);

/** What a panic said; as `decluster_config_error()`. */
const char *decluster_budget_error(const struct decluster_budget *budget);

/* ---- Totals: what all streams add up to, for Prometheus ---- */

/**
 * Makes totals to which nothing was added. To be freed with `decluster_totals_free()`.
 *
 * Errors: `NULL`, `PANIC`; then `totals` is as it was.
 */
enum decluster_status decluster_totals_new(struct decluster_totals **totals);

/** Frees it; `NULL` is ignored. */
void decluster_totals_free(struct decluster_totals *totals);

/**
 * Adds a stream that is over, or that is given up and about to be freed. A rewriter counts once, in
 * whichever totals it was added to first: a second call changes nothing, and what it reads after
 * the first is not counted.
 *
 * Errors: those of every call, of either handle; then nothing was added. The message is that of the
 * rewriter.
 */
enum decluster_status decluster_totals_add(const struct decluster_totals *totals,
                                           struct decluster_rewriter *rewriter);

/**
 * Writes the sums in the Prometheus text format, version 0.0.4, to `to`, where there is room for
 * `size` bytes, without a NUL, and says with `length` how many bytes that are. With room for
 * `DECLUSTER_TOTALS_TEXT_MAX` it always fits. Its content type is `text/plain; version=0.0.4;
 * charset=utf-8`.
 *
 * Errors: `TOO_SMALL`, and those of every call; then `to` and `length` are as they were.
 */
enum decluster_status decluster_totals_text(const struct decluster_totals *totals,
                                            char *to,
                                            size_t size,
                                            size_t *length);

/** What a panic said; as `decluster_config_error()`. */
const char *decluster_totals_error(const struct decluster_totals *totals);

/* ---- Ledger: what answers cost ---- */

/**
 * The text of a price table with the five models of the published incident report and its figures
 * of 2026-11-30, for `decluster_ledger_set_prices()`: examples to try things with, and no
 * provider's price list. A static string that ends with a NUL.
 */
const char *decluster_prices_examples(void);

/**
 * Makes a ledger without prices: it counts tokens. To be freed with `decluster_ledger_free()`.
 *
 * Errors: `NULL`, `PANIC`; then `ledger` is as it was.
 */
enum decluster_status decluster_ledger_new(struct decluster_ledger **ledger);

/** Frees it; `NULL` is ignored. */
void decluster_ledger_free(struct decluster_ledger *ledger);

/**
 * Gives it prices: `length` bytes of a price table at `prices`, in JSON or TOML, as
 * `[models."gpt-4.1"]`, `prompt = 3`, `output = 8`, each on its line: units of its `currency`
 * (`USD` unless it says otherwise) per million tokens. `cached`, `cache_write`, `reasoning`,
 * `aliases`, `as_of` and `source` may be there, too. A price is from 0 to 1,000,000 with at most 9
 * decimals, a table has at most 1 MiB.
 *
 * Costs are in `currency`, of which `rate` makes one of the table's (a decimal number above 0, to
 * 1,000,000, with at most 12 decimals, such as `7.1`); both end with a NUL. Where both are `NULL`,
 * they are in the table's own.
 *
 * Errors: `UNREADABLE` (what is no such table; the message says where), `BAD_UTF8`, `BAD_ARGUMENT`
 * (currency or rate), `OUT_OF_TURN` (something was added or merged before), and those of every
 * call; then nothing is changed.
 */
enum decluster_status decluster_ledger_set_prices(struct decluster_ledger *ledger,
                                                  const char *prices,
                                                  size_t length,
                                                  const char *currency,
                                                  const char *rate);

/**
 * Adds an answer by the provider's own usage, `length` bytes of a JSON object at `usage`; `NULL`
 * for an answer without, which counts as `unreported`. `reasoning_text` is 1 if any text of the
 * reasoning came, else 0: a provider that counts 0 tokens for it has not counted.
 *
 * Errors: `UNREADABLE` (the usage is no JSON object), `UNKNOWN_NAME`, `LEDGER_FULL`, `BAD_ARGUMENT`
 * (a name of more than 256 bytes), `BAD_UTF8`, and those of every call; then nothing was added, and
 * `cost` and `cost_length` are as they were.
 */
enum decluster_status decluster_ledger_add(struct decluster_ledger *ledger,
                                           const char *model,
                                           const char *key,
                                           const char *usage,
                                           size_t length,
                                           uint32_t reasoning_text,
                                           uint32_t keep,
                                           const char **cost,
                                           size_t *cost_length);

/**
 * The same by counts in one meaning for all providers, as `decluster_rewriter_tokens()` tells them:
 * what is negative is not known. `size` is `sizeof *tokens`.
 *
 * Errors: `TOO_SMALL`, and as `decluster_ledger_add()`.
 */
enum decluster_status decluster_ledger_add_tokens(struct decluster_ledger *ledger,
                                                  const char *model,
                                                  const char *key,
                                                  const struct decluster_tokens *tokens,
                                                  size_t size,
                                                  uint32_t keep,
                                                  const char **cost,
                                                  size_t *cost_length);

/**
 * The same by what a stream said, mostly at its end: its usage, and where `model` is `NULL`, its
 * model. A rewriter counts as often as it is added.
 *
 * Errors: as `decluster_ledger_add()`, and those of every call on the rewriter.
 */
enum decluster_status decluster_ledger_add_rewriter(struct decluster_ledger *ledger,
                                                    const struct decluster_rewriter *rewriter,
                                                    const char *model,
                                                    const char *key,
                                                    uint32_t keep,
                                                    const char **cost,
                                                    size_t *cost_length);

/**
 * Adds all that another ledger holds. It is priced by this one's table and in its currency, and an
 * answer whose model has no price there is kept, as `unpriced`.
 *
 * Errors: `LEDGER_FULL`, `BAD_ARGUMENT` (both are the same), and those of every call, of either
 * ledger; then nothing was added.
 */
enum decluster_status decluster_ledger_merge(struct decluster_ledger *ledger,
                                             const struct decluster_ledger *other);

/**
 * Gives all of it as a JSON object: `currency` (`null` without prices), `total` (an entry),
 * `models`, `keys` and `rows` (lists of entries: by model, by key, by both).
 *
 * An entry has `model` and `key` (`null` for none, and for several), `streams` (how many answers),
 * `unreported` (those without usage), `unpriced` (those with usage whose model has no price; 0
 * without prices), `tokens` (the sums, with the fields of `decluster_tokens`; `null` where no
 * answer had the count), `costs_told` (of how many answers the provider said what they cost:
 * `cost_picodollars` is the sum of that) and `cost` (by the price table, as the functions that add
 * say it; `null` without prices).
 *
 * The JSON is the handle's, and valid until the next call that takes the handle without `const`, of
 * which this is one.
 *
 * Errors: those of every call; then `json` and `length` are as they were.
 */
enum decluster_status decluster_ledger_json(struct decluster_ledger *ledger,
                                            const char **json,
                                            size_t *length);

/** The message of the last call on it that failed; as `decluster_config_error()`. */
const char *decluster_ledger_error(const struct decluster_ledger *ledger);

/* ---- Body: responses that were not streamed ---- */

/**
 * Makes a reader. To be freed with `decluster_body_free()`.
 *
 * Errors: `NULL`, `PANIC`; then `body` is as it was.
 */
enum decluster_status decluster_body_new(struct decluster_body **body);

/** Frees it; `NULL` is ignored. */
void decluster_body_free(struct decluster_body *body);

/**
 * Reads a finished response of any dialect, `length` bytes of JSON at `bytes`, and gives what it
 * says as a JSON object. What is not known is `null`. Time is linear in the length.
 *
 * `dialect` (a name), `model`, the usage in one meaning for all providers (`input`, `cached_input`,
 * `cache_write`, `output`, `reasoning`, `visible`, `cost_picodollars`, as in `decluster_tokens`),
 * `raw` (the provider's own usage), `reasoning_text`, `output_text` (both of choice 0), `encrypted`
 * (a list: reasoning that only the provider can read), `finish` (the provider's own word for why it
 * stopped), `error` (the provider's own: a response that reports one is read).
 *
 * The JSON is the handle's, and valid until the next call that takes the handle without `const`, of
 * which this is one.
 *
 * Errors: `UNREADABLE` (it is no JSON, a stream, or no response that could be told; the message
 * says which), and those of every call; then `json` and `json_length` are as they were.
 */
enum decluster_status decluster_body_read(struct decluster_body *body,
                                          const char *bytes,
                                          size_t length,
                                          const char **json,
                                          size_t *json_length);

/** The message of the last call on it that failed; as `decluster_config_error()`. */
const char *decluster_body_error(const struct decluster_body *body);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* DECLUSTER_H */
