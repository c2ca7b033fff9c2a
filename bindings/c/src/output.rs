//! What a poll writes.

use crate::argument;
use crate::handle::{self, Opaque, Outcome, Refusal};
use crate::status::decluster_status;
use decluster::guard::{Clustering, Clusters};
use decluster::wire::Tokens;
use decluster::{Event, Kind, Piece, Stats};
use std::ffi::c_char;
use std::ptr;

/// What a poll gave: `type` of a `decluster_output`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum decluster_output_type {
    /// Nothing until there is input.
    DECLUSTER_OUTPUT_NEED_INPUT = 0,
    /// Nothing before `at_ns` unless there is input; then something.
    DECLUSTER_OUTPUT_WAIT = 1,
    /// Everything is out and no more will come. Of a rewriter, `verdict` says how the stream ended.
    DECLUSTER_OUTPUT_FINISHED = 2,
    /// Text to show now (none where a delta was a token count alone): `text`, `kind`, `index`, `seq`, `block`, `part`, `boundary`, `ends_block`, `tokens`, `origin`,
    /// `arrived_ns`.
    DECLUSTER_OUTPUT_PIECE = 3,
    /// A mark whose turn has come; `number` is that which was given.
    DECLUSTER_OUTPUT_MARK = 4,
    /// The answer began anew: what came so far is void, attempt `number` follows, the first being 1.
    DECLUSTER_OUTPUT_RESTARTED = 5,
    /// All output of choice `index` so far was reasoning: a closing tag came that nothing had opened. From a rewriter.
    DECLUSTER_OUTPUT_RECLASSIFIED = 6,
    /// From a rewriter: bytes of a valid stream of the same dialect, in `text`.
    DECLUSTER_OUTPUT_BYTES = 7,
    /// From a rewriter that was given events: `name` (`message` if it had none) and data (`text`) of an event. `number` says which of those that were
    /// pushed it is, from 0 (one that was cut has it several times, of several that were joined it is the last); `changed` whether its
    /// data is other than that which was pushed. Events with numbers below `done` will not come any more.
    DECLUSTER_OUTPUT_OBJECT = 8,
    /// An event that is not text, with `name` (`message` if it had none) and data (`text`). From an event stream decoder, which
    /// gives all events, also `terminated`.
    DECLUSTER_OUTPUT_EVENT = 9,
    /// From an event stream decoder: in `text` lines that are no event, among them a comment, without the line ends around
    /// them.
    DECLUSTER_OUTPUT_COMMENT = 10,
    /// From a segmenter: a block of text: `text`, `block`, `boundary`, `tokens`.
    DECLUSTER_OUTPUT_BLOCK = 11,
    /// From a rewriter, with `over_budget = event` and events: more reasoning came than is allowed, `number` tokens; the stream
    /// ends. `text` is `exceeded` of `decluster_rewriter_answer()`, a JSON object, and `name` is `budget_exceeded`.
    DECLUSTER_OUTPUT_BUDGET_EXCEEDED = 12,
}

/// Which channel a text belongs to.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum decluster_kind {
    /// The model's thinking, raw or summarised.
    DECLUSTER_KIND_REASONING = 0,
    /// What the model says to the user; a refusal counts as output.
    DECLUSTER_KIND_OUTPUT = 1,
}

/// How a block or a piece ends, best first.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum decluster_boundary {
    /// An empty line.
    DECLUSTER_BOUNDARY_PARAGRAPH = 0,
    /// A newline.
    DECLUSTER_BOUNDARY_LINE = 1,
    /// The end of a sentence.
    DECLUSTER_BOUNDARY_SENTENCE = 2,
    /// A comma, a colon, a conjunction, a relation sign.
    DECLUSTER_BOUNDARY_CLAUSE = 3,
    /// Any blank.
    DECLUSTER_BOUNDARY_WORD = 4,
    /// Between two characters as the reader sees them.
    DECLUSTER_BOUNDARY_GRAPHEME = 5,
}

