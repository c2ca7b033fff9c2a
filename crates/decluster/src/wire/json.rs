//! JSON that remembers where each value stands, so that one value can be replaced and the rest left
//! byte for byte as it came. Strings may hold half surrogate pairs.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use serde::de::{Deserializer, IgnoredAny, Visitor};
use serde_json::value::RawValue;

use super::tape::{ANY_KEY, ESCAPED, Mark, Node, REPEATS, Tape};

/// A JSON value and its place in the data of the event: a view of the text and of its index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'a, 't> {
    /// The JSON text, without blanks around it.
    pub(super) text: &'a str,
    at: usize,
    /// It and all in it.
    nodes: &'t [Node],
}

/// The members of an object in their order; of duplicate keys the last counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Object<'a, 't> {
    text: &'a str,
    at: usize,
    nodes: &'t [Node],
}

impl<'a, 't> Value<'a, 't> {
    /// Reads `text`, which stands at `at` in the data.
    pub(super) fn parse(
        text: &'a str,
        at: usize,
        tape: &'t mut Tape,
    ) -> Result<Self, serde_json::Error> {
        tape.parse(text)?;
        Ok(Self::of(text, at, tape))
    }

    /// The value that `tape` has read from `text`.
    pub(super) fn of(text: &'a str, at: usize, tape: &'t Tape) -> Self {
        child(text, at, tape.nodes(), 0).unwrap_or(Self { text: "null", at, nodes: &[] })
    }

    /// Reads the value `text` begins with and says where it ends.
    pub(super) fn parse_first(
        text: &'a str,
        at: usize,
        tape: &'t mut Tape,
    ) -> Option<(Self, usize)> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<&'a RawValue>();
        values.next()?.ok()?;
        let end = values.byte_offset();
        Some((Self::parse(text.get(..end)?, at, tape).ok()?, end))
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    pub(super) fn is_null(&self) -> bool {
        self.text == "null"
    }

    /// Null, or an empty string, array or object.
    pub(super) fn is_empty(&self) -> bool {
        if self.is_compound() {
            return self.nodes.len() == 1;
        }
        matches!(self.text, "null" | "\"\"")
    }

    pub(super) fn is_compound(&self) -> bool {
        self.text.starts_with(['{', '['])
    }

    /// The members; none if this is no object.
    pub(super) fn object(&self) -> Object<'a, 't> {
        if self.text.starts_with('{') {
            Object { text: self.text, at: self.at, nodes: self.nodes }
        } else {
            Object::default()
        }
    }

    /// The elements; none if this is no array.
    pub(super) fn array(&self) -> Vec<Self> {
        self.elements().collect()
    }

    /// The elements one by one; none if this is no array.
    pub(super) fn elements(self) -> impl Iterator<Item = Self> {
        let (mut rest, start) = match self.nodes {
            [own, rest @ ..] if self.text.starts_with('[') => (rest, own.start),
            _ => (&[][..], 0),
        };
        core::iter::from_fn(move || {
            let size = rest.first()?.size as usize;
            let value = child(self.text, self.at, rest, start);
            rest = rest.get(size..).unwrap_or_default();
            value
        })
    }

    /// The string as bytes: UTF-8, but a lone surrogate stands as the three bytes it would have.
    pub(super) fn bytes(&self) -> Option<Cow<'a, [u8]>> {
        let inner = self.text.strip_prefix('"')?.strip_suffix('"')?;
        if !self.has_escapes() {
            return Some(Cow::Borrowed(inner.as_bytes()));
        }
        unescape(self.text)
    }

    fn has_escapes(&self) -> bool {
        self.nodes.first().is_none_or(|own| own.note & ESCAPED != 0)
    }

    /// The string; lone surrogates are U+FFFD.
    pub(super) fn string(&self) -> Option<Cow<'a, str>> {
        let inner = self.text.strip_prefix('"')?.strip_suffix('"')?;
        if !self.has_escapes() {
            return Some(Cow::Borrowed(inner));
        }
        let mut held = None;
        let mut text = join(self.bytes()?, &mut held).text;
        if held.is_some() {
            text.to_mut().push(char::REPLACEMENT_CHARACTER);
        }
        Some(text)
    }

    /// A whole number; some senders write `0.0`.
    pub(super) fn number(&self) -> Option<u64> {
        let zeros = |text: &str| text.bytes().all(|b| b == b'0');
        self.text.parse().ok().or_else(|| {
            let (whole, _) = self.text.split_once('.').filter(|(_, rest)| zeros(rest))?;
            whole.parse().ok()
        })
    }

    /// A number of a choice, item or part; 0 where it is missing or unusable.
    pub(super) fn index(value: Option<Self>) -> u32 {
        value.and_then(|v| v.number()).and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
    }
}

