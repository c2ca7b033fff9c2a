//! The pacing score: policies over recorded and made traces, as the tables of `benches/README.md`.
//!
//! `score` prints them, `score --write FILE` puts them into a file between its markers. Recorded traces and
//! texts are read from `../shared` beside the project; without them the made traces remain, under a text of
//! the project's own.

#![allow(clippy::disallowed_macros, reason = "a program that prints its report")]

use decluster::{Config, Nanos, PRESETS};
use decluster_score::engine::Blocks;
use decluster_score::peers::PEERS;
use decluster_score::{Played, Row, Study, Trace, header, recorded, synthetic};
use std::fmt::Write as _;
use std::path::Path;

mod report;
use report::{RECORDED, deliver};

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    deliver("score", &report()?)
}

/// The default.
const MAX_DELAY: Nanos = Nanos::from_millis(1_500);
/// Seeds of the made traces: for tuning, and held out.
const SEEDS: [u64; 2] = [7, 99];

fn report() -> Result<String, Error> {
    let sets = sets()?;
    let mut out = String::new();
    for set in &sets {
        table(&mut out, set)?;
    }
    blocks(&mut out, &sets)?;
    clairvoyant(&mut out, &sets)?;
    clusters(&mut out, &sets)?;
    dominated(&mut out, &sets)?;
    single(&mut out)?;
    Ok(out)
}

/// A set of traces with text under them, for the default `max_delay`.
struct Set {
    name: &'static str,
    study: Study,
    texts: Vec<String>,
}

fn table(out: &mut String, Set { name, study, .. }: &Set) -> Result<(), Error> {
    let traces = study.traces();
    let seconds: f64 = traces.iter().map(Trace::span).sum();
    let tokens: u64 = traces.iter().map(Trace::tokens).sum();
    writeln!(
        out,
        "### {name}: {} streams, {seconds:.0} s, {tokens} tokens\n\n{}",
        traces.len(),
        header()
    )?;
    for unit in ["word", "block"] {
        for preset in PRESETS {
            let config = Config::preset(preset.name)?.with_choice("unit", unit)?;
            writeln!(
                out,
                "{}",
                study.engine(&config)?.row.line(&format!("**{unit}, {}**", preset.name))
            )?;
        }
    }
    for (name, row) in study.references().into_iter().chain(study.peers()) {
        writeln!(out, "{}", row.line(&name))?;
    }
    writeln!(out)?;
    Ok(())
}

fn blocks(out: &mut String, sets: &[Set]) -> Result<(), Error> {
    writeln!(out, "### Blocks that were cut, by the stream's rate (`block`, balanced)\n")?;
    writeln!(
        out,
        "Percent of all blocks; in brackets without the first of a stream, whose first word goes at once.\n"
    )?;
    writeln!(
        out,
        "| set | below 30 tokens/s | 30 to 60 | 60 to 100 | above |\n| --- | --- | --- | --- | --- |"
    )?;
    for Set { name, study, .. } in sets {
        let shares = study.engine(&Config::default())?.blocks.map(|b: Blocks| {
            let share = |cut: u32| 100.0 * f64::from(cut) / f64::from(b.all.max(1));
            format!("{:.1} ({:.1})", share(b.cut), share(b.cut - b.cut_first))
        });
        writeln!(out, "| {name} | {} |", shares.join(" | "))?;
    }
    writeln!(out)?;
    Ok(())
}

fn clairvoyant(out: &mut String, sets: &[Set]) -> Result<(), Error> {
    writeln!(
        out,
        "### Stall time (250 ms) as a multiple of the clairvoyant's, by `max_delay` (`word`, balanced)\n"
    )?;
    writeln!(out, "| set | 0.5 s | 1.0 s | 1.5 s | 2.0 s |\n| --- | --- | --- | --- | --- |")?;
    for Set { name, study, texts } in sets {
        write!(out, "| {name} |")?;
        for ms in [500, 1_000, 1_500, 2_000] {
            let max_delay = Nanos::from_millis(ms);
            let study = Study::new(study.traces().to_vec(), texts, max_delay);
            let played = study.engine(&word()?.with("max_delay", max_delay.0)?)?;
            let late = played.row.delay_max > ms as f64 / 1e3;
            let ratio = played.row.stall[2] / study.clairvoyant().stall[2];
            write!(out, " {ratio:.3}{} |", if late { " (late!)" } else { "" })?;
        }
        writeln!(out)?;
    }
    writeln!(out)?;
    Ok(())
}

