//! What the engine promises, under settings from the whole of the table's bounds.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod made;

use decluster::{Config, Delta, Engine, Kind, Nanos, Output, PARAMETERS};
use decluster_tests::drive::{Driver, Input, Released, Step, What};
use made::{kind, pause, text};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

/// Any setting within the bounds, a third of them changed; bounds themselves are frequent.
fn any_config() -> impl Strategy<Value = Config> {
    prop::collection::vec((0u8..12, any::<u64>(), 0u32..64), PARAMETERS.len()).prop_map(|draws| {
        let mut config = Config::default();
        for (p, (how, n, bits)) in PARAMETERS.iter().zip(draws) {
            let span = p.max - p.min;
            let value = match how {
                0 => p.min,
                1 => p.max,
                2 => p.min + n % (span + 1),
                3 => p.min + ((n >> bits) % (span + 1)),
                _ if p.name == "unit" || p.name == "segment" => p.min + n % (span + 1),
                _ => p.default,
            };
            let name = ["max_rate", "max_queue_bytes", "max_event_bytes", "max_choices"];
            if !name.contains(&p.name) {
                config.set(p.name, value).unwrap();
            }
        }
        config
    })
}

fn script(flush: bool) -> impl Strategy<Value = Vec<Step>> {
    let input = prop_oneof![
        12 => (kind(), 0u32..3, text()).prop_map(|(k, i, t)| Input::Text(k, i, t)),
        1 => (kind(), 0u32..3, prop::sample::select(vec![1u32, 7, 200, 100_000, u32::MAX])).prop_map(|(k, i, n)| Input::Count(k, i, n)),
        2 => any::<bool>().prop_map(|hurry| Input::Mark { hurry }),
        1 => Just(Input::EndBlock),
        1 => Just(if flush { Input::Flush } else { Input::EndBlock }),
    ];
    let step = (pause(), input).prop_map(|(after, input)| Step { after, input });
    prop::collection::vec(step, 1..25)
}

/// Text of one choice only.
fn plain() -> impl Strategy<Value = Vec<Step>> {
    let step = (pause(), text())
        .prop_map(|(after, t)| Step { after, input: Input::Text(Kind::Output, 0, t) });
    prop::collection::vec(step, 1..25)
}

fn changed(config: &Config) -> String {
    let differs = |p: &&decluster::Parameter| config.get(p.name) != Some(p.default);
    PARAMETERS
        .iter()
        .filter(differs)
        .map(|p| format!("{}={}", p.name, config.get(p.name).unwrap()))
        .collect::<Vec<_>>()
        .join(" ")
}

fn get(config: &Config, name: &str) -> Nanos {
    Nanos(config.get(name).unwrap())
}

fn texts(script: &[Step], of: u32) -> String {
    let text = |s: &Step| match &s.input {
        Input::Text(_, i, t) if *i == of => t.clone(),
        _ => String::new(),
    };
    script.iter().map(text).collect()
}

