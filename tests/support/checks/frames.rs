//! `frames::Frames` and `frames::Writer`. Knobs: the sizes of the chunks.

use std::ops::Range;

use decluster::frames::{Ending, Frames, Writer};
use decluster::sse::{Form, Frame, TooLarge};
use decluster::wire::is_complete;
use serde_json::value::RawValue;

use super::Knobs;
use crate::{EVENT_CAP, decode, decode_lines};

/// Every byte is in one frame, whichever the framing; frames do not depend on the chunks; a cap cuts the frames off
/// at a place that does not either; frames that are written again, as they are or event by event, whole or as two
/// parts, read the same.
///
/// # Panics
///
/// If that is not so.
pub fn check(input: &[u8]) {
    let (knobs, stream) = Knobs::of(input);
    let whole = run(EVENT_CAP, &[stream]);
    assert_eq!(whole.result, Ok(()));
    assert_eq!(text(&whole.raw()), text(stream), "every byte is in one frame");
    let cuts = [knobs.clone().cut(stream), stream.chunks(1).collect()];
    for pieces in &cuts {
        assert_eq!(run(EVENT_CAP, pieces), whole, "cut");
    }
    capped(&whole, stream, &cuts);
    lines(stream);
    written(&whole, stream);
}

/// A frame, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    raw: Vec<u8>,
    event: Option<Event>,
    form: Form,
    comments: u32,
    led: bool,
    marked: bool,
    terminated: bool,
    stray: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Event {
    name: String,
    data: String,
    id: String,
    retry: Option<u64>,
    place: Option<Range<usize>>,
}

/// A run: its frames, how it ended, what came out in no frame.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    frames: Vec<Seen>,
    result: Result<(), TooLarge>,
    rest: Vec<u8>,
}

impl Run {
    fn raw(&self) -> Vec<u8> {
        self.frames.iter().flat_map(|frame| &frame.raw).copied().collect()
    }

    /// What is said, whatever bytes it takes. CR in the data cannot be carried by fields.
    fn said(&self) -> Vec<(String, String, bool)> {
        let data = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n");
        let events = self.frames.iter().filter_map(|f| Some((f.event.as_ref()?, f.terminated)));
        events.map(|(event, whole)| (event.name.clone(), data(&event.data), whole)).collect()
    }
}

fn run(cap: usize, pieces: &[&[u8]]) -> Run {
    let mut decoder = Frames::new(cap);
    let mut frames = Vec::new();
    let result =
        decode(&mut decoder, pieces.iter().copied(), |frame| frames.push(seen(frame, cap)));
    assert_eq!(decoder.buffered(), decoder.rest().len());
    assert!(matches!(decoder.poll(), Ok(None)), "an error is told once");
    Run { frames, result, rest: decoder.rest().to_vec() }
}

fn seen(frame: &Frame<'_>, cap: usize) -> Seen {
    assert!(!frame.raw.is_empty() && frame.raw.len() <= cap, "a frame over the cap");
    assert!(!frame.led || frame.raw[0] == b'\n', "led by an LF");
    let event = frame.event.as_ref().map(|event| Event {
        name: event.name.to_owned(),
        data: event.data.to_owned(),
        id: event.id.to_owned(),
        retry: event.retry,
        place: event.data_range.clone(),
    });
    if let Some(event) = &event {
        if let Some(place) = &event.place {
            assert_eq!(&frame.raw[place.clone()], event.data.as_bytes(), "where the data is");
        }
        if let Form::Line { before, after } | Form::Element { before, after } = frame.form {
            let value = &frame.raw[before..frame.raw.len() - after];
            assert_eq!(String::from_utf8_lossy(value), event.data, "between the margins");
        }
    }
    Seen {
        raw: frame.raw.to_vec(),
        event,
        form: frame.form,
        comments: frame.comments,
        led: frame.led,
        marked: frame.marked,
        terminated: frame.terminated,
        stray: frame.stray.map(<[u8]>::to_vec),
    }
}

/// With a cap below the largest frame the first frames come out, then the error, wherever the cuts are.
fn capped(whole: &Run, stream: &[u8], cuts: &[Vec<&[u8]>]) {
    let Some(largest) = whole.frames.iter().map(|frame| frame.raw.len()).max() else { return };
    let cap = largest - 1;
    let once = run(cap, &[stream]);
    // Where a value may still turn out to be several frames, their sum counts.
    assert!(whole.frames.starts_with(&once.frames), "frames before one that is too large");
    let offset = once.raw().len();
    assert_eq!(once.result, Err(TooLarge { limit: cap, offset: offset as u64 }));
    for pieces in cuts {
        let cut = run(cap, pieces);
        assert_eq!((&cut.frames, &cut.result), (&once.frames, &once.result), "cut, with a cap");
        assert!(stream[offset..].starts_with(&cut.rest), "the rest of the input");
    }
}

