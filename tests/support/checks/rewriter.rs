//! `Rewriter`, with any settings. Knobs: unit, pace, segment, mode, dialect, limits, `z` if the stream is
//! repeated, what to make of tags; then, over and over, the size of a chunk and the time after it.

use std::collections::BTreeMap;
use std::hint::black_box;

use decluster::sse::TooLarge;
use decluster::wire::{Answer, Dialect, Reader};
use decluster::{Config, Nanos, RewriterError, RewriterOptions};

use super::{Knobs, think};
use crate::EVENT_CAP;
use crate::alloc::held;
use crate::recut::{Recut, begins, decoded};
use crate::streams;
use crate::streams::Decoded;

/// What goes out says what came in, also when it is re-cut once more; with everything off it is what came in;
/// in piece mode the texts are the same; it takes a bounded number of polls and bounded memory; a time to wait
/// until is kept.
///
/// # Panics
///
/// If that is not so.
pub fn check(input: &[u8]) {
    let (knobs, stream) = Knobs::of(input);
    let settings = Settings::of(knobs);
    let stream = settings.repeated(stream);
    let (before, framed) = decoded(&stream, settings.reader(), settings.lines, settings.event_cap);
    let once = settings.run(&stream);
    settings.is_bounded(&once, &stream, &before, framed.largest);
    match (&once.fault, framed.too_large) {
        (None, None) => {}
        (Some(RewriterError::TooLarge(TooLarge { offset, .. })), Some(place)) => {
            assert_eq!(*offset, place, "where the event that is too large begins");
        }
        // Pieces of more choices than there may be: what was before them has come.
        (Some(RewriterError::Engine(_)), _) if settings.options.pieces => {
            assert!(begins(&once.texts, settings.told(&before)), "the texts");
            return;
        }
        other => panic!("the fault is {other:?}"),
    }
    assert_eq!(*once.answer(), before.answer, "the answer that is read on the way");
    if settings.options.pieces {
        // A count has no text.
        let some = |texts: &BTreeMap<u32, [String; 2]>| {
            let mut texts = texts.clone();
            texts.retain(|_, texts| texts.iter().any(|text| !text.is_empty()));
            texts
        };
        assert_eq!(some(&once.texts), some(settings.told(&before)), "the texts of the pieces");
        if settings.options.events {
            // Without text the dialect may not be told, and with it what came before its first sign says more.
            let reader = Reader::new(before.dialect).with_think(settings.config.think());
            let (named, _) = decoded(&stream, reader, settings.lines, settings.event_cap);
            if named.answer == before.answer {
                others(&once, &before);
            }
        }
        return;
    }
    if settings.off {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        assert_eq!(text(&once.out), text(&before.raw), "everything is off");
    }
    // Where some events end with blank lines and some do without, the first blank line changes how all the others
    // are read, and it may come elsewhere now.
    if framed.bare && has_blank_line(&stream) {
        return;
    }
    // So may the first line that holds several values, or a part of one, and fields behind a value that is not
    // closed: then what is bad ends elsewhere.
    let bad = before.answer.malformed > 0 || before.answer.comments > 0;
    if framed.mixed || (framed.glued || framed.handed_over) && bad {
        return;
    }
    same("once", &before, &once.decoded(settings.reader()));
    let twice = settings.again(&once.out);
    same("twice", &before, &twice.decoded(settings.reader()));
}

#[derive(Debug)]
struct Settings<'a> {
    config: Config,
    options: RewriterOptions,
    lines: bool,
    off: bool,
    event_cap: usize,
    repeat: bool,
    steps: Knobs<'a>,
}

impl<'a> Settings<'a> {
    fn of(mut knobs: Knobs<'a>) -> Self {
        let mut next = || knobs.next();
        let (unit, pace, segment) = (next() % 3, next() % 3, next() % 3);
        let (mode, dialect, limits) = (next() % 4, next(), next());
        // A letter that is not hit by chance: these runs are slow.
        let repeat = next() == usize::from(b'z');
        let tags = think(next()).map(|(name, value)| (name, value as usize));
        let mut options = RewriterOptions::default();
        options.pieces = matches!(mode, 1 | 2);
        options.events = mode == 2;
        options.dialect = dialect.checked_sub(1).map(|n| Dialect::ALL[n % Dialect::ALL.len()]);
        // Whole blocks exist in piece mode only.
        let unit = if options.pieces { unit } else { unit % 2 };
        let mut values = vec![("unit", unit), ("pace", pace), ("segment", segment)];
        let limits = [&[][..], &SMALL, &TINY, &ALONE, &SLOW][limits % 5];
        values.extend(tags);
        values.extend(limits.iter().map(|(name, value)| (*name, *value)));
        let config = values
            .iter()
            .try_fold(Config::default(), |config, (name, value)| config.with(name, *value as u64));
        let config = config.unwrap_or_default();
        Self {
            off: pace == 2 && segment == 1,
            event_cap: config.get("max_event_bytes").unwrap_or_default() as usize,
            config,
            options,
            lines: mode == 3,
            repeat,
            steps: knobs.rest(),
        }
    }

    fn reader(&self) -> Reader {
        Reader::new(self.options.dialect).with_think(self.config.think())
    }

