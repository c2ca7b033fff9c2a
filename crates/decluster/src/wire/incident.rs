//! Counts in place of text: `{"delta_tokens": 67}`, named by the event line alone.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

use super::common::Common;
use super::json::{Object, Value};
use super::{Dialect, Reading, Role, Text};
use crate::Kind;

/// Whether the event is of this form. In a Responses stream the name of the reasoning event also exists
/// with text alone.
pub(super) fn is_one(dialect: Option<Dialect>, name: &str, event: &Object<'_>) -> bool {
    match kind(name) {
        Some(Kind::Output) => true,
        Some(Kind::Reasoning) => {
            dialect == Some(Dialect::Incident) || event.get("delta_tokens").is_some()
        }
        None => false,
    }
}

/// Reads a delta: text, a count, or a text with its count.
pub(super) fn read<'a>(
    name: &str,
    event: &Object<'a>,
    common: &mut Common,
    reading: &mut Reading<'a>,
) {
    let Some(kind) = kind(name) else { return };
    let number = event.present("sequence_number");
    reading.number = number.and_then(|n| Some((n.number()?, n.span())));
    reading.plain = true;
    let tokens = event.present("delta_tokens");
    let count = tokens.and_then(count);
    if let (Some(tokens), None) = (tokens, count) {
        common.malformed(format!("delta_tokens is not a count: {:.40}", tokens.text));
        reading.plain = false;
    }
    let texts = event.get("delta").is_some_and(|v| common.text((kind, 0, 0), 0, v, reading));
    let Some((count, tokens)) = count.zip(tokens).filter(|(count, _)| *count > 0) else { return };
    if !texts {
        let span = event.get("delta").filter(|v| v.text.starts_with('"')).map(|v| v.span());
        reading.texts.push(Text {
            kind,
            index: 0,
            text: Cow::Borrowed(""),
            span: span.unwrap_or(0..0),
            copies: Vec::new(),
            tokens: None,
            tokens_span: None,
            ascii: false,
            altered: false,
        });
        reading.role = Role::Delta;
    }
    if let Some(text) = reading.texts.last_mut() {
        text.tokens = Some(count);
        text.tokens_span = Some(tokens.span());
    }
}

/// The kind by `type`, or by the event's name where there is no `type`.
fn kind(name: &str) -> Option<Kind> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// A count is written in digits: no sign, no fraction, no exponent, no quotes.
fn count(value: Value<'_>) -> Option<u32> {
    value.text.bytes().all(|b| b.is_ascii_digit()).then(|| value.text.parse().ok()).flatten()
}

const NAMES: [(&str, Kind); 2] =
    [("response.reasoning.delta", Kind::Reasoning), ("response.output.delta", Kind::Output)];
