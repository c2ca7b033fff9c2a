//! `wire::Reader` behind `frames::Frames`, told the dialect or not. Knobs: what to make of tags; then, over and over, the
//! size of a chunk.

use std::collections::BTreeMap;
use std::ops::Range;

use decluster::frames::Frames;
use decluster::wire::{Answer, Dialect, Part, Reader, Reading, Role, Think};
use decluster::{Config, Kind};
use serde_json::value::RawValue;

use super::{Knobs, think};
use crate::streams::check_places;
use crate::{EVENT_CAP, decode};

/// Every place that is given is a JSON value of the right sort and says what it is said to say; no two replacements
/// would meet; the sum is no larger than the input; nothing depends on the chunks.
///
/// # Panics
///
/// If that is not so.
pub fn check(input: &[u8]) {
    let (mut knobs, stream) = Knobs::of(input);
    let tags = think(knobs.next());
    let config = tags.iter().try_fold(Config::default(), |config, (name, v)| config.with(name, *v));
    let think = config.unwrap_or_default().think();
    let (knobs, run) = (knobs.rest(), |dialect, pieces: &[&[u8]]| run(dialect, think, pieces));
    for dialect in [None].into_iter().chain(Dialect::ALL.map(Some)) {
        let whole = run(dialect, &[stream]);
        bounded(&whole.answer, stream.len());
        assert!(dialect.is_none() || whole.dialect == dialect, "a dialect that is told stays");
        let known = whole.dialect.is_some();
        assert!(whole.answer.verdict.is_some() || !known, "the end of a known dialect is settled");
        assert_eq!(run(dialect, &knobs.clone().cut(stream)), whole, "cut");
        if dialect.is_none() {
            assert_eq!(run(None, &stream.chunks(1).collect::<Vec<_>>()), whole, "a byte at a time");
        }
    }
}

/// All that a reader says about a stream.
#[derive(Clone, Debug, Default, PartialEq)]
struct Read {
    texts: BTreeMap<(u32, Kind), String>,
    /// Of each reading what is not text: enough to see that it is the same.
    readings: Vec<Shown>,
    answer: Answer,
    dialect: Option<Dialect>,
}

/// Role, whether plain, shape, whether whole, whether a boundary, places.
type Shown = (Role, bool, u64, bool, bool, Vec<Range<usize>>);

fn run(dialect: Option<Dialect>, think: Think, pieces: &[&[u8]]) -> Read {
    let mut decoder = Frames::new(EVENT_CAP);
    let mut reader = Reader::new(dialect).with_think(think);
    let mut read = Read::default();
    let result = decode(&mut decoder, pieces.iter().copied(), |frame| {
        let reading = reader.read(frame);
        places(frame.event.as_ref().map_or("", |event| event.data), &reading);
        assert!(frame.event.is_some() || reading.texts.is_empty(), "text out of nothing");
        let spans = reading
            .texts
            .iter()
            .map(|t| t.span.clone())
            .chain(reading.rest.iter().map(|(span, _)| span.clone()));
        read.readings.push((
            reading.role,
            reading.plain,
            reading.shape,
            reading.whole,
            reading.boundary,
            spans.collect(),
        ));
        for text in reading.texts.iter().filter(|text| text.part.is_text()) {
            read.texts.entry((text.index, text.kind)).or_default().push_str(&text.text);
        }
    });
    assert_eq!(result, Ok(()));
    for text in reader.finish().texts {
        read.texts.entry((text.index, text.kind)).or_default().push_str(&text.text);
    }
    read.dialect = reader.dialect();
    read.answer = reader.answer().clone();
    let once = read.answer.clone();
    reader.finish();
    assert_eq!(*reader.answer(), once, "the end is settled once");
    read
}

