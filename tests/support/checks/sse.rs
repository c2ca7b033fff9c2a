//! `sse::Decoder` and `sse::rewrite`. Knobs: the sizes of the chunks.

use std::ops::Range;

use decluster::sse::{Decoder, Frame, Rewrite, TooLarge, rewrite};

use super::Knobs;
use crate::whatwg::{self, Event, Stream};
use crate::{EVENT_CAP, decode, decode_lines};

/// Every byte is in one frame; frames do not depend on the chunks; they say what the standard says; a cap cuts
/// the frames off where the first one exceeds it; an event that is written again reads the same.
///
/// # Panics
///
/// If that is not so.
pub fn check(input: &[u8]) {
    let (knobs, stream) = Knobs::of(input);
    let (whole, said) = run(EVENT_CAP, &[stream], &mut |frame| reads_back(frame));
    assert_eq!(said.result, Ok(()));
    let raw: Vec<u8> = whole.iter().flat_map(|frame| &frame.raw).copied().collect();
    assert_eq!(raw, stream, "every byte is in one frame");
    assert_eq!(said.stream, whatwg::read(stream), "what the standard says");
    let cuts = [knobs.clone().cut(stream), stream.chunks(1).collect()];
    for pieces in &cuts {
        assert_eq!(run(EVENT_CAP, pieces, &mut |_| {}), (whole.clone(), said.clone()), "cut");
    }
    capped(&whole, cuts.iter().chain([&vec![stream]]));
    lines(stream);
}

/// A frame, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    raw: Vec<u8>,
    event: Option<(Event, Option<Range<usize>>, bool)>,
    led: bool,
    marked: bool,
    terminated: bool,
    stray: Option<Vec<u8>>,
}

/// What a run says besides its frames.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    stream: Stream,
    result: Result<(), TooLarge>,
    rest: Vec<u8>,
}

fn run(cap: usize, pieces: &[&[u8]], also: &mut dyn FnMut(&Frame<'_>)) -> (Vec<Seen>, Said) {
    let mut decoder = Decoder::new(cap);
    let (mut frames, mut stream) = (Vec::new(), Stream::default());
    let result = decode(&mut decoder, pieces.iter().copied(), |frame| {
        also(frame);
        assert!(!frame.raw.is_empty() && frame.raw.len() <= cap, "a frame over the cap");
        assert!(!frame.bare, "only lines are bare");
        assert!(!frame.led || frame.raw[0] == b'\n', "led by an LF");
        stream.comments += u64::from(frame.comments);
        let event = frame.event.as_ref().map(|e| Event {
            name: e.name.to_owned(),
            data: e.data.to_owned(),
            id: e.id.to_owned(),
            retry: e.retry,
        });
        match &event {
            Some(event) if frame.terminated => stream.events.push(event.clone()),
            Some(event) => stream.unsent = Some(event.data.clone()),
            None => {}
        }
        let places = frame.event.as_ref().map(|e| (e.data_range.clone(), e.own_id));
        if let (Some(event), Some((Some(range), _))) = (&event, &places) {
            assert_eq!(&frame.raw[range.clone()], event.data.as_bytes(), "where the data is");
        }
        frames.push(Seen {
            raw: frame.raw.to_vec(),
            event: event.zip(places).map(|(event, (range, own_id))| (event, range, own_id)),
            led: frame.led,
            marked: frame.marked,
            terminated: frame.terminated,
            stray: frame.stray.map(<[u8]>::to_vec),
        });
    });
    decoder.last_event_id().clone_into(&mut stream.last_id);
    stream.retry = decoder.reconnection_ms();
    assert_eq!(decoder.buffered(), decoder.rest().len());
    assert!(matches!(decoder.poll(), Ok(None)), "an error is told once");
    (frames, Said { stream, result, rest: decoder.rest().to_vec() })
}

/// With a cap below the largest frame the frames before it come out, and then the error, wherever the cuts are.
fn capped<'c>(whole: &[Seen], cuts: impl Iterator<Item = &'c Vec<&'c [u8]>>) {
    let Some(largest) = whole.iter().map(|frame| frame.raw.len()).max() else { return };
    let cap = largest - 1;
    let before: Vec<Seen> = whole.iter().take_while(|f| f.raw.len() <= cap).cloned().collect();
    let offset = before.iter().map(|frame| frame.raw.len() as u64).sum();
    for pieces in cuts {
        let (frames, said) = run(cap, pieces, &mut |_| {});
        assert_eq!(frames, before, "frames before one that is too large");
        assert_eq!(said.result, Err(TooLarge { limit: cap, offset }));
        // What is still in the decoder is the beginning of what did not come out.
        let left: Vec<u8> = whole[before.len()..].iter().flat_map(|f| &f.raw).copied().collect();
        assert!(left.starts_with(&said.rest) && said.rest.len() > cap, "the rest of the input");
    }
}

/// Written again with its own data, an event reads the same, but for CR in the data, which no stream can carry.
fn reads_back(frame: &Frame<'_>) {
    let frame = &frame.unmarked();
    let Some(event) = &frame.event else { return };
    for (keep_id, after_cr) in [(true, false), (false, true)] {
        let mut out = b"id: before\n\n".to_vec();
        if after_cr {
            out = out.iter().map(|b| if *b == b'\n' { b'\r' } else { *b }).collect();
        }
        let how = Rewrite { keep_id, after_cr, close: true };
        rewrite(frame.raw, event.data, how, &mut out);
        let again = whatwg::read(&out);
        let [seen] = &again.events[..] else { panic!("{again:?} is one event") };
        let data = event.data.replace("\r\n", "\n").replace('\r', "\n");
        assert_eq!((seen.name.as_str(), &seen.data), (event.name, &data));
        // The end of the input may have cut the number short.
        assert!(seen.retry == event.retry || !frame.terminated, "{:?}", seen.retry);
        assert_eq!(again.comments, u64::from(frame.comments));
        // The id that the frame sets after another, if it may.
        let raw = whatwg::read(&[b"id: before\n\n", frame.raw, b"\n\n"].concat());
        let id = if keep_id { raw.last_id.as_str() } else { "before" };
        assert_eq!(seen.id, id, "the id");
    }
}

/// Lines as a library gives them, without their ends: no byte is lost, whatever the lines are taken for.
fn lines(stream: &[u8]) {
    for complete in [|_: &str| false, |_: &str| true, decluster::wire::is_complete] {
        let mut decoder = Decoder::new(EVENT_CAP).with_lines(complete);
        let mut raw = Vec::new();
        let lines = stream.split_inclusive(|b| *b == b'\n');
        let result = decode_lines(&mut decoder, lines, |frame| raw.extend_from_slice(frame.raw));
        assert_eq!(result, Ok(()));
        let end: &[u8] = if stream.is_empty() || stream.ends_with(b"\n") { b"" } else { b"\n" };
        assert_eq!(raw, [stream, end].concat(), "every line is in one frame");
    }
}
