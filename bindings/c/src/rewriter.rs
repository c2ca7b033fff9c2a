//! The rewriter: a provider's stream in, the same stream out, re-cut and paced.

use crate::answer;
use crate::argument;
use crate::budget::decluster_budget;
use crate::config::{decluster_config, settings};
use crate::engine::{CANCELS, refusal_of};
use crate::handle::{self, Handle, Outcome, Refusal, opaque};
use crate::output::{
    self, decluster_clusters, decluster_output, decluster_output_type::*, decluster_stats,
    decluster_tokens, decluster_verdict::*,
};
use crate::status::decluster_status::{self, *};
use decluster::guard::{Budget, Totals};
use decluster::wire::{Answer, Dialect, Verdict};
use decluster::{
    Cancel, Event, Framer, Framing, Nanos, Rewriter, RewriterError, RewriterOptions, Rewritten,
};
use std::ffi::c_char;

/// Re-cuts and paces one stream in its provider's own form: event streams, JSON lines, one JSON array, or events that were
/// parsed already.
///
/// Events with text are cut or joined where blocks end; everything else passes unchanged and keeps its place, but for comments
/// and pings, which go at once. A stream of no known dialect passes unchanged and unpaced. Memory is bounded by `max_queue_bytes`,
/// one event and one push.
///
/// It is finished by `decluster_rewriter_finish()` alone: that the provider said `[DONE]` does not tell that nothing more comes.
///
/// A *fault* is an error of the stream rather than of the caller: `TOO_LARGE` (an event over `max_event_bytes`),
/// `TOO_MANY_CHOICES` (where pieces are given; in a stream the event passes unchanged), `REASONING_BUDGET_EXCEEDED` and `STALLED`. The rewriter then finishes itself: stop reading the source, and poll on until
/// `DECLUSTER_OUTPUT_FINISHED`. It is told once. If a push tells it, what came before still leaves; if a poll does, all of that
/// has left.
pub struct decluster_rewriter(Handle<Rewriting>);

opaque!(decluster_rewriter, Rewriting);

/// The form of a stream's events.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum decluster_dialect {
    /// Not known; for a new rewriter: tell it from the first event.
    DECLUSTER_DIALECT_UNKNOWN = 0,
    /// Chat completions, as `OpenAI` and many others send them.
    DECLUSTER_DIALECT_OPENAI_CHAT = 1,
    /// The Responses API.
    DECLUSTER_DIALECT_OPENAI_RESPONSES = 2,
    /// Anthropic's Messages.
    DECLUSTER_DIALECT_ANTHROPIC = 3,
    /// Gemini's `streamGenerateContent`, as events or as one array.
    DECLUSTER_DIALECT_GEMINI = 4,
    /// Ollama's `/api/chat` and `/api/generate`.
    DECLUSTER_DIALECT_OLLAMA = 5,
    /// Mistral's chat completions.
    DECLUSTER_DIALECT_MISTRAL = 6,
    /// Cohere's chat, version 2.
    DECLUSTER_DIALECT_COHERE = 7,
    /// Bedrock's Converse stream, in its decoded form.
    DECLUSTER_DIALECT_BEDROCK_CONVERSE = 8,
    /// `response.reasoning.delta` and `response.output.delta` with counts (`delta_tokens`) or text.
    DECLUSTER_DIALECT_INCIDENT = 9,
}

/// What a rewriter gives.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum decluster_mode {
    /// The stream again: `DECLUSTER_OUTPUT_BYTES`, or `DECLUSTER_OUTPUT_OBJECT` where events are pushed.
    DECLUSTER_MODE_STREAM = 0,
    /// Its text alone: `DECLUSTER_OUTPUT_PIECE`.
    DECLUSTER_MODE_PIECES = 1,
    /// Its text, and what is not text: also `DECLUSTER_OUTPUT_EVENT`, `_RESTARTED` and `_RECLASSIFIED`.
    DECLUSTER_MODE_PIECES_AND_EVENTS = 2,
}

