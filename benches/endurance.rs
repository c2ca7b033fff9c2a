//! Ten million tokens through one engine: time and memory a token must not grow.

#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a program that prints its report, and measures time"
)]

use decluster::{Config, Delta, Engine, Kind, Nanos, Output};
use decluster_score::lay;
use std::fs;
use std::process::ExitCode;
use std::time::Instant;

const MILLION: usize = 1_000_000;

fn main() -> ExitCode {
    let tokens = lay(include_str!("text.txt"), 10_000);
    let Ok(config) = Config::default().with_choice("unit", "word") else {
        return ExitCode::FAILURE;
    };
    let mut engine = Engine::new(&config, Nanos::ZERO);
    let mut now = Nanos::ZERO;
    let (mut times, mut memory) = (Vec::new(), Vec::new());
    println!("million  ns a token  resident KiB");
    for million in 1..=10 {
        let start = Instant::now();
        for token in 0..MILLION {
            let delta = Delta {
                kind: Kind::Reasoning,
                index: 0,
                text: tokens[token % 10_000],
                tokens: None,
            };
            if let Err(error) = engine.push(now, delta) {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
            while let Output::Piece(_) = engine.poll(now) {}
            now = now.after(Nanos::from_millis(20));
        }
        times.push(start.elapsed().as_nanos() as f64 / MILLION as f64);
        memory.push(resident().unwrap_or_default());
        println!("{million:7}  {:10.0}  {:12}", times[million - 1], memory[million - 1]);
    }
    let flat = times[9] < 1.5 * times[1] && memory[9] <= memory[1] + 256;
    println!("{}", if flat { "flat" } else { "it grows" });
    if flat { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Resident memory of this process in KiB, where the system says.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
