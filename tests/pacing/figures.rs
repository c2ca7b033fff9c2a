//! What pacing promises in figures, with a small margin below what `benches/README.md` shows.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_macros, reason = "a test")]

use decluster::{Config, Delta, Engine, Kind, Nanos, Output, PRESETS};
use decluster_score::{Played, Study, Tokens, Trace, recorded, synthetic};
use decluster_tests::shared;

const TEXT: &str = include_str!("../../benches/text.txt");

fn config(unit: &str) -> Config {
    Config::default().with_choice("unit", unit).unwrap()
}

fn texts() -> Vec<String> {
    vec![TEXT.to_owned()]
}

fn play(study: &Study, config: &Config) -> Played {
    study.engine(config).unwrap()
}

#[test]
fn made_traces_flow() {
    let study = Study::new(synthetic::traces(99, 6), &texts(), Nanos::from_millis(1_500));
    let word = play(&study, &config("word")).row;
    assert!(word.steady >= 0.996 && word.delay_mean <= 0.530, "{word:?}");
    let block = play(&study, &config("block")).row;
    assert!(block.steady >= 0.992, "{block:?}");
}

#[test]
fn recorded_traces_flow() {
    let Some((traces, texts)) = held_out() else { return };
    let study = Study::new(traces, &texts, Nanos::from_millis(1_500));
    let word = play(&study, &config("word")).row;
    assert!(word.steady >= 0.997 && word.delay_mean <= 0.165 && word.variation <= 0.40, "{word:?}");
    let played = play(&study, &config("block"));
    let block = played.row;
    assert!(block.steady >= 0.995 && block.delay_mean <= 0.185, "{block:?}");
    let cut =
        |class: usize| f64::from(played.blocks[class].cut) / f64::from(played.blocks[class].all);
    assert!(
        cut(2) <= 0.15 && cut(3) <= 0.04,
        "60 to 100 tokens a second {}, above {}",
        cut(2),
        cut(3)
    );
}

#[test]
fn stalls_are_those_of_a_clairvoyant() {
    let mut sets = vec![(synthetic::traces(7, 6), texts()), (synthetic::traces(99, 6), texts())];
    sets.extend(held_out());
    for (traces, texts) in sets {
        for ms in [500, 1_000, 1_500, 2_000] {
            let max_delay = Nanos::from_millis(ms);
            let study = Study::new(traces.clone(), &texts, max_delay);
            let config = config("word").with("max_delay", max_delay.0).unwrap();
            let ratio = play(&study, &config).row.stall[2] / study.clairvoyant().stall[2];
            assert!(ratio <= 1.02, "{ms} ms: {ratio}");
        }
    }
}

#[test]
fn no_release_is_late() {
    let mut sets = vec![(synthetic::traces(3, 2), texts())];
    sets.extend(held_out());
    for (traces, texts) in sets {
        for unit in ["word", "block"] {
            for (preset, ms) in PRESETS.iter().zip([300, 1_500, 4_000]) {
                let max_delay = Nanos::from_millis(ms);
                let config =
                    Config::preset(preset.name).unwrap().with_choice("unit", unit).unwrap();
                let config = config.with("max_delay", max_delay.0).unwrap();
                let study = Study::new(traces.clone(), &texts, max_delay);
                for (trace, run) in traces.iter().zip(&play(&study, &config).runs) {
                    let late = run.pieces.iter().find(|piece| piece.delay > max_delay);
                    assert_eq!(late, None, "{}, {unit}, {}", trace.name, preset.name);
                }
            }
        }
    }
}

#[test]
fn even_streams_are_left_nearly_alone() {
    let words = "so the model writes what it found here and then goes on to the next part of it ";
    let sixty = Study::words(synthetic::even(1.0 / 60.0, 1, 15.0), words);
    let row = play(&sixty, &config("word")).row;
    assert!(row.delay_mean <= 0.060, "60 words a second: {row:?}");

    let fast =
        Study::new(vec![synthetic::even(0.02, 20, 10.0)], &texts(), Nanos::from_millis(1_500));
    let row = play(&fast, &config("word")).row;
    assert!(row.delay_max <= 0.300, "1,000 tokens a second: {row:?}");

    let slow = Study::words(synthetic::even(0.049, 1, 14.7), words);
    let played = play(&slow, &config("word"));
    // The first and the last word are cut where their end is not known yet.
    let ones = played.runs[0].pieces.iter().filter(|piece| piece.count == 1).count();
    assert!(ones >= 298, "one word every 49 ms: {ones} of 300 left one by one");
}