/// Tokens in any window w <= 12 + 1.5 v w, v the stream's mean rate from its first arrival to its last.
fn clusters(out: &mut String, sets: &[Set]) -> Result<(), Error> {
    writeln!(out, "### Clusters: at most 12 + 1.5 v w tokens in any time w (`word`, balanced)\n")?;
    writeln!(
        out,
        "v is the stream's mean rate (silences beyond `max_delay` do not dilute it), known only afterwards; the \
         guard has its own estimate. Percent of pieces.\n"
    )?;
    writeln!(
        out,
        "| set | pieces | for which a deadline or a tail bound | beyond the bound then | beyond it otherwise |"
    )?;
    writeln!(out, "| --- | --- | --- | --- | --- |")?;
    for Set { name, study, .. } in sets {
        let played = study.engine(&word()?)?;
        let found: Vec<_> = study
            .traces()
            .iter()
            .zip(&played.runs)
            .map(|(t, r)| r.clusters(t, MAX_DELAY, 12.0, 1.5))
            .collect();
        let sum =
            |of: fn(&decluster_score::engine::Clusters) -> u32| found.iter().map(of).sum::<u32>();
        let pieces = sum(|c| c.pieces);
        let share = |n: u32| 100.0 * f64::from(n) / f64::from(pieces);
        let (bound, excused, other) =
            (sum(|c| c.bound), sum(|c| c.beyond_bound), sum(|c| c.beyond));
        writeln!(
            out,
            "| {name} | {pieces} | {:.1} | {:.1} | {:.2} |",
            share(bound),
            share(excused),
            share(other)
        )?;
    }
    writeln!(out)?;
    Ok(())
}

/// Settings between the presets and beyond them, so that every other pacer has some to be compared with.
const SETTINGS: &[(&str, &[(&str, u64)])] = &[
    (
        "quick",
        &[
            ("horizon_part_word", 50),
            ("horizon_part_long", 90),
            ("reserve_word", 1_000_000),
            ("reserve_time", 120_000_000),
            ("reserve_silence", 60_000_000),
            ("cluster_rate", 10_000),
            ("rate_cap", 16_000),
            ("silence_quantile", 300),
        ],
    ),
    (
        "quickest",
        &[
            ("horizon_part_word", 50),
            ("horizon_part_long", 90),
            ("reserve_word", 1_000_000),
            ("reserve_time", 28_000_000),
            ("reserve_silence", 60_000_000),
            ("cluster_rate", 15_000),
            ("rate_cap", 16_000),
            ("silence_quantile", 300),
            ("quantum", 25_000_000),
        ],
    ),
    (
        "quickest, 3.4 s",
        &[
            ("max_delay", 3_400_000_000),
            ("horizon_part_word", 140),
            ("horizon_part_long", 50),
            ("reserve_word", 1_000_000),
            ("reserve_time", 28_000_000),
            ("reserve_silence", 50_000_000),
            ("cluster_rate", 100_000),
            ("cluster_burst", 16_000),
            ("rate_cap", 100_000),
            ("drain", 5_000),
            ("silence_quantile", 300),
            ("prior_silence", 100_000_000),
            ("quantum", 15_000_000),
        ],
    ),
    (
        "long, 10 s",
        &[
            ("max_delay", 10_000_000_000),
            ("horizon_part_word", 145),
            ("horizon_part_long", 250),
            ("reserve_word", 1_000_000),
            ("reserve_time", 150_000_000),
            ("reserve_silence", 100_000_000),
            ("cluster_rate", 12_000),
            ("rate_cap", 40_000),
            ("drain", 4_500),
            ("silence_quantile", 370),
            ("prior_silence", 100_000_000),
        ],
    ),
    (
        "long, 12.5 s",
        &[
            ("max_delay", 12_500_000_000),
            ("word_gap", 240_000_000),
            ("horizon_part_word", 160),
            ("horizon_part_long", 200),
            ("reserve_word", 1_000_000),
            ("reserve_time", 260_000_000),
            ("reserve_silence", 50_000_000),
            ("cluster_rate", 12_000),
            ("rate_cap", 40_000),
            ("drain", 4_500),
            ("silence_quantile", 370),
            ("prior_silence", 100_000_000),
        ],
    ),
    (
        "patient, 60 s",
        &[
            ("max_delay", 60_000_000_000),
            ("word_gap", 249_000_000),
            ("horizon_min", 1_000_000_000),
            ("horizon_part_word", 1_500),
            ("horizon_part_long", 3_000),
            ("reserve_word", 1_000_000),
            ("reserve_time", 60_000_000_000),
            ("reserve_silence", 1_000_000),
            ("cluster_rate", 100_000),
            ("cluster_burst", 50_000),
            ("rate_cap", 10_000),
            ("silence_quantile", 990),
            ("prior_silence", 2_700_000_000),
        ],
    ),
];

