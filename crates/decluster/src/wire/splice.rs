//! Putting other values into the JSON of an event and leaving every other byte as it is.

use alloc::string::{String, ToString};
use core::ops::Range;

use super::json::write_string;

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit<'t> {
    /// What is replaced: a place in the data, as a [`Reading`](super::Reading) gives it.
    pub span: Range<usize>,
    /// What stands there instead.
    pub with: With<'t>,
}

/// A new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With<'t> {
    /// A string. U+0085, U+2028 and U+2029 are always escaped, since some readers take them for line ends.
    Text {
        /// The text.
        text: &'t str,
        /// Escape all that is not ASCII, as the original did.
        ascii: bool,
    },
    /// A whole number.
    Number(u64),
    /// A JSON text.
    Json(&'t str),
}

/// The data with the edits made, in whatever order they are given (they get sorted).
///
/// An edit that begins inside an earlier one, is empty, or does not fit the data is left out.
#[must_use]
pub fn splice(data: &str, edits: &mut [Edit<'_>]) -> String {
    edits.sort_by_key(|edit| (edit.span.start, usize::MAX - edit.span.end));
    let grown: usize = edits
        .iter()
        .map(|edit| if let With::Text { text, .. } = edit.with { text.len() + 16 } else { 16 })
        .sum();
    let mut out = String::with_capacity(data.len() + grown);
    let mut copied = 0;
    for edit in edits {
        let Range { start, end } = edit.span;
        if start < copied || start >= end || data.get(start..end).is_none() {
            continue;
        }
        out.push_str(data.get(copied..start).unwrap_or_default());
        match edit.with {
            With::Text { text, ascii } => write_string(text, ascii, &mut out),
            With::Number(number) => out.push_str(&number.to_string()),
            With::Json(json) => out.push_str(json),
        }
        copied = end;
    }
    out.push_str(data.get(copied..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_edits_change() {
        let data = r#"{"a": "x",  "n": 12, "r": {"q": "y"}}"#;
        let at = |part: &str| {
            let start = data.find(part).unwrap_or_default();
            start..start + part.len()
        };
        let mut edits = [
            Edit { span: at(r#"{"q": "y"}"#), with: With::Json("null") },
            Edit { span: at("\"x\""), with: With::Text { text: "é\n", ascii: true } },
            Edit { span: at("12"), with: With::Number(7) },
            Edit { span: at("\"y\""), with: With::Json("null") },
            Edit { span: 1000..1001, with: With::Json("null") },
            Edit { span: 0..0, with: With::Json("null") },
        ];
        assert_eq!(splice(data, &mut edits), r#"{"a": "\u00e9\n",  "n": 7, "r": null}"#);
    }
}