/// Lines as a library gives them: no byte is lost, whatever the lines are taken for.
fn lines(stream: &[u8]) {
    let mut decoder = Frames::new(EVENT_CAP);
    let mut raw = Vec::new();
    let lines = stream.split_inclusive(|b| *b == b'\n');
    let result = decode_lines(&mut decoder, lines, |frame| raw.extend_from_slice(frame.raw));
    assert_eq!(result, Ok(()));
    let end: &[u8] = if stream.is_empty() || stream.ends_with(b"\n") { b"" } else { b"\n" };
    assert_eq!(text(&raw), text(&[stream, end].concat()), "every line is in one frame");
}

/// What a writer makes of the frames says what they say.
fn written(whole: &Run, stream: &[u8]) {
    let again = |parts: usize, verbatim: bool| {
        let mut writer = Writer::new(verbatim);
        let mut out = Vec::new();
        let mut decoder = Frames::new(EVENT_CAP);
        let result = decode(&mut decoder, [stream], |frame| {
            let unmarked = frame.unmarked();
            if frame.marked {
                writer.mark();
            }
            let Some(event) = unmarked.event.as_ref().filter(|_| parts > 0) else {
                return writer.whole(unmarked.raw, unmarked.form, frame.led, &mut out);
            };
            for part in 1..=parts {
                let last = part == parts;
                let close = match frame.form {
                    Form::Line { .. } => !frame.terminated,
                    _ => !(frame.bare || last && !frame.terminated),
                };
                let how = Ending { last, close };
                writer.part(unmarked.raw, unmarked.form, event.data, how, &mut out);
            }
        });
        assert_eq!(result, Ok(()));
        out
    };
    assert_eq!(text(&again(0, true)), text(stream), "byte for byte");
    // A strict reader must go on reading what it could read.
    let is_array = |bytes: &[u8]| serde_json::from_slice::<Vec<&RawValue>>(bytes).is_ok();
    let said = whole.said();
    let is_line = |frame: &Seen| matches!(frame.form, Form::Line { .. });
    let complete = said.iter().all(|(_, data, _)| is_complete(data));
    // Whether fields behind a value that is not closed are its text depends on them.
    let mut after_json = whole.frames.iter().skip_while(|frame| frame.form == Form::Sse);
    let handed_over = after_json.any(|frame| frame.form == Form::Sse);
    for parts in 0..if handed_over && !complete { 1 } else { 2 } {
        let out = again(parts, false);
        assert!(!is_array(stream) || is_array(&out), "no array: {}", text(&out));
        let read = run(EVENT_CAP, &[&out]);
        assert_eq!(read.said(), said, "written by {parts} parts: {}", text(&out));
        let comments = |run: &Run| run.frames.iter().map(|f| f.comments).sum::<u32>();
        assert_eq!(comments(&read), comments(whole), "comments: {}", text(&out));
    }
    // Only events that are complete are cut in several. What is no event may run into the part before it. Behind JSON
    // the `id` that only the last part keeps may be what tells that fields begin.
    let apart = |frame: &Seen| {
        let is_blank = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_whitespace);
        match frame.form {
            Form::Sse | Form::ArrayEnd => true,
            Form::Line { before, .. } if frame.event.is_some() => is_blank(&frame.raw[..before]),
            _ => frame.event.is_some() || is_blank(&frame.raw),
        }
    };
    let lines = whole.frames.iter().filter(|frame| frame.form != Form::Sse).all(is_line);
    let lines = lines || !whole.frames.iter().any(is_line);
    if complete && lines && !handed_over && whole.frames.iter().all(apart) {
        let out = again(2, false);
        assert!(!is_array(stream) || is_array(&out), "no array: {}", text(&out));
        let events = |said: Vec<(String, String, bool)>| {
            said.into_iter().map(|(name, data, _)| (name, data)).collect::<Vec<_>>()
        };
        let twice =
            events(said).into_iter().flat_map(|event| [event.clone(), event]).collect::<Vec<_>>();
        assert_eq!(events(run(EVENT_CAP, &[&out]).said()), twice, "in two: {}", text(&out));
    }
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}