fn out_text(out: &[Released], of: u32) -> String {
    let text = |r: &Released| match &r.what {
        What::Piece { text, index, .. } if *index == of => text.clone(),
        _ => String::new(),
    };
    out.iter().map(text).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: decluster_tests::cases(300),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn never_late_and_live_and_lossless(config in any_config(), script in script(true)) {
        let driver = Driver::run(&config, &script);
        let bound = get(&config, "max_delay");
        let whole = config.get("unit") == Some(2);
        for r in &driver.out {
            if let What::Piece { arrived, text, .. } = &r.what && !whole {
                prop_assert!(r.at.since(*arrived) <= bound, "{:?} after {} [{}]", text, r.at.since(*arrived), changed(&config));
            }
        }
        for of in 0..3 {
            prop_assert_eq!(out_text(&driver.out, of), texts(&script, of), "{}", changed(&config));
        }
        prop_assert!(driver.polls <= 2 * driver.out.len() as u64 + 2 * script.len() as u64 + 8);
    }

    #[test]
    fn short_tail(config in any_config(), script in script(true)) {
        let driver = Driver::run(&config, &script);
        let tail = get(&config, "max_tail");
        let end = script.iter().fold(Nanos::from_secs(1), |at, s| at.after(s.after)).after(Nanos::from_millis(1));
        prop_assert!(driver.out.last().is_none_or(|r| r.at <= end.after(tail)), "{} [{}]", driver.out.last().unwrap().at.since(end), changed(&config));
        let mut at = Nanos::from_secs(1);
        for (number, step) in script.iter().enumerate() {
            at = at.after(step.after);
            if step.input == (Input::Mark { hurry: true }) {
                let left = driver.out.iter().find(|r| r.what == What::Mark(number as u64)).unwrap().at;
                prop_assert!(left.since(at) <= tail, "left after {} [{}]", left.since(at), changed(&config));
            }
        }
    }

    #[test]
    fn whole_characters(config in any_config(), script in plain()) {
        // Deltas that are not cut hold no half character.
        let config = if config.segmenting().is_none() { config.with("segment", 0).unwrap() } else { config };
        let driver = Driver::run(&config, &script);
        let hold = get(&config, "grapheme_hold");
        let all = texts(&script, 0);
        let mut arrivals: Vec<(usize, Nanos)> = Vec::new();
        let (mut at, mut end) = (Nanos::from_secs(1), 0);
        for s in &script { at = at.after(s.after); if let Input::Text(_, _, t) = &s.input { end += t.len(); arrivals.push((end, at)); } }
        let starts: Vec<usize> = all.grapheme_indices(true).map(|(i, _)| i).collect();
        let mut offset = 0;
        for r in &driver.out {
            let What::Piece { text, .. } = &r.what else { continue };
            offset += text.len();
            if offset < all.len() && starts.binary_search(&offset).is_err() {
                let start = starts[starts.partition_point(|s| *s < offset) - 1];
                let came = arrivals.iter().find(|(e, _)| *e > start).unwrap().1;
                prop_assert!(r.at.since(came) >= hold, "{:?} [{}]", text, changed(&config));
            }
        }
    }

    /// In any window at most what `max_rate` allows, plus one piece.
    #[test]
    fn max_rate_holds(config in any_config(), rate in prop::sample::select(vec![1u64, 5, 30, 200, 1_000_000]), script in script(false)) {
        let config = config.with("max_rate", rate).unwrap();
        let script: Vec<Step> = script.into_iter().filter(|s| !matches!(s.input, Input::Count(_, _, n) if n > 1_000)).collect();
        let driver = Driver::run(&config, &script);
        let pieces: Vec<(u64, u64)> = driver.out.iter().filter_map(|r| match &r.what { What::Piece { tokens, .. } => Some((r.at.0, u64::from(*tokens))), _ => None }).collect();
        for from in 0..pieces.len() {
            let mut sum = 0;
            for to in from..pieces.len() {
                // All but the last must have been read before the last leaves. Rounding is a token for each choice.
                let allowed = (pieces[to].0 - pieces[from].0) as u128 * u128::from(rate) / 1_000_000_000 + 3;
                prop_assert!(u128::from(sum) <= allowed, "{} of {} [{}]", sum, allowed, changed(&config));
                sum += pieces[to].1;
            }
        }
    }

    /// A caller who pushes only while `wants_input()` is late with nothing, but by what one delta takes to read.
    #[test]
    fn max_rate_heeded(unit in 0u64..2, pace in 0u64..3, rate in prop::sample::select(vec![2u64, 5, 30, 200, 5_000]), script in plain()) {
        let config = Config::default().with("max_rate", rate).unwrap().with("unit", unit).unwrap().with("pace", pace).unwrap();
        let mut driver = Driver::new(&config, Nanos::from_secs(1));
        let mut most = 0u64;
        for (n, step) in script.iter().enumerate() {
            driver.advance(driver.now.after(step.after));
            while !driver.engine.wants_input() {
                let Output::Wait(at) = driver.engine.poll(driver.now) else { return Err(TestCaseError::fail("stuck")) };
                driver.advance(at);
            }
            let before = driver.engine.stats().tokens_in;
            driver.feed(n as u64, &step.input).unwrap();
            most = most.max(driver.engine.stats().tokens_in - before + 1);
        }
        driver.advance(Nanos(u64::MAX / 2));
        driver.finish();
        let piece = driver.out.iter().filter_map(|r| match &r.what { What::Piece { tokens, .. } => Some(u64::from(*tokens) + 1), _ => None }).max().unwrap_or(0);
        let bound = Nanos(1_500_000_000 + (most + piece) * 1_000_000_000 / rate + 1_000_000);
        for r in &driver.out {
            if let What::Piece { arrived, text, .. } = &r.what {
                prop_assert!(r.at.since(*arrived) <= bound, "{:?} after {} of {} [{}]", text, r.at.since(*arrived), bound, changed(&config));
            }
        }
    }

    #[test]
    fn any_clock(config in any_config(), max_rate in prop::sample::select(vec![0u64, 1, 1_000_000]), calls in prop::collection::vec((0u8..12, any::<u64>(), 0u32..64, text(), any::<u32>()), 1..80)) {
        let config = config.with("max_rate", max_rate).unwrap();
        let mut engine = Engine::new(&config, Nanos(calls[0].1));
        for (what, at, bits, text, number) in &calls {
            let now = Nanos(*at >> bits);
            match what {
                0..=4 => { let _ = engine.push(now, Delta { kind: Kind::Output, index: number % 5, text, tokens: Some(*number) }); }
                5 | 6 => { let _ = engine.push(now, Delta { kind: Kind::Output, index: *number % 3, text: "", tokens: Some(*number) }); }
                7 => { let _ = engine.mark(now, *at, number % 2 == 0); }
                8 => { let _ = engine.begin_attempt(now); }
                9 => engine.flush(),
                10 => engine.end_block(now),
                _ => {}
            }
            let _ = engine.poll(now);
            let _ = (engine.stats(), engine.wants_input());
        }
        engine.finish(Nanos::MAX);
        let mut polls = 0;
        loop {
            match engine.poll(Nanos::MAX) {
                Output::Finished => break,
                Output::Wait(_) | Output::NeedInput => return Err(TestCaseError::fail(format!("never finishes [{}]", changed(&config)))),
                _ => {}
            }
            polls += 1;
            prop_assert!(polls < 1_000_000);
        }
    }
}