/// How a stream ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum decluster_verdict {
    /// Not settled: an engine, a stream of no known dialect, or one that was dropped (`DECLUSTER_CANCEL_DROP`, a reasoning
    /// budget).
    DECLUSTER_VERDICT_NONE = 0,
    /// The provider said that this is the end.
    DECLUSTER_VERDICT_COMPLETE = 1,
    /// The provider reported an error, or sent what is no stream.
    DECLUSTER_VERDICT_FAILED = 2,
    /// It stopped without an end.
    DECLUSTER_VERDICT_TRUNCATED = 3,
}

/// On which side of the pacer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum decluster_stage {
    /// As it came in.
    DECLUSTER_STAGE_BEFORE = 0,
    /// As it left.
    DECLUSTER_STAGE_AFTER = 1,
}

/// How to cancel.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum decluster_cancel {
    /// What is queued leaves at once, then it is finished.
    DECLUSTER_CANCEL_FLUSH = 0,
    /// What is queued is forgotten.
    DECLUSTER_CANCEL_DROP = 1,
}

/// What a poll writes: one flat struct for all of them. A field that `type` does not list is 0 or `NULL`. What the pointers
/// point at is the handle's, has no NUL at its end, and is valid until the next call on the handle that may change it.
///
/// The numbers of bytes at which fields stand are fixed, so that a foreign language can read them from a buffer: the integers'
/// everywhere, the pointers' and sizes' where those have 64 bits.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct decluster_output {
    /// What this is: a `decluster_output_type`. Byte 0.
    pub r#type: u32,
    /// 1 if the caller should go on reading its source, else 0; in every output. Byte 4.
    pub wants_input: u32,
    /// A `decluster_kind`. Byte 8.
    pub kind: u32,
    /// The choice. Byte 12.
    pub index: u32,
    /// Number of the piece within its block, from 0. Byte 16.
    pub part: u32,
    /// What stands at its end: a `decluster_boundary`. Byte 20.
    pub boundary: u32,
    /// 1 if the block is known to end here, else 0. Byte 24.
    pub ends_block: u32,
    /// Estimate of its LLM tokens. Byte 28.
    pub tokens: u32,
    /// Number of the piece among all that leaves, from 0; marks and events take one each, too. Byte 32.
    pub seq: u64,
    /// Number of the block within its choice, from 0. Byte 40.
    pub block: u64,
    /// Number of the delta that holds its last byte: the n-th that was accepted, from 0. Byte 48.
    pub origin: u64,
    /// When its first byte arrived. Byte 56.
    pub arrived_ns: u64,
    /// When to poll again. Byte 64.
    pub at_ns: u64,
    /// Which mark, attempt or event; or how many tokens. Byte 72.
    pub number: u64,
    /// Events below this number will not come any more. Byte 80.
    pub done: u64,
    /// From an event stream decoder, in every output: the reconnection time in force, in milliseconds; -1 if none was
    /// stated. Byte 88.
    pub retry_ms: i64,
    /// 1 if the data is not what was pushed, else 0. Byte 96.
    pub changed: u32,
    /// 1 if a blank line ended the event, 0 if the input did: the standard ignores those. Byte 100.
    pub terminated: u32,
    /// A `decluster_verdict`. Byte 104.
    pub verdict: u32,
    /// Reserved: 0. Byte 108.
    pub reserved: u32,
    /// Text, data or bytes. Byte 112.
    pub text: *const c_char,
    /// Its length in bytes. Byte 120.
    pub text_length: usize,
    /// The event's name. Byte 128.
    pub name: *const c_char,
    /// Its length in bytes. Byte 136.
    pub name_length: usize,
    /// From an event stream decoder, in every output: the last event id in force, empty if there is none. Byte 144.
    pub id: *const c_char,
    /// Its length in bytes. Byte 152.
    pub id_length: usize,
    /// Reserved: 0. Bytes 160 to 191.
    pub reserved_words: [u64; 4],
}

