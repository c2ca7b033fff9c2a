//! In steady state nothing is allocated, and little is held. Alone in its process and without a test harness, whose
//! threads allocate too: they are all counted.

#![allow(clippy::unwrap_used, clippy::disallowed_macros, reason = "a test")]

use decluster::{Config, Delta, Engine, Kind, Nanos, Output};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const WORDS: [&str; 7] = ["So", " the", " cache,", " emptied", " at", " once.", " Next"];

/// 50 tokens a second, in clusters of `cluster`.
fn play(engine: &mut Engine, now: &mut Nanos, tokens: usize, cluster: usize) {
    for token in 0..tokens {
        let text = WORDS[token % WORDS.len()];
        engine.push(*now, Delta { kind: Kind::Reasoning, index: 0, text, tokens: None }).unwrap();
        if token % cluster == cluster - 1 {
            *now = drain(engine, *now, now.after(Nanos::from_millis(20 * cluster as u64)));
        }
    }
}

/// Takes what is due until `end`.
fn drain(engine: &mut Engine, mut now: Nanos, end: Nanos) -> Nanos {
    loop {
        match engine.poll(now) {
            Output::Piece(_) => {}
            Output::Wait(at) if at < end => now = at,
            _ => return end,
        }
    }
}

fn main() {
    let _profiler = dhat::Profiler::builder().testing().build();
    for unit in ["word", "block"] {
        for cluster in [1, 60] {
            let before = dhat::HeapStats::get();
            let config = Config::default().with_choice("unit", unit).unwrap();
            let (mut engine, mut now) = (Engine::new(&config, Nanos::ZERO), Nanos::ZERO);
            // More is queued than ever after, so that every queue has its room.
            play(&mut engine, &mut now, 1_000, 2 * cluster.max(8));
            play(&mut engine, &mut now, 10_000, cluster);
            let warm = dhat::HeapStats::get();
            play(&mut engine, &mut now, 100_000, cluster);
            let steady = dhat::HeapStats::get();
            assert_eq!(steady.total_blocks, warm.total_blocks, "{unit}, {cluster}");
            let held = steady.curr_bytes - before.curr_bytes + size_of::<Engine>();
            println!("{unit}, clusters of {cluster}: {held} bytes with all queues");
            assert!(held < ((12 + cluster / 2) << 10) + SKETCHES, "{unit}, {cluster}: {held}");
        }
    }
    let before = dhat::HeapStats::get();
    let (mut engine, mut now) = (Engine::new(&Config::default(), Nanos::ZERO), Nanos::ZERO);
    play(&mut engine, &mut now, 1, 1);
    let state = dhat::HeapStats::get().curr_bytes - before.curr_bytes + size_of::<Engine>();
    println!("{state} bytes of state with one word");
    assert!(state < 2_500, "{state}");
}

/// What tells of clusters, before and after: sizes and gaps, none of them large.
const SKETCHES: usize = 4 * 1_200;