/// How the items of an iterable stand to the stream's bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum decluster_framing {
    /// Not told yet; or the stream does not come as items.
    DECLUSTER_FRAMING_UNKNOWN = 0,
    /// Each is a line without its end.
    DECLUSTER_FRAMING_LINES = 1,
    /// Each is a line with its end.
    DECLUSTER_FRAMING_LINES_WITH_ENDS = 2,
    /// Chunks, cut anywhere.
    DECLUSTER_FRAMING_BYTES = 3,
}

use decluster_framing::*;

/// A rewriter, and what a handle has besides.
pub(crate) struct Rewriting {
    rewriter: Rewriter,
    /// The JSON that was asked for last.
    answer: String,
    /// Of items.
    framer: Framer,
    /// Whether the stream comes as items; not known before something comes.
    by_items: Option<bool>,
    /// It is in the totals.
    counted: bool,
}

/// Makes a rewriter. `config` may be `NULL` for the defaults, `dialect` is a `decluster_dialect`, `mode` a `decluster_mode`,
/// `now_ns` the first reading of the caller's clock. To be freed with `decluster_rewriter_free()`.
///
/// Errors: `NULL`, `BAD_ARGUMENT`, `CONFLICT` (`unit = whole` with `DECLUSTER_MODE_STREAM`), `PANIC`, and of the config
/// `BUSY`, `POISONED`; then `rewriter` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_new(
    config: *const decluster_config,
    dialect: u32,
    mode: u32,
    now_ns: u64,
    rewriter: *mut *mut decluster_rewriter,
) -> decluster_status {
    // SAFETY: the caller passes a config or NULL, and what can be written.
    unsafe {
        let make = || {
            let mut options = RewriterOptions::default();
            options.dialect = argument::choice(dialect, &DIALECTS, "dialect")?;
            (options.pieces, options.events) = argument::choice(mode, &MODES, "mode")?;
            let rewriter = Rewriter::new(&settings(config)?, options, Nanos(now_ns));
            let rewriter = rewriter.map_err(|error| fault_of(&error))?;
            Ok(Rewriting::new(rewriter))
        };
        handle::give(rewriter, make)
    }
}

/// Frees it; `NULL` is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_free(rewriter: *mut decluster_rewriter) {
    // SAFETY: the caller frees what it was given, once.
    unsafe { handle::free(rewriter) };
}

/// Charges the stream's reasoning to a budget that others may share, beside `max_reasoning_tokens`; before the first push. A
/// second one takes the place of the first. The budget may be freed before the rewriter.
///
/// If others use the budget up, text that a `DECLUSTER_OUTPUT_WAIT` was told for may go sooner.
///
/// Errors: `OUT_OF_TURN` (something was pushed before), `FINISHED`, and those of every call, of either handle; then nothing is
/// changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_share_budget(
    rewriter: *mut decluster_rewriter,
    budget: *const decluster_budget,
) -> decluster_status {
    // SAFETY: the caller passes handles.
    unsafe {
        handle::call(rewriter, |rewriting| {
            let budget = handle::look(budget, Budget::clone)
                .map_err(|status| Refusal::of_other(status, "budget"))?;
            rewriting.share(budget)
        })
    }
}

/// Takes in bytes of the stream, cut anywhere. It copies them.
///
/// Errors: `FULL`, `FINISHED`, `MIXED`, and those of every call, then nothing was taken in; and faults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_push(
    rewriter: *mut decluster_rewriter,
    now_ns: u64,
    bytes: *const c_char,
    length: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be read and written.
    unsafe {
        handle::call(rewriter, |rewriting| {
            let bytes = argument::bytes(bytes.cast(), length, "bytes")?;
            rewriting.push(|rewriter| rewriter.push(Nanos(now_ns), bytes))
        })
    }
}

/// Takes in one line, with or without its end, perhaps from a library that drops blank lines. Lines may be followed by bytes,
/// not bytes by lines.
///
/// Errors: as `decluster_rewriter_push()`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_push_line(
    rewriter: *mut decluster_rewriter,
    now_ns: u64,
    line: *const c_char,
    length: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be read and written.
    unsafe {
        handle::call(rewriter, |rewriting| {
            let line = argument::bytes(line.cast(), length, "line")?;
            rewriting.push(|rewriter| rewriter.push_line(Nanos(now_ns), line))
        })
    }
}