/// Counters of an engine or a rewriter.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct decluster_stats {
    /// Deltas accepted.
    pub deltas: u64,
    /// Pieces released.
    pub pieces: u64,
    /// Blocks of which something was released.
    pub blocks: u64,
    /// Pieces that ended inside a block.
    pub cuts: u64,
    /// Pieces for which a deadline or a tail asked for more than pacing would have given.
    pub hurried: u64,
    /// Tokens that came in, as estimated.
    pub tokens_in: u64,
    /// Tokens that went out, as estimated.
    pub tokens_out: u64,
    /// Bytes of text that came in.
    pub bytes_in: u64,
    /// Bytes of text that went out.
    pub bytes_out: u64,
    /// Bytes queued, with the bookkeeping.
    pub queued_bytes: u64,
    /// The longest that the first byte of a piece was delayed, in nanoseconds.
    pub max_delay_ns: u64,
    /// Mean rate of release at the last plan, in tokens per second.
    pub rate: u64,
    /// Reserved: 0.
    pub reserved_words: [u64; 4],
}

/// What an answer cost in tokens, in one meaning for all providers. What the provider does not say is -1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct decluster_tokens {
    /// All tokens of the input: also those that were read from a cache or written to one.
    pub input: i64,
    /// Of the input, those that were read from a cache.
    pub cached_input: i64,
    /// Of the input, those that were written to a cache.
    pub cache_write: i64,
    /// All tokens of the output: also those of the reasoning, whatever the provider's own count holds.
    pub output: i64,
    /// Of the output, those of the reasoning. May exceed the output by a little: some count the two in different ways.
    pub reasoning: i64,
    /// Of the output, what is no reasoning; not below 0.
    pub visible: i64,
    /// What the answer cost, where the provider says so: in 10^-12 dollars.
    pub cost_picodollars: i64,
    /// Reserved: 0.
    pub reserved_words: [u64; 3],
}

/// How clustered a stream is. Groups are tokens that came (or left) within `cluster_group_gap` of the first of them. A group
/// of `cluster_min_tokens` and more counts as a cluster if a silence of `cluster_min_gap` and more came before it or after it,
/// within the stream. Tokens are counted as in
/// `decluster_stats`. Quantiles exceed the exact ones by 1 % at the most, and values of more than 86,400,000 count as that.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct decluster_clusters {
    /// Clusters.
    pub events: u64,
    /// Clusters an hour, in thousandths, over `watched_ns`; 0 as long as that is 0.
    pub events_per_hour: u64,
    /// Groups.
    pub groups: u64,
    /// Tokens.
    pub tokens: u64,
    /// Streams: 1, or 0 before any token.
    pub streams: u64,
    /// From the first to the last arrival, in nanoseconds.
    pub watched_ns: u64,
    /// Tokens of a group: the median; this and the next three are 0 where `groups` is.
    pub size_p50: u64,
    /// 95 of 100 groups have no more.
    pub size_p95: u64,
    /// The largest.
    pub size_max: u64,
    /// All of them.
    pub size_sum: u64,
    /// The silence between two groups, in milliseconds: the median; this and the next three are 0 with less than two groups.
    pub gap_p50_ms: u64,
    /// 95 of 100 silences are no longer.
    pub gap_p95_ms: u64,
    /// The longest.
    pub gap_max_ms: u64,
    /// All of them.
    pub gap_sum_ms: u64,
    /// Reserved: 0.
    pub reserved_words: [u64; 2],
}

/// An output in which nothing is said yet.
pub(crate) const NOTHING: decluster_output = decluster_output {
    r#type: decluster_output_type::DECLUSTER_OUTPUT_NEED_INPUT as u32,
    wants_input: 0,
    kind: 0,
    index: 0,
    part: 0,
    boundary: 0,
    ends_block: 0,
    tokens: 0,
    seq: 0,
    block: 0,
    origin: 0,
    arrived_ns: 0,
    at_ns: 0,
    number: 0,
    done: 0,
    retry_ms: 0,
    changed: 0,
    terminated: 0,
    verdict: 0,
    reserved: 0,
    text: ptr::null(),
    text_length: 0,
    name: ptr::null(),
    name_length: 0,
    id: ptr::null(),
    id_length: 0,
    reserved_words: [0; 4],
};

