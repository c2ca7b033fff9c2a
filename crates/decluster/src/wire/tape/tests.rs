use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::*;
use crate::wire::json::Value;

/// Numbers that look random, from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }

    fn blank(&mut self, out: &mut String) {
        if self.roll(8) == 0 {
            out.push_str(self.pick(&[" ", "\t", "\n", "\r", "  \r\n"]));
        }
    }

    fn string(&mut self, out: &mut String) {
        out.push('"');
        for _ in 0..self.roll(6) {
            out.push_str(self.pick(&STRINGS));
        }
        out.push('"');
    }

    fn scalar(&mut self, out: &mut String) {
        match self.roll(3) {
            0 => out.push_str(self.pick(&NUMBERS)),
            1 => out.push_str(self.pick(&["null", "true", "false"])),
            _ => self.string(out),
        }
    }

    fn json(&mut self, depth: usize, out: &mut String) {
        self.blank(out);
        match if depth == 0 { 0 } else { self.roll(4) } {
            0 | 1 => self.scalar(out),
            kind => {
                let (open, close) = if kind == 2 { ('{', '}') } else { ('[', ']') };
                out.push(open);
                for n in 0..self.roll(6) {
                    out.extend((n > 0).then_some(','));
                    if kind == 2 {
                        self.blank(out);
                        out.push_str(self.pick(&KEYS));
                        self.blank(out);
                        out.push(':');
                    }
                    self.json(depth - 1, out);
                }
                self.blank(out);
                out.push(close);
            }
        }
        self.blank(out);
    }

    /// Changes a few characters.
    fn damage(&mut self, text: &str) -> String {
        let mut chars: Vec<char> = text.chars().collect();
        for _ in 0..=self.roll(2) {
            let at = self.roll(chars.len() + 1);
            let new = self.pick(&DAMAGE).chars();
            let gone = self.roll(2).min(chars.len() - at);
            chars.splice(at..at + gone, new);
        }
        chars.into_iter().collect()
    }

    /// Puts another string or number in place of some.
    fn vary(&mut self, text: &str, tape: &Tape) -> String {
        let (mut out, mut from) = (String::new(), 0);
        for node in tape.nodes() {
            let (start, end) = (node.start as usize, node.end as usize);
            let scalar = !text[start..].starts_with(['{', '[', 't', 'f', 'n']);
            if scalar && node.owner == 0 && self.roll(2) == 0 {
                out.push_str(&text[from..start]);
                // Now and then the kind changes, too.
                match self.roll(12) {
                    0 => self.scalar(&mut out),
                    _ if text[start..].starts_with('"') => self.string(&mut out),
                    _ => out.push_str(self.pick(&NUMBERS)),
                }
                from = end;
            }
        }
        out.push_str(&text[from..]);
        out
    }
}

/// The members of an object as `serde_json` gives them.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// Checks that the value is what `serde_json` finds in `raw`, and that it stands where it says.
fn agrees(value: Value<'_, '_>, raw: &RawValue, data: &str) {
    assert_eq!((value.text, &data[value.span()]), (raw.get(), raw.get()), "{data}");
    let text = value.text;
    if text.starts_with('{') {
        let object = value.object();
        let expected = serde_json::from_str::<Members<'_>>(text).unwrap().0;
        let members: Vec<_> = object.members().collect();
        assert_eq!(members.len(), expected.len(), "{text}");
        for ((key, value), (raw_key, raw)) in members.iter().zip(&expected) {
            assert_eq!(*key, string(raw_key.get()), "{text}");
            agrees(*value, raw, data);
            let last = members.iter().rfind(|(other, _)| other == key).unwrap().1;
            assert_eq!(object.get(key).unwrap().span(), last.span(), "{key} in {text}");
        }
        for key in ["a", "b", "delta", "\u{e9}", "", "nothing"] {
            assert_eq!(object.get(key).is_some(), members.iter().any(|(k, _)| k == key), "{text}");
        }
        let filled = members.iter().filter(|(_, v)| v.text.len() > 2 && !v.is_empty());
        let filled = filled.filter(|(_, v)| v.text.starts_with(['{', '[']));
        let spans: Vec<_> = filled.map(|(_, v)| v.span()).collect();
        assert_eq!(object.filled().map(|(_, v)| v.span()).collect::<Vec<_>>(), spans, "{text}");
    } else if text.starts_with('[') {
        let expected: Vec<&RawValue> = serde_json::from_str(text).unwrap();
        let elements = value.array();
        assert_eq!(elements.len(), expected.len(), "{text}");
        for (value, raw) in elements.into_iter().zip(expected) {
            agrees(value, raw, data);
        }
    } else if text.starts_with('"') {
        assert_eq!(value.string().unwrap(), string(text));
    } else {
        assert_eq!(value.string(), None);
        if let Ok(number) = serde_json::from_str::<u64>(text) {
            assert_eq!(value.number(), Some(number));
        }
    }
}

