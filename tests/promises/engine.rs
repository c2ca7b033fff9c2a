//! The engine's promises, as properties over generated streams on a virtual clock.
//!
//! The numbers are those of the promises in ARCHITECTURE.md. Failing seeds are kept beside this file.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod made;

use decluster::{Cancel, Config, Delta, Engine, Kind, Nanos, Output, PushError};
use decluster_tests::drive::{Driver, Input, Released, Step, What};
use made::{kind, pause, text};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::collections::HashMap;
use unicode_segmentation::UnicodeSegmentation;

const UNITS: [&str; 3] = ["block", "word", "whole"];

fn config(unit: &str, pace: &str) -> Config {
    let config = Config::default().with_choice("unit", unit).unwrap();
    config.with_choice("pace", pace).unwrap()
}

fn configs() -> impl Strategy<Value = Config> {
    let pace = prop::sample::select(vec!["adaptive", "adaptive", "adaptive", "fixed", "off"]);
    let delay = prop::sample::select(vec![100_000_000, 500_000_000, 1_500_000_000u64]);
    (prop::sample::select(UNITS.to_vec()), pace, delay)
        .prop_map(|(unit, pace, delay)| config(unit, pace).with("max_delay", delay).unwrap())
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        12 => (kind(), 0u32..2, text()).prop_map(|(k, i, t)| Input::Text(k, i, t)),
        1 => (kind(), 0u32..2, 1u32..200).prop_map(|(k, i, n)| Input::Count(k, i, n)),
        1 => any::<bool>().prop_map(|hurry| Input::Mark { hurry }),
        1 => Just(Input::EndBlock),
        1 => Just(Input::Flush),
    ]
}

fn script() -> impl Strategy<Value = Vec<Step>> {
    let step = (pause(), input()).prop_map(|(after, input)| Step { after, input });
    prop::collection::vec(step, 1..25)
}

/// One choice, text only, in one kind after another: what nearly every stream is.
fn plain_script() -> impl Strategy<Value = Vec<Step>> {
    let step = (pause(), text());
    (prop::collection::vec(step, 1..20), 0usize..20).prop_map(|(steps, switch)| {
        let kind = |n| if n < switch { Kind::Reasoning } else { Kind::Output };
        let step = |(n, (after, text))| Step { after, input: Input::Text(kind(n), 0, text) };
        steps.into_iter().enumerate().map(step).collect()
    })
}

/// The same text, kind by kind, in pieces of these sizes, `gap` apart.
fn recut(script: &[Step], sizes: &[usize], gap: Nanos) -> Vec<Step> {
    let mut runs: Vec<(Kind, String)> = Vec::new();
    for step in script {
        let Input::Text(kind, _, text) = &step.input else { continue };
        match runs.last_mut() {
            Some((k, all)) if k == kind => all.push_str(text),
            _ => runs.push((*kind, text.clone())),
        }
    }
    let mut sizes = sizes.iter().copied().cycle();
    let mut steps = Vec::new();
    for (kind, text) in runs {
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let want = sizes.next().unwrap_or(1).min(rest.len());
            let at =
                (want..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
            let (one, tail) = rest.split_at(at);
            steps.push(Step { after: gap, input: Input::Text(kind, 0, one.to_owned()) });
            rest = tail;
        }
    }
    steps
}

fn pieces(out: &[Released]) -> impl Iterator<Item = (Nanos, &str, Kind, u32, Nanos)> {
    out.iter().filter_map(|r| match &r.what {
        What::Piece { text, kind, index, arrived, .. } => {
            Some((r.at, text.as_str(), *kind, *index, *arrived))
        }
        _ => None,
    })
}

/// What went in, byte by byte: per choice the text in order with kind and arrival of each delta.
#[derive(Default)]
struct Fed {
    /// Per choice: end offset of each delta, kind, arrival.
    deltas: HashMap<u32, Vec<(usize, Kind, Nanos)>>,
    text: HashMap<u32, String>,
    /// Offsets at which a run ends for good: change of kind, tool call, end of block.
    closed: HashMap<u32, Vec<usize>>,
    /// Offsets at which a mark stands.
    marked: HashMap<u32, Vec<usize>>,
    end: Nanos,
}