impl decluster_output {
    pub(crate) const fn of(kind: decluster_output_type) -> Self {
        Self { r#type: kind as u32, ..NOTHING }
    }

    pub(crate) fn wait(at: decluster::Nanos) -> Self {
        Self { at_ns: at.0, ..Self::of(decluster_output_type::DECLUSTER_OUTPUT_WAIT) }
    }

    pub(crate) fn event(event: Event) -> Self {
        match event {
            Event::Reclassified { index } => {
                Self { index, ..Self::of(decluster_output_type::DECLUSTER_OUTPUT_RECLASSIFIED) }
            }
            Event::Restarted { attempt } => Self {
                number: attempt.into(),
                ..Self::of(decluster_output_type::DECLUSTER_OUTPUT_RESTARTED)
            },
            Event::BudgetExceeded(exceeded) => Self {
                number: exceeded.used,
                ..Self::of(decluster_output_type::DECLUSTER_OUTPUT_BUDGET_EXCEEDED)
            },
            // There are no others; one that is added gets a number of its own.
            _ => NOTHING,
        }
    }

    pub(crate) fn with_text(self, text: &[u8]) -> Self {
        Self { text: text.as_ptr().cast(), text_length: text.len(), ..self }
    }

    pub(crate) fn with_name(self, name: &str) -> Self {
        Self { name: name.as_ptr().cast(), name_length: name.len(), ..self }
    }
}

impl From<Piece<'_>> for decluster_output {
    fn from(piece: Piece<'_>) -> Self {
        Self {
            kind: piece.kind as u32,
            index: piece.index,
            part: piece.part,
            boundary: piece.boundary as u32,
            ends_block: piece.ends_block.into(),
            tokens: piece.tokens,
            seq: piece.seq,
            block: piece.block,
            origin: piece.origin,
            arrived_ns: piece.arrived.0,
            ..Self::of(decluster_output_type::DECLUSTER_OUTPUT_PIECE)
        }
        .with_text(piece.text.as_bytes())
    }
}

impl From<Stats> for decluster_stats {
    fn from(stats: Stats) -> Self {
        Self {
            deltas: stats.deltas,
            pieces: stats.pieces,
            blocks: stats.blocks,
            cuts: stats.cuts,
            hurried: stats.hurried,
            tokens_in: stats.tokens_in,
            tokens_out: stats.tokens_out,
            bytes_in: stats.bytes_in,
            bytes_out: stats.bytes_out,
            queued_bytes: stats.queued_bytes,
            max_delay_ns: stats.max_delay.0,
            rate: stats.rate,
            reserved_words: [0; 4],
        }
    }
}

impl From<Tokens> for decluster_tokens {
    fn from(tokens: Tokens) -> Self {
        // No count of anybody reaches the bound.
        let known =
            |count: Option<u64>| count.map_or(-1, |count| i64::try_from(count).unwrap_or(i64::MAX));
        Self {
            input: known(tokens.input),
            cached_input: known(tokens.cached_input),
            cache_write: known(tokens.cache_write),
            output: known(tokens.output),
            reasoning: known(tokens.reasoning),
            visible: known(tokens.visible),
            cost_picodollars: known(tokens.cost_picodollars),
            reserved_words: [0; 3],
        }
    }
}

impl From<decluster_tokens> for Tokens {
    fn from(counts: decluster_tokens) -> Self {
        let known = |count: i64| u64::try_from(count).ok();
        let mut tokens = Self::default();
        tokens.input = known(counts.input);
        tokens.cached_input = known(counts.cached_input);
        tokens.cache_write = known(counts.cache_write);
        tokens.output = known(counts.output);
        tokens.reasoning = known(counts.reasoning);
        tokens.visible = known(counts.visible);
        tokens.cost_picodollars = known(counts.cost_picodollars);
        tokens
    }
}

