//! The segmenter alone: text in, blocks out, no pacing.

use crate::argument;
use crate::config::{decluster_config, settings};
use crate::handle::{self, Handle, Outcome, Refusal, opaque};
use crate::output::{self, decluster_output, decluster_output_type::*};
use crate::status::decluster_status::{self, *};
use decluster::segment::{Block, Segmenter};
use std::collections::VecDeque;
use std::ffi::c_char;

/// Cuts a text that arrives in parts into blocks, each given as soon as its end is known. The blocks in a row are the text,
/// byte for byte; how it was cut into pushes changes nothing.
pub struct decluster_segmenter(Handle<Segmenting>);

opaque!(decluster_segmenter, Segmenting);

/// A segmenter, and the blocks that were not taken yet.
pub(crate) struct Segmenting {
    segmenter: Segmenter,
    blocks: VecDeque<Block>,
    /// The one that was given out last.
    given: Option<Block>,
    /// Bytes that `blocks` take.
    queued: usize,
    finished: bool,
    max_queue_bytes: usize,
    max_event_bytes: usize,
}

/// Makes a segmenter. `config` may be `NULL` for the defaults; of it `segment`, `target`, `max_event_bytes` and
/// `max_queue_bytes` count. To be freed with `decluster_segmenter_free()`.
///
/// Errors: `NULL`, `CONFLICT` (`segment = off`), `PANIC`, and of the config `BUSY`, `POISONED`; then `segmenter` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_segmenter_new(
    config: *const decluster_config,
    segmenter: *mut *mut decluster_segmenter,
) -> decluster_status {
    // SAFETY: the caller passes a config or NULL, and what can be written.
    unsafe {
        let make = || {
            let config = settings(config)?;
            let segmenting = config.segmenting();
            let segmenting =
                segmenting.ok_or_else(|| Refusal::new(DECLUSTER_ERROR_CONFLICT, ""))?;
            let bound = |name| config.get(name).unwrap_or_default() as usize;
            Ok(Segmenting {
                segmenter: Segmenter::new(segmenting),
                blocks: VecDeque::new(),
                given: None,
                queued: 0,
                finished: false,
                max_queue_bytes: bound("max_queue_bytes"),
                max_event_bytes: bound("max_event_bytes"),
            })
        };
        handle::give(segmenter, make)
    }
}

/// Frees it; `NULL` is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_segmenter_free(segmenter: *mut decluster_segmenter) {
    // SAFETY: the caller frees what it was given, once.
    unsafe { handle::free(segmenter) };
}

/// Takes in more of the text: `length` bytes of UTF-8, which must not end inside a character. It copies them. After `decluster_segmenter_finish()` this begins a new
/// text: no block spans both, and numbers go on.
///
/// Errors: `BAD_UTF8`, `FULL` (blocks of more than `max_queue_bytes` wait to be polled), `TOO_LARGE` (more than `max_event_bytes` in
/// one push), and those of every call; then nothing was taken in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_segmenter_push(
    segmenter: *mut decluster_segmenter,
    text: *const c_char,
    length: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be read and written.
    unsafe {
        handle::call(segmenter, |segmenting| {
            let text = argument::text(text, length, "text")?;
            segmenting.check(length)?;
            segmenting.finished &= text.is_empty();
            let blocks = segmenting.segmenter.push(text);
            segmenting.take(blocks);
            Ok(())
        })
    }
}

/// The text ends here: what is left of it becomes a block. A second call changes nothing.
///
/// Errors: those of every call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_segmenter_finish(
    segmenter: *mut decluster_segmenter,
) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(segmenter, |segmenting| {
            segmenting.finished = true;
            let blocks = segmenting.segmenter.finish();
            segmenting.take(blocks);
            Ok(())
        })
    }
}

/// Makes what is held a block if a sentence or a line may end there, and does nothing otherwise: for who would rather have it now
/// than wait for what follows, as when a stream falls silent. Where blocks end is then no longer a matter of the text alone.
///
/// Errors: those of every call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_segmenter_flush(
    segmenter: *mut decluster_segmenter,
) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(segmenter, |segmenting| {
            let blocks = segmenting.segmenter.flush();
            segmenting.take(blocks);
            Ok(())
        })
    }
}

/// Gives the next block: `DECLUSTER_OUTPUT_BLOCK`, or if there is none `DECLUSTER_OUTPUT_NEED_INPUT`, after
/// `decluster_segmenter_finish()` `DECLUSTER_OUTPUT_FINISHED`. `size` is `sizeof *output`.
///
/// Errors: `TOO_SMALL`, and those of every call; then `output` is as it was and no block was taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_segmenter_poll(
    segmenter: *mut decluster_segmenter,
    output: *mut decluster_output,
    size: usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and `size` bytes at `output`.
    unsafe { output::poll(segmenter, output, size, |segmenting| Ok(segmenting.next())) }
}

/// Gives the text that is in no block yet: it is the handle's, and valid until the next call on it that may change it.
///
/// Errors: those of every call; then `text` and `length` are as they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_segmenter_pending(
    segmenter: *const decluster_segmenter,
    text: *mut *const c_char,
    length: *mut usize,
) -> decluster_status {
    if length.is_null() {
        return DECLUSTER_ERROR_NULL;
    }
    // SAFETY: the caller passes a handle, and what can be written.
    unsafe {
        handle::tell(segmenter, text, |segmenting| {
            let pending = segmenting.segmenter.pending();
            length.write_unaligned(pending.len());
            Ok(pending.as_ptr().cast())
        })
    }
}

/// The message of the last call on it that failed; as `decluster_config_error()`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_segmenter_error(
    segmenter: *const decluster_segmenter,
) -> *const c_char {
    // SAFETY: the caller passes a handle.
    unsafe { handle::message(segmenter) }
}

impl Segmenting {
    fn wants_input(&self) -> bool {
        self.queued <= self.max_queue_bytes
    }

    fn check(&self, length: usize) -> Outcome {
        if length > self.max_event_bytes {
            let limit = self.max_event_bytes;
            let message = format!("a text of {length} bytes exceeds max_event_bytes = {limit}");
            return Err(Refusal::new(DECLUSTER_ERROR_TOO_LARGE, message));
        }
        if !self.wants_input() {
            let (queued, limit) = (self.queued, self.max_queue_bytes);
            let message = format!(
                "blocks of {queued} bytes wait to be polled, max_queue_bytes = {limit}: poll first"
            );
            return Err(Refusal::new(DECLUSTER_ERROR_FULL, message));
        }
        Ok(())
    }

    fn take(&mut self, blocks: Vec<Block>) {
        self.queued += blocks.iter().map(size).sum::<usize>();
        self.blocks.extend(blocks);
    }

    fn next(&mut self) -> decluster_output {
        self.given = self.blocks.pop_front();
        self.queued -= self.given.as_ref().map_or(0, size);
        let next = match &self.given {
            Some(block) => decluster_output {
                block: block.number,
                boundary: block.boundary as u32,
                tokens: block.tokens,
                ..decluster_output::of(DECLUSTER_OUTPUT_BLOCK)
            }
            .with_text(block.text.as_bytes()),
            None if self.finished => decluster_output::of(DECLUSTER_OUTPUT_FINISHED),
            None => decluster_output::of(DECLUSTER_OUTPUT_NEED_INPUT),
        };
        decluster_output { wants_input: self.wants_input().into(), ..next }
    }
}

/// What a block takes, even a short one.
fn size(block: &Block) -> usize {
    size_of::<Block>() + block.text.len()
}
