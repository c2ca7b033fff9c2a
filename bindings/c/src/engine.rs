//! The engine: deltas in, pieces out.

use crate::argument;
use crate::config::{decluster_config, settings};
use crate::handle::{self, Handle, Refusal, opaque};
use crate::output::{
    self, KINDS, decluster_clusters, decluster_output, decluster_output_type::*, decluster_stats,
};
use crate::status::decluster_status::{self, *};
use decluster::{Cancel, Delta, Engine, Nanos, Output, PushError};
use std::ffi::c_char;

/// Takes the deltas of one stream and gives them back as paced pieces.
///
/// Memory is bounded by `max_queue_bytes` (an empty engine takes any one delta up to `max_event_bytes`).
pub struct decluster_engine(Handle<Engine>);

opaque!(decluster_engine, Engine);

/// Makes an engine. `config` may be `NULL` for the defaults; `now_ns` is the first reading of the caller's clock. To be
/// freed with `decluster_engine_free()`.
///
/// Errors: `NULL`, `PANIC`, and of the config `BUSY`, `POISONED`; then `engine` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_new(
    config: *const decluster_config,
    now_ns: u64,
    engine: *mut *mut decluster_engine,
) -> decluster_status {
    // SAFETY: the caller passes a config or NULL, and what can be written.
    unsafe {
        let make = || Ok(Engine::new(&settings(config)?, Nanos(now_ns)));
        handle::give(engine, make)
    }
}

/// Frees it; `NULL` is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_free(engine: *mut decluster_engine) {
    // SAFETY: the caller frees what it was given, once.
    unsafe { handle::free(engine) };
}

/// Takes in a delta, as a whole or not at all: `length` bytes of UTF-8 at `text`, which must not end inside a character, of a `decluster_kind`, for choice `index`
/// (`choices[].index` in chat completions, 0 elsewhere). It copies the text.
///
/// `tokens` is how many LLM tokens the provider says this is, 0 if it does not say: of a text it is only recorded, without
/// text it is paced in its place. Without text and tokens nothing happens.
///
/// `wants_input` turns 0 long before the queue is full, but a large delta may not fit even before. Where nothing can leave
/// without more input (`unit = whole`), a refusal with `FULL` ends the block that everything waits for: polling helps always.
///
/// Errors: `BAD_ARGUMENT`, `BAD_UTF8`, `FULL`, `TOO_LARGE`, `TOO_MANY_CHOICES`, `FINISHED`, and those of every call; then
/// nothing was taken in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_push(
    engine: *mut decluster_engine,
    now_ns: u64,
    kind: u32,
    index: u32,
    text: *const c_char,
    length: usize,
    tokens: u32,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be read and written.
    unsafe {
        handle::call(engine, |engine| {
            let kind = argument::choice(kind, &KINDS, "kind")?;
            let text = argument::text(text, length, "text")?;
            let tokens = (tokens > 0).then_some(tokens);
            let delta = Delta { kind, index, text, tokens };
            engine.push(Nanos(now_ns), delta).map_err(|error| refusal_of(&error))
        })
    }
}

/// Queues a number of the caller's behind everything that has arrived; it comes back in its place as
/// `DECLUSTER_OUTPUT_MARK`. Where `hurry` is not 0 the block before it ends here, and all queued text leaves within `max_tail`.
///
/// Errors: `FULL`, `FINISHED`, and those of every call; then nothing was queued.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_mark(
    engine: *mut decluster_engine,
    now_ns: u64,
    number: u64,
    hurry: u32,
) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(engine, |engine| {
            engine.mark(Nanos(now_ns), number, hurry != 0).map_err(|error| refusal_of(&error))
        })
    }
}

/// What comes after this belongs to other blocks than what came before.
///
/// Errors: those of every call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_end_block(
    engine: *mut decluster_engine,
    now_ns: u64,
) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(engine, |engine| {
            engine.end_block(Nanos(now_ns));
            Ok(())
        })
    }
}

/// The stream starts again (a retry): queues `DECLUSTER_OUTPUT_RESTARTED` in its place and ends the blocks before it.
///
/// Errors: `FULL`, `FINISHED`, and those of every call; then nothing was queued.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_begin_attempt(
    engine: *mut decluster_engine,
    now_ns: u64,
) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(engine, |engine| {
            engine.begin_attempt(Nanos(now_ns)).map_err(|error| refusal_of(&error))
        })
    }
}

