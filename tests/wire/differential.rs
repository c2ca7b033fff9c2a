//! What is fast gives the same as what is slow and obvious: the decoder as the rules of the standard, spelt out; a
//! splice as parsing the JSON, changing the tree and writing it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::ops::Range;

use decluster::sse::Decoder;
use decluster::wire::{Edit, With, splice};
use decluster_tests::whatwg::{self, Event, Stream};
use decluster_tests::{EVENT_CAP, Random, cases, cut, decode, sizes};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::Value;

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: cases(3_000),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

/// What the decoder says of a stream in pieces.
fn decoded(pieces: &[&[u8]]) -> Stream {
    let mut decoder = Decoder::new(EVENT_CAP);
    let mut stream = Stream::default();
    let result = decode(&mut decoder, pieces.iter().copied(), |frame| {
        stream.comments += u64::from(frame.comments);
        let Some(event) = &frame.event else { return };
        if frame.terminated {
            stream.events.push(Event {
                name: event.name.to_owned(),
                data: event.data.to_owned(),
                id: event.id.to_owned(),
                retry: event.retry,
            });
        } else {
            stream.unsent = Some(event.data.to_owned());
        }
    });
    assert_eq!(result, Ok(()));
    decoder.last_event_id().clone_into(&mut stream.last_id);
    stream.retry = decoder.reconnection_ms();
    stream
}

/// Bytes that look like a stream: lines of fields with all that is special in them, and every kind of end.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let name = prop::sample::select(vec![
        &b"data"[..],
        b"data",
        b"data",
        b"event",
        b"id",
        b"retry",
        b"",
        b"Data",
        b" data",
        b"data ",
        b"datum",
        b"\xef\xbb\xbfdata",
        b"i\xffd",
    ]);
    let colon = prop::sample::select(vec![&b": "[..], b": ", b":", b":  ", b"", b":\t", b"::"]);
    let value = prop::collection::vec(
        prop::sample::select(vec![
            &b"x"[..],
            b"7",
            b"12",
            b"99999999999999999999",
            b" ",
            b":",
            b"\0",
            b"-1",
            b"[DONE]",
            "é".as_bytes(),
            "🦀".as_bytes(),
            "\u{2028}".as_bytes(),
            "\u{85}".as_bytes(),
            "\u{feff}".as_bytes(),
            b"\x0b",
            b"\x1c",
            // What is no UTF-8, or is cut.
            b"\xff",
            b"\xc0\x80",
            b"\xe2\x80",
            b"\xf0\x9f\xa6",
            b"\xed\xa0\x80",
            b"\xf4\x90",
        ]),
        0..4,
    );
    let end = prop::sample::select(vec![
        &b"\n"[..],
        b"\n\n",
        b"\r\n",
        b"\r\n\r\n",
        b"\r",
        b"\r\r",
        b"\n\r",
        b"\r\n\n",
        b"\r\r\n",
        b"",
    ]);
    let line = (name, colon, value, end)
        .prop_map(|(name, colon, value, end)| [name, colon, &value.concat(), end].concat());
    let mark = prop::sample::select(vec![
        &b""[..],
        b"",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf\n",
        b"\xef\xbb",
        b"\n",
    ]);
    // Now and then cut where no line ends.
    (mark, prop::collection::vec(line, 0..24), prop::option::weighted(0.3, any::<u16>())).prop_map(
        |(mark, lines, length)| {
            let mut bytes = [mark, &lines.concat()].concat();
            if let Some(length) = length {
                bytes.truncate(usize::from(length) % (bytes.len() + 1));
            }
            bytes
        },
    )
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_decoder_says_what_the_standard_says(bytes in stream(), seed: u64) {
        let expected = whatwg::read(&bytes);
        prop_assert_eq!(&decoded(&[&bytes]), &expected, "whole");
        prop_assert_eq!(&decoded(&cut(&bytes, &sizes(bytes.len(), seed))), &expected, "in chunks");
        let ones: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&decoded(&ones), &expected, "byte by byte");
    }

    #[test]
    fn a_splice_is_parsing_changing_and_writing(seed: u64) {
        let mut random = Random(seed);
        let json = Writer { random: &mut random, out: String::new() }.write();
        let mut places = Vec::new();
        let end = walk(&json, 0, &mut Path::default(), &mut places);
        prop_assert_eq!(json[end..].trim(), "");
        check_splice(&json, &places, &mut random);
    }
}