impl From<&Clusters> for decluster_clusters {
    fn from(clusters: &Clusters) -> Self {
        let (sizes, gaps) = (clusters.sizes(), clusters.gaps());
        // Floats saturate.
        let per_hour = clusters.events_per_hour().map(|events| (events * 1e3).round() as u64);
        Self {
            events: clusters.events(),
            events_per_hour: per_hour.unwrap_or_default(),
            groups: clusters.groups(),
            tokens: clusters.tokens(),
            streams: clusters.streams(),
            watched_ns: clusters.watched().0,
            size_p50: sizes.quantile(0.5).unwrap_or_default(),
            size_p95: sizes.quantile(0.95).unwrap_or_default(),
            size_max: sizes.max().unwrap_or_default(),
            size_sum: sizes.sum(),
            gap_p50_ms: gaps.quantile(0.5).unwrap_or_default(),
            gap_p95_ms: gaps.quantile(0.95).unwrap_or_default(),
            gap_max_ms: gaps.max().unwrap_or_default(),
            gap_sum_ms: gaps.sum(),
            reserved_words: [0; 2],
        }
    }
}

/// The kinds by number.
pub(crate) const KINDS: [Kind; 2] = [Kind::Reasoning, Kind::Output];

/// Polls, and writes what that gave.
///
/// # Safety
/// `handle` is `NULL` or was given and not freed; `size` bytes may be written at `output`.
pub(crate) unsafe fn poll<H: Opaque>(
    handle: *mut H,
    output: *mut decluster_output,
    size: usize,
    poll: impl FnOnce(&mut H::Value) -> Outcome<decluster_output>,
) -> decluster_status {
    // SAFETY: the caller says so; what is written need not be aligned.
    unsafe {
        handle::call(handle, |value| {
            argument::output(output, size)?;
            let polled = poll(value)?;
            output.write_unaligned(polled);
            Ok(())
        })
    }
}

/// Writes counters.
///
/// # Safety
/// `handle` is `NULL` or was given and not freed; `size` bytes may be written at `stats`.
pub(crate) unsafe fn stats<H: Opaque>(
    handle: *const H,
    stats: *mut decluster_stats,
    size: usize,
    read: impl FnOnce(&H::Value) -> Stats,
) -> decluster_status {
    // SAFETY: the caller says so.
    unsafe {
        handle::tell(handle, stats, |value| {
            argument::output(stats, size)?;
            Ok(read(value).into())
        })
    }
}

/// Writes how clustered a stream is, at a `decluster_stage`.
///
/// # Safety
/// `handle` is `NULL` or was given and not freed; `size` bytes may be written at `clusters`.
pub(crate) unsafe fn clusters<H: Opaque>(
    handle: *const H,
    stage: u32,
    clusters: *mut decluster_clusters,
    size: usize,
    read: impl FnOnce(&H::Value) -> &Clustering,
) -> decluster_status {
    // SAFETY: the caller says so.
    unsafe {
        handle::tell(handle, clusters, |value| {
            let side = argument::choice(stage, &STAGES, "stage")?;
            argument::output(clusters, size)?;
            Ok(side(read(value)).into())
        })
    }
}

/// By `decluster_stage`.
const STAGES: [fn(&Clustering) -> &Clusters; 2] = [|both| &both.before, |both| &both.after];

/// Checks that a text and its length can be written, by their names.
pub(crate) fn check_text(
    text: *mut *const c_char,
    length: *mut usize,
    names: [&str; 2],
) -> Outcome {
    let [text_name, length_name] = names;
    if text.is_null() || length.is_null() {
        return Err(Refusal::null(if text.is_null() { text_name } else { length_name }));
    }
    Ok(())
}

/// Writes where a text stands, and its length.
///
/// # Safety
/// Both may be written, as [`check_text`] has seen.
pub(crate) unsafe fn text(found: &str, text: *mut *const c_char, length: *mut usize) {
    // SAFETY: the caller says so; what is written need not be aligned.
    unsafe {
        text.write_unaligned(found.as_ptr().cast());
        length.write_unaligned(found.len());
    }
}
