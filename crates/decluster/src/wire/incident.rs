//! Counts in place of text: `{"delta_tokens": 67}`, named by the event line alone.

use alloc::borrow::Cow;
use alloc::format;

use super::common::Common;
use super::json::{Object, Value};
use super::{Reading, Text, responses};
use crate::Kind;

/// Whether an event of unknown dialect is of this one: it counts, or has a name that no provider uses.
pub(super) fn is_one(name: &str, kind: &str, event: &Object<'_, '_>) -> bool {
    let name = if kind.is_empty() { name } else { kind };
    responses::is_one(name, kind) && (event.get(COUNT).is_some() || name == OUTPUT)
}

/// Whether this reads the event. In a Responses stream the name of the reasoning event also exists with text
/// alone; `own` says that the stream is of this dialect.
pub(super) fn takes(own: bool, name: &str, event: &Object<'_, '_>) -> bool {
    match kind(name) {
        Some(Kind::Output) => true,
        Some(Kind::Reasoning) => own || event.get(COUNT).is_some(),
        None => false,
    }
}

/// Reads a delta: text, a count, or a text with its count.
pub(super) fn read<'a>(
    name: &str,
    event: &Object<'a, '_>,
    common: &mut Common,
    reading: &mut Reading<'a>,
) {
    let Some(kind) = kind(name) else { return };
    let number = event.present("sequence_number");
    reading.number = number.and_then(|n| Some((n.number()?, n.span())));
    reading.plain = true;
    let tokens = event.present(COUNT);
    let count = tokens.and_then(count);
    if let (Some(tokens), None) = (tokens, count) {
        common.malformed(format!("delta_tokens is not a count: {:.40}", tokens.text));
        // It must not be told with each part.
        (reading.plain, reading.whole) = (false, true);
    }
    let texts = event.get("delta").is_some_and(|v| common.text((kind, 0, 0), 0, v, reading));
    // With a text even 0 has its place: where deltas are joined, this one may have to tell the sum.
    let told = count.zip(tokens).filter(|(count, _)| texts || *count > 0);
    let Some((count, tokens)) = told else { return };
    if !texts {
        let span = event.get("delta").filter(|v| v.text.starts_with('"')).map(|v| v.span());
        let text = Text::bare(kind, 0, Cow::Borrowed(""));
        reading.add(Text { span: span.unwrap_or(0..0), ..text });
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
fn count(value: Value<'_, '_>) -> Option<u32> {
    value.text.bytes().all(|b| b.is_ascii_digit()).then(|| value.text.parse().ok()).flatten()
}

const NAMES: [(&str, Kind); 2] =
    [("response.reasoning.delta", Kind::Reasoning), (OUTPUT, Kind::Output)];
const OUTPUT: &str = "response.output.delta";
const COUNT: &str = "delta_tokens";
