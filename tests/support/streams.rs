//! Decoding a whole stream into the terms of the expectation files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use decluster::Kind;
use decluster::frames::Frames;
use decluster::sse::{Form, Frame, TooLarge};
use decluster::wire::{Answer, Dialect, Part, Reader, Reading, Text, ToolCall, Verdict, With};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{EVENT_CAP, decode, decode_lines};

/// What a stream says, put together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The texts by choice: reasoning, output.
    pub texts: BTreeMap<u32, [String; 2]>,
    /// The same as they were told, also what proved to be void or to be reasoning.
    pub told: BTreeMap<u32, [String; 2]>,
    /// Everything but the text.
    pub answer: Answer,
    /// The dialect, if it was recognised.
    pub dialect: Option<Dialect>,
    /// The raw bytes of all frames.
    pub raw: Vec<u8>,
    /// The sum of the counts that stand beside or in place of texts.
    pub tokens: u64,
}

/// How a stream was framed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Framed {
    /// Where the first frame over the cap begins, which was not read.
    pub too_large: Option<u64>,
    /// Events ended without a blank line, as lines of a library that drops these.
    pub bare: bool,
    /// There are values on one line, or spread over several.
    pub glued: bool,
    /// There are values by themselves and elements of an array.
    pub mixed: bool,
    /// Fields follow JSON.
    pub handed_over: bool,
    /// The size of the largest frame or its data, in bytes. Bytes that are no UTF-8 become three each.
    pub largest: usize,
}

impl Decoded {
    /// A text of a choice.
    #[must_use]
    pub fn text(&self, choice: u32, kind: Kind) -> &str {
        self.texts.get(&choice).map_or("", |texts| &texts[kind as usize])
    }

    fn take(&mut self, reading: &Reading<'_>) {
        if reading.restart {
            self.texts.clear();
        }
        for text in reading.texts.iter().filter(|text| text.part != Part::Tag) {
            self.tokens += u64::from(text.tokens.unwrap_or(0));
            let texts = self.texts.entry(text.index).or_default();
            if text.part == Part::Turn {
                let [reasoning, output] = texts;
                reasoning.push_str(&std::mem::take(output));
            } else {
                texts[text.kind as usize].push_str(&text.text);
                let told = self.told.entry(text.index).or_default();
                told[text.kind as usize].push_str(&text.text);
            }
        }
    }

    /// What differs from an expectation file; empty if they agree.
    #[must_use]
    pub fn differences(&self, expect: &Value) -> Vec<String> {
        let mut found = Vec::new();
        let mut same = |what: &str, ours: Value, theirs: &Value| {
            if ours != *theirs {
                found.push(format!("{what}: {ours} instead of {theirs}"));
            }
        };
        let answer = &self.answer;
        same("reasoning", digest(self.text(0, Kind::Reasoning)), &expect["reasoning"]);
        same("output", digest(self.text(0, Kind::Output)), &expect["output"]);
        same("reasoning_tokens", answer.reasoning_tokens.into(), &expect["reasoning_tokens"]);
        same("usage", raw_json(answer.usage.as_deref()), &expect["usage"]);
        // Where the number of the word was sent.
        let finish = &expect["finish"];
        let finish = if finish.is_number() { finish.to_string().into() } else { finish.clone() };
        same("finish", answer.finish().into(), &finish);
        let error = if expect["error"].is_null() { "error_field_line" } else { "error" };
        same("error", raw_json(answer.error.as_deref()), &expect[error]);
        same("tool_calls", answer.tool_calls().len().into(), &expect["tool_calls"]);
        same("tools", tools(answer.tool_calls()), &expect["tools"]);
        same("events", answer.events.into(), &expect["events"]);
        same("comments", answer.comments.into(), &expect["comments"]);
        // A stream that failed may have an end all the same.
        if answer.verdict != Some(Verdict::Failed) {
            let complete = answer.verdict == Some(Verdict::Complete);
            same("terminated", complete.into(), &expect["terminated"]);
        }
        let failed = answer.verdict == Some(Verdict::Failed);
        same("failed", failed.into(), &(!expect[error].is_null()).into());
        for (index, theirs) in expect["by_choice"].as_object().into_iter().flatten() {
            let choice = answer.choices.iter().find(|c| c.index.to_string() == *index);
            let number = choice.map_or(u32::MAX, |c| c.index);
            let ours = json!({
                "reasoning": digest(self.text(number, Kind::Reasoning)),
                "output": digest(self.text(number, Kind::Output)),
                "finish": choice.and_then(|c| c.finish.as_deref()),
                "tool_calls": choice.map_or(0, |c| c.tool_calls.len()),
            });
            same(&format!("choice {index}"), ours, theirs);
        }
        found
    }
}

/// Decodes a stream that comes in these pieces.
///
/// # Panics
///
/// If an event is larger than [`EVENT_CAP`], or a place that the reader gives is wrong.
#[must_use]
pub fn read<'p>(pieces: impl IntoIterator<Item = &'p [u8]>, dialect: Option<Dialect>) -> Decoded {
    read_with(Reader::new(dialect), pieces)
}

/// The same with a reader of one's own.
///
/// # Panics
///
/// As [`read`].
#[must_use]
pub fn read_with<'p>(reader: Reader, pieces: impl IntoIterator<Item = &'p [u8]>) -> Decoded {
    let mut decoder = Frames::new(EVENT_CAP);
    collect(reader, |show| decode(&mut decoder, pieces, show))
}