/// Takes in an event that was parsed already: its name (of `name_length` 0 if it has none) and its data as JSON, both UTF-8. What
/// comes out is `DECLUSTER_OUTPUT_OBJECT`.
///
/// Errors: as `decluster_rewriter_push()`, and `BAD_UTF8`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_push_event(
    rewriter: *mut decluster_rewriter,
    now_ns: u64,
    name: *const c_char,
    name_length: usize,
    data: *const c_char,
    data_length: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be read and written.
    unsafe {
        handle::call(rewriter, |rewriting| {
            let name = argument::text(name, name_length, "name")?;
            let data = argument::text(data, data_length, "data")?;
            rewriting.push(|rewriter| rewriter.push_event(Nanos(now_ns), name, data))
        })
    }
}

/// Takes in one item of an iterable that gives lines or chunks where nobody says which: as a line or as bytes, which is told from
/// the first items. A line without its end cannot be told from a chunk alone, so it is held back until the next item comes or the stream
/// is finished; a poll knows nothing of it until then. A stream comes in this way alone, or not at all. Who knows what the items are
/// takes the functions for lines and bytes.
///
/// Errors: as `decluster_rewriter_push()`. After `FULL` the same item is to be pushed again; what was held back before it is not lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_push_item(
    rewriter: *mut decluster_rewriter,
    now_ns: u64,
    item: *const c_char,
    length: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be read and written.
    unsafe {
        handle::call(rewriter, |rewriting| {
            let item = argument::bytes(item.cast(), length, "item")?;
            rewriting.push_item(Nanos(now_ns), item)
        })
    }
}

/// No more input will come: what is queued leaves within `max_tail`, then `DECLUSTER_OUTPUT_FINISHED`. A second call
/// changes nothing.
///
/// Errors: those of every call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_finish(
    rewriter: *mut decluster_rewriter,
    now_ns: u64,
) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(rewriter, |rewriting| {
            rewriting.push_held(Nanos(now_ns));
            rewriting.rewriter.finish(Nanos(now_ns));
            Ok(())
        })
    }
}

/// Stops pacing what is queued at present: it is due at once.
///
/// Errors: those of every call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_flush(
    rewriter: *mut decluster_rewriter,
) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(rewriter, |rewriting| {
            rewriting.rewriter.flush();
            Ok(())
        })
    }
}

/// Stops pacing for good: what is queued and what still comes is due at once.
///
/// Errors: those of every call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_stop_pacing(
    rewriter: *mut decluster_rewriter,
) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(rewriter, |rewriting| {
            rewriting.rewriter.stop_pacing();
            Ok(())
        })
    }
}

/// Ends the stream early, as a `decluster_cancel` says; nothing more is taken in.
///
/// Errors: `BAD_ARGUMENT`, and those of every call; then nothing was changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_cancel(
    rewriter: *mut decluster_rewriter,
    how: u32,
) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(rewriter, |rewriting| {
            rewriting.cancel(argument::choice(how, &CANCELS, "how")?);
            Ok(())
        })
    }
}

/// What to do now; as `decluster_engine_poll()`.
///
/// Errors: `TOO_SMALL`, and those of every call, then `output` is as it was and nothing was released; and faults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_poll(
    rewriter: *mut decluster_rewriter,
    now_ns: u64,
    output: *mut decluster_output,
    size: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and `size` bytes at `output`.
    unsafe {
        output::poll(rewriter, output, size, |rewriting| {
            let polled = match rewriting.rewriter.poll(Nanos(now_ns)) {
                Rewritten::Bytes(bytes) => {
                    decluster_output::of(DECLUSTER_OUTPUT_BYTES).with_text(bytes)
                }
                Rewritten::Object { number, name, data, changed, done } => {
                    let changed = changed.into();
                    let object = decluster_output::of(DECLUSTER_OUTPUT_OBJECT);
                    decluster_output { number, done, changed, ..object }
                        .with_name(name)
                        .with_text(data.as_bytes())
                }
                Rewritten::Piece(piece) => piece.into(),
                Rewritten::Other { name, data } => decluster_output::of(DECLUSTER_OUTPUT_EVENT)
                    .with_name(name)
                    .with_text(data.as_bytes()),
                Rewritten::Event(event) => {
                    let told = decluster_output::event(event);
                    if let Event::BudgetExceeded(exceeded) = event {
                        rewriting.answer = answer::exceeded(exceeded);
                        told.with_name("budget_exceeded").with_text(rewriting.answer.as_bytes())
                    } else {
                        told
                    }
                }
                Rewritten::Wait(at) => decluster_output::wait(at),
                Rewritten::NeedInput => decluster_output::of(DECLUSTER_OUTPUT_NEED_INPUT),
                Rewritten::Finished => return rewriting.finished(),
            };
            let wants_input = rewriting.rewriter.wants_input().into();
            Ok(decluster_output { wants_input, ..polled })
        })
    }
}

