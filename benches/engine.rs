//! What pacing costs: one delta in and its pieces out, segmentation included, on a virtual clock.
//!
//! A delta is one LLM token of text, as providers send them when they do not cluster: the dearest way to get
//! a text. `cargo bench -p decluster-benches`.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use decluster::{Config, Delta, Engine, Kind, Nanos, Output};
use decluster_score::lay;
use std::hint::black_box;

const TEXT: &str = include_str!("text.txt");
const DELTAS: usize = 2_000;
/// 50 tokens a second.
const PERIOD: Nanos = Nanos::from_millis(20);

fn config(unit: &str) -> Config {
    Config::default().with_choice("unit", unit).unwrap_or_default()
}

/// One delta in, and all that is due out.
fn step(engine: &mut Engine, now: Nanos, text: &str) {
    let delta = Delta { kind: Kind::Reasoning, index: 0, text, tokens: None };
    let _ = black_box(engine.push(now, delta));
    drain(engine, now);
}

fn drain(engine: &mut Engine, now: Nanos) {
    while let Output::Piece(piece) = engine.poll(now) {
        black_box(piece.text);
    }
}

/// A token each 20 ms; the engine is polled when something arrives and when it says.
fn one_stream(criterion: &mut Criterion) {
    let tokens = lay(TEXT, DELTAS);
    let mut group = criterion.benchmark_group("push and poll");
    group.throughput(Throughput::Elements(DELTAS as u64));
    for unit in ["word", "block"] {
        group.bench_function(unit, |bencher| {
            let fresh = || Engine::new(&config(unit), Nanos::ZERO);
            let play = |mut engine: Engine| {
                let mut now = Nanos::ZERO;
                for text in &tokens {
                    step(&mut engine, now, text);
                    let next = now.after(PERIOD);
                    while let Output::Wait(at) = engine.poll(now)
                        && at < next
                    {
                        now = at;
                        drain(&mut engine, now);
                    }
                    now = next;
                }
                engine
            };
            bencher.iter_batched(fresh, play, BatchSize::LargeInput);
        });
    }
    group.finish();
}

/// One virtual second of 10,000 streams at 50 tokens a second each.
fn many_streams(criterion: &mut Criterion) {
    let tokens = lay(TEXT, DELTAS);
    let mut engines: Vec<_> =
        (0..10_000).map(|_| Engine::new(&config("word"), Nanos::ZERO)).collect();
    let mut now = Nanos::ZERO;
    let mut place = 0;
    let mut second = || {
        for _ in 0..50 {
            for engine in &mut engines {
                step(engine, now, tokens[place % DELTAS]);
            }
            place += 1;
            now = now.after(PERIOD);
        }
    };
    // Text is queued, and what is learnt has been learnt.
    second();
    let mut group = criterion.benchmark_group("10,000 streams");
    group.sample_size(10);
    group.throughput(Throughput::Elements(500_000));
    group.bench_function("one second", |bencher| bencher.iter(&mut second));
    group.finish();
}

criterion_group!(benches, one_stream, many_streams);
criterion_main!(benches);
