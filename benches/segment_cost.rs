//! What the segmenter costs in instructions a byte, on prose and on texts made to be slow.
//!
//! `segment_cost [NAME]` counts them with valgrind's callgrind, for every input or those whose name holds
//! NAME, at two lengths. It fails if one costs more than [`TIMES_PROSE`] as much a byte as prose (texts of
//! nothing but marks and blanks: [`TIMES_PROSE_DENSE`]), or if the second half of a text costs more than
//! the first. Instructions do not depend on what else the machine does, so a loaded one counts the same.

#![allow(clippy::disallowed_macros, reason = "a program that prints its report")]

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use decluster::segment::{SegmentConfig, Segmenter};

#[path = "../tests/segment/inputs.rs"]
mod inputs;

mod callgrind;
use inputs::{INPUTS, Input, PROSE};

type Error = Box<dyn std::error::Error>;

/// No input may cost more a byte than so many times prose,
const TIMES_PROSE: f64 = 3.0;
/// nor where all of it is little words of marks, which nobody would write a megabyte of.
const TIMES_PROSE_DENSE: f64 = 3.5;
/// The second half of a text may cost so much more than the first: not all text ends with a block.
const GROWTH: f64 = 1.1;
const BYTES: usize = 100_000;
/// A read from a socket, and a token as providers send them.
const PUSHES: [usize; 2] = [4096, 4];

fn main() -> Result<ExitCode, Error> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => check(""),
        [RUN, name] => {
            run(name);
            Ok(ExitCode::SUCCESS)
        }
        [name] => check(name),
        _ => Err("usage: segment_cost [NAME]".into()),
    }
}

/// How the check calls this program under callgrind.
const RUN: &str = "--run";

fn chosen(name: &str) -> impl Iterator<Item = &'static Input> {
    [&PROSE].into_iter().chain(INPUTS.iter().filter(move |input| input.name.contains(name)))
}

/// Cuts every input at every length and size of push.
fn run(name: &str) {
    for input in chosen(name) {
        for push in PUSHES {
            for bytes in [BYTES, 2 * BYTES] {
                segment(&input.text(bytes), push);
            }
        }
    }
}

/// What is counted: callgrind knows it by its name.
#[inline(never)]
fn segment(text: &str, push: usize) -> usize {
    let mut segmenter = Segmenter::new(SegmentConfig::default());
    let mut blocks = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.ceil_char_boundary(push));
        blocks += segmenter.push(part).len();
        rest = after;
    }
    blocks + segmenter.finish().len()
}

fn check(name: &str) -> Result<ExitCode, Error> {
    let folder = env::temp_dir().join(format!("decluster-segment-cost-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let counts = count(name, &folder);
    fs::remove_dir_all(&folder)?;
    let counts = counts?;

    println!("Instructions a byte, and as a multiple of prose, in pushes of {PUSHES:?} bytes:\n");
    println!("{:28} {:>7} {:>6} {:>7} {:>6}", "input", PUSHES[0], "", PUSHES[1], "");
    let mut prose = None;
    let mut good = true;
    for (input, counts) in chosen(name).zip(counts.chunks_exact(2 * PUSHES.len())) {
        let halves = [[counts[0], counts[1] - counts[0]], [counts[2], counts[3] - counts[2]]];
        let costs = halves.map(|[_, second]| second / BYTES as f64);
        let prose = *prose.get_or_insert(costs);
        let times = [costs[0] / prose[0], costs[1] / prose[1]];
        let linear = halves.iter().all(|[first, second]| *second < first * GROWTH);
        let most = if input.dense { TIMES_PROSE_DENSE } else { TIMES_PROSE };
        let cheap = times.iter().all(|times| *times <= most);
        good &= linear && cheap;
        let name = input.name;
        print!("{name:28} {:7.1} {:6.2} {:7.1} {:6.2}", costs[0], times[0], costs[1], times[1]);
        println!(
            "{}{}",
            if cheap { "" } else { "  too dear" },
            if linear { "" } else { "  grows" }
        );
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The instructions of each call of [`segment`] that [`run`] makes, in order.
fn count(name: &str, folder: &Path) -> Result<Vec<f64>, Error> {
    const FUNCTION: &str = "segment_cost::segment";
    let output = folder.join("out");
    let dump = format!("--dump-after={FUNCTION}");
    let command = [env::current_exe()?.into_os_string(), RUN.into(), name.into()];
    callgrind::run(FUNCTION, &[&dump], &output, &command)?;
    let calls = chosen(name).count() * 2 * PUSHES.len();
    (1..=calls).map(|call| callgrind::summary(&output.with_extension(call.to_string()))).collect()
}