fn fed(script: &[Step]) -> Fed {
    let mut f = Fed { end: Nanos::from_secs(1), ..Fed::default() };
    for step in script {
        f.end = f.end.after(step.after);
        match &step.input {
            Input::Text(kind, index, text) => {
                let all = f.text.entry(*index).or_default();
                let deltas = f.deltas.entry(*index).or_default();
                if deltas.last().is_some_and(|(_, k, _)| k != kind) {
                    f.closed.entry(*index).or_default().push(all.len());
                }
                all.push_str(text);
                deltas.push((all.len(), *kind, f.end));
            }
            Input::Mark { hurry: true } | Input::EndBlock | Input::Count(..) => {
                for (index, all) in &f.text {
                    f.closed.entry(*index).or_default().push(all.len());
                }
            }
            Input::Mark { hurry: false } => {
                for (index, all) in &f.text {
                    f.marked.entry(*index).or_default().push(all.len());
                }
            }
            Input::Flush => {}
        }
    }
    f.end = f.end.after(Nanos::from_millis(1));
    f
}

impl Fed {
    fn arrival(&self, index: u32, offset: usize) -> Nanos {
        let deltas = &self.deltas[&index];
        deltas.iter().find(|(end, ..)| *end > offset).map_or(self.end, |(.., at)| *at)
    }

