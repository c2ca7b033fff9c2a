//! What answers cost, added up.

use crate::argument;
use crate::handle::{self, Handle, Outcome, Refusal, opaque};
use crate::output::{self, decluster_tokens};
use crate::rewriter::decluster_rewriter;
use crate::status::decluster_status::{self, *};
use decluster::guard::{Cost, Ledger, LedgerError, PriceError, Prices};
use decluster::wire::Tokens;
use serde_json::value::RawValue;
use std::ffi::c_char;
use std::ptr;

/// Adds up what answers used and cost, by model and by key: a customer, a job, whatever the caller names.
///
/// Counts are integers, costs are decimals, exact unless one would have more than 28 digits, so the order of the answers
/// changes nothing. A ledger has at most 10,000 pairs of model and key, each name of at most 256 bytes. Threads
/// take turns on it, as on any handle; or each has its own, and they are merged.
///
/// `model` and `key` of the functions that add end with a NUL and are UTF-8; either may be `NULL`: no model named, no key.
/// `keep` says what becomes of an answer whose model has no price: 0 refuses it with `UNKNOWN_NAME` (its message lists the
/// models), anything else counts it as `unpriced`. With `cost` and `cost_length` they say what the answer cost, as a
/// JSON object: `prompt`, `cached`, `cache_write`, `reasoning`, `output`, `total` (decimal numbers, as strings), `currency`; or
/// `null` without prices, without usage, and for an answer that is `unpriced`. Both may be `NULL` where nobody wants to
/// know.
pub struct decluster_ledger(Handle<Entering>);

opaque!(decluster_ledger, Entering);

#[derive(Default)]
pub(crate) struct Entering {
    ledger: Ledger,
    /// Something was added.
    begun: bool,
    /// The JSON that was given out last.
    json: String,
}

/// Where the cost of an answer goes.
#[derive(Clone, Copy)]
struct To {
    cost: *mut *const c_char,
    length: *mut usize,
}

/// The text of a price table with the five models of the published incident report and its figures of 2026-11-30, for
/// `decluster_ledger_set_prices()`: examples to try things with, and no provider's price list. A static string that ends
/// with a NUL.
#[unsafe(no_mangle)]
pub extern "C" fn decluster_prices_examples() -> *const c_char {
    EXAMPLES.as_ptr().cast()
}

/// Makes a ledger without prices: it counts tokens. To be freed with `decluster_ledger_free()`.
///
/// Errors: `NULL`, `PANIC`; then `ledger` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_ledger_new(
    ledger: *mut *mut decluster_ledger,
) -> decluster_status {
    // SAFETY: the caller passes what can be written.
    unsafe { handle::give(ledger, || Ok(Entering::default())) }
}

/// Frees it; `NULL` is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_ledger_free(ledger: *mut decluster_ledger) {
    // SAFETY: the caller frees what it was given, once.
    unsafe { handle::free(ledger) };
}

/// Gives it prices: `length` bytes of a price table at `prices`, in JSON or TOML, as
/// `[models."gpt-4.1"]`, `prompt = 3`, `output = 8`, each on its line: units of its `currency` (`USD` unless it says otherwise)
/// per million tokens. `cached`, `cache_write`, `reasoning`, `aliases`, `as_of` and `source` may be there, too. A price is
/// from 0 to 1,000,000 with at most 9 decimals, a table has at most 1 MiB.
///
/// Costs are in `currency`, of which `rate` makes one of the table's (a decimal number above 0, to 1,000,000, with at most 12
/// decimals, such as `7.1`); both end with a NUL. Where both are `NULL`, they are in the table's own.
///
/// Errors: `UNREADABLE` (what is no such table; the message says where), `BAD_UTF8`, `BAD_ARGUMENT` (currency or rate),
/// `OUT_OF_TURN` (something was added or merged before), and those of every call; then nothing is changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_ledger_set_prices(
    ledger: *mut decluster_ledger,
    prices: *const c_char,
    length: usize,
    currency: *const c_char,
    rate: *const c_char,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be read.
    unsafe {
        handle::call(ledger, |entering| {
            let text = argument::text(prices, length, "prices")?;
            let other = match (currency.is_null(), rate.is_null()) {
                (true, true) => None,
                _ => Some((argument::name(currency, "currency")?, argument::name(rate, "rate")?)),
            };
            if entering.begun {
                let message = "the prices of a ledger are given before anything is added";
                return Err(Refusal::new(DECLUSTER_ERROR_OUT_OF_TURN, message));
            }
            let refused = |status| move |why: PriceError| Refusal::new(status, why.to_string());
            let prices = Prices::parse(text).map_err(refused(DECLUSTER_ERROR_UNREADABLE))?;
            let mut priced = Ledger::new(Some(prices.into()));
            if let Some((currency, rate)) = other {
                let other = priced.with_currency(&currency, &rate);
                priced = other.map_err(refused(DECLUSTER_ERROR_BAD_ARGUMENT))?;
            }
            entering.ledger = priced;
            Ok(())
        })
    }
}

