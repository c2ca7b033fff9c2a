//! The event stream decoder alone: bytes in, events out; it knows nothing of JSON.

use crate::argument;
use crate::config::{decluster_config, settings};
use crate::handle::{self, Handle, Outcome, Refusal, opaque};
use crate::output::{self, decluster_output, decluster_output_type::*};
use crate::status::decluster_status::{self, *};
use decluster::sse::Decoder;
use std::ffi::c_char;

/// Decodes a server-sent event stream by the rules of the WHATWG standard, cut anywhere. Time is linear in the input; memory is
/// bounded by `max_event_bytes` and one push.
pub struct decluster_sse(Handle<Decoding>);

opaque!(decluster_sse, Decoding);

pub(crate) struct Decoding {
    decoder: Decoder,
    finished: bool,
    max_event_bytes: usize,
}

/// Makes a decoder. `config` may be `NULL` for the defaults; of it `max_event_bytes` counts. To be freed with
/// `decluster_sse_free()`.
///
/// Errors: `NULL`, `PANIC`, and of the config `BUSY`, `POISONED`; then `sse` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_sse_new(
    config: *const decluster_config,
    sse: *mut *mut decluster_sse,
) -> decluster_status {
    // SAFETY: the caller passes a config or NULL, and what can be written.
    unsafe {
        let make = || {
            let limit = settings(config)?.get("max_event_bytes").unwrap_or_default() as usize;
            Ok(Decoding { decoder: Decoder::new(limit), finished: false, max_event_bytes: limit })
        };
        handle::give(sse, make)
    }
}

/// Frees it; `NULL` is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_sse_free(sse: *mut decluster_sse) {
    // SAFETY: the caller frees what it was given, once.
    unsafe { handle::free(sse) };
}

/// Takes in bytes of the stream, cut anywhere. It copies them.
///
/// Errors: `FULL` (more than `max_event_bytes` wait: poll first), `FINISHED`, and those of every call; then nothing was taken
/// in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_sse_push(
    sse: *mut decluster_sse,
    bytes: *const c_char,
    length: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be read and written.
    unsafe {
        handle::call(sse, |decoding| {
            let bytes = argument::bytes(bytes.cast(), length, "bytes")?;
            decoding.check()?;
            decoding.decoder.push(bytes);
            Ok(())
        })
    }
}

/// The stream is at its end: an event without its blank line comes out with `terminated` 0. A second call changes nothing.
///
/// Errors: those of every call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_sse_finish(sse: *mut decluster_sse) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(sse, |decoding| {
            decoding.finished = true;
            decoding.decoder.finish();
            Ok(())
        })
    }
}

/// Gives the next event (`DECLUSTER_OUTPUT_EVENT`) or comment (`DECLUSTER_OUTPUT_COMMENT`), or if there is none
/// `DECLUSTER_OUTPUT_NEED_INPUT`, after the end `DECLUSTER_OUTPUT_FINISHED`. `size` is `sizeof *output`.
///
/// Errors: `TOO_SMALL`, and those of every call, then `output` is as it was and nothing was taken; and `TOO_LARGE`, once, after all
/// events before the one that exceeds `max_event_bytes`: then the decoder is at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_sse_poll(
    sse: *mut decluster_sse,
    output: *mut decluster_output,
    size: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and `size` bytes at `output`.
    unsafe {
        output::poll(sse, output, size, |decoding| {
            let polled = decoding.next()?;
            let retry = decoding.decoder.reconnection_ms();
            let id = decoding.decoder.last_event_id();
            Ok(decluster_output {
                wants_input: decoding.wants_input().into(),
                retry_ms: retry.map_or(-1, |ms| i64::try_from(ms).unwrap_or(i64::MAX)),
                id: id.as_ptr().cast(),
                id_length: id.len(),
                ..polled
            })
        })
    }
}

/// The message of the last call on it that failed; as `decluster_config_error()`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_sse_error(sse: *const decluster_sse) -> *const c_char {
    // SAFETY: the caller passes a handle.
    unsafe { handle::message(sse) }
}

impl Decoding {
    fn wants_input(&self) -> bool {
        !self.finished && self.decoder.buffered() <= self.max_event_bytes
    }

    fn check(&self) -> Outcome {
        if self.wants_input() {
            return Ok(());
        }
        if self.finished {
            let message = "the stream was finished; it takes no more input";
            return Err(Refusal::new(DECLUSTER_ERROR_FINISHED, message));
        }
        let (queued, limit) = (self.decoder.buffered(), self.max_event_bytes);
        let message =
            format!("{queued} bytes wait to be decoded, max_event_bytes = {limit}: poll first");
        Err(Refusal::new(DECLUSTER_ERROR_FULL, message))
    }

    fn next(&mut self) -> Outcome<decluster_output> {
        loop {
            match self.decoder.poll() {
                Ok(Some(frame)) => {
                    let Some(event) = &frame.event else {
                        if frame.comments == 0 {
                            continue;
                        }
                        let comment = decluster_output::of(DECLUSTER_OUTPUT_COMMENT);
                        return Ok(comment.with_text(without_ends(frame.unmarked().raw)));
                    };
                    return Ok(decluster_output {
                        terminated: frame.terminated.into(),
                        ..decluster_output::of(DECLUSTER_OUTPUT_EVENT)
                    }
                    .with_name(event.name)
                    .with_text(event.data.as_bytes()));
                }
                Ok(None) if self.finished => {
                    return Ok(decluster_output::of(DECLUSTER_OUTPUT_FINISHED));
                }
                Ok(None) => return Ok(decluster_output::of(DECLUSTER_OUTPUT_NEED_INPUT)),
                Err(error) => {
                    self.finished = true;
                    return Err(Refusal::new(DECLUSTER_ERROR_TOO_LARGE, error.to_string()));
                }
            }
        }
    }
}

/// Without the line ends before and behind: the first may be half of one.
fn without_ends(lines: &[u8]) -> &[u8] {
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let start = lines.iter().position(|byte| !is_end(byte)).unwrap_or(lines.len());
    let end = lines.iter().rposition(|byte| !is_end(byte)).map_or(start, |last| last + 1);
    &lines[start..end]
}