/// No more input will come: what is queued leaves within `max_tail`, then `DECLUSTER_OUTPUT_FINISHED`. A second call
/// changes nothing.
///
/// Errors: those of every call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_finish(
    engine: *mut decluster_engine,
    now_ns: u64,
) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(engine, |engine| {
            engine.finish(Nanos(now_ns));
            Ok(())
        })
    }
}

/// Stops pacing what is queued at present: it is due at once. (A character that may still grow is held as ever.)
///
/// Errors: those of every call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_flush(engine: *mut decluster_engine) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(engine, |engine| {
            engine.flush();
            Ok(())
        })
    }
}

/// Ends the stream early, as a `decluster_cancel` says; nothing more is taken in.
///
/// Errors: `BAD_ARGUMENT`, and those of every call; then nothing was changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_cancel(
    engine: *mut decluster_engine,
    how: u32,
) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(engine, |engine| {
            engine.cancel(argument::choice(how, &CANCELS, "how")?);
            Ok(())
        })
    }
}

/// What to do now. Call it until it gives `DECLUSTER_OUTPUT_WAIT`, `DECLUSTER_OUTPUT_NEED_INPUT` or
/// `DECLUSTER_OUTPUT_FINISHED`; after a wait again at `at_ns`, or after input. `size` is `sizeof *output`.
///
/// A call up to 100 ms late gets what is due at once. Of a longer absence 100 ms count as lateness; for the rest the deadline
/// clock stood still, and what is queued flows out within `max_delay`.
///
/// Errors: `TOO_SMALL`, and those of every call; then `output` is as it was and nothing was released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_poll(
    engine: *mut decluster_engine,
    now_ns: u64,
    output: *mut decluster_output,
    size: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and `size` bytes at `output`.
    unsafe {
        output::poll(engine, output, size, |engine| {
            let polled = match engine.poll(Nanos(now_ns)) {
                Output::Piece(piece) => piece.into(),
                Output::Mark(number) => {
                    decluster_output { number, ..decluster_output::of(DECLUSTER_OUTPUT_MARK) }
                }
                Output::Event(event) => decluster_output::event(event),
                Output::Wait(at) => decluster_output::wait(at),
                Output::Finished => decluster_output::of(DECLUSTER_OUTPUT_FINISHED),
                _ => decluster_output::of(DECLUSTER_OUTPUT_NEED_INPUT),
            };
            Ok(decluster_output { wants_input: engine.wants_input().into(), ..polled })
        })
    }
}

/// Whether the caller should go on reading its source: 1 or 0, or a negative status (those of every call). It turns 0 at half of
/// `max_queue_bytes`, and 1 again below a quarter, or when nothing can leave without more input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_wants_input(engine: *const decluster_engine) -> i32 {
    // SAFETY: the caller passes a handle.
    unsafe { handle::look(engine, Engine::wants_input) }
        .map_or_else(|status| status as i32, i32::from)
}

/// Tells the counters so far. `size` is `sizeof *stats`.
///
/// Errors: `TOO_SMALL`, and those of every call; then `stats` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_stats(
    engine: *const decluster_engine,
    stats: *mut decluster_stats,
    size: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and `size` bytes at `stats`.
    unsafe { output::stats(engine, stats, size, Engine::stats) }
}

/// Tells how clustered the stream is so far, at a `decluster_stage`. `size` is `sizeof *clusters`.
///
/// Errors: `BAD_ARGUMENT`, `TOO_SMALL`, and those of every call; then `clusters` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_clusters(
    engine: *const decluster_engine,
    stage: u32,
    clusters: *mut decluster_clusters,
    size: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and `size` bytes at `clusters`.
    unsafe { output::clusters(engine, stage, clusters, size, Engine::clusters) }
}

/// The message of the last call on it that failed; as `decluster_config_error()`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_engine_error(engine: *const decluster_engine) -> *const c_char {
    // SAFETY: the caller passes a handle.
    unsafe { handle::message(engine) }
}

pub(crate) fn refusal_of(error: &PushError) -> Refusal {
    let status = match error {
        PushError::Full { .. } => DECLUSTER_ERROR_FULL,
        PushError::TooLarge { .. } => DECLUSTER_ERROR_TOO_LARGE,
        PushError::TooManyChoices { .. } => DECLUSTER_ERROR_TOO_MANY_CHOICES,
        PushError::Finished => DECLUSTER_ERROR_FINISHED,
        _ => DECLUSTER_ERROR_BAD_ARGUMENT,
    };
    Refusal::new(status, error.to_string())
}

/// By `decluster_cancel`.
pub(crate) const CANCELS: [Cancel; 2] = [Cancel::Flush, Cancel::Drop];
