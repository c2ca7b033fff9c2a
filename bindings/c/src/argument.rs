//! What comes from C: pointers, sizes and numbers, checked.

use crate::handle::{Outcome, Refusal};
use crate::status::decluster_status::*;
use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::slice;

/// Bytes; `NULL` is fine where there are none.
///
/// # Safety
/// `length` bytes can be read at `bytes`, for as long as the result is used.
pub(crate) unsafe fn bytes<'a>(bytes: *const u8, length: usize, name: &str) -> Outcome<&'a [u8]> {
    if length == 0 {
        return Ok(&[]);
    }
    if bytes.is_null() {
        return Err(Refusal::null(name));
    }
    // No object is larger; a length that is was negative before.
    if length > isize::MAX as usize {
        let message = format!("a length of {length} bytes for {name} is more than there can be");
        return Err(Refusal::new(DECLUSTER_ERROR_BAD_ARGUMENT, message));
    }
    // SAFETY: the caller says so.
    Ok(unsafe { slice::from_raw_parts(bytes, length) })
}

/// The same as text.
///
/// # Safety
/// As [`bytes`].
pub(crate) unsafe fn text<'a>(text: *const c_char, length: usize, name: &str) -> Outcome<&'a str> {
    // SAFETY: the caller says so.
    let bytes = unsafe { bytes(text.cast(), length, name)? };
    utf8(bytes, name)
}

fn utf8<'a>(bytes: &'a [u8], name: &str) -> Outcome<&'a str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let message = match error.error_len() {
            Some(_) => format!("{name} is not UTF-8: byte {at} is 0x{:02x}", bytes[at]),
            None => format!(
                "{name} ends inside the character that begins at byte {at}: push it with what follows"
            ),
        };
        Refusal::new(DECLUSTER_ERROR_BAD_UTF8, message)
    })
}

/// A text that ends with a NUL.
///
/// # Safety
/// `text` is `NULL` or ends with a NUL.
pub(crate) unsafe fn name<'a>(text: *const c_char, name: &str) -> Outcome<Cow<'a, str>> {
    if text.is_null() {
        return Err(Refusal::null(name));
    }
    // SAFETY: the caller says so.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy())
}

/// The same where `NULL` says that there is none, and what is not UTF-8 is refused.
///
/// # Safety
/// As [`name`].
pub(crate) unsafe fn maybe<'a>(text: *const c_char, name: &str) -> Outcome<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller says so.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    utf8(bytes, name).map(Some)
}

/// Checks that a struct of the caller's can be read.
pub(crate) fn input<T>(input: *const T, size: usize, name: &str) -> Outcome {
    if input.is_null() {
        return Err(Refusal::null(name));
    }
    let needed = size_of::<T>();
    if size < needed {
        let message = format!("{name} has {size} bytes, its struct has {needed}");
        return Err(Refusal::new(DECLUSTER_ERROR_TOO_SMALL, message));
    }
    Ok(())
}

/// Checks that `length` bytes can be written where there is room for `size`.
pub(crate) fn room(to: *mut c_char, size: usize, length: usize) -> Outcome {
    if to.is_null() {
        return Err(Refusal::null("to"));
    }
    if size < length {
        let message = format!("there is room for {size} bytes, the text has {length}");
        return Err(Refusal::new(DECLUSTER_ERROR_TOO_SMALL, message));
    }
    Ok(())
}

/// Checks that an output of the caller's `size` can be written.
pub(crate) fn output<T>(output: *mut T, size: usize) -> Outcome {
    if output.is_null() {
        return Err(Refusal::null("the output"));
    }
    let needed = size_of::<T>();
    if size < needed {
        let message = format!("the output has {size} bytes, its struct has {needed}");
        return Err(Refusal::new(DECLUSTER_ERROR_TOO_SMALL, message));
    }
    Ok(())
}

/// The number of a choice as one of `all`.
pub(crate) fn choice<T: Copy>(number: u32, all: &[T], name: &str) -> Outcome<T> {
    all.get(number as usize).copied().ok_or_else(|| {
        let message = format!("{name} = {number} is none: there are 0 to {}", all.len() - 1);
        Refusal::new(DECLUSTER_ERROR_BAD_ARGUMENT, message)
    })
}