impl<'a, 't> Object<'a, 't> {
    #[inline]
    pub(super) fn get(&self, key: &str) -> Option<Value<'a, 't>> {
        let own = self.nodes.first()?;
        let mark = Mark::of(key.as_bytes());
        if own.note & mark.bit() == 0 {
            return None;
        }
        let place = self.find(key, mark, own.note)?;
        child(self.text, self.at, self.nodes.get(place + 1..)?, own.start)
    }

    /// The place of a key; `note` is the object's.
    #[inline(never)]
    fn find(&self, key: &str, mark: Mark, note: u32) -> Option<usize> {
        let start = self.nodes.first()?.start;
        let mut found = None;
        // All nodes, not from member to member, since those steps wait for one another.
        for (place, node) in self.nodes.iter().enumerate() {
            if node.note == mark.0 && node.owner as usize == place {
                let own = (node.start - start) as usize + 1..(node.end - start) as usize - 1;
                if self.text.as_bytes().get(own) == Some(key.as_bytes()) {
                    found = Some(place);
                    if note & REPEATS == 0 {
                        break;
                    }
                }
            }
        }
        if note == ANY_KEY { found.max(self.find_escaped(key)) } else { found }
    }

    #[cold]
    fn find_escaped(&self, key: &str) -> Option<usize> {
        let escaped = self.keys().filter(|(_, node)| node.note & ESCAPED != 0);
        let same = |node: &Node| self.unescaped(node).is_some_and(|own| own == key);
        escaped.filter(|(_, node)| same(node)).map(|(place, _)| place).last()
    }

    /// The member, unless it is null.
    pub(super) fn present(&self, key: &str) -> Option<Value<'a, 't>> {
        self.get(key).filter(|v| !v.is_null())
    }

    pub(super) fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.string()
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (Cow<'a, str>, Value<'a, 't>)> {
        self.keys().filter_map(|(place, key)| self.member(place, key))
    }

    /// Those members that are objects or arrays and not empty.
    pub(super) fn filled(&self) -> impl Iterator<Item = (Cow<'a, str>, Value<'a, 't>)> {
        // As in `find`, no step waits for another.
        let filled = self.nodes.iter().enumerate().skip(2).filter(|(_, node)| node.size > 1);
        filled.filter_map(|(place, _)| {
            let key = self.nodes.get(place - 1)?;
            if key.owner as usize == place - 1 { self.member(place - 1, key) } else { None }
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.len() <= 1
    }

    /// The keys and their places.
    fn keys(&self) -> impl Iterator<Item = (usize, &'t Node)> {
        let nodes = self.nodes;
        let mut next = 1;
        core::iter::from_fn(move || {
            let place = next;
            let [key, value] = nodes.get(place..)?.first_chunk()?;
            next += 1 + value.size as usize;
            Some((place, key))
        })
    }

    fn member(&self, place: usize, key: &Node) -> Option<(Cow<'a, str>, Value<'a, 't>)> {
        let start = self.nodes.first()?.start;
        let value = child(self.text, self.at, self.nodes.get(place + 1..)?, start)?;
        if key.note & ESCAPED == 0 {
            return Some((Cow::Borrowed(self.key(key)?), value));
        }
        Some((self.unescaped(key)?, value))
    }

    /// The text of a key as it stands between its quotes.
    fn key(&self, node: &Node) -> Option<&'a str> {
        let start = self.nodes.first()?.start;
        self.text.get((node.start - start) as usize + 1..(node.end - start) as usize - 1)
    }

    fn unescaped(&self, node: &Node) -> Option<Cow<'a, str>> {
        let start = self.nodes.first()?.start;
        let json = self.text.get((node.start - start) as usize..(node.end - start) as usize)?;
        Some(join(unescape(json)?, &mut None).text)
    }
}