#[test]
fn the_clusters_of_trace_a_are_bridged() {
    let study = Study::new(vec![synthetic::trace_a()], &texts(), Nanos::from_millis(1_500));
    for unit in ["word", "block"] {
        let row = play(&study, &config(unit)).row;
        assert!(
            row.dead <= 0.10 && row.delay_mean <= 0.620 && row.tail <= 0.300_001,
            "{unit}: {row:?}"
        );
        // No dump: nothing like a cluster leaves at once, also at the end.
        assert!(row.cluster[1] <= 40, "{unit}: {row:?}");
    }
}

#[test]
fn once_the_mean_rate_is_known_nothing_leaves_in_a_cluster() {
    // 40 to 120 tokens at once, 0.6 to 1.2 s apart: the pattern repeats, so that the mean is soon known.
    let sizes = [80, 40, 120, 60, 100];
    let pauses = [900, 600, 1_200, 700, 1_100];
    let (mut at, mut arrivals) = (0, Vec::new());
    for n in 0..100 {
        arrivals.push(Tokens { at: Nanos::from_millis(at), count: sizes[n % 5] });
        at += pauses[n % 5];
    }
    let trace = Trace::new("clusters", "", arrivals);
    let study = Study::new(vec![trace.clone()], &texts(), Nanos::from_millis(1_500));
    let mut run = play(&study, &config("word")).runs.remove(0);
    run.pieces.retain(|piece| piece.at > Nanos::from_secs(20));
    // The guard counts in its own estimate of tokens and of the mean rate: a tenth, and a word, for both.
    let found = run.clusters(&trace, Nanos::from_millis(1_500), 14.0, 1.65);
    assert_eq!(found.beyond, 0, "{found:?}");
}

#[test]
fn a_reader_s_own_limit_is_kept() {
    let study = Study::new(synthetic::traces(5, 1), &texts(), Nanos::from_millis(1_500));
    for limit in [20, 60] {
        let config = config("word").with("max_rate", limit).unwrap();
        for run in play(&study, &config).runs {
            for (place, first) in run.pieces.iter().enumerate() {
                let mut tokens = 0;
                for piece in &run.pieces[place..] {
                    // What left before the last piece has been read when the last one leaves.
                    let read = piece.at.since(first.at).0 * limit / 1_000_000_000;
                    assert!(tokens <= read + 2, "{tokens} tokens, {read} read");
                    tokens += u64::from(piece.tokens);
                    if piece.at.since(first.at) > Nanos::from_secs(3) {
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn who_heeds_a_reader_s_limit_is_late_with_nothing() {
    for unit in ["word", "block"] {
        for limit in [5, 20, 60] {
            let config = config(unit).with("max_rate", limit).unwrap();
            let mut engine = Engine::new(&config, Nanos::ZERO);
            let mut now = Nanos::ZERO;
            let words: Vec<_> = TEXT.split_inclusive(' ').take(400).collect();
            let (mut given, mut last, mut longest) = (0, Nanos::ZERO, Nanos::ZERO);
            let mut out = String::new();
            loop {
                while given < words.len() && engine.wants_input() {
                    let text = words[given];
                    let delta = Delta { kind: Kind::Reasoning, index: 0, text, tokens: None };
                    engine.push(now, delta).unwrap();
                    given += 1;
                }
                if given == words.len() {
                    engine.finish(now);
                }
                match engine.poll(now) {
                    Output::Piece(piece) => {
                        out.push_str(piece.text);
                        let delay = now.since(piece.arrived);
                        // At five a second a block may be all that a reader can take in 1.5 s.
                        let bound = Nanos::from_millis(if limit == 5 { 6_000 } else { 1_500 });
                        assert!(delay <= bound, "{unit}, {limit}: {delay}");
                        longest = longest.max(now.since(last));
                        last = now;
                    }
                    Output::Wait(at) => now = at,
                    Output::Finished => break,
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(out, words.concat());
            // Even: words at about their own pace.
            let even = Nanos(8_000_000_000 / limit);
            assert!(unit == "block" || longest <= even, "{limit}: {longest}");
        }
    }
}

/// The recorded streams that were not used for tuning, with the recorded texts, where they are.
fn held_out() -> Option<(Vec<Trace>, Vec<String>)> {
    let (traces, texts) = (shared("traces")?, shared("reasoning-text")?);
    let files = recorded::traces(&traces).unwrap();
    let held_out = files.into_iter().flat_map(|file| file.into_iter().skip(recorded::TUNING));
    Some((held_out.collect(), recorded::texts(&texts).unwrap()))
}
