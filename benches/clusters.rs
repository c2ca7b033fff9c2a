//! How clustered traces are before and after the pacer, as the table of `benches/README.md`.
//!
//! `clusters` prints it, `clusters --write FILE` puts it into a file between its markers. Recorded traces are read from
//! `../shared/traces` beside the project; without them the made ones remain.

#![allow(clippy::disallowed_macros, reason = "a program that prints its report")]

use decluster::guard::{ClusterRule, Clusters};
use decluster::{Config, Nanos};
use decluster_score::diagnose::Flow;
use decluster_score::engine::run;
use decluster_score::{Tokens, Trace, recorded, synthetic};
use std::fmt::Write as _;
use std::path::Path;

mod report;
use report::{RECORDED, deliver};

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    deliver("clusters", &report()?)
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
        let mut forced = 0;
        for (trace, released) in traces.iter().zip(&released) {
            let came = Flow::new(trace.arrivals.clone(), rule);
            let left = Flow::new(released.clone(), rule);
            forced += left.unavoidable(&came, MAX_DELAY);
            before.merge(&came.clusters);
            after.merge(&left.clusters);
        }
        let an_hour = |c: &Clusters| c.events_per_hour().unwrap_or_default();
        let seen = after.events();
        write!(out, " {:.0} | {:.0} | {forced} of {seen} |", an_hour(&before), an_hour(&after))?;
    }
    writeln!(out)?;
    Ok(())
}

/// The default.
const MAX_DELAY: Nanos = Nanos::from_millis(1_500);
/// The seed of the made ones.
const MADE: u64 = 99;
/// The least silences beside a cluster: the default, and one that readers begin to see.
const GAPS: [(Nanos, &str); 2] = [(Nanos::from_secs(1), "1 s"), (Nanos::from_millis(200), "0.2 s")];
