//! What an output points at, for those who cannot follow a pointer.

use crate::argument;
use crate::handle;
use crate::status::decluster_status::{self, *};
use std::ffi::c_char;

/// Copies `length` bytes of text that an output points at to `to`, where there is room for `size`: for languages that can hold a
/// pointer and not read what is there. The text must still be valid. No NUL is written behind it.
///
/// Errors: `NULL`, `BAD_ARGUMENT` (the length), `TOO_SMALL` (`size` is less than `length`), `PANIC`; then nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_copy(
    text: *const c_char,
    length: usize,
    to: *mut c_char,
    size: usize,
) -> decluster_status {
    let copy = || {
        // SAFETY: the caller passes what can be read.
        let text = unsafe { argument::bytes(text.cast(), length, "text")? };
        if text.is_empty() {
            return Ok(());
        }
        argument::room(to, size, text.len())?;
        // SAFETY: the caller passes what can be written; the two may overlap.
        unsafe { to.copy_from(text.as_ptr().cast(), text.len()) };
        Ok(())
    };
    handle::answer(copy).err().unwrap_or(DECLUSTER_OK)
}