/// For each other pacer, settings with less stall at no more delay, on every set.
fn dominated(out: &mut String, sets: &[Set]) -> Result<(), Error> {
    writeln!(
        out,
        "### Other pacers, and settings with less stall time (250 ms) at no more mean delay on every set\n"
    )?;
    writeln!(
        out,
        "Tokens without text for both, since the models know no text. Delay in ms / stall in s, set by set.\n"
    )?;
    let without_text = |set: &Set| Study::new(set.study.traces().to_vec(), &[], MAX_DELAY);
    let studies: Vec<Study> = sets.iter().map(without_text).collect();
    let mut ours: Vec<(String, Vec<Row>)> = Vec::new();
    for (name, values) in SETTINGS {
        let config =
            values.iter().try_fold(word()?, |config, (name, value)| config.with(name, *value))?;
        ours.push((name.to_string(), rows(&studies, &config)?));
    }
    for preset in PRESETS {
        let config = Config::preset(preset.name)?.with_choice("unit", "word")?;
        ours.push((preset.name.to_owned(), rows(&studies, &config)?));
    }
    writeln!(out, "| pacer | its figures | settings | their figures |\n| --- | --- | --- | --- |")?;
    let figures = |rows: &[Row]| {
        let all: Vec<_> =
            rows.iter().map(|r| format!("{:.0} / {:.1}", r.delay_mean * 1e3, r.stall[2])).collect();
        all.join(", ")
    };
    for peer in PEERS {
        let theirs: Vec<Row> = studies.iter().map(|s| s.policy(peer.pace)).collect();
        let better = |rows: &[Row]| {
            rows.iter()
                .zip(&theirs)
                .all(|(o, t)| o.delay_mean <= t.delay_mean && o.stall[2] < t.stall[2])
        };
        let found = ours
            .iter()
            .filter(|(_, rows)| better(rows))
            .min_by(|a, b| a.1[0].stall[2].total_cmp(&b.1[0].stall[2]));
        let (name, rows) =
            found.map_or(("none", String::new()), |(name, rows)| (name.as_str(), figures(rows)));
        writeln!(out, "| {} | {} | {name} | {rows} |", peer.name, figures(&theirs))?;
    }
    writeln!(out)?;
    Ok(())
}

fn rows(studies: &[Study], config: &Config) -> Result<Vec<Row>, Error> {
    studies.iter().map(|study| Ok(study.engine(config)?.row)).collect()
}

/// Streams of one kind, each alone.
fn single(out: &mut String) -> Result<(), Error> {
    writeln!(out, "### Single streams (balanced)\n")?;
    writeln!(
        out,
        "| stream | unit | delay mean / max ms | time in silences over 400 ms, % | tail ms | pieces |"
    )?;
    writeln!(out, "| --- | --- | --- | --- | --- | --- |")?;
    let words = [OWN_TEXT.to_owned()];
    for (name, trace) in [
        ("trace A: 12 deltas of 40 to 150 tokens, 1 to 2 s apart", synthetic::trace_a()),
        ("1,000 tokens/s: 20 every 20 ms, 10 s", synthetic::even(0.02, 20, 10.0)),
    ] {
        let study = Study::new(vec![trace], &words, MAX_DELAY);
        for unit in ["word", "block"] {
            line(out, name, unit, &study.engine(&Config::default().with_choice("unit", unit)?)?)?;
        }
    }
    for (name, period) in
        [("even: 60 words/s, 15 s", 1.0 / 60.0), ("one word every 49 ms, 15 s", 0.049)]
    {
        for unit in ["word", "block"] {
            let played = Study::words(synthetic::even(period, 1, 15.0), OWN_TEXT)
                .engine(&Config::default().with_choice("unit", unit)?)?;
            line(out, name, unit, &played)?;
        }
    }
    Ok(())
}

fn line(out: &mut String, name: &str, unit: &str, played: &Played) -> Result<(), Error> {
    let (row, pieces) = (&played.row, played.runs[0].pieces.len());
    writeln!(
        out,
        "| {name} | {unit} | {:.0} / {:.0} | {:.1} | {:.0} | {pieces} |",
        row.delay_mean * 1e3,
        row.delay_max * 1e3,
        row.dead * 100.0,
        row.tail * 1e3,
    )?;
    Ok(())
}

fn word() -> Result<Config, Error> {
    Ok(Config::default().with_choice("unit", "word")?)
}

/// The sets, tuning and held-out apart, each with the texts to lay under it.
fn sets() -> Result<Vec<Set>, Error> {
    let texts = texts()?;
    let mut sets = Vec::new();
    let mut add = |name, traces| {
        let study = Study::new(traces, &texts, MAX_DELAY);
        sets.push(Set { name, study, texts: texts.clone() });
    };
    if Path::new(RECORDED).is_dir() {
        let (mut tuning, mut held_out) = (Vec::new(), Vec::new());
        for mut file in recorded::traces(Path::new(RECORDED))? {
            held_out.extend(file.split_off(recorded::TUNING.min(file.len())));
            tuning.extend(file);
        }
        add("recorded, tuning", tuning);
        add("recorded, held out", held_out);
    } else {
        eprintln!("no recorded traces in {RECORDED}: only the made ones are scored");
    }
    add("made, tuning", synthetic::traces(SEEDS[0], 6));
    add("made, held out", synthetic::traces(SEEDS[1], 6));
    Ok(sets)
}

fn texts() -> Result<Vec<String>, Error> {
    let folder = Path::new("../shared/reasoning-text");
    if !folder.is_dir() {
        eprintln!("no texts in {}: the project's own is laid under all traces", folder.display());
        return Ok(vec![OWN_TEXT.to_owned()]);
    }
    Ok(recorded::texts(folder)?)
}

/// A text of the project's own.
const OWN_TEXT: &str = include_str!("text.txt");
