//! The same calls give the same schedules in every language. README.md beside this file says how the vectors
//! are written; `make vectors` writes them anew.

#![expect(clippy::expect_used, reason = "a test may panic")]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use decluster::Config;
use decluster_score::{Trace, engine, lay, recorded, synthetic};
use decluster_tests::{captures, repo_root, shared, skipped};
use sha2::{Digest, Sha256};

mod calls;
mod rewriter;
mod streams;

#[test]
fn calls_give_what_they_gave() {
    for vector in calls::all(&text()) {
        same(&format!("calls/{}.txt", vector.name), &vector.play());
    }
}

#[test]
fn made_traces_and_the_text_under_them_are_as_ever() {
    let mut lines = String::new();
    for (name, trace) in made() {
        lines.push_str(&name);
        for arrival in &trace.arrivals {
            let _ = write!(lines, " {}:{}", arrival.at.0, arrival.count);
        }
        lines.push('\n');
    }
    same("schedules/traces.txt", &lines);
    let text = text();
    let (mut tokens, mut left) = (String::new(), text.len());
    // A token has a byte at least, so this is the whole text once; then it begins again.
    for token in lay(&text, text.len()) {
        let Some(rest) = left.checked_sub(token.len()).filter(|_| left > 0) else { break };
        left = rest;
        let _ = writeln!(tokens, "\"{}\"", calls::escape(token));
    }
    same("schedules/tokens.txt", &tokens);
}

#[test]
fn made_traces_have_the_schedules_they_had() {
    same("schedules/made.txt", &hashes(made().into_iter()));
}

#[test]
fn recorded_traces_have_the_schedules_they_had() {
    let Some(folder) = shared("traces") else { return };
    let traces = recorded::traces(&folder).expect("a folder of traces");
    let named = traces.into_iter().flatten().map(|trace| (trace.name.clone(), trace));
    same("schedules/recorded.txt", &hashes(named));
}

#[test]
fn streams_are_rewritten_as_they_were() {
    for vector in rewriter::all(&text()) {
        same(&format!("rewriter/{}.txt", vector.name), &vector.play());
    }
}

#[test]
fn recorded_streams_are_rewritten_as_they_were() {
    let Some(folder) = shared("captures") else { return };
    let entries = fs::read_dir(folder).expect("a folder of captures").flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut dialects: Vec<_> = folders.map(|f| f.file_name().into_string()).collect();
    dialects.sort();
    let mut lines = String::new();
    for capture in dialects.iter().flatten().flat_map(|dialect| captures(dialect)) {
        for (mode, giving, unit) in [
            ("block", rewriter::Mode::Stream, 0),
            ("word", rewriter::Mode::Stream, 1),
            ("pieces", rewriter::Mode::PiecesAndEvents, 0),
        ] {
            let played = rewriter::recorded(&capture.name, &capture.bytes, giving, unit).play();
            let out = played.split_inclusive('\n').filter(|line| line.starts_with('<'));
            let _ = writeln!(lines, "{} {mode} {}", capture.name, hex(&out.collect::<String>()));
        }
    }
    same("rewriter/recorded.txt", &lines);
}

/// The made traces, with a name of one word.
fn made() -> Vec<(String, Trace)> {
    let named =
        |seed: u64, trace: Trace| (format!("{seed}:{}", trace.name.replace(' ', "-")), trace);
    SEEDS
        .iter()
        .flat_map(|s| synthetic::traces(*s, PER).into_iter().map(|t| named(*s, t)))
        .collect()
}

/// A line for each trace and unit: its name, the unit, and the hash of its schedule.
fn hashes(traces: impl Iterator<Item = (String, Trace)>) -> String {
    let text = text();
    let mut lines = String::new();
    for (name, trace) in traces {
        let tokens = lay(&text, trace.tokens() as usize);
        for unit in ["word", "block"] {
            let config = Config::default().with_choice("unit", unit).expect("a unit");
            let run = engine::run(&config, &trace, Some(&tokens)).expect("it fits");
            let _ = writeln!(lines, "{name} {unit} {}", hash(&run));
        }
    }
    lines
}

fn hash(run: &engine::Run) -> String {
    let mut schedule = String::new();
    for p in &run.pieces {
        let _ = writeln!(schedule, "{} {} {} {} {}", p.at.0, p.bytes, p.tokens, p.block, p.part);
    }
    hex(&schedule)
}

/// SHA-256.
fn hex(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Compares with the file, or writes it.
#[expect(clippy::disallowed_methods, reason = "tests may read the environment")]
fn same(file: &str, now: &str) {
    let path = folder().join(file);
    let parent = path.parent().expect("a file in a folder");
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        fs::create_dir_all(parent).expect("a folder can be made");
        fs::write(&path, now).expect("a vector can be written");
    } else if parent.exists() {
        let before = fs::read_to_string(&path).unwrap_or_default();
        let differs = before.lines().zip(now.lines()).position(|(b, n)| b != n);
        let line = differs.unwrap_or(before.lines().count().min(now.lines().count()));
        assert!(
            before == now,
            "{file}:{}: {:?} instead of {:?}; if that is meant, `make vectors`",
            line + 1,
            now.lines().nth(line),
            before.lines().nth(line),
        );
    } else {
        skipped(&format!("{} is absent; `make vectors` makes it", parent.display()));
    }
}

fn text() -> String {
    fs::read_to_string(folder().join("text.txt")).expect("the text is in the repository")
}

fn folder() -> PathBuf {
    repo_root().join("tests/vectors")
}

/// Seeds of the made traces, and how many of each pattern.
const SEEDS: [u64; 2] = [7, 99];
const PER: u64 = 6;
