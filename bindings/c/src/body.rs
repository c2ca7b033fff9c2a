//! Finished responses that were not streamed.

use crate::answer::{self, Counts};
use crate::argument;
use crate::handle::{self, Handle, Refusal, opaque};
use crate::output;
use crate::status::decluster_status::{self, *};
use decluster::wire::{Body, Dialect};
use serde::Serialize;
use serde_json::value::RawValue;
use std::ffi::c_char;

/// Reads responses that were not streamed, one after the other.
pub struct decluster_body(Handle<Reading>);

opaque!(decluster_body, Reading);

/// The JSON that was given out last.
#[derive(Default)]
pub(crate) struct Reading {
    json: String,
}

#[derive(Serialize)]
struct Known<'a> {
    dialect: Option<&'static str>,
    model: Option<&'a str>,
    #[serde(flatten)]
    tokens: Counts,
    raw: Option<&'a RawValue>,
    reasoning_text: &'a str,
    output_text: &'a str,
    encrypted: &'a [String],
    finish: Option<&'a str>,
    error: Option<&'a RawValue>,
}

/// Makes a reader. To be freed with `decluster_body_free()`.
///
/// Errors: `NULL`, `PANIC`; then `body` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_body_new(body: *mut *mut decluster_body) -> decluster_status {
    // SAFETY: the caller passes what can be written.
    unsafe { handle::give(body, || Ok(Reading::default())) }
}

/// Frees it; `NULL` is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_body_free(body: *mut decluster_body) {
    // SAFETY: the caller frees what it was given, once.
    unsafe { handle::free(body) };
}

/// Reads a finished response of any dialect, `length` bytes of JSON at `bytes`, and gives what it says as a JSON object. What is
/// not known is `null`. Time is linear in the length.
///
/// `dialect` (a name), `model`, the usage in one meaning for all providers (`input`, `cached_input`, `cache_write`,
/// `output`, `reasoning`, `visible`, `cost_picodollars`, as in `decluster_tokens`), `raw` (the provider's own usage),
/// `reasoning_text`, `output_text` (both of choice 0), `encrypted` (a list: reasoning that only the provider can read),
/// `finish` (the provider's own word for why it stopped), `error` (the provider's own: a response that reports one is read).
///
/// The JSON is the handle's, and valid until the next call that takes the handle without `const`, of which this is one.
///
/// Errors: `UNREADABLE` (it is no JSON, a stream, or no response that could be told; the message says which), and those of
/// every call; then `json` and `json_length` are as they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_body_read(
    body: *mut decluster_body,
    bytes: *const c_char,
    length: usize,
    json: *mut *const c_char,
    json_length: *mut usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be read and written.
    unsafe {
        handle::call(body, |reading| {
            let bytes = argument::bytes(bytes.cast(), length, "bytes")?;
            output::check_text(json, json_length, ["json", "json_length"])?;
            let body = Body::read(bytes)
                .map_err(|why| Refusal::new(DECLUSTER_ERROR_UNREADABLE, why.to_string()))?;
            reading.json = told(&body);
            output::text(&reading.json, json, json_length);
            Ok(())
        })
    }
}

/// The message of the last call on it that failed; as `decluster_config_error()`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_body_error(body: *const decluster_body) -> *const c_char {
    // SAFETY: the caller passes a handle.
    unsafe { handle::message(body) }
}

fn told(body: &Body) -> String {
    let known = Known {
        dialect: body.dialect.map(Dialect::name),
        model: body.model.as_deref(),
        tokens: body.tokens.unwrap_or_default().into(),
        raw: body.usage.as_deref().and_then(answer::raw),
        reasoning_text: &body.reasoning,
        output_text: &body.output,
        encrypted: &body.encrypted,
        finish: body.finish.as_deref(),
        error: body.error.as_deref().and_then(answer::raw),
    };
    // It holds nothing that JSON cannot say.
    serde_json::to_string(&known).unwrap_or_default()
}
