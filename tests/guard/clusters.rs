//! What counts as a cluster, and how far the sketches may be off.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use decluster::guard::{ClusterRule, Clustering, Clusters, Sketch};
use decluster::{Config, Delta, Engine, Kind, Nanos, Output, Rewriter, RewriterOptions, Rewritten};
use decluster_tests::small::{DONE, chat, named};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Small and large, alike and far apart.
fn values() -> impl Strategy<Value = Vec<u64>> {
    let skewed = (0u32..27, 0u64..1 << 27).prop_map(|(shift, value)| value >> shift);
    prop_oneof![
        prop::collection::vec(0u64..300, 1..300),
        prop::collection::vec(0..2 * Sketch::VALUE_MAX, 1..100),
        prop::collection::vec(skewed, 1..300),
        prop::collection::vec(prop::sample::select(vec![1u64, 40, 255, 256, 257, 1_400]), 1..300),
        (1u64..100_000, 1usize..200).prop_map(|(value, times)| vec![value; times]),
    ]
}

fn sketch(values: &[u64]) -> Sketch {
    let mut sketch = Sketch::default();
    for value in values {
        sketch.record(*value);
    }
    sketch
}

/// Arrivals as (ms, tokens) at the edges of the rule.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let gap = prop::sample::select(vec![0u64, 1, 15, 29, 30, 31, 200, 999, 1_000, 1_001, 5_000]);
    let tokens = prop::sample::select(vec![0u64, 1, 10, 20, 39, 40, 41, 150]);
    prop::collection::vec((gap, tokens), 0..40).prop_map(|steps| {
        let mut now = 0;
        let arrive = |(gap, tokens)| {
            now += gap;
            (now, tokens)
        };
        steps.into_iter().map(arrive).collect()
    })
}

fn record(clusters: &mut Clusters, arrivals: &[(u64, u64)]) {
    for (ms, tokens) in arrivals {
        clusters.record(Nanos::from_millis(*ms), *tokens);
    }
}

/// Groups of (first, last, tokens), looked at when all have come.
fn groups(arrivals: &[(u64, u64)]) -> Vec<(u64, u64, u64)> {
    let mut groups: Vec<(u64, u64, u64)> = Vec::new();
    for (ms, tokens) in arrivals {
        match groups.last_mut() {
            Some((first, last, sum)) if ms - *first <= 30 => (*last, *sum) = (*ms, *sum + tokens),
            _ => groups.push((*ms, *ms, *tokens)),
        }
    }
    groups
}

/// Everything that is told of clusters.
fn told(clusters: &Clusters) -> impl PartialEq + std::fmt::Debug {
    (
        (clusters.events(), clusters.groups(), clusters.streams(), clusters.tokens()),
        clusters.watched(),
        clusters.events_per_hour().map(f64::to_bits),
        clusters.sizes(),
        clusters.gaps().clone(),
    )
}

fn through(mut rewriter: Rewriter, stream: &[(u64, String)]) -> (Clustering, decluster::Stats) {
    let mut now = Nanos::ZERO;
    let mut events = stream.iter().peekable();
    loop {
        while let Some((ms, event)) = events.peek()
            && Nanos::from_millis(*ms) <= now
        {
            rewriter.push(now, event.as_bytes()).unwrap();
            events.next();
        }
        if events.peek().is_none() {
            rewriter.finish(now);
        }
        let next = events.peek().map(|(ms, _)| Nanos::from_millis(*ms));
        match rewriter.poll(now) {
            Rewritten::Wait(at) => now = next.map_or(at, |next| next.min(at)),
            Rewritten::NeedInput => now = next.unwrap(),
            Rewritten::Finished => return (rewriter.clusters().clone(), rewriter.stats()),
            _ => {}
        }
    }
}

