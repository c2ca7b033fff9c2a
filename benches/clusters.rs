//! How clustered traces are before and after the pacer, as the table of `benches/README.md`.
//!
//! `clusters` prints it, `clusters --write FILE` puts it into a file between its markers. Recorded traces are read from
//! `../shared/traces` beside the project; without them the made ones remain.

#![allow(clippy::disallowed_macros, reason = "a program that prints its report")]

use decluster::guard::{ClusterRule, Clusters};
use decluster::{Config, Nanos};
use decluster_score::engine::run;
use decluster_score::{Tokens, Trace, recorded, synthetic};
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let report = report()?;
    let mut arguments = env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => print!("{report}"),
        (Some("--write"), Some(_)) if !Path::new(RECORDED).is_dir() => {
            return Err(format!("{RECORDED} is not there: the table would lose it").into());
        }
        (Some("--write"), Some(file)) => {
            let old = fs::read_to_string(&file)?;
            let parts = (old.split_once(BEGIN), old.split_once(END));
            let (Some((before, _)), Some((_, after))) = parts else {
                return Err(format!("{file} has no lines {BEGIN} and {END}").into());
            };
            fs::write(&file, format!("{before}{BEGIN}\n\n{report}\n{END}{after}"))?;
        }
        _ => return Err("usage: clusters [--write FILE]".into()),
    }
    Ok(())
}

fn report() -> Result<String, Error> {
    let mut sets = Vec::new();
    if Path::new(RECORDED).is_dir() {
        for traces in recorded::traces(Path::new(RECORDED))? {
            let name = traces.first().map(|trace| trace.name.clone()).unwrap_or_default();
            let name = name.split(".jsonl").next().unwrap_or_default().to_owned();
            sets.push((name, traces));
        }
    } else {
        eprintln!("no recorded traces in {RECORDED}: only the made ones are counted");
    }
    sets.push(("made, held out".to_owned(), synthetic::traces(MADE, 6)));
    let mut out = String::new();
    write!(out, "| set | streams | minutes |")?;
    for (_, gap) in GAPS {
        write!(out, " {gap}: before | after | of these forced |")?;
    }
    writeln!(out, "\n| --- | ---: | ---: |{}", " ---: | ---: | ---: |".repeat(GAPS.len()))?;
    for (name, traces) in &sets {
        line(&mut out, name, traces)?;
    }
    Ok(out)
}

fn line(out: &mut String, name: &str, traces: &[Trace]) -> Result<(), Error> {
    let config = Config::default();
    let released = traces.iter().map(|trace| {
        let pieces = run(&config, trace, None)?.pieces;
        Ok(pieces.iter().map(|p| Tokens { at: p.at, count: p.tokens }).collect())
    });
    let released = released.collect::<Result<Vec<Vec<Tokens>>, Error>>()?;
    let minutes: f64 = traces.iter().map(Trace::span).sum::<f64>() / 60.0;
    write!(out, "| {name} | {} | {minutes:.1} |", traces.len())?;
    for (min_gap, _) in GAPS {
        let rule = ClusterRule { min_gap, ..ClusterRule::from(&config) };
        let (mut before, mut after) = (Clusters::new(rule), Clusters::new(rule));
        let (mut seen, mut forced) = (0, 0);
        for (trace, released) in traces.iter().zip(&released) {
            record(&mut before, &trace.arrivals);
            record(&mut after, released);
            for silences in found(rule, released) {
                seen += 1;
                forced += u64::from(silences.iter().any(|s| is_forced(*s, trace)));
            }
        }
        if seen != after.events() {
            return Err(format!("{name}: {seen} clusters, but {}", after.events()).into());
        }
        let an_hour = |c: &Clusters| c.events_per_hour().unwrap_or_default();
        write!(out, " {:.0} | {:.0} | {forced} of {seen} |", an_hour(&before), an_hour(&after))?;
    }
    writeln!(out)?;
    Ok(())
}

fn record(clusters: &mut Clusters, tokens: &[Tokens]) {
    for Tokens { at, count } in tokens {
        clusters.record(*at, u64::from(*count));
    }
    clusters.end_stream();
}

/// From when to when nothing went.
type Silence = (Nanos, Nanos);

/// Of each cluster the silences beside it.
fn found(rule: ClusterRule, tokens: &[Tokens]) -> Vec<Vec<Silence>> {
    let mut groups: Vec<(Nanos, Nanos, u64)> = Vec::new();
    for Tokens { at, count } in tokens {
        let count = u64::from(*count);
        match groups.last_mut() {
            Some((first, last, sum)) if at.since(*first) <= rule.group_gap => {
                (*last, *sum) = (*at, *sum + count);
            }
            _ => groups.push((*at, *at, count)),
        }
    }
    let silences: Vec<Silence> = groups.windows(2).map(|two| (two[0].1, two[1].0)).collect();
    let beside = |place: usize| {
        let beside = [place.checked_sub(1), Some(place)].into_iter().flatten();
        let beside = beside.filter_map(|place| silences.get(place).copied());
        beside.filter(|(from, to)| to.since(*from) >= rule.min_gap).collect::<Vec<_>>()
    };
    let large = groups.iter().enumerate().filter(|(_, group)| group.2 >= rule.min_tokens);
    large.map(|(place, _)| beside(place)).filter(|beside| !beside.is_empty()).collect()
}

/// Whether nothing arrived for longer than text may be delayed, at some time of this silence.
fn is_forced((from, to): Silence, trace: &Trace) -> bool {
    trace.arrivals.windows(2).any(|two| {
        let (last, next) = (two[0].at, two[1].at);
        next.since(last) > MAX_DELAY && last < to && next > from
    })
}

const BEGIN: &str = "<!-- clusters: begin -->";
const END: &str = "<!-- clusters: end -->";
/// Where recorded traces are, if anywhere.
const RECORDED: &str = "../shared/traces";
/// The default.
const MAX_DELAY: Nanos = Nanos::from_millis(1_500);
/// The seed of the made ones.
const MADE: u64 = 99;
/// The least silences beside a cluster: the default, and one that readers begin to see.
const GAPS: [(Nanos, &str); 2] = [(Nanos::from_secs(1), "1 s"), (Nanos::from_millis(200), "0.2 s")];
