//! Recorded streams give what their expectation files say, however they are cut.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use decluster::frames::{Ending, Frames, Writer};
use decluster::wire::{Answer, Dialect, Edit, Part, Reader, With, splice};
use decluster_tests::streams::{Decoded, read, read_lines};
use decluster_tests::{Capture, EVENT_CAP, captures, cut, decode, sizes};

fn check(dialect: &str, count: usize) {
    let mut wrong = Vec::new();
    let all = captures(dialect);
    assert!(all.is_empty() || all.len() == count, "{} recordings", all.len());
    for capture in all {
        let whole = read([&capture.bytes[..]], None);
        let told = if dialect == "mistral" { "openai-chat" } else { dialect };
        assert_eq!(whole.dialect.map(Dialect::name), Some(told), "{}", capture.name);
        assert_eq!(whole.raw, capture.bytes, "{}: every byte is in one frame", capture.name);
        let found = whole.differences(&capture.expect);
        if !found.is_empty() {
            wrong.push(format!("{}:\n  {}", capture.name, found.join("\n  ")));
        }
        cuts_change_nothing(&capture, None, &whole);
        let named = Dialect::from_name(dialect);
        let as_named = Decoded { dialect: named, ..whole.clone() };
        let found = read([&capture.bytes[..]], named);
        assert!(found == as_named, "{}: with its dialect named", capture.name);
        cuts_change_nothing(&capture, named, &as_named);
        lines_say_the_same(&capture, &whole);
        texts_can_be_cut(&capture, &whole);
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

fn cuts_change_nothing(capture: &Capture, dialect: Option<Dialect>, whole: &Decoded) {
    let Capture { name, bytes, chunks, .. } = capture;
    assert!(read(bytes.chunks(1), dialect) == *whole, "{name}: a byte at a time");
    for seed in 1..4 {
        let pieces = cut(bytes, &sizes(bytes.len(), seed));
        assert!(read(pieces, dialect) == *whole, "{name}: cut with seed {seed}");
    }
    if let Some(chunks) = chunks {
        assert_eq!(chunks.iter().sum::<usize>(), bytes.len(), "{name}: the recorded chunks");
        assert!(read(cut(bytes, chunks), dialect) == *whole, "{name}: in its recorded chunks");
    }
}

/// Lines with their ends cut off say the same, also where the blank ones were dropped.
fn lines_say_the_same(capture: &Capture, whole: &Decoded) {
    let text = String::from_utf8(capture.bytes.clone()).unwrap().replace("\r\n", "\n");
    for blanks in [true, false] {
        let lines = text.split_terminator('\n').filter(|line| blanks || !line.is_empty());
        let mut seen = read_lines(lines.map(str::as_bytes));
        if blanks {
            assert_eq!(
                seen.raw,
                [text.as_str(), if text.ends_with('\n') { "" } else { "\n" }].concat().as_bytes()
            );
        }
        seen.raw.clone_from(&whole.raw);
        assert!(seen == *whole, "{}: by lines, blank ones {blanks}", capture.name);
    }
}

/// Writes every text event as several, each with a part of the text, and reads the result.
fn texts_can_be_cut(capture: &Capture, whole: &Decoded) {
    let again = read([&halved(&capture.bytes)[..]], None);
    let name = &capture.name;
    assert!(again.texts == whole.texts, "{name}: the texts after they were cut");
    let rest = |a: &Answer| {
        let mut answer = a.clone();
        answer.events = 0;
        answer
    };
    assert_eq!(rest(&again.answer), rest(&whole.answer), "{name}: the rest after texts were cut");
    if whole.texts.values().flatten().any(|t| t.len() > 100) {
        assert!(again.answer.events > whole.answer.events, "{name}: something was cut");
    }
}

fn halved(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut reader = Reader::new(None);
    let mut decoder = Frames::new(EVENT_CAP);
    let mut writer = Writer::default();
    let all = decode(&mut decoder, [bytes], |frame| {
        let reading = reader.read(frame);
        let Some(event) = frame.event.as_ref().filter(|_| !reading.texts.is_empty()) else {
            return writer.whole(frame.raw, frame.form, frame.led, &mut out);
        };
        if reading.whole {
            return writer.whole(frame.raw, frame.form, frame.led, &mut out);
        }
        let mut parts = Vec::new();
        for (at, text) in reading.texts.iter().enumerate().filter(|(_, t)| t.part != Part::Late) {
            if text.part != Part::Text {
                parts.push((at, &*text.text));
                continue;
            }
            let middle = text.text.char_indices().nth(text.text.chars().count() / 2);
            let (a, b) = text.text.split_at(middle.map_or(0, |(i, _)| i));
            parts.extend([a, b].into_iter().filter(|p| !p.is_empty()).map(|p| (at, p)));
        }
        for (number, (at, part)) in parts.iter().enumerate() {
            let last = number + 1 == parts.len();
            let mut edits = Vec::new();
            let own = &reading.texts[*at];
            for text in [own].into_iter().chain(&reading.texts) {
                let with = if edits.is_empty() { part } else { "" };
                let with = With::Text { text: with, ascii: text.ascii };
                let spans = [&text.span].into_iter().chain(&text.copies);
                edits.extend(spans.map(|span| Edit { span: span.clone(), with }));
            }
            if !last {
                edits.extend(
                    reading.rest.iter().map(|(s, with)| Edit { span: s.clone(), with: *with }),
                );
            }
            let data = splice(event.data, &mut edits);
            let part = Ending { last, close: !last && !frame.bare };
            writer.part(frame.raw, frame.form, &data, part, &mut out);
        }
    });
    assert_eq!(all, Ok(()));
    out
}

#[test]
fn chat_recordings_agree() {
    check("openai-chat", 89);
}

#[test]
fn responses_recordings_agree() {
    check("openai-responses", 49);
}

#[test]
fn anthropic_recordings_agree() {
    check("anthropic", 32);
}

#[test]
fn gemini_recordings_agree() {
    check("gemini", 23);
}

#[test]
fn cohere_recordings_agree() {
    check("cohere", 5);
}

#[test]
fn mistral_recordings_agree() {
    check("mistral", 6);
}

#[test]
fn ollama_recordings_agree() {
    check("ollama", 7);
}

#[test]
fn bedrock_recordings_agree() {
    check("bedrock-converse", 7);
}