/// What a valid JSON string says, in the plainest way: halves of pairs that stand alone are U+FFFD.
fn string(json: &str) -> String {
    let mut units = Vec::new();
    let mut chars = json[1..json.len() - 1].chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            units.extend(c.encode_utf16(&mut [0; 2]).iter().copied());
            continue;
        }
        units.push(match chars.next().unwrap() {
            'u' => {
                let digits: String = chars.by_ref().take(4).collect();
                u16::from_str_radix(&digits, 16).unwrap()
            }
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            other => other as u16,
        });
    }
    String::from_utf16_lossy(&units)
}

/// Reads `text` with a used tape and a fresh one, and compares both with `serde_json`.
fn check(text: &str, tape: &mut Tape) -> bool {
    let expected = serde_json::from_str::<&RawValue>(text);
    let found = tape.parse(text).map_err(|error| format!("{error}"));
    assert_eq!(found, expected.as_ref().map(|_| ()).map_err(|error| format!("{error}")), "{text}");
    let mut fresh = Tape::default();
    assert_eq!(fresh.parse(text).is_ok(), found.is_ok(), "{text}");
    let Ok(raw) = expected else { return false };
    assert_eq!((tape.nodes(), tape.shape()), (fresh.nodes(), fresh.shape()), "{text}");
    agrees(Value::of(text, 0, tape), raw, text);
    true
}

#[test]
fn any_text_is_read_as_serde_json_reads_it() {
    let mut dice = Dice(0x5eed);
    let mut tape = Tape::default();
    let mut damaged = [0, 0];
    for _ in 0..CASES {
        let mut text = String::new();
        let depth = dice.roll(5);
        dice.json(depth, &mut text);
        assert!(check(&text, &mut tape), "{text}");
        let bad = dice.damage(&text);
        damaged[usize::from(check(&bad, &mut tape))] += 1;
    }
    assert!(damaged.iter().all(|n| *n > CASES / 20), "both kinds come up: {damaged:?}");
}

#[test]
fn texts_of_one_mold_are_read_as_if_each_were_the_first() {
    let mut dice = Dice(0xca57);
    let mut tape = Tape::default();
    let mut filled = 0;
    for _ in 0..CASES / 4 {
        let mut text = String::new();
        dice.json(4, &mut text);
        for _ in 0..4 {
            check(&text, &mut tape);
            let varied = dice.vary(&text, &tape);
            filled += u32::from(tape.mold.fill(varied.as_bytes(), &mut Vec::new()).is_some());
            check(&varied, &mut tape);
            let varied = dice.vary(&varied, &tape);
            filled += u32::from(tape.mold.fill(varied.as_bytes(), &mut Vec::new()).is_some());
            check(&varied, &mut tape);
            let bad = dice.damage(&varied);
            check(&bad, &mut tape);
        }
    }
    assert!(filled > CASES / 4, "{filled}");
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| ["[".repeat(depth), "]".repeat(depth)].concat();
    let mut tape = Tape::default();
    assert!(check(&nested(127), &mut tape));
    let error = tape.parse(&nested(128)).unwrap_err();
    assert_eq!(format!("{error}"), "nested deeper than 127 levels");
    assert!(tape.parse(&"[".repeat(1_000_000)).is_err());
    assert!(tape.nodes().is_empty());
}

#[test]
fn what_a_large_text_took_is_given_back() {
    let large = format!("[{}0]", "0,".repeat(100_000));
    let mut tape = Tape::default();
    tape.parse(&large).unwrap();
    assert_eq!(tape.nodes().len(), 100_002);
    tape.shrink();
    assert!(tape.nodes.capacity() <= 2 * KEPT_MAX && tape.mold.text.is_empty());
}

#[test]
fn of_many_members_of_one_name_the_last_counts() {
    let members: Vec<_> = (0..100_000).map(|n| format!("\"k\":{n},\"x{n}\":0")).collect();
    let text = format!("{{{}}}", members.join(","));
    let mut tape = Tape::default();
    let object = Value::parse(&text, 0, &mut tape).unwrap().object();
    assert_eq!(object.get("k").unwrap().number(), Some(99_999));
    assert!(object.get("x99999").is_some() && object.get("x").is_none());
}

const CASES: u32 = 4_000;
/// A lone half; one that is followed by a low half would be a character.
const HIGH: &str = "\\ud83d";
const KEYS: [&str; 10] = [
    "\"a\"",
    "\"b\"",
    "\"a\"",
    "\"type\"",
    "\"index\"",
    "\"delta\"",
    "\"\\u0061\"",
    "\"é\"",
    "\"\"",
    "\"a longer key than a word\"",
];
const STRINGS: [&str; 16] = [
    "x",
    "text",
    "eight by",
    " ",
    "é",
    "\u{1f600}",
    "\u{2028}",
    "\\n",
    "\\\"",
    "\\\\",
    "\\/",
    "\\u00e9",
    "\\ud83d\\ude00",
    HIGH,
    "\u{7f}",
    "a text that is longer than a few words are",
];
const NUMBERS: [&str; 9] = ["0", "-0", "7", "12345678901", "-1.5", "0.0", "1e9", "2E-3", "3.25e+4"];
const DAMAGE: [&str; 22] = [
    "", "\"", "\\", ",", ":", "{", "}", "[", "]", "0", "-", ".", "e", "n", "true", "\u{0}", "\n",
    "\\u12", "é", " ", "\u{1f}", "+",
];