    /// Start offset of the cluster that a cut at `offset` would split, if it would.
    fn splits(&self, index: u32, offset: usize) -> Option<usize> {
        let text = &self.text[&index];
        let closed = self.closed.get(&index).map_or(&[][..], Vec::as_slice);
        let start = closed.iter().copied().filter(|c| *c <= offset).max().unwrap_or(0);
        let end = closed.iter().copied().find(|c| *c > offset).unwrap_or(text.len());
        let mut clusters = text[start..end].grapheme_indices(true);
        let inside = |(at, cluster): (usize, &str)| {
            let at = start + at;
            (at < offset && offset < at + cluster.len()).then_some(at)
        };
        clusters.find_map(inside)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: decluster_tests::cases(300),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    /// Promise 1 and 2: per choice, what comes out is what went in, kinds in the order they came, marks between
    /// the text they came between, and everything numbered as it leaves.
    #[test]
    fn lossless_and_in_order(config in configs(), script in script()) {
        let driver = Driver::run(&config, &script);
        for index in 0..2 {
            let mut want: Vec<(Kind, String)> = Vec::new();
            for step in &script {
                if let Input::Text(kind, i, text) = &step.input && *i == index {
                    match want.last_mut() {
                        Some((k, all)) if k == kind => all.push_str(text),
                        _ => want.push((*kind, text.clone())),
                    }
                }
            }
            let mut got: Vec<(Kind, String)> = Vec::new();
            for (_, text, kind, i, _) in pieces(&driver.out) {
                if i == index && !text.is_empty() {
                    match got.last_mut() {
                        Some((k, all)) if *k == kind => all.push_str(text),
                        _ => got.push((kind, text.to_owned())),
                    }
                }
            }
            prop_assert_eq!(got, want);
        }
        let tokens = |k: Kind| -> u64 {
            script.iter().map(|s| match &s.input {
                Input::Count(kind, _, n) if *kind == k => u64::from(*n),
                _ => 0,
            }).sum()
        };
        for k in [Kind::Reasoning, Kind::Output] {
            let counted: u64 = driver.out.iter().map(|r| match &r.what {
                What::Piece { text, kind, tokens, .. } if text.is_empty() && *kind == k => u64::from(*tokens),
                _ => 0,
            }).sum();
            prop_assert_eq!(counted, tokens(k));
        }
        for (place, released) in driver.out.iter().enumerate() {
            if let What::Piece { seq, .. } = &released.what {
                prop_assert_eq!(*seq, place as u64);
            }
        }
    }

    /// Promise 2 for marks: bytes of each choice that left before a mark are those that arrived before it.
    /// Blocks that must stay whole may carry a mark that does not hurry past their end.
    #[test]
    fn marks_keep_their_place(config in configs(), script in script()) {
        let whole = config.get("unit") == Some(2);
        let driver = Driver::run(&config, &script);
        let mut marks = Vec::new();
        for index in 0..2 {
            let (mut arrived, mut left) = (HashMap::new(), HashMap::new());
            let mut bytes = 0;
            for (number, step) in script.iter().enumerate() {
                match &step.input {
                    Input::Text(_, i, text) if *i == index => bytes += text.len(),
                    Input::Mark { hurry } => { arrived.insert(number as u64, (bytes, *hurry)); }
                    _ => {}
                }
            }
            let mut bytes = 0;
            for released in &driver.out {
                match &released.what {
                    What::Piece { text, index: i, .. } if *i == index => bytes += text.len(),
                    What::Mark(id) => {
                        left.insert(*id, bytes);
                        if index == 0 { marks.push(*id); }
                    }
                    _ => {}
                }
            }
            prop_assert_eq!(arrived.len(), left.len());
            for (id, (bytes, hurry)) in arrived {
                if whole && !hurry {
                    prop_assert!(left[&id] >= bytes);
                } else {
                    prop_assert_eq!(left[&id], bytes, "mark {}", id);
                }
            }
        }
        prop_assert!(marks.is_sorted());
    }

    /// Promise 3: the same text cut differently, at other times, gives the same blocks.
    #[test]
    fn chunk_blind(script in plain_script(), cuts in prop::collection::vec(1usize..30, 1..40), gap in pause(), pace in prop::sample::select(vec!["adaptive", "off"])) {
        let other = recut(&script, &cuts, gap);
        let whole = config("whole", "adaptive");
        prop_assert_eq!(Driver::run(&whole, &script).blocks(0), Driver::run(&config("whole", pace), &other).blocks(0));
    }

    /// Promise 3 for pieces: all at once or cut differently, they name the same blocks in every unit. Where the
    /// text trickles in and pacing lets out what no block end is decided for, an end is never named early, and
    /// late by its look-ahead at most.
    #[test]
    fn pieces_name_the_same_blocks(unit in prop::sample::select(vec!["block", "word"]), script in plain_script(), cuts in prop::collection::vec(1usize..30, 1..40), gap in pause()) {
        let blocks = Driver::run(&config("whole", "adaptive"), &script).blocks(0);
        let at_once: Vec<Step> = recut(&script, &[usize::MAX], Nanos::ZERO);
        prop_assert_eq!(&Driver::run(&config(unit, "adaptive"), &at_once).blocks(0), &blocks);
        let trickle = Driver::run(&config(unit, "adaptive"), &recut(&script, &cuts, gap)).blocks(0);
        let starts = |blocks: &[(Kind, String)]| -> Vec<usize> {
            blocks.iter().scan(0, |at, (_, text)| { let start = *at; *at += text.len(); Some(start) }).collect()
        };
        let decided = starts(&blocks);
        for named in starts(&trickle) {
            let end = decided.iter().rfind(|end| **end <= named).unwrap();
            prop_assert!(named - end <= 160, "{named} instead of {end}");
        }
    }

    /// Promise 4: no piece ends inside a character, unless the character's first byte has been held 100 ms, or
    /// a mark stands inside it, which must not pass the rest.
    #[test]
    fn whole_characters(config in configs(), script in script()) {
        let driver = Driver::run(&config, &script);
        let fed = fed(&script);
        let hold = Nanos(config.get("grapheme_hold").unwrap());
        let mut offsets: HashMap<u32, usize> = HashMap::new();
        for (at, text, _, index, _) in pieces(&driver.out).filter(|p| !p.1.is_empty()) {
            let offset = offsets.entry(index).or_default();
            *offset += text.len();
            let marked = fed.marked.get(&index).is_some_and(|at| at.contains(offset));
            if let Some(start) = fed.splits(index, *offset).filter(|_| !marked) {
                let held = at.since(fed.arrival(index, start));
                prop_assert!(held >= hold, "{text:?} ends inside a character held for {held}");
            }
        }
    }

    /// Promise 5 and 6: nothing leaves later than `max_delay` after it arrived (the driver checks that nothing
    /// leaves before the time that `Wait` gave, and that something leaves then).
    #[test]
    fn never_late(config in configs(), script in script()) {
        let driver = Driver::run(&config, &script);
        let fed = fed(&script);
        let bound = Nanos(config.get("max_delay").unwrap());
        let whole = config.get("unit") == Some(2);
        let mut offsets: HashMap<u32, usize> = HashMap::new();
        for (at, text, _, index, arrived) in pieces(&driver.out) {
            if text.is_empty() {
                // A count may stand behind a block that must stay whole.
                prop_assert!(whole || at.since(arrived) <= bound);
                continue;
            }
            let offset = offsets.entry(index).or_default();
            prop_assert_eq!(arrived, fed.arrival(index, *offset));
            *offset += text.len();
            if whole {
                // Complete at the latest when the stream ended, or the longest look-ahead had arrived.
                prop_assert!(at <= fed.end.after(Nanos::from_millis(300)) || at.since(fed.end) <= bound);
            } else {
                prop_assert!(at.since(arrived) <= bound, "{:?} after {}", text, at.since(arrived));
            }
        }
    }

    /// Promise 7: the first visible text waits for its first word end, 45 ms at most; a single character that
    /// may still grow waits as long as characters are held.
    #[test]
    fn first_text_at_once(unit in prop::sample::select(vec!["block", "word"]), script in plain_script()) {
        let config = config(unit, "adaptive");
        let driver = Driver::run(&config, &script);
        let fed = fed(&script);
        let all = &fed.text[&0];
        let Some(visible) = all.find(|c: char| !c.is_whitespace()) else { return Ok(()) };
        let arrived = fed.arrival(0, visible);
        let mut offset = 0;
        for (at, text, ..) in pieces(&driver.out) {
            offset += text.len();
            if offset > visible {
                let bound = Nanos::from_millis(100);
                prop_assert!(at.since(arrived) <= bound, "after {}", at.since(arrived));
                // The end of the first word, if white space shows it: then there is no wait at all.
                let word = all[visible..].find(' ').map(|n| visible + n);
                if let Some(end) = word && fed.arrival(0, end).since(arrived) <= Nanos::from_millis(45) {
                    prop_assert!(at <= fed.arrival(0, end));
                }
                break;
            }
        }
    }

    /// Promise 8: never more than `max_queue_bytes`, and what is refused is refused whole: the rest comes out.
    #[test]
    fn bounded(texts in prop::collection::vec(text(), 1..60), repeat in 1usize..60) {
        let limit = 65_536;
        let config = Config::default().with("max_queue_bytes", limit).unwrap();
        let mut driver = Driver::new(&config, Nanos::ZERO);
        let mut accepted = String::new();
        for text in &texts {
            let text = text.repeat(repeat);
            let before = driver.engine.stats();
            match driver.feed(0, &Input::Text(Kind::Reasoning, 0, text.clone())) {
                Ok(()) => accepted.push_str(&text),
                Err(PushError::Full { .. }) => {
                    prop_assert!(before.queued_bytes + text.len() as u64 + 96 > limit);
                    prop_assert_eq!(driver.engine.stats(), before);
                    prop_assert!(driver.engine.stats().queued_bytes > 0, "an empty engine takes any delta");
                    driver.advance(driver.now.after(Nanos::from_millis(500)));
                }
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            }
            let queued = driver.engine.stats().queued_bytes;
            prop_assert!(queued <= limit.max(text.len() as u64 + 96), "{queued}");
        }
        driver.finish();
        prop_assert_eq!(driver.text(0, Kind::Reasoning), accepted);
        prop_assert_eq!(driver.engine.stats().queued_bytes, 0);
    }

    /// Promise 9: the number of polls is bounded by what there is to release.
    #[test]
    fn live(config in configs(), script in script()) {
        let driver = Driver::run(&config, &script);
        prop_assert!(driver.polls <= 2 * driver.out.len() as u64 + 2 * script.len() as u64 + 8);
    }

    /// Promise 10: any order of calls, any clock.
    #[test]
    fn no_panic(config in configs(), calls in prop::collection::vec((0u8..10, any::<u64>(), text(), any::<u32>()), 1..80)) {
        let mut engine = Engine::new(&config, Nanos(calls[0].1));
        for (what, at, text, number) in &calls {
            let now = Nanos(*at);
            let kind = if number % 2 == 0 { Kind::Reasoning } else { Kind::Output };
            match what {
                0..=3 => { let _ = engine.push(now, Delta { kind, index: number % 5, text, tokens: Some(*number) }); }
                4 => { let _ = engine.push(now, Delta { kind, index: *number, text: "", tokens: Some(*number) }); }
                5 => { let _ = engine.mark(now, *at, number % 2 == 0); }
                6 => { let _ = engine.begin_attempt(now); }
                7 => engine.flush(),
                8 if number % 8 == 0 => engine.cancel(if *at % 2 == 0 { Cancel::Drop } else { Cancel::Flush }),
                8 => engine.end_block(now),
                _ if number % 8 == 0 => engine.finish(now),
                _ => {}
            }
            let _ = engine.poll(now);
            let _ = (engine.stats(), engine.wants_input());
        }
        engine.finish(Nanos::MAX);
        let mut polls = 0;
        while engine.poll(Nanos::MAX) != Output::Finished {
            polls += 1;
            prop_assert!(polls < 1_000_000);
        }
    }

    /// Promise 12: text before a tool call or before the end leaves within 300 ms, and not as one dump.
    #[test]
    fn short_tail(unit in prop::sample::select(vec!["block", "word"]), script in script()) {
        let config = config(unit, "adaptive");
        let driver = Driver::run(&config, &script);
        let tail = Nanos::from_millis(300);
        let fed = fed(&script);
        prop_assert!(driver.out.last().is_none_or(|r| r.at <= fed.end.after(tail)));
        let mut at = Nanos::from_secs(1);
        for (number, step) in script.iter().enumerate() {
            at = at.after(step.after);
            if step.input == (Input::Mark { hurry: true }) {
                let left = driver.out.iter().find(|r| r.what == What::Mark(number as u64)).unwrap().at;
                prop_assert!(left.since(at) <= tail, "left after {}", left.since(at));
            }
        }
    }

    /// Promise 14: a consumer that was away longer than 100 ms gets the first piece at once and all of it within
    /// `max_delay` of its return, not in one dump.
    #[test]
    fn a_pause_is_no_debt(unit in prop::sample::select(vec!["block", "word"]), script in plain_script(), away in 101u64..20_000) {
        let config = config(unit, "adaptive");
        let mut driver = Driver::new(&config, Nanos::from_secs(1));
        for (number, step) in script.iter().enumerate() {
            driver.now = driver.now.after(Nanos(step.after.0 % 400_000_000));
            driver.feed(number as u64, &step.input).unwrap();
        }
        driver.now = driver.now.after(Nanos::from_millis(away));
        let back = driver.now;
        driver.advance(Nanos::MAX);
        let bound = Nanos(config.get("max_delay").unwrap());
        if let Some(last) = driver.out.last() {
            // Blanks alone are due at their deadline; anything to see was due before.
            let text = driver.text(0, Kind::Reasoning) + &driver.text(0, Kind::Output);
            if !text.trim().is_empty() {
                prop_assert_eq!(driver.out[0].at, back);
            }
            prop_assert!(last.at.since(back) <= bound, "{}", last.at.since(back));
        }
    }

    /// Promise 14, up to 100 ms: a late consumer has after each visit exactly what a punctual one would have.
    #[test]
    fn a_late_consumer_loses_no_time(unit in prop::sample::select(vec!["block", "word"]), text in prop::collection::vec(text(), 1..20), late in 1u64..100) {
        let config = config(unit, "adaptive");
        let run = |late: Nanos| {
            let mut driver = Driver::new(&config, Nanos::from_secs(1));
            driver.late = late;
            driver.feed(0, &Input::Text(Kind::Reasoning, 0, text.concat())).unwrap();
            driver.finish();
            driver.out.iter().map(|r| (r.at, r.what.clone())).collect::<Vec<_>>()
        };
        let late = Nanos::from_millis(late);
        let (punctual, late_run) = (run(Nanos::ZERO), run(late));
        prop_assert_eq!(punctual.len(), late_run.len());
        for ((at, what), (late_at, late_what)) in punctual.into_iter().zip(late_run) {
            prop_assert_eq!(what, late_what);
            prop_assert!(late_at >= at && late_at <= at.after(late));
        }
    }
}

/// A tail of many tokens is an even flow.
#[test]
fn a_tail_is_no_dump() {
    for unit in ["block", "word"] {
        let mut driver = Driver::new(&config(unit, "adaptive"), Nanos::ZERO);
        let burst =
            "The shared counter is read before the lock, so two workers see it. ".repeat(20);
        driver.feed(0, &Input::Text(Kind::Reasoning, 0, burst)).unwrap();
        driver.finish();
        let mut times: Vec<u64> = driver.out.iter().map(|r| r.at.0 / 1_000_000).collect();
        assert!(times.last().unwrap() <= &300, "{times:?}");
        times.dedup();
        assert!(times.len() >= 15, "{times:?}");
        let gap = times.windows(2).map(|w| w[1] - w[0]).max().unwrap();
        assert!(gap <= 40, "{times:?}");
    }
}

/// Bursts of about 100 tokens with silences of 1.25 s: no silence over 250 ms reaches the reader.
#[test]
fn a_clustered_stream_flows() {
    for unit in ["block", "word"] {
        let mut driver = Driver::new(&config(unit, "adaptive"), Nanos::ZERO);
        let burst = "So the lease expires while the worker still runs, and the queue hands the job out again. Wait, \
                     that only happens when the heartbeat is late. Let me look at the heartbeat: it shares the thread \
                     with the download, which blocks for as long as the peer likes. Then the lease is lost, although \
                     the work goes on, and a second worker starts. That is the duplicate we see. ";
        for number in 0..12 {
            driver.advance(Nanos::from_millis(1_250 * number));
            driver.feed(number, &Input::Text(Kind::Reasoning, 0, burst.to_owned())).unwrap();
        }
        driver.finish();
        let times: Vec<Nanos> = driver.out.iter().map(|r| r.at).collect();
        let gaps: Vec<Nanos> = times.windows(2).map(|w| w[1].since(w[0])).collect();
        let stalls = gaps.iter().filter(|g| **g > Nanos::from_millis(250)).count();
        assert!(stalls <= 1, "{unit}: {gaps:?}");
    }
}

/// Blanks at the end of a delta go with the text after them: alone they would end no silence that a reader sees.
#[test]
fn blanks_alone_end_no_silence() {
    for unit in ["block", "word"] {
        let mut driver = Driver::new(&config(unit, "adaptive"), Nanos::ZERO);
        for number in 0..4 {
            driver.advance(Nanos::from_millis(900 * number));
            let text = "The lease is renewed, and held to the end of the job. ".to_owned();
            driver.feed(number, &Input::Text(Kind::Reasoning, 0, text)).unwrap();
        }
        driver.advance(Nanos::from_millis(4_000));
        let blank = pieces(&driver.out).find(|(_, text, ..)| text.trim().is_empty());
        assert_eq!(blank, None, "{unit}");
    }
}
