//! `max_reasoning_tokens`: reasoning is let through up to a limit, and not beyond.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use decluster::{
    Collector, CollectorError, Config, CountSource, Kind, Nanos, ReasoningBudgetExceeded, Rewriter,
    RewriterError, RewriterOptions, Rewritten,
};
use decluster_tests::small::{DONE, content, reasoning};
use proptest::prelude::*;

/// What was let through: reasoning and output, tokens of the reasoning, and of the last piece of it.
struct Let {
    reasoning: String,
    output: String,
    tokens: u64,
    last: u64,
    fault: Option<RewriterError>,
}

fn through(config: &Config, stream: &str) -> Let {
    let mut now = Nanos::ZERO;
    let mut options = RewriterOptions::default();
    options.pieces = true;
    let mut rewriter = Rewriter::new(config, options, now).unwrap();
    rewriter.push(now, stream.as_bytes()).unwrap();
    let (reasoning, output) = (String::new(), String::new());
    let mut found = Let { reasoning, output, tokens: 0, last: 0, fault: None };
    loop {
        match rewriter.poll(now) {
            Rewritten::Piece(piece) if piece.kind == Kind::Reasoning => {
                found.reasoning.push_str(piece.text);
                found.last = u64::from(piece.tokens);
                found.tokens += found.last;
            }
            Rewritten::Piece(piece) => found.output.push_str(piece.text),
            Rewritten::Wait(at) => now = at,
            Rewritten::NeedInput => rewriter.finish(now),
            Rewritten::Finished => break,
            _ => {}
        }
    }
    assert!(!rewriter.wants_input());
    found.fault = rewriter.take_fault();
    assert_eq!(rewriter.take_fault(), None);
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(decluster_tests::cases(300)))]

    /// At most one piece above the limit, a prefix of what was reasoned, and then an error that says how much;
    /// within the limit nothing changes.
    #[test]
    fn reasoning_stops_at_its_budget(limit in 0u64..400, sizes in prop::collection::vec(1usize..120, 1..12), unit in 0u64..3, pace in 0u64..3, segment in 0u64..3) {
        let words = ["the", " lease", " ends", ",", " so", " a job", " runs", " twice", ".", " Then"];
        let mut whole = String::new();
        let mut stream = String::new();
        for size in sizes {
            let text: String = words.iter().cycle().take(size).copied().collect();
            stream += &reasoning(&text);
            whole += &text;
        }
        stream += &content("And that is all.");
        stream += DONE;
        let mut config = Config::default();
        for (name, value) in [("unit", unit), ("pace", pace), ("segment", segment)] {
            config = config.with(name, value).unwrap();
        }
        let free = through(&config, &stream);
        prop_assert_eq!(&free.reasoning, &whole);
        let held = through(&config.with("max_reasoning_tokens", limit).unwrap(), &stream);
        prop_assert!(whole.starts_with(&held.reasoning));
        if limit == 0 || free.tokens <= limit {
            prop_assert_eq!((held.reasoning, held.output, held.fault), (whole, free.output, None));
        } else {
            prop_assert!(held.tokens > limit && held.tokens - held.last <= limit);
            prop_assert_eq!(held.output, "");
            let used = held.tokens;
            let exceeded = ReasoningBudgetExceeded { used, limit, source: CountSource::Estimate, shared: false };
            prop_assert_eq!(held.fault, Some(RewriterError::ReasoningBudgetExceeded(exceeded)));
        }
    }
}

#[test]
fn bytes_stop_there_too_even_when_nothing_is_re_cut() {
    let config = ["pace", "segment"]
        .iter()
        .fold(Config::default(), |config, name| config.with_choice(name, "off").unwrap());
    let config = config.with("max_reasoning_tokens", 5).unwrap();
    let events =
        [reasoning("It holds"), reasoning(" until the lease has ended."), reasoning(" So")];
    let mut rewriter = Rewriter::new(&config, RewriterOptions::default(), Nanos::ZERO).unwrap();
    rewriter.push(Nanos::ZERO, events.concat().as_bytes()).unwrap();
    for event in &events[..2] {
        assert_eq!(rewriter.poll(Nanos::ZERO), Rewritten::Bytes(event.as_bytes()));
    }
    assert_eq!(rewriter.poll(Nanos::ZERO), Rewritten::Finished);
    assert!(matches!(
        rewriter.take_fault(),
        Some(RewriterError::ReasoningBudgetExceeded(ReasoningBudgetExceeded { limit: 5, .. }))
    ));
}

#[test]
fn what_is_within_the_budget_does_not_wait_once_it_is_exceeded() {
    let config = Config::default().with("max_reasoning_tokens", 60).unwrap();
    let words = "The lease ends, so the job runs twice. ".repeat(12);
    let mut rewriter = Rewriter::new(&config, RewriterOptions::default(), Nanos::ZERO).unwrap();
    rewriter.push(Nanos::ZERO, reasoning(&words).as_bytes()).unwrap();
    // No time passes.
    while !matches!(rewriter.poll(Nanos::ZERO), Rewritten::Finished) {}
    assert!(matches!(
        rewriter.take_fault(),
        Some(RewriterError::ReasoningBudgetExceeded(found)) if found.used > 60
    ));
}

#[test]
fn a_collector_says_so_too() {
    let config = Config::default().with("max_reasoning_tokens", 20).unwrap();
    let words = "The lease ends. So a job runs twice. It must be renewed. ".repeat(2);
    for (stream, exceeds) in [(reasoning(&words), true), (content(&words), false)] {
        let mut collector = Collector::new(&config, None);
        let pushed = collector.push(stream.as_bytes()).and_then(|()| collector.finish());
        let exceeded = pushed.err().map(|error| match error {
            CollectorError::ReasoningBudgetExceeded(found) => found.used > found.limit,
            _ => false,
        });
        assert_eq!(exceeded, exceeds.then_some(true));
    }
}