/// Adds an answer by the provider's own usage, `length` bytes of a JSON object at `usage`; `NULL` for an answer without, which
/// counts as `unreported`. `reasoning_text` is 1 if any text of the reasoning came, else 0: a provider that counts 0
/// tokens for it has not counted.
///
/// Errors: `UNREADABLE` (the usage is no JSON object), `UNKNOWN_NAME`, `LEDGER_FULL`, `BAD_ARGUMENT` (a name of more than
/// 256 bytes), `BAD_UTF8`, and those of every call; then nothing was added, and `cost` and `cost_length` are as they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_ledger_add(
    ledger: *mut decluster_ledger,
    model: *const c_char,
    key: *const c_char,
    usage: *const c_char,
    length: usize,
    reasoning_text: u32,
    keep: u32,
    cost: *mut *const c_char,
    cost_length: *mut usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be read and written.
    unsafe {
        enter(ledger, model, key, keep, To { cost, length: cost_length }, || {
            let usage = argument::text(usage, length, "usage")?;
            if usage.is_empty() {
                return Ok((None, None));
            }
            let unreadable = |why: &str| {
                let message = format!("usage is no JSON object: {why}");
                Refusal::new(DECLUSTER_ERROR_UNREADABLE, message)
            };
            let json: &RawValue =
                serde_json::from_str(usage).map_err(|why| unreadable(&why.to_string()))?;
            if !json.get().starts_with('{') {
                return Err(unreadable("it is other JSON"));
            }
            Ok((Tokens::of(usage, reasoning_text != 0), None))
        })
    }
}

/// The same by counts in one meaning for all providers, as `decluster_rewriter_tokens()` tells them: what is negative is
/// not known. `size` is `sizeof *tokens`.
///
/// Errors: `TOO_SMALL`, and as `decluster_ledger_add()`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_ledger_add_tokens(
    ledger: *mut decluster_ledger,
    model: *const c_char,
    key: *const c_char,
    tokens: *const decluster_tokens,
    size: usize,
    keep: u32,
    cost: *mut *const c_char,
    cost_length: *mut usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be read and written.
    unsafe {
        enter(ledger, model, key, keep, To { cost, length: cost_length }, || {
            argument::input(tokens, size, "tokens")?;
            Ok((Some(tokens.read_unaligned().into()), None))
        })
    }
}

/// The same by what a stream said, mostly at its end: its usage, and where `model` is `NULL`, its model. A
/// rewriter counts as often as it is added.
///
/// Errors: as `decluster_ledger_add()`, and those of every call on the rewriter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_ledger_add_rewriter(
    ledger: *mut decluster_ledger,
    rewriter: *const decluster_rewriter,
    model: *const c_char,
    key: *const c_char,
    keep: u32,
    cost: *mut *const c_char,
    cost_length: *mut usize,
) -> decluster_status {
    // SAFETY: the caller passes handles, and what can be read and written.
    unsafe {
        enter(ledger, model, key, keep, To { cost, length: cost_length }, || {
            let told = handle::look(rewriter, |rewriting| {
                let answer = rewriting.answer();
                (answer.tokens(), answer.model.clone())
            });
            told.map_err(|status| Refusal::of_other(status, "rewriter"))
        })
    }
}

