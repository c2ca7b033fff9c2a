//! What calls return.

use std::ffi::{CStr, c_char};

/// What a call returns: 0 is success, anything negative an error. Numbers are never reused.
///
/// Whose fault it is: `TOO_LARGE`, `TOO_MANY_CHOICES`, `REASONING_BUDGET_EXCEEDED` and `STALLED` are the stream's, so expect
/// them; `FULL` asks to poll first; `PANIC` and `POISONED` are a defect of the library; the rest is the caller's.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum decluster_status {
    /// Done.
    DECLUSTER_OK = 0,
    /// A pointer that must not be `NULL` is.
    DECLUSTER_ERROR_NULL = -1,
    /// An argument is none that there can be: a kind, a dialect, a mode, how to cancel, a value's text; or a length over
    /// `PTRDIFF_MAX`, as of a number that was negative.
    DECLUSTER_ERROR_BAD_ARGUMENT = -2,
    /// There is no parameter of this number.
    DECLUSTER_ERROR_UNKNOWN_PARAMETER = -3,
    /// A parameter's value lies outside its bounds.
    DECLUSTER_ERROR_OUT_OF_BOUNDS = -4,
    /// There is no parameter, preset or profile of this name; or no model in the price table.
    DECLUSTER_ERROR_UNKNOWN_NAME = -5,
    /// The `size` given for an output struct is less than that of the struct; or the room for a copy is less than the text.
    DECLUSTER_ERROR_TOO_SMALL = -6,
    /// Text is not UTF-8, or ends inside a character.
    DECLUSTER_ERROR_BAD_UTF8 = -7,
    /// The queue would exceed `max_queue_bytes`: poll first, then call again.
    DECLUSTER_ERROR_FULL = -8,
    /// A delta or an event exceeds `max_event_bytes`.
    DECLUSTER_ERROR_TOO_LARGE = -9,
    /// The stream has more choices than `max_choices`.
    DECLUSTER_ERROR_TOO_MANY_CHOICES = -10,
    /// It was finished or cancelled before; it takes no more input.
    DECLUSTER_ERROR_FINISHED = -11,
    /// A stream comes as bytes and lines or as events, not as both; or as items (`decluster_rewriter_push_item()`) and nothing
    /// else.
    DECLUSTER_ERROR_MIXED = -12,
    /// The settings exclude each other: `unit = whole` without pieces, `segment = off` for a segmenter.
    DECLUSTER_ERROR_CONFLICT = -13,
    /// More reasoning came than `max_reasoning_tokens` or a shared budget allows.
    DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED = -14,
    /// Another thread is in a call on this handle.
    DECLUSTER_ERROR_BUSY = -15,
    /// The library panicked inside this call; the handle is poisoned now. Please report it.
    DECLUSTER_ERROR_PANIC = -16,
    /// An earlier call on this handle panicked. It can only be freed.
    DECLUSTER_ERROR_POISONED = -17,
    /// Nothing but comments and pings came for `max_silence`.
    DECLUSTER_ERROR_STALLED = -18,
    /// The call comes too late: a budget after the first push, prices after something was added.
    DECLUSTER_ERROR_OUT_OF_TURN = -19,
    /// A text is not what it has to be: a price table, a usage, a response.
    DECLUSTER_ERROR_UNREADABLE = -20,
    /// A ledger would have more than 10,000 pairs of model and key.
    DECLUSTER_ERROR_LEDGER_FULL = -21,
}

use decluster_status::*;

/// Every status with its meaning in a few words.
pub(crate) const STATUSES: [(decluster_status, &CStr); 22] = [
    (DECLUSTER_OK, c"done"),
    (DECLUSTER_ERROR_NULL, c"a pointer that must not be NULL is"),
    (DECLUSTER_ERROR_BAD_ARGUMENT, c"an argument is none that there can be"),
    (DECLUSTER_ERROR_UNKNOWN_PARAMETER, c"there is no parameter of this number"),
    (DECLUSTER_ERROR_OUT_OF_BOUNDS, c"the parameter's value lies outside its bounds"),
    (DECLUSTER_ERROR_UNKNOWN_NAME, c"there is nothing of this name"),
    (DECLUSTER_ERROR_TOO_SMALL, c"the size given for the output is less than it needs"),
    (DECLUSTER_ERROR_BAD_UTF8, c"the text is not UTF-8, or ends inside a character"),
    (DECLUSTER_ERROR_FULL, c"the queue is full: poll first"),
    (DECLUSTER_ERROR_TOO_LARGE, c"a delta or an event exceeds max_event_bytes"),
    (DECLUSTER_ERROR_TOO_MANY_CHOICES, c"the stream has more choices than max_choices"),
    (DECLUSTER_ERROR_FINISHED, c"it was finished before and takes no more input"),
    (DECLUSTER_ERROR_MIXED, c"a stream comes as bytes and lines, as events or as items"),
    (
        DECLUSTER_ERROR_CONFLICT,
        c"the settings exclude each other: unit = whole without pieces, or segment = off for a segmenter",
    ),
    (
        DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED,
        c"more reasoning came than max_reasoning_tokens or a shared budget allows",
    ),
    (DECLUSTER_ERROR_BUSY, c"another thread is in a call on this handle"),
    (
        DECLUSTER_ERROR_PANIC,
        c"the library panicked, which is a defect of it; the handle is poisoned",
    ),
    (DECLUSTER_ERROR_POISONED, c"an earlier call panicked: the handle can only be freed"),
    (DECLUSTER_ERROR_STALLED, c"nothing but comments and pings came for max_silence"),
    (DECLUSTER_ERROR_OUT_OF_TURN, c"the call comes too late"),
    (DECLUSTER_ERROR_UNREADABLE, c"the text is not what it has to be"),
    (DECLUSTER_ERROR_LEDGER_FULL, c"the ledger would have too many pairs of model and key"),
];

/// What a status means, in a few words: a static string, never `NULL`. For what went wrong in a certain call, with names
/// and numbers, ask the handle: `decluster_engine_error()` and the like.
#[unsafe(no_mangle)]
pub extern "C" fn decluster_status_text(status: i32) -> *const c_char {
    let known = STATUSES.iter().find(|(known, _)| *known as i32 == status);
    known.map_or(c"no status of this library", |(_, text)| text).as_ptr()
}

/// Whether a status is a fault, an error of the stream rather than of the caller (see `decluster_rewriter`): 1 or 0.
#[unsafe(no_mangle)]
pub extern "C" fn decluster_status_is_fault(status: i32) -> i32 {
    FAULTS.iter().any(|fault| *fault as i32 == status).into()
}

const FAULTS: [decluster_status; 4] = [
    DECLUSTER_ERROR_TOO_LARGE,
    DECLUSTER_ERROR_TOO_MANY_CHOICES,
    DECLUSTER_ERROR_REASONING_BUDGET_EXCEEDED,
    DECLUSTER_ERROR_STALLED,
];
