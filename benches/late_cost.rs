//! What a backlog costs in instructions when the consumer comes back seconds late and is a little later at each poll.
//!
//! `late_cost` queues so many blocks, then twice as many, and counts with valgrind's callgrind what it costs to take them
//! in and out again. It fails if a block of the second half costs more than [`GROWTH`] times what one of the first does.
//! Instructions do not depend on what else the machine does, so a loaded one counts the same.

#![allow(clippy::disallowed_macros, reason = "a program that prints its report")]

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use decluster::{Config, Delta, Engine, Kind, Nanos, Output, Rewriter, RewriterOptions, Rewritten};

mod callgrind;

type Error = Box<dyn std::error::Error>;

/// A block of the second half may cost so many times what one of the first does.
const GROWTH: f64 = 1.1;
const BLOCKS: usize = 2_000;
/// Each of them is a block.
const TEXT: &str = "The lease ends before it is renewed. ";
/// From one delta to the next, and from one poll to the next.
const STEP: Nanos = Nanos(1_000);
const AWAY: Nanos = Nanos::from_secs(5);
/// How this program calls itself under callgrind.
const RUN: &str = "--run";
const WHAT: [&str; 5] = ["engine", "choices", "calls", "pieces", "bytes"];
const PACES: [&str; 2] = ["off", "adaptive"];

fn main() -> Result<ExitCode, Error> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [RUN, what, pace] => {
            run(what, pace)?;
            Ok(ExitCode::SUCCESS)
        }
        [] => check(),
        _ => Err("usage: late_cost".into()),
    }
}

/// Once with so many blocks, once with twice as many; each must give all of its text.
fn run(what: &str, pace: &str) -> Result<(), Error> {
    let config = Config::default().with_choice("pace", pace)?;
    for blocks in [BLOCKS, 2 * BLOCKS] {
        let shown = if matches!(what, "pieces" | "bytes") {
            let mut options = RewriterOptions::default();
            options.pieces = what == "pieces";
            let rewriter = Rewriter::new(&config, options, Nanos::ZERO)?;
            play_rewriter(rewriter, events(blocks).as_bytes())?
        } else {
            let choices = if what == "choices" { 8 } else { 1 };
            play_engine(Engine::new(&config, Nanos::ZERO), blocks, choices, what == "calls")?
        };
        if shown < blocks * TEXT.len() {
            return Err(format!("{what}: only {shown} bytes of {blocks} blocks").into());
        }
    }
    Ok(())
}

/// What is counted: callgrind knows it by its name. With `calls` a tool call is behind each block.
#[inline(never)]
fn play_engine(
    mut engine: Engine,
    blocks: usize,
    choices: usize,
    calls: bool,
) -> Result<usize, Error> {
    let mut now = Nanos::ZERO;
    for block in 0..blocks {
        let index = u32::try_from(block % choices)?;
        engine.push(now, Delta { kind: Kind::Output, index, text: TEXT, tokens: None })?;
        if calls {
            engine.mark(now, block as u64, true)?;
        }
        now = now.after(STEP);
    }
    engine.finish(now);
    let mut shown = 0;
    now = now.after(AWAY);
    loop {
        now = match engine.poll(now) {
            Output::Piece(piece) => {
                shown += piece.text.len();
                now.after(STEP)
            }
            Output::Wait(at) => at.after(AWAY),
            Output::Finished => return Ok(shown),
            _ => now.after(STEP),
        };
    }
}

/// The same with events, all of which come in one push.
#[inline(never)]
fn play_rewriter(mut rewriter: Rewriter, events: &[u8]) -> Result<usize, Error> {
    rewriter.push(Nanos::ZERO, events)?;
    rewriter.finish(Nanos::ZERO);
    let (mut now, mut shown) = (AWAY, 0);
    loop {
        now = match rewriter.poll(now) {
            Rewritten::Piece(piece) => {
                shown += piece.text.len();
                now.after(STEP)
            }
            Rewritten::Bytes(bytes) => {
                shown += bytes.len();
                now.after(STEP)
            }
            Rewritten::Wait(at) => at.after(AWAY),
            Rewritten::Finished => return Ok(shown),
            _ => now.after(STEP),
        };
    }
}

fn events(blocks: usize) -> String {
    let choice = format!(r#"{{"index":0,"delta":{{"content":"{TEXT}"}}}}"#);
    format!("data: {{\"choices\":[{choice}]}}\n\n").repeat(blocks)
}

fn check() -> Result<ExitCode, Error> {
    let folder = env::temp_dir().join(format!("decluster-late-cost-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let checked = compare(&folder);
    fs::remove_dir_all(&folder)?;
    checked
}

fn compare(folder: &Path) -> Result<ExitCode, Error> {
    println!("Instructions a block, of the first {BLOCKS} and of as many more:\n");
    println!("{:10} {:10} {:>9} {:>9} {:>6}", "", "pace", "first", "second", "");
    let mut good = true;
    for what in WHAT {
        let rewriter = matches!(what, "pieces" | "bytes");
        let counted = format!("late_cost::play_{}", if rewriter { "rewriter" } else { "engine" });
        for pace in PACES {
            let output = folder.join(format!("{what}-{pace}"));
            let itself =
                [env::current_exe()?.into_os_string(), RUN.into(), what.into(), pace.into()];
            let dump = format!("--dump-after={counted}");
            callgrind::run(&counted, &[&dump], &output, &itself)?;
            let count = |call: &str| callgrind::summary(&output.with_extension(call));
            let (first, both) = (count("1")?, count("2")?);
            let [first, second] = [first, both - first].map(|sum| sum / BLOCKS as f64);
            let times = second / first;
            good &= times <= GROWTH;
            let verdict = if times <= GROWTH { "" } else { "  grows" };
            println!("{what:10} {pace:10} {first:9.0} {second:9.0} {times:6.3}{verdict}");
        }
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
