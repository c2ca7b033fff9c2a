//! JSON that remembers where each value stands, so that one value can be replaced and the rest left
//! byte for byte as it came. Parsing is `serde_json`'s; strings may hold half surrogate pairs.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON value and its place in the data of the event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'a> {
    /// The JSON text, without blanks around it.
    pub(super) text: &'a str,
    at: usize,
}

/// The members of an object in their order; of duplicate keys the last counts.
#[derive(Debug, Default)]
pub(super) struct Object<'a> {
    members: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Value<'a> {
    /// Reads `text`, which stands at `at` in the data.
    pub(super) fn parse(text: &'a str, at: usize) -> Result<Self, serde_json::Error> {
        let raw: &'a RawValue = serde_json::from_str(text)?;
        Ok(Self::inside(raw, text, at))
    }

    /// Reads the value `text` begins with and says where it ends.
    pub(super) fn parse_first(text: &'a str, at: usize) -> Option<(Self, usize)> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<&'a RawValue>();
        let raw = values.next()?.ok()?;
        Some((Self::inside(raw, text, at), values.byte_offset()))
    }

    /// `raw` borrows from `outer`, so the distance of their addresses is its place.
    fn inside(raw: &'a RawValue, outer: &str, at: usize) -> Self {
        let text = raw.get();
        Self { text, at: at + (text.as_ptr().addr() - outer.as_ptr().addr()) }
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    pub(super) fn is_null(&self) -> bool {
        self.text == "null"
    }

    /// Null, or an empty string, array or object.
    pub(super) fn is_empty(&self) -> bool {
        let inner = match self.text.as_bytes() {
            [b'"', inner @ .., b'"'] => return inner.is_empty(),
            [b'[', inner @ .., b']'] | [b'{', inner @ .., b'}'] => inner,
            _ => return self.is_null(),
        };
        inner.iter().all(u8::is_ascii_whitespace)
    }

    pub(super) fn is_compound(&self) -> bool {
        self.text.starts_with(['{', '['])
    }

    /// The members; none if this is no object.
    pub(super) fn object(&self) -> Object<'a> {
        if !self.text.starts_with('{') {
            return Object::default();
        }
        let members: Members<'a> = serde_json::from_str(self.text).unwrap_or_default();
        let place = |(key, raw)| (key, Self::inside(raw, self.text, self.at));
        Object { members: members.0.into_iter().map(place).collect() }
    }

    /// The elements; none if this is no array.
    pub(super) fn array(&self) -> Vec<Self> {
        if !self.text.starts_with('[') {
            return Vec::new();
        }
        let elements: Vec<&'a RawValue> = serde_json::from_str(self.text).unwrap_or_default();
        elements.into_iter().map(|raw| Self::inside(raw, self.text, self.at)).collect()
    }

    /// The string as bytes: UTF-8, but a lone surrogate stands as the three bytes it would have.
    pub(super) fn bytes(&self) -> Option<Cow<'a, [u8]>> {
        if !self.text.starts_with('"') {
            return None;
        }
        let mut json = serde_json::Deserializer::from_str(self.text);
        json.deserialize_bytes(Bytes).ok()
    }

    /// The string; lone surrogates are U+FFFD.
    pub(super) fn string(&self) -> Option<Cow<'a, str>> {
        let mut held = None;
        let mut text = join(self.bytes()?, &mut held).text;
        if held.is_some() {
            text.to_mut().push(char::REPLACEMENT_CHARACTER);
        }
        Some(text)
    }

    /// A whole number; some senders write `0.0`.
    pub(super) fn number(&self) -> Option<u64> {
        let digits = match self.text.split_once('.') {
            Some((whole, zeros)) if zeros.bytes().all(|b| b == b'0') => whole,
            _ => self.text,
        };
        digits.parse().ok()
    }

    /// A number of a choice, item or part; 0 where it is missing or unusable.
    pub(super) fn index(value: Option<Self>) -> u32 {
        value.and_then(|v| v.number()).and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
    }
}

impl<'a> Object<'a> {
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.members.iter().rev().find(|(k, _)| k == key).map(|(_, value)| *value)
    }

    /// The member, unless it is null.
    pub(super) fn present(&self, key: &str) -> Option<Value<'a>> {
        self.get(key).filter(|v| !v.is_null())
    }

    pub(super) fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.string()
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (&str, Value<'a>)> {
        self.members.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
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

/// A hash of what valid JSON looks like without its texts and numbers, and how deep it nests.
///
/// Keys, nesting, the kind of each value, whether a string is empty, true and false count; strings and numbers
/// only under the keys in `TELLING`.
pub(super) fn skeleton(json: &str) -> (u64, usize) {
    let bytes = json.as_bytes();
    let (mut hash, mut depth, mut deepest) = (FNV_OFFSET, 0_usize, 0);
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
    let (mut at, mut telling) = (0, false);
    while let Some(&byte) = bytes.get(at) {
        let from = at;
        at += 1;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'"' => {
                at = string_end(bytes, at);
                let colon = bytes[at..].iter().find(|b| !b.is_ascii_whitespace());
                let key = colon == Some(&b':');
                if key || telling {
                    bytes[from..at].iter().for_each(|b| add(*b));
                } else {
                    // Of two fields for text one is empty: text in the other one is another shape.
                    add(if at - from == 2 { b'e' } else { b's' });
                }
                telling = key && TELLING.contains(&&json[from..at]);
            }
            b'-' | b'0'..=b'9' => {
                let more = |b: &&u8| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                at += bytes[at..].iter().take_while(more).count();
                if telling {
                    bytes[from..at].iter().for_each(|b| add(*b));
                }
                add(b'#');
            }
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
                add(byte);
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                add(byte);
            }
            _ => add(byte),
        }
    }
    (hash, deepest)
}

/// The end of the string whose first character after the quote is at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

#[derive(Default)]
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some((Key(key), value)) = map.next_entry()? {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = deserializer.deserialize_bytes(Bytes)?;
        Ok(Self(join(bytes, &mut None).text))
    }
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
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

#[cfg(test)]
mod tests {

    use alloc::format;

    use super::*;

    #[test]
    fn values_know_their_place() {
        let data = r#" {"a": {"b": [1, "x\n"]}, "a": {"b":[ "é" , null]}}"#;
        let top = Value::parse(data, 100).unwrap().object();
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
            let value = Value::parse(json, 0).unwrap();
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
        let of = |json: &str| skeleton(json).0;
        assert_eq!(of(r#"{"a":"x","n":1}"#), of(r#"{"a": "yy\"", "n":-2.5e3}"#));
        assert_ne!(of(r#"{"a":"x"}"#), of(r#"{"a":null}"#));
        assert_ne!(of(r#"{"a":"x","b":""}"#), of(r#"{"a":"","b":"x"}"#));
        assert_ne!(of(r#"{"index":0}"#), of(r#"{"index":1}"#));
        assert_ne!(of(r#"{"type":"x"}"#), of(r#"{"type":"y"}"#));
        assert_ne!(of(r#"{"a":{}}"#), of(r#"{"b":{}}"#));
        assert_eq!(skeleton(r#"[[],{"a":["]"]}]"#).1, 3);
    }

    #[test]
    fn whole_numbers_only() {
        let number = |json: &str| Value::parse(json, 0).unwrap().number();
        assert_eq!(
            ["1", "0.0", "-1", "1.5", "1e3", "\"1\""].map(number),
            [Some(1), Some(0), None, None, None, None]
        );
        assert_eq!(number(&format!("{}0", u64::MAX)), None);
    }
}