/// Decodes a stream that comes in these lines.
///
/// # Panics
///
/// As [`read`].
#[must_use]
pub fn read_lines<'p>(lines: impl IntoIterator<Item = &'p [u8]>) -> Decoded {
    let mut decoder = Frames::new(EVENT_CAP);
    collect(Reader::new(None), |show| decode_lines(&mut decoder, lines, show))
}

/// The same answer, but for how many events it took and which of them could not be understood.
///
/// # Panics
///
/// If it is not; `name` says of what.
pub fn same(name: &str, before: &Decoded, after: &Decoded) {
    assert_eq!(after.texts, before.texts, "{name}: the texts");
    let but_events = |answer: &Answer| {
        let mut answer = answer.clone();
        answer.events = 0;
        answer.first_malformed = None;
        answer
    };
    assert_eq!(but_events(&after.answer), but_events(&before.answer), "{name}: the answer");
    assert_eq!(after.dialect, before.dialect, "{name}: the dialect");
    assert_eq!(after.tokens, before.tokens, "{name}: the counts");
}

/// What shows a frame.
pub type Show<'s> = &'s mut dyn FnMut(&Frame<'_>);

fn collect(reader: Reader, frames: impl FnOnce(Show<'_>) -> Result<(), TooLarge>) -> Decoded {
    let (decoded, framed) = read_frames(reader, frames);
    assert_eq!(framed.too_large, None, "where an event is too large");
    decoded
}

/// Puts together what frames say, and how they came.
///
/// # Panics
///
/// If a place that the reader gives is wrong.
pub fn read_frames(
    mut reader: Reader,
    frames: impl FnOnce(Show<'_>) -> Result<(), TooLarge>,
) -> (Decoded, Framed) {
    let mut framed = Framed::default();
    let mut decoded = Decoded::default();
    let mut forms = [false; 2];
    let all = frames(&mut |frame| {
        decoded.raw.extend_from_slice(frame.raw);
        framed.bare |= frame.bare;
        let line = matches!(frame.form, Form::Line { .. });
        framed.glued |=
            line && frame.event.is_some() && frame.terminated && !frame.raw.ends_with(b"\n");
        forms[usize::from(line)] |= frame.form != Form::Sse;
        framed.handed_over |= frame.form == Form::Sse && forms.contains(&true);
        let data = frame.event.as_ref().map_or(0, |event| event.data.len());
        framed.largest = framed.largest.max(frame.raw.len()).max(data);
        let reading = reader.read(frame);
        check_places(&reading, frame.event.as_ref().map_or("", |event| event.data));
        decoded.take(&reading);
    });
    let last = reader.finish();
    decoded.take(&last);
    decoded.dialect = reader.dialect();
    decoded.answer = reader.answer().clone();
    framed.mixed = forms == [true; 2];
    framed.too_large = all.err().map(|error| error.offset);
    (decoded, framed)
}

/// Each string that holds text holds just what the reading says of it.
///
/// # Panics
///
/// If one does not.
pub fn check_places(reading: &Reading<'_>, data: &str) {
    let mut strings: BTreeMap<usize, (&Text<'_>, String)> = BTreeMap::new();
    for text in reading.texts.iter().filter(|t| !t.altered && !t.span.is_empty()) {
        strings.entry(text.span.start).or_insert((text, String::new())).1.push_str(&text.text);
    }
    for (text, all) in strings.values() {
        for span in text.copies.iter().chain([&text.span]) {
            let literal: Option<String> = serde_json::from_str(&data[span.clone()]).ok();
            assert_eq!(literal.as_ref(), Some(all), "the place of a text");
        }
    }
    for (span, with) in &reading.rest {
        let with = if let With::Json(json) = with { json } else { "null" };
        for json in [&data[span.clone()], with] {
            assert!(serde_json::from_str::<&RawValue>(json).is_ok(), "{json} is no value");
        }
    }
}

/// A text as the expectation files note it.
#[must_use]
pub fn digest(text: &str) -> Value {
    let mut hex = String::new();
    for byte in Sha256::digest(text) {
        let _ = write!(hex, "{byte:02x}");
    }
    json!({ "sha256": hex, "chars": text.chars().count() })
}

/// The calls as the expectation files note them: an object's keys sorted, with blanks behind separators.
fn tools(calls: &[ToolCall]) -> Value {
    let arguments = |call: &ToolCall| match serde_json::from_str(&call.arguments) {
        Ok(object) if call.is_object => spaced(&object),
        _ => call.arguments.clone(),
    };
    calls.iter().map(|c| json!({ "name": c.name, "arguments": digest(&arguments(c)) })).collect()
}

fn spaced(value: &Value) -> String {
    let all = |parts: Vec<String>, ends: [&str; 2]| ends.join(&parts.join(", "));
    match value {
        // The keys of this map are sorted.
        Value::Object(members) => {
            let members = members.iter().map(|(k, v)| format!("{}: {}", json!(k), spaced(v)));
            all(members.collect(), ["{", "}"])
        }
        Value::Array(elements) => all(elements.iter().map(spaced).collect(), ["[", "]"]),
        other => other.to_string(),
    }
}

fn raw_json(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |t| serde_json::from_str(t).unwrap_or_else(|_| t.into()))
}
