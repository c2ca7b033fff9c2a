//! Budgets that threads share, and sources that fall silent.

#![expect(clippy::disallowed_methods, reason = "threads are what is tested")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use decluster::guard::Budget;
use decluster::{Config, CountSource, Kind, RewriterError, RewriterOptions, Rewritten};
use decluster_runtime::{Inline, Paced, PacedError, Step, pair};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(10);

fn delta(field: &str, text: &str) -> Vec<u8> {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"{field}\":\"{text}\"}}}}]}}\n\n")
        .into()
}

fn thought(text: &str) -> Vec<u8> {
    delta("reasoning_content", text)
}

fn pieces() -> RewriterOptions {
    let mut options = RewriterOptions::default();
    options.pieces = true;
    options
}

fn unpaced() -> Config {
    Config::default().with_choice("pace", "off").unwrap()
}

/// What one stream of reasoning got: tokens, the largest piece, and whether one was refused.
fn read(config: &Config, budget: &Budget, text: &[u8]) -> (u64, u64, bool) {
    let mut stream = Inline::<()>::new(config, pieces()).unwrap();
    stream.share_budget(budget.clone());
    stream.bytes(stream.now(), text);
    stream.finish(stream.now());
    let (mut tokens, mut largest) = (0, 0);
    loop {
        match stream.poll(stream.now()) {
            Rewritten::Piece(piece) if piece.kind == Kind::Reasoning => {
                tokens += u64::from(piece.tokens);
                largest = largest.max(piece.tokens.into());
            }
            Rewritten::Finished => break,
            _ => {}
        }
    }
    let refused = stream.with_answer(|rewriter, _| rewriter.exceeded());
    if let Some(refused) = refused {
        assert!(refused.shared && refused.used >= refused.limit, "{refused:?}");
        assert_eq!(refused.source, CountSource::Estimate);
    }
    (tokens, largest, refused.is_some())
}

#[test]
fn a_budget_is_exact_over_8_threads_of_1000_streams() {
    let config = unpaced();
    let text = [
        thought("The lease ends, so the job runs twice. Then it is renewed, or not. "),
        thought("It is billed."),
    ]
    .concat();
    let (each, ..) = read(&config, &Budget::new(u64::MAX), &text);
    // The budget is used up in the midst of it.
    let budget = Budget::new(each * 4_321 + 3);
    let (sum, largest, refused) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    let (tokens, most, was_refused) = read(&config, &budget, &text);
                    sum.fetch_add(tokens, Ordering::Relaxed);
                    largest.fetch_max(most, Ordering::Relaxed);
                    refused.fetch_add(was_refused.into(), Ordering::Relaxed);
                }
            });
        }
    });
    let [sum, largest, refused] = [sum, largest, refused].map(AtomicU64::into_inner);
    assert_eq!(budget.used(), sum);
    // No piece was refused before: else less would be used. And one piece at the most is above.
    assert!(budget.used() >= budget.limit(), "{} of {}", budget.used(), budget.limit());
    assert!(budget.used() - budget.limit() < largest, "{}", budget.used());
    assert!((3_000..8_000 - 4_000).contains(&refused), "{refused}");
    assert_eq!(budget.remaining(), 0);
}

#[test]
fn over_a_budget_the_source_is_closed_with_a_fault_or_without() {
    for how in ["raise", "event"] {
        let config = unpaced().with_choice("over_budget", how).unwrap();
        let (feed, flow) = pair::<String>(&config, RewriterOptions::default()).unwrap();
        flow.share_budget(Budget::new(30));
        let reader = thread::spawn(move || {
            // It never ends by itself.
            while feed.bytes(thought("The lease ends. So it runs twice. ")).is_ok() {}
        });
        let last = loop {
            match flow.next(LONG) {
                Step::Bytes(_) => {}
                step => break step,
            }
        };
        match last {
            Step::Fault(RewriterError::ReasoningBudgetExceeded(found)) => {
                assert!(how == "raise" && found.shared);
            }
            Step::Finished => assert_eq!(how, "event"),
            step => panic!("{step:?}"),
        }
        reader.join().unwrap();
        assert!(flow.with_answer(|rewriter, _| rewriter.exceeded()).is_some());
        assert!(matches!(flow.next(LONG), Step::Finished));
    }
}

#[test]
fn a_paced_iterator_shares_a_budget() {
    let source =
        std::iter::repeat_with(|| Ok::<_, String>(thought("The lease ends. So it runs. ")));
    let mut paced = Paced::new(source, &unpaced(), RewriterOptions::default()).unwrap();
    paced.share_budget(Budget::new(30));
    let last = paced.by_ref().find_map(Result::err);
    assert!(matches!(last, Some(PacedError::Stream(RewriterError::ReasoningBudgetExceeded(_)))));
    assert!(paced.next().is_none());
}

#[test]
fn a_source_that_falls_silent_is_told_in_time() {
    let config = Config::default().with("max_silence", 300_000_000).unwrap();
    let (feed, flow) = pair::<String>(&config, pieces()).unwrap();
    feed.bytes(delta("content", "It holds. And so")).unwrap();
    let begun = Instant::now();
    let mut text = String::new();
    let fault = loop {
        match flow.next(LONG) {
            Step::Piece(piece) => text.push_str(&piece.text),
            Step::Fault(fault) => break fault,
            step => panic!("{step:?}"),
        }
    };
    assert!(matches!(fault, RewriterError::Stalled { .. }), "{fault:?}");
    assert_eq!(text, "It holds. And so");
    assert!(begun.elapsed() >= Duration::from_millis(250));
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(feed.is_closed());
}

#[test]
fn a_consumer_that_pauses_is_told_of_no_silence() {
    let config = unpaced().with("max_silence", 100_000_000).unwrap();
    let (feed, flow) = pair::<String>(&config, pieces()).unwrap();
    let full = Arc::new(AtomicBool::new(false));
    let reader = thread::spawn({
        let full = Arc::clone(&full);
        move || {
            for number in 0..2_000 {
                let sent = Instant::now();
                feed.bytes(delta("content", &format!("{number}. "))).unwrap();
                if sent.elapsed() > Duration::from_millis(200) {
                    full.store(true, Ordering::Relaxed);
                }
            }
            feed.finish().unwrap();
        }
    });
    let mut text = String::new();
    let mut pauses = 0;
    loop {
        match flow.next(LONG) {
            Step::Piece(piece) => {
                text.push_str(&piece.text);
                if pauses < 3 {
                    // Much longer than the silence may be, with the channel full and the reader blocked in it.
                    pauses += 1;
                    thread::park_timeout(Duration::from_millis(400));
                }
            }
            Step::Finished => break,
            step => panic!("{step:?} after {} bytes", text.len()),
        }
    }
    reader.join().unwrap();
    let said: Vec<_> = (0..2_000).map(|number| format!("{number}. ")).collect();
    assert_eq!(text, said.concat());
    assert!(full.load(Ordering::Relaxed), "the reader was kept from reading");
}

#[test]
fn what_ended_a_stream_is_not_replaced_by_the_error_of_its_closing() {
    let config = Config::default().with("max_reasoning_tokens", 5).unwrap();
    let mut stream = Inline::new(&config, RewriterOptions::default()).unwrap();
    stream.bytes(stream.now(), &thought(&"The lease ends. ".repeat(5)));
    while !matches!(stream.poll(stream.now()), Rewritten::Finished) {}
    assert!(stream.has_ended());
    stream.fail("the connection was closed");
    assert!(matches!(
        stream.end(),
        decluster_runtime::End::Fault(RewriterError::ReasoningBudgetExceeded(_))
    ));
}