/// Whether the caller should go on reading its source: 1 or 0, or a negative status (those of every call).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_wants_input(
    rewriter: *const decluster_rewriter,
) -> i32 {
    // SAFETY: the caller passes a handle.
    unsafe { handle::look(rewriter, |rewriting| rewriting.rewriter.wants_input()) }
        .map_or_else(|status| status as i32, i32::from)
}

/// Tells the counters so far. `size` is `sizeof *stats`.
///
/// Errors: `TOO_SMALL`, and those of every call; then `stats` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_stats(
    rewriter: *const decluster_rewriter,
    stats: *mut decluster_stats,
    size: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and `size` bytes at `stats`.
    unsafe { output::stats(rewriter, stats, size, |rewriting| rewriting.rewriter.stats()) }
}

/// Tells how clustered the stream is so far, at a `decluster_stage`. `size` is `sizeof *clusters`.
///
/// Errors: `BAD_ARGUMENT`, `TOO_SMALL`, and those of every call; then `clusters` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_clusters(
    rewriter: *const decluster_rewriter,
    stage: u32,
    clusters: *mut decluster_clusters,
    size: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and `size` bytes at `clusters`.
    unsafe {
        output::clusters(rewriter, stage, clusters, size, |rewriting| rewriting.rewriter.clusters())
    }
}

/// The dialect, a `decluster_dialect`, or a negative status (those of every call). `DECLUSTER_DIALECT_UNKNOWN` until an event
/// has told it, and for good if none does: then the stream passes unpaced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_dialect(rewriter: *const decluster_rewriter) -> i32 {
    let number = |rewriting: &Rewriting| {
        let dialect = rewriting.rewriter.dialect();
        (0..).zip(DIALECTS).find(|(_, known)| *known == dialect).map_or(0, |(number, _)| number)
    };
    // SAFETY: the caller passes a handle.
    unsafe { handle::look(rewriter, number) }.unwrap_or_else(|status| status as i32)
}

/// What the items are that `decluster_rewriter_push_item()` takes in: a `decluster_framing`, or a negative status (those of every
/// call). Who gives out lines where lines came in asks for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_framing(rewriter: *const decluster_rewriter) -> i32 {
    let number = |rewriting: &Rewriting| match rewriting.framer.framing() {
        None => DECLUSTER_FRAMING_UNKNOWN,
        Some(Framing::Lines) => DECLUSTER_FRAMING_LINES,
        Some(Framing::LinesWithEnds) => DECLUSTER_FRAMING_LINES_WITH_ENDS,
        Some(Framing::Bytes) => DECLUSTER_FRAMING_BYTES,
    };
    // SAFETY: the caller passes a handle.
    let framing = unsafe { handle::look(rewriter, number) };
    framing.map_or_else(|status| status as i32, |framing| framing as i32)
}