    /// The texts that pieces give: without events nothing says that one of them is void.
    fn told<'d>(&self, decoded: &'d Decoded) -> &'d BTreeMap<u32, [String; 2]> {
        if self.options.events { &decoded.texts } else { &decoded.told }
    }

    /// The stream, or as many of it as fill the queues.
    fn repeated(&self, stream: &[u8]) -> Vec<u8> {
        let most = REPEATED / stream.len().max(1);
        stream.repeat(if self.repeat { most.max(1) } else { 1 })
    }

    fn run(&self, stream: &[u8]) -> Recut {
        let mut recut = Recut::new(&self.config, self.options, self.lines);
        let base = held();
        let mut steps = self.steps.clone();
        let (mut rest, mut stuck) = (stream, 0);
        while !rest.is_empty() {
            // All at once if the knobs make no progress.
            let size =
                if self.steps.bytes.is_empty() || stuck == 256 { usize::MAX } else { steps.next() };
            let size = if self.lines {
                rest.iter().position(|b| *b == b'\n').map_or(rest.len(), |end| end + 1)
            } else {
                size.min(rest.len())
            };
            stuck = if size == 0 { stuck + 1 } else { 0 };
            let (chunk, after) = rest.split_at(size);
            rest = after;
            let gap = steps.next() % GAPS.len();
            recut.feed(chunk, GAPS[gap]);
            if gap == BACK {
                recut.step_back(Nanos::from_millis(10));
            }
        }
        recut.finish();
        recut.peak -= base;
        recut
    }

    /// Re-cuts what was re-cut. What was one event may be more bytes now, so there is no small cap.
    fn again(&self, out: &[u8]) -> Recut {
        let config = self.config.clone().with("max_event_bytes", EVENT_CAP as u64);
        let again =
            Settings { config: config.unwrap_or_default(), steps: self.steps.clone(), ..*self };
        again.run(out)
    }

    fn is_bounded(&self, recut: &Recut, stream: &[u8], before: &Decoded, largest: usize) {
        // A count is cut into 256 parts at the most.
        let counts = before.tokens.min(256 * before.answer.events);
        let most = 16 + 2 * stream.len() as u64 + counts;
        assert!(recut.outputs <= most, "{} outputs of {} bytes", recut.outputs, stream.len());
        let queue = self.config.get("max_queue_bytes").unwrap_or_default() as usize;
        // One that is too large is held up to the cap.
        let cap = recut.fault.as_ref().map_or(0, |_| self.event_cap.min(stream.len()));
        let whole = recut.largest.max(largest).max(cap);
        let bound = FIXED + 2 * size(recut.answer()) + 4 * queue + 4 * whole;
        assert!(recut.peak <= bound.cast_signed(), "{} bytes held; {bound} allowed", recut.peak);
        let probe: Vec<u8> = black_box(Vec::with_capacity(4_096));
        let counted = held();
        drop(probe);
        assert!(counted - held() >= 4_096, "the allocator does not count");
    }
}

fn has_blank_line(stream: &[u8]) -> bool {
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let ends = stream.windows(2).filter(|pair| pair.iter().all(is_end));
    let mut blank = ends.filter(|pair| *pair != b"\r\n");
    blank.next().is_some() || stream.first().is_some_and(is_end)
}

/// The events between the pieces say everything but the text.
fn others(recut: &Recut, before: &Decoded) {
    // What was made good with the help of a line that is no data does not stand in the data alone.
    let Some(dialect) = before.dialect.filter(|_| before.answer.repairs == 0) else { return };
    let mut reader = Reader::new(Some(dialect));
    for (name, data) in &recut.others {
        reader.read_event(name, data);
    }
    assert_eq!(reader.answer().usage, before.answer.usage, "usage beside pieces");
    let said = |answer: &Answer| {
        let mut choices = answer.choices.clone();
        choices.retain(|choice| choice.finish.is_some() || !choice.tool_calls.is_empty());
        choices.sort_by_key(|choice| choice.index);
        // The end completes them, and not every event that ends is there.
        choices.iter_mut().flat_map(|c| &mut c.tool_calls).for_each(|call| call.complete = true);
        choices
    };
    assert_eq!(said(reader.answer()), said(&before.answer), "finish and calls beside pieces");
}

/// The same texts, counts and answer, but for how many events it took, what was made good on the way, and comments
/// inside of events, which are repeated with each part.
fn same(name: &str, before: &Decoded, after: &Decoded) {
    let plain = |decoded: &Decoded| {
        let mut decoded = decoded.clone();
        decoded.answer.repairs = 0;
        decoded.answer.comments = 0;
        decoded
    };
    streams::same(name, &plain(before), &plain(after));
}

/// What an answer may take.
fn size(answer: &Answer) -> usize {
    format!("{answer:?}").len()
}

const SMALL: [(&str, usize); 1] = [("max_queue_bytes", 65_536)];
const TINY: [(&str, usize); 2] = [("max_queue_bytes", 65_536), ("max_event_bytes", 1_024)];
const ALONE: [(&str, usize); 1] = [("max_choices", 1)];
const SLOW: [(&str, usize); 2] = [("max_rate", 20), ("max_queue_bytes", 65_536)];
/// A stream that is repeated becomes about this long: more than may be held of it.
const REPEATED: usize = 128 << 10;
/// Memory that does not depend on the stream.
const FIXED: usize = 64 << 10;
/// Time between chunks; at one place the clock runs backwards.
const GAPS: [Nanos; 9] = [
    Nanos::ZERO,
    Nanos(1_000),
    Nanos::from_millis(3),
    Nanos::from_millis(45),
    Nanos::ZERO,
    Nanos::from_millis(240),
    Nanos::from_millis(400),
    Nanos::from_secs(2),
    Nanos::from_secs(20),
];
const BACK: usize = 4;
