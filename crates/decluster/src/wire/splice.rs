//! Putting other values into the JSON of an event and leaving every other byte as it is.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
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
    /// Nothing: the member of the object whose value stands there goes, key and all. What is no member becomes
    /// `null`, and so does the first of an object if the one behind it goes too.
    Gone,
}

/// The data with the edits made, in whatever order they are given (they get sorted).
///
/// An edit that begins inside an earlier one, is empty, or does not fit the data is left out.
#[must_use]
pub fn splice(data: &str, edits: &mut [Edit<'_>]) -> String {
    let values = widen(data, edits);
    edits.sort_by_key(|edit| (edit.span.start, usize::MAX - edit.span.end));
    for at in 1..edits.len() {
        // The first member of an object took the comma that the next one needs to go.
        if edits[at].with == With::Gone
            && edits[at].span.start < edits[at - 1].span.end
            && let Some((_, value)) = values.iter().find(|(all, _)| *all == edits[at - 1].span)
        {
            edits[at - 1] = Edit { span: value.clone(), with: NULL };
        }
    }
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
            With::Gone => {}
        }
        copied = end;
    }
    out.push_str(data.get(copied..).unwrap_or_default());
    out
}

/// Lets the edits that take a member away take its key and a comma, too. Gives the places of those that are the
/// first of their object, and of their values.
fn widen(data: &str, edits: &mut [Edit<'_>]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut firsts = Vec::new();
    for edit in edits.iter_mut().filter(|edit| edit.with == With::Gone) {
        let Some(key) = key(data, edit.span.start) else {
            edit.with = NULL;
            continue;
        };
        let before = data.get(..key).unwrap_or_default().trim_end();
        let after = data.get(edit.span.end..).unwrap_or_default();
        let own = edit.span.clone();
        if let Some(before) = before.strip_suffix(',') {
            edit.span = before.len()..own.end;
        } else if let Some(rest) = after.trim_start().strip_prefix(',') {
            edit.span = key..data.len() - rest.trim_start().len();
            firsts.push((edit.span.clone(), own));
        } else {
            edit.span = key..own.end;
        }
    }
    firsts
}

/// Where the key begins whose value begins at `value`.
fn key(data: &str, value: usize) -> Option<usize> {
    let before = data.get(..value)?.trim_end().strip_suffix(':')?.trim_end();
    let key = before.strip_suffix('"')?;
    // A quote in the key has a backslash before it.
    let mut end = key.len();
    loop {
        let quote = memchr::memrchr(b'"', &key.as_bytes()[..end])?;
        let escapes = key.as_bytes()[..quote].iter().rev().take_while(|b| **b == b'\\').count();
        if escapes % 2 == 0 {
            return Some(quote);
        }
        end = quote;
    }
}

const NULL: With<'static> = With::Json("null");

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn members_go_with_their_keys() {
        let of = |data: &str, gone: &[&str]| {
            let place = |value: &&str| {
                let start = data.find(value).unwrap_or_default();
                Edit { span: start..start + value.len(), with: With::Gone }
            };
            splice(data, &mut gone.iter().map(place).collect::<Vec<_>>())
        };
        assert_eq!(of(r#"{"a":1 , "b\\\"" : 2,"c":3}"#, &["2"]), r#"{"a":1 ,"c":3}"#);
        assert_eq!(of(r#"{"a":1,"b":2,"c":{"d":4}}"#, &["2", r#"{"d":4}"#]), r#"{"a":1}"#);
        assert_eq!(of(r#"{ "a":1, "b":2}"#, &["1"]), r#"{ "b":2}"#);
        assert_eq!(of(r#"{"a":1}"#, &["1"]), "{}");
        assert_eq!(of(r#"{"a":1,"b":2,"c":3}"#, &["1", "2"]), r#"{"a":null,"c":3}"#);
        assert_eq!(of(r#"{"a":1,"b":2}"#, &["1", "2"]), r#"{"a":null}"#);
        assert_eq!(of("[1,2]", &["2"]), "[1,null]");
    }

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