fn rewriter(config: &Config) -> Rewriter {
    Rewriter::new(config, RewriterOptions::default(), Nanos::ZERO).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: decluster_tests::cases(300),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn quantiles_are_within_their_stated_error(values in values(), part in 0.0f64..=1.0) {
        let sketch = sketch(&values);
        let mut sorted: Vec<u64> = values.iter().map(|v| (*v).min(Sketch::VALUE_MAX)).collect();
        sorted.sort_unstable();
        for part in [part, 0.0, 0.5, 0.95, 1.0] {
            let rank = ((part * sorted.len() as f64 * (1.0 - 1e-12)).ceil() as usize).max(1);
            let (exact, found) = (sorted[rank - 1], sketch.quantile(part).unwrap());
            prop_assert!(found >= exact, "{part}: {found} < {exact}");
            let most = exact as f64 * (1.0 + Sketch::ERROR);
            prop_assert!(found as f64 <= most, "{part}: {found} for {exact}");
        }
        prop_assert_eq!(sketch.max(), sorted.last().copied());
        prop_assert_eq!(sketch.sum(), sorted.iter().sum::<u64>());
    }

    #[test]
    fn counts_up_to_a_value_are_within_the_stated_error(values in values(), edge in 0u64..100_000) {
        let sketch = sketch(&values);
        let most = edge as f64 * (1.0 + Sketch::ERROR);
        let least = values.iter().filter(|v| **v <= edge).count() as u64;
        let most = values.iter().filter(|v| **v as f64 <= most).count() as u64;
        let found = sketch.count_up_to(edge);
        prop_assert!((least..=most).contains(&found), "{found} of {least} to {most}");
        prop_assert_eq!(sketch.count_up_to(u64::MAX), values.len() as u64);
    }

    #[test]
    fn merged_sketches_are_as_one(parts in prop::collection::vec(values(), 1..6), order in any::<prop::sample::Index>()) {
        let whole = sketch(&parts.concat());
        let mut in_a_row = Sketch::default();
        let mut sketches: Vec<Sketch> = parts.iter().map(|part| sketch(part)).collect();
        let turn = order.index(sketches.len());
        sketches.rotate_left(turn);
        for part in &sketches {
            in_a_row.merge(part);
        }
        prop_assert_eq!(&in_a_row, &whole);
        // As a tree, and the other way round.
        while sketches.len() > 1 {
            let last = sketches.pop().unwrap();
            sketches[0].merge(&last);
            sketches.reverse();
        }
        prop_assert_eq!(&sketches[0], &whole);
        prop_assert_eq!(sketches[0].quantile(0.95), whole.quantile(0.95));
    }

    #[test]
    fn merged_streams_are_as_one_after_the_other(streams in prop::collection::vec(arrivals(), 1..6)) {
        let mut one = Clusters::new(ClusterRule::default());
        let mut merged = one.clone();
        for stream in &streams {
            record(&mut one, stream);
            one.end_stream();
            let mut each = Clusters::new(ClusterRule::default());
            record(&mut each, stream);
            merged.merge(&each);
        }
        prop_assert_eq!(told(&merged), told(&one));
    }

    #[test]
    fn what_is_merged_leaves_the_open_group_alone(first in arrivals(), other in arrivals(), second in arrivals()) {
        let end = first.last().map_or(0, |(ms, _)| *ms);
        let second: Vec<_> = second.iter().map(|(ms, n)| (ms + end, *n)).collect();
        let mut others = Clusters::new(ClusterRule::default());
        let mut between = others.clone();
        record(&mut others, &other);
        let mut after = between.clone();
        record(&mut between, &first);
        between.merge(&others);
        record(&mut between, &second);
        record(&mut after, &first);
        record(&mut after, &second);
        after.merge(&others);
        prop_assert_eq!(told(&between), told(&after));
    }

    #[test]
    fn the_detector_agrees_with_a_look_at_all_groups(arrivals in arrivals()) {
        let mut clusters = Clusters::new(ClusterRule::default());
        record(&mut clusters, &arrivals);
        let groups = groups(&arrivals);
        let silent = |place: usize| groups[place + 1].0 - groups[place].1 >= 1_000;
        let is_cluster = |place: &usize| {
            let beside = *place > 0 && silent(*place - 1) || *place + 1 < groups.len() && silent(*place);
            groups[*place].2 >= 40 && beside
        };
        let events = (0..groups.len()).filter(is_cluster).count() as u64;
        let sizes: Vec<u64> = groups.iter().map(|(.., tokens)| *tokens).collect();
        let gaps: Vec<u64> = groups.windows(2).map(|two| two[1].0 - two[0].1).collect();
        prop_assert_eq!(clusters.events(), events);
        prop_assert_eq!(clusters.sizes(), sketch(&sizes));
        prop_assert_eq!(clusters.gaps(), &sketch(&gaps));
        prop_assert_eq!(clusters.tokens(), sizes.iter().sum::<u64>());
    }

    #[test]
    fn what_the_engine_tells_is_what_came_and_left(arrivals in arrivals(), unit in 0u64..2, pace in 0u64..3) {
        let config = Config::default().with("unit", unit).unwrap().with("pace", pace).unwrap();
        let mut engine = Engine::new(&config, Nanos::ZERO);
        let (mut came, mut left) = (Clusters::new(ClusterRule::default()), Clusters::new(ClusterRule::default()));
        let mut now = Nanos::ZERO;
        let mut take = |engine: &mut Engine, now: &mut Nanos, until: Nanos| {
            loop {
                match engine.poll(*now) {
                    Output::Piece(piece) => drop(left.record(*now, u64::from(piece.tokens))),
                    Output::Wait(at) if at < until => *now = at,
                    _ => break,
                }
            }
        };
        for (ms, tokens) in arrivals {
            let at = Nanos::from_millis(ms);
            take(&mut engine, &mut now, at);
            now = at;
            let before = engine.stats().tokens_in;
            // Text, or a count.
            let text = " word".repeat(tokens as usize);
            let tokens = (tokens % 2 == 1).then_some(tokens as u32);
            let text = if tokens.is_some() { "" } else { text.as_str() };
            engine.push(now, Delta { kind: Kind::Reasoning, index: 0, text, tokens }).unwrap();
            if tokens.is_some() || !text.is_empty() {
                came.record(now, engine.stats().tokens_in - before);
            }
        }
        engine.finish(now);
        take(&mut engine, &mut now, Nanos::MAX);
        let Clustering { before, after } = engine.clusters();
        prop_assert_eq!(told(before), told(&came));
        prop_assert_eq!(told(after), told(&left));
        prop_assert_eq!(before.tokens(), engine.stats().tokens_in);
        prop_assert_eq!(after.tokens(), engine.stats().tokens_out);
    }

    /// With both pacing and segmenting off nothing goes through the engine, unless something has to be watched.
    #[test]
    fn text_that_only_passes_is_estimated_as_in_the_engine(words in prop::collection::vec(prop::sample::select(vec!["So", " the", " größe", "我们的", ".\\n", " 12345", "don", "'t", "  ", "👩", " ABCdef", "ing"]), 1..60), thinks in 0usize..30) {
// What begins with blanks might become a tag: the engine then lets the event through as a whole.
        let words: Vec<&str> = ["So"].into_iter().chain(words).collect();
        let stream: Vec<(u64, String)> = words.iter().enumerate().map(|(place, word)| {
            let part = if place < thinks { "reasoning_content" } else { "content" };
            (place as u64 * 20, chat(&format!(r#"{{"{part}":"{word}"}}"#)))
        }).chain([(words.len() as u64 * 20, DONE.to_owned())]).collect();
        let off = Config::default().with_choice("pace", "off").unwrap().with_choice("segment", "off").unwrap();
        let (passed, stats) = through(rewriter(&off), &stream);
        let watched = off.with("max_reasoning_tokens", 1_000_000).unwrap();
        let (played, expected) = through(rewriter(&watched), &stream);
        prop_assert_eq!(stats.tokens_in, expected.tokens_in);
        prop_assert_eq!(stats.tokens_out, stats.tokens_in);
        prop_assert_eq!(told(&passed.before), told(&played.before));
        prop_assert_eq!(told(&passed.after), told(&passed.before));
    }
}

#[test]
fn the_incident_has_two_clusters_and_the_reader_sees_none() {
    let delta = |kind: &str, tokens| {
        named(&format!("response.{kind}.delta"), &format!(r#""delta_tokens":{tokens}"#))
    };
    let stream = [
        (0, delta("reasoning", 67)),
        (1_400, delta("reasoning", 81)),
        (1_405, delta("output", 12)),
        (1_410, named("response.completed", "")),
    ];
    let (Clustering { before, after }, stats) = through(rewriter(&Config::default()), &stream);
    assert_eq!((before.events(), before.tokens()), (2, 160));
    assert_eq!((after.events(), after.tokens(), stats.tokens_out), (0, 160, 160));
    assert!(after.sizes().max().unwrap() < 40, "{:?}", after.sizes().max());
}

#[test]
fn an_even_stream_has_no_clusters() {
    let stream: Vec<(u64, String)> =
        (0..3_000).map(|n| (n * 20, chat(r#"{"content":" word"}"#))).collect();
    let (Clustering { before, after }, _) = through(rewriter(&Config::default()), &stream);
    assert_eq!((before.events(), after.events()), (0, 0));
    assert_eq!(before.events_per_hour(), Some(0.0));
    assert!(before.tokens() >= 3_000, "{}", before.tokens());
}

#[test]
fn the_rule_is_the_configured_one() {
    let config = Config::default().with("cluster_min_tokens", 10).unwrap();
    let config = config.with("cluster_min_gap", 200_000_000).unwrap();
    let mut engine = Engine::new(&config, Nanos::ZERO);
    for ms in [0, 250] {
        let delta = Delta { kind: Kind::Output, index: 0, text: "", tokens: Some(10) };
        engine.push(Nanos::from_millis(ms), delta).unwrap();
    }
    assert_eq!(engine.clusters().before.events(), 2);
}