/// Gives what the stream amounts to so far, apart from its text, as a JSON object. What is not known is `null`.
///
/// `dialect` (a name), `model` (as the provider names it), `recognised` (whether this is a stream that is read and paced: `true`, `false`, or `null` as long as that cannot be
/// said), `verdict` (`complete`, `failed`, `truncated`), `reason` (why, in words, where the verdict alone does not
/// tell), `finish` (the provider's own word for why choice 0 stopped), `tool_calls` (`index` of the choice, `id`, `name`,
/// `arguments` as text, `is_object` if the provider sent them as one, `complete`), `choices` (`index`, `finish`), `usage` (the provider's own
/// object), `tokens` (the same in one meaning for all, with the fields of `decluster_tokens`), `reasoning_tokens` (as the
/// provider says), `error` (the provider's own), `exceeded` (once a poll has said `REASONING_BUDGET_EXCEEDED`, or with
/// `over_budget = event` is about to end: `used`, the tokens of reasoning that were let through, of a shared budget those of all its streams,
/// `limit`, `source`, which is who counted them: `estimate`, `provider` or `usage`, and `shared`, whether the limit is that of a
/// shared budget), `stalled_ns` (once a poll has said `STALLED`: how many nanoseconds of the silence counted), and counts: `restarts`, `events`, `comments`, `repairs` (damage that was
/// made good), `malformed` (events that could not be understood, and passed unchanged). What is the provider's own stands as
/// it came, with its line ends.
///
/// The JSON is the handle's, and valid until the next call that takes the handle without `const`, of which this is one.
///
/// Errors: those of every call; then `json` and `length` are as they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_answer(
    rewriter: *mut decluster_rewriter,
    json: *mut *const c_char,
    length: *mut usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be read and written.
    unsafe {
        handle::call(rewriter, |rewriting| {
            output::check_text(json, length, ["json", "length"])?;
            rewriting.answer = answer::json(&rewriting.rewriter);
            output::text(&rewriting.answer, json, length);
            Ok(())
        })
    }
}

/// Tells what the answer cost so far, if the provider has said so: mostly at the end. `size` is `sizeof *tokens`.
///
/// Errors: `TOO_SMALL`, and those of every call; then `tokens` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_tokens(
    rewriter: *const decluster_rewriter,
    tokens: *mut decluster_tokens,
    size: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and `size` bytes at `tokens`.
    unsafe {
        handle::tell(rewriter, tokens, |rewriting| {
            argument::output(tokens, size)?;
            Ok(rewriting.rewriter.answer().tokens().unwrap_or_default().into())
        })
    }
}

/// The message of the last call on it that failed; as `decluster_config_error()`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_rewriter_error(
    rewriter: *const decluster_rewriter,
) -> *const c_char {
    // SAFETY: the caller passes a handle.
    unsafe { handle::message(rewriter) }
}

impl Rewriting {
    fn new(rewriter: Rewriter) -> Self {
        Self {
            rewriter,
            answer: String::new(),
            framer: Framer::new(None),
            by_items: None,
            counted: false,
        }
    }

    pub(crate) fn answer(&self) -> &Answer {
        self.rewriter.answer()
    }

    /// Adds it to the sums, once.
    pub(crate) fn count_in(&mut self, totals: &Totals) {
        if !self.counted {
            totals.add(&self.rewriter);
            self.counted = true;
        }
    }

    fn share(&mut self, budget: Budget) -> Outcome {
        if self.rewriter.has_ended() {
            return Err(fault_of(&RewriterError::Finished));
        }
        if self.by_items.is_some() {
            let message = "a budget is shared before the first push";
            return Err(Refusal::new(DECLUSTER_ERROR_OUT_OF_TURN, message));
        }
        self.rewriter.share_budget(budget);
        Ok(())
    }

    /// Takes in what is no item.
    fn push(&mut self, push: impl FnOnce(&mut Rewriter) -> Result<(), RewriterError>) -> Outcome {
        self.check(false)?;
        let pushed = push(&mut self.rewriter);
        self.told(pushed)
    }

    fn push_item(&mut self, now: Nanos, item: &[u8]) -> Outcome {
        self.check(true)?;
        let pushed = if let Some(framing) = self.framer.settled() {
            push_as(&mut self.rewriter, now, framing, item)
        } else {
            let items = self.framer.take(item.to_vec());
            self.push_all(now, &items)
        };
        self.told(pushed)
    }

    /// What was held back goes in, as it is the last that comes. A fault of it is told by a poll.
    fn push_held(&mut self, now: Nanos) {
        let held = self.framer.finish();
        let _ = self.push_all(now, &held);
    }