/// What stands in a JSON text, and where.
#[derive(Clone, Debug)]
struct Place {
    span: Range<usize>,
    /// How to get there in the tree.
    path: Path,
}

#[derive(Clone, Debug, Default)]
struct Path {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// The name, and whether no later member of the same object has it.
    Member(String, bool),
    Element(usize),
}

impl Path {
    /// The value in the tree; none if a later member of the same name hides it.
    fn find<'t>(&self, tree: &'t mut Value) -> Option<&'t mut Value> {
        self.steps.iter().try_fold(tree, |value, step| match step {
            Step::Member(name, true) => value.get_mut(name),
            Step::Member(_, false) => None,
            Step::Element(number) => value.get_mut(number),
        })
    }
}

/// Walks the value that begins at or behind `at`, and says where it ends. Knows no more of JSON than it needs
/// for JSON that is right.
fn walk(json: &str, at: usize, path: &mut Path, places: &mut Vec<Place>) -> usize {
    let bytes = json.as_bytes();
    let blanks = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    let start = blanks(at);
    let mine = places.len();
    places.push(Place { span: start..start, path: path.clone() });
    let mut at = start + 1;
    match bytes[start] {
        b'"' => {
            while bytes[at] != b'"' {
                at += if bytes[at] == b'\\' { 2 } else { 1 };
            }
            at += 1;
        }
        open @ (b'{' | b'[') => {
            let close = if open == b'{' { b'}' } else { b']' };
            let mut members: Vec<(String, usize)> = Vec::new();
            let mut number = 0;
            loop {
                at = blanks(at);
                match bytes[at] {
                    byte if byte == close => break,
                    b',' => at += 1,
                    _ => {}
                }
                at = blanks(at);
                if open == b'{' {
                    // The name is walked like a value, and is none.
                    let (mut name, begin) = (Vec::new(), at);
                    at = walk(json, at, &mut Path::default(), &mut name);
                    let name: String = serde_json::from_str(&json[begin..at]).unwrap();
                    at = blanks(at) + 1;
                    members.push((name.clone(), places.len()));
                    path.steps.push(Step::Member(name, true));
                } else {
                    path.steps.push(Step::Element(number));
                    number += 1;
                }
                at = walk(json, at, path, places);
                path.steps.pop();
            }
            at += 1;
            let depth = path.steps.len();
            let ends = members.iter().skip(1).map(|(_, from)| *from).chain([places.len()]);
            let ends: Vec<usize> = ends.collect();
            for (number, (name, from)) in members.iter().enumerate() {
                let hidden = members[number + 1..].iter().any(|(later, _)| later == name);
                for place in places[*from..ends[number]].iter_mut().filter(|_| hidden) {
                    place.path.steps[depth] = Step::Member(name.clone(), false);
                }
            }
        }
        _ => {
            while bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)) {
                at += 1;
            }
        }
    }
    places[mine].span = start..at;
    at
}