/// The value that `nodes` begins with, in a text that stands at `at` and in the index begins at `start`.
fn child<'a, 't>(text: &'a str, at: usize, nodes: &'t [Node], start: u32) -> Option<Value<'a, 't>> {
    let node = nodes.first()?;
    let (from, to) = ((node.start - start) as usize, (node.end - start) as usize);
    let nodes = nodes.get(..node.size as usize)?;
    Some(Value { text: text.get(from..to)?, at: at + from, nodes })
}

fn unescape(json: &str) -> Option<Cow<'_, [u8]>> {
    serde_json::Deserializer::from_str(json).deserialize_bytes(Bytes).ok()
}

/// A text of several deltas, each a JSON string that may end in half a character.
pub(super) struct Joined<'a> {
    pub(super) text: Cow<'a, str>,
    /// The text is not what the string alone says.
    pub(super) altered: bool,
}

/// Puts the halves of surrogate pairs together. A high half at the end is held back for the string that
/// comes next; any other lone half becomes U+FFFD.
pub(super) fn join<'a>(bytes: Cow<'a, [u8]>, held: &mut Option<u16>) -> Joined<'a> {
    let bytes = if held.is_none() || bytes.is_empty() {
        match utf8(bytes) {
            Ok(text) => return Joined { text, altered: false },
            Err(bytes) => bytes,
        }
    } else {
        bytes
    };
    let mut out = String::with_capacity(bytes.len());
    let mut high = held.take();
    let mut rest = bytes.as_ref();
    while !rest.is_empty() {
        if let [0xed, b @ 0xa0..=0xbf, c, tail @ ..] = rest {
            let unit = 0xd000 | (u16::from(b & 0x3f) << 6) | u16::from(c & 0x3f);
            rest = tail;
            if unit < 0xdc00 {
                out.extend(high.replace(unit).map(|_| char::REPLACEMENT_CHARACTER));
            } else {
                let pair = [high.take().unwrap_or(unit), unit];
                let mut decoded = char::decode_utf16(pair).map(Result::ok);
                out.push(decoded.next().flatten().unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            continue;
        }
        out.extend(high.take().map(|_| char::REPLACEMENT_CHARACTER));
        // 0xed begins a character, so the pair below never stands inside one.
        let surrogate = |pair: &[u8]| matches!(pair, [0xed, 0xa0..=0xbf]);
        let end = rest.windows(2).position(surrogate).unwrap_or(rest.len());
        // A cut sequence would make no progress here; JSON strings hold none.
        let (text, tail) = rest.split_at(end.max(1));
        out.push_str(&String::from_utf8_lossy(text));
        rest = tail;
    }
    *held = high;
    Joined { text: Cow::Owned(out), altered: true }
}

fn utf8(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, Cow<'_, [u8]>> {
    match bytes {
        Cow::Borrowed(b) => core::str::from_utf8(b).map(Cow::Borrowed).map_err(|_| bytes),
        Cow::Owned(b) => {
            String::from_utf8(b).map(Cow::Owned).map_err(|error| Cow::Owned(error.into_bytes()))
        }
    }
}

/// Writes `text` as a JSON string. U+0085, U+2028 and U+2029 are always escaped: some readers take them
/// for line ends. With `ascii` all that is not ASCII is.
pub(super) fn write_string(text: &str, ascii: bool, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\x1f' | '\x7f' | '\u{85}' | '\u{2028}' | '\u{2029}' => escape(c, out),
            _ if ascii && !c.is_ascii() => escape(c, out),
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// Writes an object whose values are JSON texts.
pub(super) fn write_object<'m>(members: impl Iterator<Item = (&'m str, &'m str)>) -> String {
    let mut out = String::from("{");
    for (key, value) in members {
        if out.len() > 1 {
            out.push(',');
        }
        write_string(key, false, &mut out);
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    out
}

fn escape(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        out.push_str("\\u");
        for shift in [12, 8, 4, 0] {
            out.extend(char::from_digit(u32::from(*unit >> shift & 0xf), 16));
        }
    }
}

/// Whether `text` is JSON, however deeply nested.
pub(super) fn is_valid(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Takes a string as bytes, which `serde_json` gives with lone surrogates in it.
struct Bytes;

impl<'de> Visitor<'de> for Bytes {
    type Value = Cow<'de, [u8]>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(bytes))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(bytes.into()))
    }
}

#[cfg(test)]
mod tests {

    use alloc::format;

    use super::*;

    #[test]
    fn values_know_their_place() {
        let data = r#" {"a": {"b": [1, "x\n"]}, "a": {"b":[ "é" , null]}}"#;
        let mut tape = Tape::default();
        let top = Value::parse(data, 100, &mut tape).unwrap().object();
        let b = top.get("a").unwrap().object().get("b").unwrap().array();
        assert_eq!(b[0].string().unwrap(), "é");
        assert_eq!(&data[b[0].span().start - 100..b[0].span().end - 100], "\"é\"");
        assert!(b[1].is_null());
        assert!(top.get("a").unwrap().array().is_empty());
    }

    #[test]
    fn halves_are_joined_over_strings() {
        let mut held = None;
        let mut next = |json: &str| {
            let mut tape = Tape::default();
            let value = Value::parse(json, 0, &mut tape).unwrap();
            join(Cow::Owned(value.bytes().unwrap().into_owned()), &mut held).text.into_owned()
        };
        assert_eq!(next(r#""a\ud83d""#), "a");
        assert_eq!(next(r#""""#), "");
        assert_eq!(next(r#""\ude00b""#), "\u{1f600}b");
        assert_eq!(next(r#""\ude00\ud83d\ud83d""#), "\u{fffd}\u{fffd}");
        assert_eq!(next(r#""é\ud83d\ude00""#), "\u{fffd}é\u{1f600}");
    }

    #[test]
    fn strings_are_written_so_that_they_read_back() {
        let text = "a\"\\\n\r\t\u{1}\u{7f}\u{85}\u{2028}é\u{1f600}";
        for ascii in [false, true] {
            let mut out = String::new();
            write_string(text, ascii, &mut out);
            assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
            assert_eq!(out.is_ascii(), ascii);
            assert!(!out.contains(['\u{85}', '\u{2028}']));
        }
    }

    #[test]
    fn skeletons_differ_by_structure_and_telling_keys_only() {
        let of = |json: &str| {
            let mut tape = Tape::default();
            tape.parse(json).unwrap();
            tape.shape()
        };
        assert_eq!(of(r#"{"a":"x","n":1}"#), of(r#"{"a": "yy\"", "n":-2.5e3}"#));
        assert_ne!(of(r#"{"a":"x"}"#), of(r#"{"a":null}"#));
        assert_ne!(of(r#"{"a":"x","b":""}"#), of(r#"{"a":"","b":"x"}"#));
        assert_ne!(of(r#"{"index":0}"#), of(r#"{"index":1}"#));
        assert_ne!(of(r#"{"type":"x"}"#), of(r#"{"type":"y"}"#));
        assert_ne!(of(r#"{"a":{}}"#), of(r#"{"b":{}}"#));
        assert_ne!(of("[[],{}]"), of("[[{}]]"));
        assert_ne!(of("[true]"), of("[false]"));
        assert_ne!(of(r#"{"type":["a","b"]}"#), of(r#"{"type":["a","c"]}"#));
        assert_eq!(of(r#"{"type":[],"a":"b"}"#), of(r#"{"type":[],"a":"c"}"#));
    }

    #[test]
    fn whole_numbers_only() {
        let number = |json: &str| Value::parse(json, 0, &mut Tape::default()).unwrap().number();
        assert_eq!(
            ["1", "0.0", "-1", "1.5", "1e3", "\"1\""].map(number),
            [Some(1), Some(0), None, None, None, None]
        );
        assert_eq!(number(&format!("{}0", u64::MAX)), None);
    }
}
