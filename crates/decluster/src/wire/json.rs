//! JSON that remembers where each value stands, so that one value can be replaced and the rest left
//! byte for byte as it came. Strings may hold half surrogate pairs.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use serde::de::{Deserializer, IgnoredAny, Visitor};
use serde_json::value::RawValue;

use super::tape::{ESCAPED, KEY, Node, Tape, key_bit};

/// A JSON value and its place in the data of the event: a view of the text and of its index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'a> {
    /// The JSON text, without blanks around it.
    pub(super) text: &'a str,
    at: usize,
    /// It and all in it.
    nodes: &'a [Node],
}

/// The members of an object in their order; of duplicate keys the last counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Object<'a> {
    text: &'a str,
    at: usize,
    nodes: &'a [Node],
}

impl<'a> Value<'a> {
    /// Reads `text`, which stands at `at` in the data.
    pub(super) fn parse(
        text: &'a str,
        at: usize,
        tape: &'a mut Tape,
    ) -> Result<Self, serde_json::Error> {
        let nodes = tape.parse(text)?;
        Ok(child(text, at, nodes, 0, 0))
    }

    /// Reads the value `text` begins with and says where it ends.
    pub(super) fn parse_first(
        text: &'a str,
        at: usize,
        tape: &'a mut Tape,
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
        match self.text.as_bytes() {
            [b'"', inner @ .., b'"'] => inner.is_empty(),
            [b'[' | b'{', ..] => self.nodes.len() == 1,
            _ => self.is_null(),
        }
    }

    pub(super) fn is_compound(&self) -> bool {
        self.text.starts_with(['{', '['])
    }

    /// The members; none if this is no object.
    pub(super) fn object(&self) -> Object<'a> {
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
        let mut place = if self.text.starts_with('[') { 1 } else { self.nodes.len() };
        core::iter::from_fn(move || {
            let value = self.nodes.get(place).map(|_| self.child(place))?;
            place += value.nodes.len();
            Some(value)
        })
    }

    fn child(&self, place: usize) -> Self {
        let start = self.nodes.first().map_or(0, |own| own.start as usize);
        child(self.text, self.at, self.nodes, start, place)
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

impl<'a> Object<'a> {
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        let own = self.nodes.first()?;
        if own.note & key_bit(key.as_bytes()) == 0 {
            return None;
        }
        let keys = self.keys().filter(|(_, node)| self.is_key(node, key));
        keys.last().map(|(place, _)| self.value(place + 1))
    }

    /// The member, unless it is null.
    pub(super) fn present(&self, key: &str) -> Option<Value<'a>> {
        self.get(key).filter(|v| !v.is_null())
    }

    pub(super) fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.string()
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (Cow<'a, str>, Value<'a>)> {
        self.keys().filter_map(|(place, _)| {
            let key = self.value(place).string()?;
            Some((key, self.value(place + 1)))
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.len() <= 1
    }

    /// The keys and their places.
    fn keys(&self) -> impl Iterator<Item = (usize, &'a Node)> {
        let nodes = self.nodes;
        let mut next = 1;
        core::iter::from_fn(move || {
            let place = next;
            let (key, value) = (nodes.get(place)?, nodes.get(place + 1)?);
            next += 1 + value.size as usize;
            Some((place, key))
        })
    }

    fn is_key(&self, node: &Node, key: &str) -> bool {
        let start = self.nodes.first().map_or(0, |own| own.start);
        let range = (node.start - start) as usize..(node.end - start) as usize;
        if node.note & ESCAPED == 0 {
            return range.len() == key.len() + QUOTES
                && self.text.as_bytes().get(range.start + 1..range.end - 1)
                    == Some(key.as_bytes());
        }
        let bytes = self.text.get(range).and_then(unescape);
        bytes.is_some_and(|bytes| join(bytes, &mut None).text == key)
    }

    fn value(&self, place: usize) -> Value<'a> {
        let start = self.nodes.first().map_or(0, |own| own.start as usize);
        child(self.text, self.at, self.nodes, start, place)
    }
}

/// The value at `place` of `nodes`, whose places count from `start` of the text; the text stands at `at`.
fn child<'a>(text: &'a str, at: usize, nodes: &'a [Node], start: usize, place: usize) -> Value<'a> {
    let Some(node) = nodes.get(place) else { return Value { text: "null", at, nodes: &[] } };
    let (from, to) = (node.start as usize - start, node.end as usize - start);
    Value {
        text: text.get(from..to).unwrap_or_default(),
        at: at + from,
        nodes: nodes.get(place..place + node.size as usize).unwrap_or_default(),
    }
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

/// A hash of what the value looks like without its texts and numbers.
///
/// Keys, nesting, the kind of each value, true and false count; strings and numbers only under the keys
/// in `TELLING`.
pub(super) fn skeleton(value: Value<'_>) -> u64 {
    let bytes = value.text.as_bytes();
    let start = value.nodes.first().map_or(0, |own| own.start);
    let (mut hash, mut telling) = (0, 0);
    for (place, node) in value.nodes.iter().enumerate() {
        let range = (node.start - start) as usize..(node.end - start) as usize;
        let text = bytes.get(range).unwrap_or_default();
        let key = node.note & KEY != 0 && text.starts_with(b"\"");
        let (kind, scalar) = match text.first() {
            Some(b'"') => (if key { b':' } else { b's' }, true),
            Some(b'-' | b'0'..=b'9') => (b'#', true),
            Some(byte) => (*byte, false),
            None => (0, false),
        };
        // How many nodes are in it tells where an object or array ends.
        hash = mix(hash, u64::from(node.size) << 8 | u64::from(kind));
        if key || scalar && place < telling {
            hash = text.chunks(8).fold(hash, |hash, chunk| {
                mix(hash, chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)))
            });
        }
        if key && TELLING.iter().any(|key| key.as_bytes() == text) {
            telling = place + 1 + value.nodes.get(place + 1).map_or(0, |node| node.size as usize);
        }
    }
    hash
}

const fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(MULTIPLIER)
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

/// Keys whose strings and numbers are part of the skeleton: deltas that differ here are not alike.
const TELLING: [&str; 6] = [
    "\"index\"",
    "\"output_index\"",
    "\"content_index\"",
    "\"summary_index\"",
    "\"type\"",
    "\"role\"",
];
/// Odd, so that no word is lost in it; its bits come from the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
const QUOTES: usize = 2;

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
        let of = |json: &str| skeleton(Value::parse(json, 0, &mut Tape::default()).unwrap());
        assert_eq!(of(r#"{"a":"x","n":1}"#), of(r#"{"a": "yy\"", "n":-2.5e3}"#));
        assert_ne!(of(r#"{"a":"x"}"#), of(r#"{"a":null}"#));
        assert_ne!(of(r#"{"index":0}"#), of(r#"{"index":1}"#));
        assert_ne!(of(r#"{"type":"x"}"#), of(r#"{"type":"y"}"#));
        assert_ne!(of(r#"{"a":{}}"#), of(r#"{"b":{}}"#));
        assert_ne!(of(r#"[[],{}]"#), of(r#"[[{}]]"#));
        assert_ne!(of(r#"[true]"#), of(r#"[false]"#));
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