/// Edits some places, and holds the result against the tree with the same changes, and byte by byte against the
/// text between the edits.
fn check_splice(json: &str, places: &[Place], random: &mut Random) {
    let texts = [
        "",
        "plain",
        "a \"quoted\" \\ text\n\t\r",
        "é 🦀 \u{2028}\u{2029}\u{85}",
        "\0\u{7f}\u{1f}",
        "\u{feff}",
    ];
    let mut edits: Vec<(Edit<'_>, Option<Value>)> = Vec::new();
    let mut tree: Value = serde_json::from_str(json).unwrap();
    // Of values in each other the outer one counts, and the first of two edits at one place.
    let mut made: Vec<(Range<usize>, With<'_>)> = Vec::new();
    for place in places {
        if random.below(3) > 0 {
            continue;
        }
        let (with, value) = match random.below(4) {
            0 => (With::Json("null"), Value::Null),
            1 => {
                let number =
                    [0, 7, u64::MAX, random.bits() >> random.below(64)][random.below(4) as usize];
                (With::Number(number), number.into())
            }
            _ => {
                let text = texts[random.below(texts.len() as u64) as usize];
                (With::Text { text, ascii: random.below(2) == 0 }, text.into())
            }
        };
        edits.push((Edit { span: place.span.clone(), with }, Some(value.clone())));
        // Places come outer before inner, so whatever holds this one was seen.
        if made.iter().all(|(span, _)| span.end <= place.span.start) {
            made.push((place.span.clone(), with));
            if let Some(old) = place.path.find(&mut tree) {
                *old = value;
            }
        }
    }
    // What is no place is left out: empty, turned round, behind the end, inside of a character.
    let end = json.len();
    let inside = (0..end).find(|at| !json.is_char_boundary(*at));
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is tried")]
    let junk = [0..0, 5..2, end..end + 1, end + 7..end + 9, inside.unwrap_or(end)..end];
    edits.extend(junk.map(|span| (Edit { span, with: With::Json("null") }, None)));
    // Their order does not matter.
    let mut edits: Vec<Edit<'_>> = edits.into_iter().map(|(edit, _)| edit).collect();
    for at in (1..edits.len()).rev() {
        edits.swap(at, random.below(at as u64 + 1) as usize);
    }
    let out = splice(json, &mut edits);
    let again: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e} in {out}"));
    assert_eq!(again, tree, "{json} became {out}");
    let (mut ours, mut theirs) = (0, 0);
    for (span, with) in made {
        let before = &json[theirs..span.start];
        assert_eq!(out.get(ours..ours + before.len()), Some(before), "{json} became {out}");
        ours += before.len();
        let mut values = serde_json::Deserializer::from_str(&out[ours..]).into_iter::<Value>();
        values.next().unwrap().unwrap();
        let literal = &out[ours..ours + values.byte_offset()];
        assert!(!literal.contains(['\u{85}', '\u{2028}', '\u{2029}']), "{literal}");
        assert!(literal.is_ascii() || !matches!(with, With::Text { ascii: true, .. }), "{literal}");
        ours += literal.len();
        theirs = span.end;
    }
    assert_eq!(&out[ours..], &json[theirs..], "{json} became {out}");
}

/// Writes random JSON: escapes, blanks, the same name twice, odd numbers.
struct Writer<'r> {
    random: &'r mut Random,
    out: String,
}

impl Writer<'_> {
    fn write(mut self) -> String {
        self.value(0);
        self.out
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.random.below(from.len() as u64) as usize]
    }

    fn blank(&mut self) {
        let blank = self.pick(&["", "", "", " ", "\n", "\t ", "\r\n"]);
        self.out.push_str(blank);
    }

    fn value(&mut self, depth: usize) {
        self.blank();
        // Something of everything at the top.
        let kind = if depth == 0 { 7 } else { self.random.below(if depth < 4 { 10 } else { 7 }) };
        match kind {
            0..=3 => self.string(),
            4 | 5 => {
                let number = self.pick(&[
                    "0",
                    "-0",
                    "7",
                    "1.50",
                    "1e5",
                    "1E+2",
                    "-2.5e-3",
                    "0.0",
                    "18446744073709551615",
                    "123456789012345678901234567890",
                    "-9223372036854775808",
                    "1e-400",
                ]);
                self.out.push_str(number);
            }
            6 => {
                let word = self.pick(&["null", "true", "false"]);
                self.out.push_str(word);
            }
            7 | 8 => self.several('{', '}', depth),
            _ => self.several('[', ']', depth),
        }
        self.blank();
    }

    fn several(&mut self, open: char, close: char, depth: usize) {
        self.out.push(open);
        let most = if depth == 0 { 8 } else { 4 };
        for number in 0..self.random.below(most) {
            if number > 0 {
                self.out.push(',');
            }
            if open == '{' {
                self.blank();
                let name =
                    self.pick(&["a", "b", "\\u0061", "text", "é", "\\\"", "a\\\\", "", "{", "]:"]);
                self.out.extend(["\"", name, "\""]);
                self.blank();
                self.out.push(':');
            }
            self.value(depth + 1);
        }
        self.blank();
        self.out.push(close);
    }

    fn string(&mut self) {
        self.out.push('"');
        for _ in 0..self.random.below(5) {
            let part = self.pick(&[
                "x",
                "word ",
                "\\n",
                "\\\"",
                "\\\\",
                "\\/",
                "\\u00e9",
                "é",
                "🦀",
                "\\ud83e\\udd80",
                "\\uD83E\\uDD80",
                "\u{2028}",
                "\\u2028",
                "{",
                "]",
                ",",
                ":",
                "\\u0000",
                "\u{7f}",
                "\\b\\f\\r\\t",
            ]);
            self.out.push_str(part);
        }
        self.out.push('"');
    }
}
