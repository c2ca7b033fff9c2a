//! What all streams of a process add up to.

use crate::argument;
use crate::handle::{self, Handle, Refusal, opaque};
use crate::rewriter::decluster_rewriter;
use crate::status::decluster_status;
use decluster::guard::Totals;
use std::ffi::c_char;

/// Adds up streams that are over, for Prometheus. Every call takes it with `const`: any number of threads may use it at the
/// same time, and none waits for another. No sum ever falls.
pub struct decluster_totals(Handle<Totals>);

opaque!(decluster_totals, Totals);

/// As many bytes as the text of `decluster_totals_text()` has at most, whatever was counted.
pub const DECLUSTER_TOTALS_TEXT_MAX: usize = 32_768;

/// Makes totals to which nothing was added. To be freed with `decluster_totals_free()`.
///
/// Errors: `NULL`, `PANIC`; then `totals` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_totals_new(
    totals: *mut *mut decluster_totals,
) -> decluster_status {
    // SAFETY: the caller passes what can be written.
    unsafe { handle::give(totals, || Ok(Totals::default())) }
}

/// Frees it; `NULL` is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_totals_free(totals: *mut decluster_totals) {
    // SAFETY: the caller frees what it was given, once.
    unsafe { handle::free(totals) };
}

/// Adds a stream that is over, or that is given up and about to be freed. A rewriter counts once, in whichever totals
/// it was added to first: a second call changes nothing, and what it reads after the first is not counted.
///
/// Errors: those of every call, of either handle; then nothing was added. The message is that of the rewriter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_totals_add(
    totals: *const decluster_totals,
    rewriter: *mut decluster_rewriter,
) -> decluster_status {
    // SAFETY: the caller passes handles.
    unsafe {
        handle::call(rewriter, |rewriting| {
            let added = handle::look(totals, |totals| rewriting.count_in(totals));
            added.map_err(|status| Refusal::of_other(status, "totals"))
        })
    }
}

/// Writes the sums in the Prometheus text format, version 0.0.4, to `to`, where there is room for `size` bytes, without a NUL,
/// and says with `length` how many bytes that are. With room for `DECLUSTER_TOTALS_TEXT_MAX` it always fits. Its
/// content type is `text/plain; version=0.0.4; charset=utf-8`.
///
/// Errors: `TOO_SMALL`, and those of every call; then `to` and `length` are as they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_totals_text(
    totals: *const decluster_totals,
    to: *mut c_char,
    size: usize,
    length: *mut usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be written.
    unsafe {
        handle::tell(totals, length, |totals| {
            let text = totals.render();
            argument::room(to, size, text.len())?;
            to.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
            Ok(text.len())
        })
    }
}

/// What a panic said; as `decluster_config_error()`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_totals_error(totals: *const decluster_totals) -> *const c_char {
    // SAFETY: the caller passes a handle.
    unsafe { handle::message(totals) }
}