/// What a reading says about places is so.
fn places(data: &str, reading: &Reading<'_>) {
    let string = |span: &Range<usize>| -> &str {
        let json = value(data, span);
        assert!(json.starts_with('"'), "{json} at {span:?} of {data} is no string");
        json
    };
    let mut replaced: Vec<Range<usize>> = reading.blanks.clone();
    for span in &reading.blanks {
        string(span);
    }
    for text in &reading.texts {
        assert!(!text.text.is_empty() || text.tokens.is_some(), "a text that says nothing");
        let count = text.tokens_span.as_ref().map(|span| value(data, span).parse().ok());
        assert!(count.is_none_or(|count| count == text.tokens), "{text:?} in {data}");
        if text.span.is_empty() {
            // A count alone, or a text that was put together and cannot be written anew.
            let late = text.part == Part::Late;
            assert!(text.text.is_empty() || reading.whole || late, "{text:?} has no place");
            assert!(text.copies.is_empty());
        } else {
            for span in text.copies.iter().chain([&text.span]) {
                let json = string(span);
                let ascii = json.is_ascii() && !text.text.is_ascii();
                assert!(*span != text.span || text.ascii == ascii, "{text:?} in {data}");
            }
            replaced.extend(text.copies.iter().chain([&text.span]).cloned());
        }
        replaced.extend(text.tokens_span.clone());
    }
    if let Some((number, span)) = &reading.number {
        let json = value(data, span);
        let digits = json.trim_end_matches('0').strip_suffix('.').unwrap_or(json);
        assert_eq!(digits.parse().ok(), Some(*number), "{json}");
        replaced.push(span.clone());
    }
    // Values that are left out may hold each other, but no text.
    let rest = || reading.rest.iter().map(|(span, _)| span).chain(&reading.lead);
    for span in rest() {
        value(data, span);
    }
    check_places(reading, data);
    // Several texts may stand in one string.
    replaced.sort_by_key(|span| span.start);
    replaced.dedup();
    let apart = replaced.windows(2).all(|pair| pair[0].end <= pair[1].start);
    assert!(apart, "{replaced:?} meet in {data}");
    for rest in rest() {
        let meets = |span: &Range<usize>| span.start < rest.end && rest.start < span.end;
        assert!(!replaced.iter().any(meets), "{rest:?} meets a text in {data}: {reading:?}");
    }
    if reading.plain {
        let alone = reading.texts.len() == 1 && reading.rest.is_empty();
        assert!(alone && reading.role == Role::Delta && !reading.whole, "{reading:?}");
    }
    assert!(reading.plain || reading.shape == 0);
    assert!(reading.texts.is_empty() || matches!(reading.role, Role::Delta | Role::Hurry));
}

/// The JSON value at this place, which must be one.
fn value<'a>(data: &'a str, span: &Range<usize>) -> &'a str {
    let Some(json) = data.get(span.clone()) else { panic!("{span:?} is no place in {data}") };
    let parsed: Result<&RawValue, _> = serde_json::from_str(json);
    assert_eq!(parsed.ok().map(RawValue::get), Some(json), "at {span:?} of {data}");
    json
}

/// The answer holds no more than the input said; a byte that is no UTF-8 becomes three.
fn bounded(answer: &Answer, input: usize) {
    let calls = answer.choices.iter().flat_map(|choice| &choice.tool_calls);
    let texts = [&answer.usage, &answer.error].into_iter().flatten();
    let bytes: usize = calls
        .clone()
        .map(|call| call.id.len() + call.name.len() + call.arguments.len())
        .chain(texts.map(String::len))
        .chain(answer.choices.iter().filter_map(|choice| choice.finish.as_ref().map(String::len)))
        .sum();
    assert!(bytes <= 3 * input, "{bytes} bytes from {input}: {answer:?}");
    let things = answer.choices.len() + calls.count();
    assert!(things <= input && answer.events <= input as u64);
    // A body that is no stream counts as no event, but may be damaged.
    assert!(answer.malformed <= answer.events.max(1));
}
