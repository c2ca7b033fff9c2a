//! Streams through the rewriter on a virtual clock, and what must be the same afterwards.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;

use decluster::wire::{Answer, Dialect, Reader};
use decluster::{Config, Event, Kind, Nanos, Rewriter, RewriterOptions, Rewritten};

use crate::streams::{Decoded, read_lines, read_with, same};
use crate::{cut, sizes};

/// The default with these choices.
///
/// # Panics
///
/// If one of them is unknown.
#[must_use]
pub fn config(unit: &str, pace: &str, segment: &str) -> Config {
    with(&Config::default(), unit, pace, segment)
}

fn with(config: &Config, unit: &str, pace: &str, segment: &str) -> Config {
    let config = config.clone().with_choice("unit", unit).unwrap();
    config.with_choice("pace", pace).unwrap().with_choice("segment", segment).unwrap()
}

/// One chunk each `gap`, on a virtual clock; all that comes out, event by event.
///
/// # Panics
///
/// If the rewriter refuses, or goes on for ever.
pub fn run<'a>(
    config: &Config,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    gap: Nanos,
) -> (Vec<Vec<u8>>, Answer) {
    run_as(config, RewriterOptions::default(), chunks, gap)
}

fn run_as<'a>(
    config: &Config,
    options: RewriterOptions,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    gap: Nanos,
) -> (Vec<Vec<u8>>, Answer) {
    let mut now = Nanos::ZERO;
    let mut rewriter = Rewriter::new(config, options, now).unwrap();
    let (mut out, mut polls) = (Vec::new(), 0);
    let mut drain = |rewriter: &mut Rewriter, now: &mut Nanos, until: Nanos| loop {
        polls += 1;
        assert!(polls < 1_000_000, "polling leads nowhere");
        match rewriter.poll(*now) {
            Rewritten::Bytes(bytes) => out.push(bytes.to_vec()),
            Rewritten::Wait(at) if at <= until => *now = at,
            Rewritten::Wait(_) | Rewritten::NeedInput => break *now = until,
            Rewritten::Finished => break,
            other => panic!("{other:?} in byte mode"),
        }
    };
    for chunk in chunks {
        let until = now.after(gap);
        rewriter.push(now, chunk).unwrap();
        drain(&mut rewriter, &mut now, until);
    }
    rewriter.finish(now);
    drain(&mut rewriter, &mut now, Nanos::MAX);
    assert_eq!(rewriter.poll(now), Rewritten::Finished);
    (out, rewriter.answer().clone())
}

/// All that comes out if the input comes in chunks that `seed` decides.
#[must_use]
pub fn rewrite(config: &Config, bytes: &[u8], seed: u64) -> Vec<u8> {
    let gap = Nanos::from_millis([0, 3, 400][seed as usize % 3]);
    run(config, cut(bytes, &sizes(bytes.len(), seed)), gap).0.concat()
}

/// [`same`], but half a character that nothing followed is a damage that the rewriter leaves out: then what
/// comes out needs fewer repairs.
fn same_or_repaired(name: &str, before: &Decoded, mut after: Decoded) {
    let (needed, left) = (before.answer.repairs, after.answer.repairs);
    assert!(left <= needed, "{name}: {left} repairs instead of {needed}");
    after.answer.repairs = needed;
    same(name, before, &after);
}

/// Reads a stream in every way there is, which must all say the same: whole, a byte at a time, cut in two at
/// every place, with its dialect named, and re-cut by the rewriter, by blocks and by words, once and twice, and as pieces. With
/// everything off the bytes must be those that came.
///
/// # Panics
///
/// If they do not.
#[must_use]
pub fn steady(stream: &str) -> Decoded {
    steady_with(&Config::default(), None, stream.as_bytes())
}