fn word() -> Config {
    Config::default().with("unit", 1).unwrap()
}

/// Promise 4: where a delta ended is no place for a cut if a character goes on there.
#[test]
fn an_open_word_is_cut_at_a_whole_character() {
    let mut wrong = Vec::new();
    for unit in 0..2 {
        for pace in 0..3 {
            for wait in [0, 50, 190, 200, 250, 400] {
                let config =
                    Config::default().with("unit", unit).unwrap().with("pace", pace).unwrap();
                let mut driver = Driver::new(&config, Nanos::from_secs(1));
                say(&mut driver, "the ");
                driver.advance(driver.now.after(Nanos::from_millis(wait)));
                say(&mut driver, "的。");
                say(&mut driver, "\u{301}的。");
                driver.advance(driver.now.after(Nanos::from_millis(1)));
                driver.finish();
                let split = |r: &Released| matches!(&r.what, What::Piece { text, .. } if text.starts_with('\u{301}'));
                if driver.out.iter().any(split) {
                    wrong.push((unit, pace, wait));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "unit, pace, ms: {wrong:?}");
}

/// `pace = fixed` is rate and burst, and the piece that cannot be cut: no silence is a reason for more.
#[test]
fn a_fixed_bucket_keeps_its_rate() {
    for unit in 0..3 {
        let config = [
            ("unit", unit),
            ("pace", 1),
            ("rate", 10),
            ("burst", 1),
            ("max_delay", 60_000_000_000),
        ];
        let config = config.iter().fold(Config::default(), |c, (n, v)| c.with(n, *v).unwrap());
        let mut driver = Driver::new(&config, Nanos::from_secs(1));
        let text =
            "The lease expires while the worker runs, and the queue hands the job out again. "
                .repeat(20);
        say(&mut driver, &text);
        driver.advance(Nanos::from_secs(11));
        let sum = sizes(&driver.out).map(|(_, tokens)| tokens).sum::<u32>();
        assert!(sum <= 101 + 20, "unit {unit}: {sum} tokens in 10 s");
    }
}

/// What was flushed is no debt: text that comes later is paced as if it had not been.
#[test]
fn a_flush_is_no_debt() {
    let delay = |flush: bool| {
        let mut driver = Driver::new(&word(), Nanos::from_secs(1));
        say(&mut driver, &"So the lease expires, and the worker still runs. ".repeat(60));
        if flush {
            driver.engine.flush();
        }
        driver.advance(Nanos::from_millis(4_000));
        let from = driver.out.len();
        for n in 0..100 {
            driver.advance(Nanos::from_millis(4_000 + n * 20));
            say(&mut driver, ["So ", "the ", "lease ", "expires, ", "and "][n as usize % 5]);
        }
        driver.finish();
        delays(&driver.out[from..]).max().unwrap()
    };
    let (with, without) = (delay(true), delay(false));
    assert!(with <= without.after(Nanos::from_millis(50)), "{with} instead of {without}");
}

/// A flush comes before the reader's limit, and what was flushed does not hold up what follows.
#[test]
fn a_flush_is_not_held_against_the_reader() {
    let config = word().with("max_rate", 20).unwrap();
    let mut driver = Driver::new(&config, Nanos::from_secs(1));
    say(&mut driver, &"word ".repeat(400));
    driver.engine.flush();
    driver.advance(Nanos::from_secs(2));
    assert!(driver.engine.wants_input());
    let from = driver.out.len();
    say(&mut driver, "and so on ");
    driver.finish();
    assert!(delays(&driver.out[from..]).max().unwrap() <= Nanos::from_millis(500));
}

/// Promise 12, with a second tool call close behind the first: both tails are one flow.
#[test]
fn tails_in_quick_succession_flow_together() {
    let mut driver = Driver::new(&word(), Nanos::from_secs(1));
    for n in 0..40 {
        driver.advance(Nanos::from_millis(1_000 + n * 200));
        say(&mut driver, "so ");
    }
    say(&mut driver, "a few ");
    driver.feed(1, &Input::Mark { hurry: true }).unwrap();
    say(&mut driver, &"word ".repeat(200));
    driver.feed(2, &Input::Mark { hurry: true }).unwrap();
    let (from, now) = (driver.out.len(), driver.now);
    driver.finish();
    let half = sizes(&driver.out[from..])
        .filter(|(at, _)| at.since(now) <= Nanos::from_millis(200))
        .map(|(_, tokens)| tokens)
        .sum::<u32>();
    assert!(half >= 80, "{half} of 200 tokens in the first 200 ms of 300");
}

/// Where the cluster guard binds, pieces wait rather than shrink.
#[test]
fn pieces_are_worth_an_event_where_the_guard_binds() {
    let mut driver = Driver::new(&word(), Nanos::from_secs(1));
    for n in 0..100 {
        driver.advance(Nanos::from_millis(1_000 + n * 20));
        say(&mut driver, "So the lease expires, and runs. The worker is still there. ");
    }
    driver.advance(Nanos::from_secs(3));
    // 33 ms and blocks of some 7 tokens: 30 and 90 a second.
    assert!(driver.out.len() <= 2 * 150, "{} pieces in 2 s", driver.out.len());
}

/// A quantum that reaches beyond a block's end takes the whole of its rest.
#[test]
fn pieces_reach_to_the_end_of_their_block() {
    let config = word().with("cluster_burst", 1_000_000).unwrap().with("drain", 10_000).unwrap();
    let mut driver = Driver::new(&config, Nanos::from_secs(1));
    say(&mut driver, &"So it is. Then why? The worker still runs on and on. ".repeat(20));
    driver.finish();
    let blocks = driver.blocks(0).len();
    assert!(driver.out.len() <= 2 * blocks + 8, "{} pieces of {blocks} blocks", driver.out.len());
}

/// Promise 14: who is always a little late is late by that, and not away for ever.
#[test]
fn a_consumer_who_is_always_late_is_not_away() {
    for unit in 0..2 {
        for late in [0, 50, 100, 101, 150] {
            let config = Config::default().with("unit", unit).unwrap();
            let mut driver = Driver::new(&config, Nanos::from_secs(1));
            driver.late = Nanos::from_millis(late);
            for n in 0..30 {
                driver.advance(Nanos::from_millis(1_000 + n * 1_000));
                say(&mut driver, &"So the lease expires, and the worker still runs. ".repeat(20));
            }
            driver.finish();
            let most = delays(&driver.out).max().unwrap();
            assert!(most <= Nanos::from_secs(3), "unit {unit}, {late} ms late: {most}");
        }
    }
}

/// The guard holds for counts as well.
#[test]
fn counts_do_not_pass_the_guard() {
    let config = word().with("rate_cap", 1_000_000).unwrap().with("horizon_part_word", 50).unwrap();
    let mut driver = Driver::new(&config, Nanos::from_secs(1));
    for n in 0..100 {
        driver.advance(Nanos(1_000_000_000 + n * 200_000));
        driver.feed(n, &Input::Count(Kind::Output, 0, 1)).unwrap();
    }
    driver.advance(Nanos::from_millis(1_020));
    let sum = sizes(&driver.out).map(|(_, tokens)| tokens).sum::<u32>();
    // 12 and 1.5 times 150 a second for 20 ms, and a token.
    assert!(sum <= 12 + 5 + 1, "{sum}");
}

fn say(driver: &mut Driver, text: &str) {
    driver.feed(0, &Input::Text(Kind::Output, 0, text.to_owned())).unwrap();
}

fn sizes(out: &[Released]) -> impl Iterator<Item = (Nanos, u32)> {
    out.iter().filter_map(|r| match &r.what {
        What::Piece { tokens, .. } => Some((r.at, *tokens)),
        _ => None,
    })
}

fn delays(out: &[Released]) -> impl Iterator<Item = Nanos> {
    out.iter().filter_map(|r| match &r.what {
        What::Piece { arrived, .. } => Some(r.at.since(*arrived)),
        _ => None,
    })
}
