//! What the way through the C library costs in instructions, beside the same calls from Rust.
//!
//! `c_cost PREFIX` compiles `c_cost.c` with the C compiler (`CC`, or `cc`), links it to the shared library that is installed
//! under PREFIX, and plays the same deltas, bursts and silences through both, each under valgrind's callgrind. It
//! fails if C costs more than [`MOST`] times what Rust does. Instructions do not depend on what else the machine
//! does.

#![allow(clippy::disallowed_macros, reason = "a program that prints its report")]
#![allow(clippy::disallowed_methods, reason = "it reads which compiler to use")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use decluster::{Config, Delta, Engine, Kind, Nanos, Output, Rewriter, RewriterOptions, Rewritten};

mod callgrind;

type Error = Box<dyn std::error::Error>;

/// A call may cost so many times what it does from Rust.
const MOST: f64 = 1.3;
const BURST: usize = 40;
const SILENCE: Nanos = Nanos::from_millis(1_200);
/// How this program calls itself under callgrind.
const RUN: &str = "--run";
const WHAT: [&str; 3] = ["engine", "words", "rewriter"];

fn main() -> Result<ExitCode, Error> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [RUN, what, file] => {
            println!("{}", run(what, &fs::read_to_string(file)?)?);
            Ok(ExitCode::SUCCESS)
        }
        [prefix] => check(Path::new(prefix)),
        _ => Err("usage: c_cost PREFIX".into()),
    }
}

fn run(what: &str, text: &str) -> Result<usize, Error> {
    let unit = if what == "words" { "word" } else { "block" };
    let config = Config::default().with_choice("unit", unit)?;
    if what == "rewriter" {
        let mut rewriter = Rewriter::new(&config, RewriterOptions::default(), Nanos::ZERO)?;
        play_rewriter(&mut rewriter, text)
    } else {
        play_engine(&mut Engine::new(&config, Nanos::ZERO), text)
    }
}

/// What is counted: callgrind knows it by its name. As in `c_cost.c`.
#[inline(never)]
fn play_engine(engine: &mut Engine, mut text: &str) -> Result<usize, Error> {
    let (mut now, mut next, mut shown) = (Nanos::ZERO, Nanos::ZERO, 0);
    loop {
        if now == next {
            for _ in 0..BURST {
                let (part, rest) = text.split_at(text.ceil_char_boundary(4));
                text = rest;
                engine
                    .push(now, Delta { kind: Kind::Output, index: 0, text: part, tokens: None })?;
            }
            next = now.after(SILENCE);
            if text.is_empty() {
                engine.finish(now);
            }
        }
        now = loop {
            match engine.poll(now) {
                Output::Piece(piece) => shown += piece.text.len(),
                Output::Wait(at) => break at.min(next),
                Output::Finished => return Ok(shown),
                _ => break next,
            }
        };
    }
}

/// The same with events, each on a line.
#[inline(never)]
fn play_rewriter(rewriter: &mut Rewriter, text: &str) -> Result<usize, Error> {
    let mut lines = text.split_inclusive('\n').peekable();
    let (mut now, mut next, mut shown) = (Nanos::ZERO, Nanos::ZERO, 0);
    loop {
        if now == next {
            for line in lines.by_ref().take(BURST) {
                rewriter.push(now, line.as_bytes())?;
            }
            next = now.after(SILENCE);
            if lines.peek().is_none() {
                rewriter.finish(now);
            }
        }
        now = loop {
            match rewriter.poll(now) {
                Rewritten::Bytes(bytes) => shown += bytes.len(),
                Rewritten::Wait(at) => break at.min(next),
                Rewritten::Finished => return Ok(shown),
                _ => break next,
            }
        };
    }
}

fn check(prefix: &Path) -> Result<ExitCode, Error> {
    let folder = env::temp_dir().join(format!("decluster-c-cost-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let checked = compare(prefix, &folder);
    fs::remove_dir_all(&folder)?;
    checked
}

fn compare(prefix: &Path, folder: &Path) -> Result<ExitCode, Error> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (text, events) = (folder.join("text"), folder.join("events"));
    let prose = fs::read_to_string(here.join("text.txt"))?;
    fs::write(&text, &prose)?;
    fs::write(&events, as_events(&prose))?;
    let program = compile(here, prefix, folder)?;
    println!("Instructions, from Rust and through libdecluster:\n");
    println!("{:10} {:>12} {:>12} {:>6}", "", "Rust", "C", "");
    let mut good = true;
    for what in WHAT {
        let input = if what == "rewriter" { &events } else { &text };
        let counted = format!("play_{}", if what == "rewriter" { what } else { "engine" });
        let itself = [env::current_exe()?.into_os_string(), RUN.into(), what.into(), input.into()];
        let through_c = [program.clone().into_os_string(), what.into(), input.into()];
        let file = folder.join("counts");
        let shown = callgrind::run(&format!("c_cost::{counted}"), &[], &file, &itself)?;
        let rust = callgrind::summary(&file)?;
        let the_same = callgrind::run(&counted, &[], &file, &through_c)?;
        let c = callgrind::summary(&file)?;
        if shown != the_same {
            return Err(format!("{what}: Rust shows {shown} bytes, C {the_same}").into());
        }
        let times = c / rust;
        good &= times <= MOST;
        let verdict = if times <= MOST { "" } else { "  too dear" };
        println!("{what:10} {rust:12.0} {c:12.0} {times:6.3}{verdict}");
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A chat chunk for each four bytes of it.
fn as_events(mut text: &str) -> String {
    let mut events = String::new();
    while !text.is_empty() {
        let (part, rest) = text.split_at(text.ceil_char_boundary(4));
        text = rest;
        let part = part.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(
            events,
            "data: {{\"id\":\"chatcmpl-7\",\"object\":\"chat.completion.chunk\",\"choices\":\
             [{{\"index\":0,\"delta\":{{\"content\":\"{part}\"}},\"finish_reason\":null}}]}}\n\n"
        );
    }
    events
}

fn compile(here: &Path, prefix: &Path, folder: &Path) -> Result<PathBuf, Error> {
    let program = folder.join("c_cost");
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let library = prefix.join("lib");
    let status = Command::new(compiler)
        .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-o"])
        .arg(&program)
        .arg(here.join("c_cost.c"))
        .arg(format!("-I{}", prefix.join("include").display()))
        .arg(format!("-L{}", library.display()))
        .arg("-ldecluster")
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .status()?;
    if status.success() { Ok(program) } else { Err("c_cost.c does not compile".into()) }
}