/// The same with what `config` says of tags, and perhaps with the dialect named.
///
/// # Panics
///
/// As [`steady`].
#[must_use]
pub fn steady_with(config: &Config, dialect: Option<Dialect>, bytes: &[u8]) -> Decoded {
    let shown = String::from_utf8_lossy(bytes);
    let reader = || Reader::new(dialect).with_think(config.think());
    let whole = read_with(reader(), [bytes]);
    assert_eq!(whole.raw, bytes, "every byte is in one frame: {shown}");
    assert_eq!(read_with(reader(), bytes.chunks(1)), whole, "a byte at a time: {shown}");
    for at in places(bytes.len()) {
        let (a, b) = bytes.split_at(at);
        assert_eq!(read_with(reader(), [a, b]), whole, "cut at {at}: {shown}");
    }
    if let Some(known) = whole.dialect {
        let named = Reader::new(Some(known)).with_think(config.think());
        assert_eq!(read_with(named, [bytes]), whole, "named: {shown}");
    }
    let mut options = RewriterOptions::default();
    options.dialect = dialect;
    let through = |config: &Config, bytes: &[u8], seed: u64| {
        let gap = Nanos::from_millis([0, 3, 400][seed as usize % 3]);
        let pieces = cut(bytes, &sizes(bytes.len(), seed));
        run_as(config, options, pieces, gap).0.concat()
    };
    let seed = bytes.len() as u64;
    for unit in ["block", "word"] {
        let config = with(config, unit, "adaptive", "semantic");
        let once = through(&config, bytes, seed);
        let twice = through(&config, &once, seed + 1);
        for (times, out) in [("once", once), ("twice", twice)] {
            let name = format!("by {unit}s, {times}\n{shown}\n{}\n", String::from_utf8_lossy(&out));
            same_or_repaired(&name, &whole, read_with(reader(), [&out[..]]));
        }
    }
    let off = through(&with(config, "block", "off", "off"), bytes, seed);
    assert_eq!(String::from_utf8_lossy(&off), shown, "everything is off");
    let pieces = pieces(config, dialect, bytes);
    let texts = || whole.texts.iter().filter(|(_, texts)| texts.iter().any(|t| !t.is_empty()));
    assert_eq!(pieces, texts().map(|(i, t)| (*i, t.clone())).collect(), "pieces: {shown}");
    whole
}

/// The same for a stream of JSON lines.
///
/// # Panics
///
/// As [`steady`].
#[must_use]
pub fn steady_lines(stream: &str) -> Decoded {
    let whole = read_lines(stream.lines().map(str::as_bytes));
    let mut bytes = steady(stream);
    // By lines the last gets an end if it has none.
    bytes.raw.clone_from(&whole.raw);
    assert_eq!(bytes, whole, "by bytes: {stream}");
    let through = |config: &Config, stream: &str| {
        let mut now = Nanos::ZERO;
        let mut rewriter = Rewriter::new(config, RewriterOptions::default(), now).unwrap();
        stream.lines().for_each(|line| rewriter.push_line(now, line.as_bytes()).unwrap());
        rewriter.finish(now);
        let mut out = Vec::new();
        loop {
            match rewriter.poll(now) {
                Rewritten::Bytes(bytes) => out.extend_from_slice(bytes),
                Rewritten::Wait(at) => now = at,
                Rewritten::Finished => return String::from_utf8(out).unwrap(),
                other => panic!("{other:?} in byte mode"),
            }
        }
    };
    for unit in ["block", "word"] {
        let config = config(unit, "adaptive", "semantic");
        let once = through(&config, stream);
        let twice = through(&config, &once);
        for out in [once, twice] {
            let name = format!("by {unit}s\n{stream}\n{out}\n");
            same_or_repaired(&name, &whole, read_lines(out.lines().map(str::as_bytes)));
        }
    }
    let off = through(&config("block", "off", "off"), stream);
    assert_eq!(off.trim_end(), stream.trim_end(), "everything is off");
    whole
}

/// The texts that come out in pieces: reasoning and output by choice, put together as a reader of pieces and
/// of the events between them has to.
///
/// # Panics
///
/// If the rewriter refuses.
#[must_use]
pub fn pieces(
    config: &Config,
    dialect: Option<Dialect>,
    bytes: &[u8],
) -> BTreeMap<u32, [String; 2]> {
    let mut options = RewriterOptions::default();
    (options.dialect, options.pieces, options.events) = (dialect, true, true);
    let mut now = Nanos::ZERO;
    let mut rewriter = Rewriter::new(config, options, now).unwrap();
    rewriter.push(now, bytes).unwrap();
    rewriter.finish(now);
    let mut texts: BTreeMap<u32, [String; 2]> = BTreeMap::new();
    loop {
        match rewriter.poll(now) {
            Rewritten::Piece(piece) => {
                texts.entry(piece.index).or_default()[piece.kind as usize].push_str(piece.text);
            }
            Rewritten::Event(Event::Restarted { .. }) => texts.clear(),
            Rewritten::Event(Event::Reclassified { index }) => {
                let texts = texts.entry(index).or_default();
                let output = std::mem::take(&mut texts[Kind::Output as usize]);
                texts[Kind::Reasoning as usize].push_str(&output);
            }
            Rewritten::Wait(at) => now = at,
            Rewritten::Finished => break,
            _ => {}
        }
    }
    texts.retain(|_, texts| texts.iter().any(|text| !text.is_empty()));
    texts
}

/// Where to cut in two: everywhere, in a long stream at every so many bytes.
fn places(length: usize) -> impl Iterator<Item = usize> {
    (0..=length).step_by(1 + length / EVERYWHERE)
}

const EVERYWHERE: usize = 4_000;