    /// Takes in the items that the framer gives, if it gives any.
    ///
    /// There is always room for what it held: nothing but empty items stands before the one that it waited to tell, and
    /// nothing between that and the one that told. So if something is refused, it is the latter, which the caller pushes again.
    fn push_all(&mut self, now: Nanos, items: &[Vec<u8>]) -> Result<(), RewriterError> {
        let Some(framing) = self.framer.framing() else { return Ok(()) };
        items.iter().try_for_each(|item| push_as(&mut self.rewriter, now, framing, item))
    }

    fn cancel(&mut self, how: Cancel) {
        match how {
            // The time at which it is told does not matter: all is due at once.
            Cancel::Flush => self.push_held(Nanos::ZERO),
            Cancel::Drop => drop(self.framer.finish()),
        }
        self.rewriter.cancel(how);
    }

    /// Whether a stream that comes so, as items or not, may go on so.
    fn check(&mut self, by_items: bool) -> Outcome {
        if self.rewriter.has_ended() {
            return Err(fault_of(&RewriterError::Finished));
        }
        if *self.by_items.get_or_insert(by_items) == by_items {
            return Ok(());
        }
        let message = "a stream comes as items or as bytes, lines or events, not as both";
        Err(Refusal::new(DECLUSTER_ERROR_MIXED, message))
    }

    /// A fault that a push has told is not told again by a poll.
    fn told(&mut self, pushed: Result<(), RewriterError>) -> Outcome {
        pushed.map_err(|error| {
            if !is_refusal(&error) {
                self.rewriter.take_fault();
            }
            fault_of(&error)
        })
    }

    /// The end, or the fault that it comes from.
    fn finished(&mut self) -> Outcome<decluster_output> {
        if let Some(fault) = self.rewriter.take_fault() {
            return Err(fault_of(&fault));
        }
        let verdict = match self.rewriter.answer().verdict {
            None => DECLUSTER_VERDICT_NONE,
            Some(Verdict::Complete) => DECLUSTER_VERDICT_COMPLETE,
            Some(Verdict::Failed) => DECLUSTER_VERDICT_FAILED,
            Some(Verdict::Truncated) => DECLUSTER_VERDICT_TRUNCATED,
        };
        let finished = decluster_output::of(DECLUSTER_OUTPUT_FINISHED);
        Ok(decluster_output { verdict: verdict as u32, ..finished })
    }
}

fn push_as(
    rewriter: &mut Rewriter,
    now: Nanos,
    framing: Framing,
    item: &[u8],
) -> Result<(), RewriterError> {
    if framing.is_line(item) { rewriter.push_line(now, item) } else { rewriter.push(now, item) }
}

/// Whether it says that nothing was taken in.
fn is_refusal(error: &RewriterError) -> bool {
    matches!(error, RewriterError::Full { .. } | RewriterError::Finished | RewriterError::Mixed)
}

fn fault_of(error: &RewriterError) -> Refusal {
    let status = match error {
        RewriterError::Full { .. } => DECLUSTER_ERROR_FULL,
        RewriterError::Finished => DECLUSTER_ERROR_FINISHED,
        RewriterError::Mixed => DECLUSTER_ERROR_MIXED,
        RewriterError::Engine(error) => refusal_of(error).status,
        RewriterError::TooLarge(_) => DECLUSTER_ERROR_TOO_LARGE,
        RewriterError::ReasoningBudgetExceeded(_) => DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED,
        RewriterError::Stalled { .. } => DECLUSTER_ERROR_STALLED,
        _ => DECLUSTER_ERROR_CONFLICT,
    };
    Refusal::new(status, error.to_string())
}

/// By `decluster_mode`: pieces, and events between them.
const MODES: [(bool, bool); 3] = [(false, false), (true, false), (true, true)];
/// By `decluster_dialect`.
const DIALECTS: [Option<Dialect>; 10] = [
    None,
    Some(Dialect::Chat),
    Some(Dialect::Responses),
    Some(Dialect::Anthropic),
    Some(Dialect::Gemini),
    Some(Dialect::Ollama),
    Some(Dialect::Mistral),
    Some(Dialect::Cohere),
    Some(Dialect::Bedrock),
    Some(Dialect::Incident),
];