/// Adds all that another ledger holds. It is priced by this one's table and in its currency, and an answer whose model has no price
/// there is kept, as `unpriced`.
///
/// Errors: `LEDGER_FULL`, `BAD_ARGUMENT` (both are the same), and those of every call, of either ledger; then nothing was
/// added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_ledger_merge(
    ledger: *mut decluster_ledger,
    other: *const decluster_ledger,
) -> decluster_status {
    // SAFETY: the caller passes handles.
    unsafe {
        handle::call(ledger, |entering| {
            if ptr::eq(ledger, other) {
                let message = "a ledger is not merged into itself";
                return Err(Refusal::new(DECLUSTER_ERROR_BAD_ARGUMENT, message));
            }
            let merged = handle::look(other, |other| entering.ledger.merge(&other.ledger));
            let merged = merged.map_err(|status| Refusal::of_other(status, "other"))?;
            merged.map_err(|why| refusal_of(&why))?;
            entering.begun = true;
            Ok(())
        })
    }
}

/// Gives all of it as a JSON object: `currency` (`null` without prices), `total` (an entry), `models`, `keys` and `rows` (lists
/// of entries: by model, by key, by both).
///
/// An entry has `model` and `key` (`null` for none, and for several), `streams` (how many answers), `unreported` (those without
/// usage), `unpriced` (those with usage whose model has no price; 0 without prices), `tokens` (the sums, with the fields
/// of `decluster_tokens`; `null` where no answer had the count), `costs_told` (of how many answers the provider said what they
/// cost: `cost_picodollars` is the sum of that) and `cost` (by the price table, as the functions that add say it; `null`
/// without prices).
///
/// The JSON is the handle's, and valid until the next call that takes the handle without `const`, of which this is one.
///
/// Errors: those of every call; then `json` and `length` are as they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_ledger_json(
    ledger: *mut decluster_ledger,
    json: *mut *const c_char,
    length: *mut usize,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be written.
    unsafe {
        handle::call(ledger, |entering| {
            output::check_text(json, length, ["json", "length"])?;
            entering.json = entering.ledger.json();
            output::text(&entering.json, json, length);
            Ok(())
        })
    }
}

/// The message of the last call on it that failed; as `decluster_config_error()`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_ledger_error(ledger: *const decluster_ledger) -> *const c_char {
    // SAFETY: the caller passes a handle.
    unsafe { handle::message(ledger) }
}

/// Adds an answer, of which `read` tells the tokens and, where the caller names none, the model.
///
/// # Safety
/// The pointers are `NULL` or what they say.
unsafe fn enter(
    ledger: *mut decluster_ledger,
    model: *const c_char,
    key: *const c_char,
    keep: u32,
    to: To,
    read: impl FnOnce() -> Outcome<(Option<Tokens>, Option<String>)>,
) -> decluster_status {
    // SAFETY: the caller says so.
    unsafe {
        handle::call(ledger, |entering| {
            let (model, key) = (argument::maybe(model, "model")?, argument::maybe(key, "key")?);
            if !to.cost.is_null() && to.length.is_null() {
                return Err(Refusal::null("cost_length"));
            }
            let (tokens, named) = read()?;
            let model = model.or(named.as_deref());
            let Entering { ledger, begun, json } = entering;
            let added = if keep == 0 {
                ledger.add(tokens, model, key)
            } else {
                ledger.keep(tokens, model, key)
            };
            let told = added.map_err(|why| refusal_of(&why))?;
            *begun = true;
            *json = told.as_ref().map_or_else(|| "null".to_owned(), Cost::json);
            if !to.cost.is_null() {
                output::text(json, to.cost, to.length);
            }
            Ok(())
        })
    }
}

fn refusal_of(error: &LedgerError) -> Refusal {
    let status = match error {
        LedgerError::UnknownModel(_) => DECLUSTER_ERROR_UNKNOWN_NAME,
        LedgerError::Full(_) => DECLUSTER_ERROR_LEDGER_FULL,
        _ => DECLUSTER_ERROR_BAD_ARGUMENT,
    };
    Refusal::new(status, error.to_string())
}

static EXAMPLES: &str =
    concat!(include_str!("../../../crates/decluster/src/guard/price/examples.toml"), "\0");
