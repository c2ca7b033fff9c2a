//! `max_reasoning_tokens` and shared budgets: reasoning is let through up to a limit, and not beyond.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use decluster::guard::Budget;
use decluster::wire::{Dialect, Verdict};
use decluster::{
    Cancel, Collector, CollectorError, Config, CountSource, Event, Kind, Nanos,
    ReasoningBudgetExceeded, Rewriter, RewriterError, RewriterOptions, Rewritten,
};
use decluster_tests::Random;
use decluster_tests::small::{DONE, content, event, named, reasoning, stop};
use decluster_tests::speech::{FORMS, Say};
use decluster_tests::streams::read;
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

/// Gives a stream event by event, 20 ms apart, to a rewriter that is polled as it says, until it ends or the stream does.
fn played(rewriter: &mut Rewriter, events: &[String], mut heed: impl FnMut(&Rewritten<'_>)) {
    let mut now = Nanos::ZERO;
    let mut events = events.iter();
    let mut next = events.next();
    loop {
        let due = match rewriter.poll(now) {
            Rewritten::Wait(at) => at,
            Rewritten::NeedInput => Nanos::MAX,
            Rewritten::Finished => return,
            given => {
                heed(&given);
                continue;
            }
        };
        let arrival = now.after(Nanos::from_millis(20));
        match next {
            Some(event) if rewriter.wants_input() && arrival <= due => {
                now = arrival;
                rewriter.push(now, event.as_bytes()).unwrap();
                next = events.next();
            }
            None if !rewriter.has_ended() => rewriter.finish(now),
            _ => now = due,
        }
    }
}

/// What a reader of the pieces got.
#[derive(Default)]
struct Got {
    reasoning: String,
    output: String,
    pieces: Vec<u64>,
    /// Bytes of the last piece of reasoning.
    last: usize,
    events: Vec<String>,
    budget: Vec<ReasoningBudgetExceeded>,
}

fn got(config: &Config, budget: Option<&Budget>, events: &[String]) -> (Got, Rewriter) {
    let mut options = RewriterOptions::default();
    (options.pieces, options.events) = (true, true);
    let mut rewriter = Rewriter::new(config, options, Nanos::ZERO).unwrap();
    if let Some(budget) = budget {
        rewriter.share_budget(budget.clone());
    }
    let mut got = Got::default();
    played(&mut rewriter, events, |given| match given {
        Rewritten::Piece(piece) if piece.kind == Kind::Reasoning => {
            got.reasoning.push_str(piece.text);
            got.pieces.push(piece.tokens.into());
            got.last = piece.text.len();
        }
        Rewritten::Piece(piece) => got.output.push_str(piece.text),
        Rewritten::Other { data, .. } => got.events.push((*data).to_owned()),
        Rewritten::Event(Event::BudgetExceeded(exceeded)) => got.budget.push(*exceeded),
        _ => {}
    });
    (got, rewriter)
}

fn limited(limit: u64) -> Config {
    Config::default().with("max_reasoning_tokens", limit).unwrap()
}

/// A chat chunk with reasoning (none if empty) and a running count.
fn counted(text: &str, count: u64, finish: &str) -> String {
    event(&format!(
        r#"{{"choices":[{{"index":0,"delta":{{"reasoning_content":"{text}"}},"finish_reason":{finish}}}],"usage":{{"completion_tokens":{count},"completion_tokens_details":{{"reasoning_tokens":{count}}}}}}}"#
    ))
}

/// Gemini's element with a thought (none if empty) and its running count.
fn thought(text: &str, count: u64) -> String {
    let part = if text.is_empty() {
        String::new()
    } else {
        format!(r#"{{"thought":true,"text":"{text}"}}"#)
    };
    event(&format!(
        r#"{{"candidates":[{{"content":{{"parts":[{part}],"role":"model"}},"index":0}}],"usageMetadata":{{"promptTokenCount":4,"thoughtsTokenCount":{count}}}}}"#
    ))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(decluster_tests::cases(300)))]

    /// In every dialect, unit and pace, as bytes and as pieces: what is let through begins what was said, nothing leaves
    /// after the piece that exceeds the limit, and within the limit nothing changes.
    #[test]
    fn in_any_dialect_what_is_let_through_begins_what_was_said(form in 0..FORMS.len(), seed in any::<u64>(), limit in 1u64..60, unit in 0u64..3, pace in 0u64..3, segment in 0u64..3, shared in any::<bool>()) {
        let form = FORMS[form];
        let mut random = Random(seed);
        let mut said = form.answer(&mut random);
        // A final count may free what waits; that is another test.
        said.retain(|say| !matches!(say, Say::Usage(_)));
        let stream = form.stream(&said, &mut random);
        let mut config = Config::default();
        for (name, value) in [("unit", unit), ("pace", pace), ("segment", segment)] {
            config = config.with(name, value).unwrap();
        }
        let whole = read([&stream[..]], None);
        let (budget, config) = if shared {
            (Budget::new(limit), config)
        } else {
            (Budget::new(u64::MAX), config.with("max_reasoning_tokens", limit).unwrap())
        };
        let mut options = RewriterOptions::default();
        options.pieces = unit == 2 || random.below(2) == 0;
        let mut rewriter = Rewriter::new(&config, options, Nanos::ZERO).unwrap();
        rewriter.share_budget(budget.clone());
        let (mut out, mut texts, mut pieces) = (Vec::new(), [String::new(), String::new()], Vec::new());
        let mut now = Nanos::ZERO;
        rewriter.push(now, &stream).unwrap();
        rewriter.finish(now);
        loop {
            match rewriter.poll(now) {
                Rewritten::Bytes(bytes) => out.extend_from_slice(bytes),
                Rewritten::Piece(piece) => {
                    texts[piece.index.min(1) as usize].push_str(if piece.kind == Kind::Reasoning { piece.text } else { "" });
                    if piece.kind == Kind::Reasoning {
                        pieces.push(u64::from(piece.tokens));
                    }
                }
                Rewritten::Wait(at) => now = at,
                Rewritten::Finished => break,
                _ => {}
            }
        }
        let exceeded = rewriter.exceeded();
        prop_assert_eq!(rewriter.take_fault(), exceeded.map(RewriterError::ReasoningBudgetExceeded));
        if options.pieces {
            let used: u64 = pieces.iter().sum();
            let last = pieces.last().copied().unwrap_or_default();
            // Where counts stand beside the text, those are charged.
            if form.dialect != Dialect::Incident {
                prop_assert_eq!(budget.used(), used);
                prop_assert!(used - last <= limit);
                prop_assert_eq!(exceeded.is_some_and(|found| !found.shared), !shared && used > limit);
            }
        } else {
            let kept = read([&out[..]], Some(form.dialect));
            for (index, text) in texts.iter_mut().enumerate() {
                text.push_str(kept.text(index as u32, Kind::Reasoning));
            }
        }
        for (index, text) in texts.iter().enumerate() {
            let said = whole.text(index as u32, Kind::Reasoning);
            prop_assert!(said.starts_with(text.as_str()), "{text:?} of {said:?}");
            prop_assert!(exceeded.is_some() || said == text, "{text:?} of {said:?}");
        }
        if let Some(found) = exceeded {
            prop_assert_eq!((found.limit, found.shared), (limit, shared));
            prop_assert!(found.used > limit || shared && found.used == limit);
            prop_assert_eq!(found.used, budget.used());
        }
    }

    /// A provider that counts while it streams is believed: no reasoning is let through after that by which its own count
    /// exceeds the limit, and none is held back before.
    #[test]
    fn a_running_count_governs(events in prop::collection::vec((0usize..4, 0u64..30), 1..40), limit in 1u64..200, gemini in any::<bool>(), unit in 0u64..2, pace in 0u64..3) {
        let words = ["", "The lease ends.", "So a job runs twice, and it is billed.", "It must be renewed in time, or else. And so on."];
        let (mut count, mut stream) = (0, Vec::new());
        let (mut at_least, mut at_most, mut whole) = (String::new(), String::new(), String::new());
        for (text, more) in events {
            count += more + u64::from(text > 0);
            stream.push(if gemini { thought(words[text], count) } else { counted(words[text], count, "null") });
            whole.push_str(words[text]);
            if count - more - u64::from(text > 0) <= limit {
                // Up to and with the event whose count is too much.
                at_most.push_str(words[text]);
            }
            if count <= limit {
                at_least.push_str(words[text]);
            }
        }
        let config = limited(limit).with("unit", unit).unwrap().with("pace", pace).unwrap();
        let (got, rewriter) = got(&config, None, &stream);
        prop_assert!(whole.starts_with(&got.reasoning));
        prop_assert_eq!(rewriter.exceeded().is_some(), count > limit);
        if let Some(found) = rewriter.exceeded() {
            prop_assert_eq!((found.source, found.shared), (CountSource::Provider, false));
            prop_assert!(found.used > limit);
            prop_assert!(got.reasoning.starts_with(&at_least), "{at_least:?}");
            prop_assert!(got.reasoning.len() - got.last <= at_most.len());
        } else {
            prop_assert_eq!(got.reasoning, whole);
        }
    }
}

#[test]
fn a_count_without_text_ends_the_stream_behind_what_came_with_it() {
    let stream = [
        counted("It waits for the end of a block that will", 9, "null"),
        counted("", 40, "null"),
        content("Never."),
    ];
    for pace in ["adaptive", "fixed", "off"] {
        for unit in ["block", "word", "whole"] {
            let config = limited(30).with_choice("pace", pace).unwrap();
            let config = config.with_choice("unit", unit).unwrap();
            let (got, mut rewriter) = got(&config, None, &stream);
            assert_eq!(got.reasoning, "It waits for the end of a block that will");
            assert_eq!((got.output.as_str(), got.events.len()), ("", 2), "{unit} {pace}");
            let (source, shared) = (CountSource::Provider, false);
            let exceeded = ReasoningBudgetExceeded { used: 40, limit: 30, source, shared };
            assert_eq!(rewriter.exceeded(), Some(exceeded));
            let fault = RewriterError::ReasoningBudgetExceeded(exceeded);
            assert_eq!(rewriter.take_fault(), Some(fault));
        }
    }
}

#[test]
fn a_final_count_is_told_once_everything_is_out() {
    let end = r#"{"choices":[],"usage":{"completion_tokens_details":{"reasoning_tokens":900}}}"#;
    let stream = [content("Forty-two."), stop("stop"), event(end), DONE.to_owned()];
    for shared in [false, true] {
        let budget = Budget::new(if shared { 800 } else { 1_000 });
        let config = if shared { Config::default() } else { limited(500) };
        let (got, mut rewriter) = got(&config, Some(&budget), &stream);
        assert_eq!((got.output.as_str(), got.events.len()), ("Forty-two.", 3));
        assert_eq!(rewriter.answer().verdict, Some(Verdict::Complete));
        let (limit, source) = (if shared { 800 } else { 500 }, CountSource::Usage);
        let exceeded = ReasoningBudgetExceeded { used: 900, limit, source, shared };
        let fault = RewriterError::ReasoningBudgetExceeded(exceeded);
        assert_eq!(rewriter.take_fault(), Some(fault));
        assert_eq!(budget.used(), 900);
    }
}

#[test]
fn a_final_count_that_repeats_the_running_one_does_not_count_twice() {
    let stream = [counted("It ends.", 60, "null"), counted("", 60, r#""stop""#), DONE.to_owned()];
    let budget = Budget::new(1_000);
    let (_, rewriter) = got(&limited(100), Some(&budget), &stream);
    assert_eq!((rewriter.exceeded(), budget.used()), (None, 60));
}

#[test]
fn a_count_of_0_beside_text_is_none() {
    let words = "The lease ends, so the job runs twice. ".repeat(3);
    let stream = [counted(&words, 0, "null"), counted(&words, 0, r#""stop""#)];
    let (_, rewriter) = got(&limited(20), None, &stream);
    assert_eq!(rewriter.exceeded().map(|found| found.source), Some(CountSource::Estimate));
}

#[test]
fn a_lower_count_lets_what_waits_go_on() {
    let words = "The lease ends, so the job runs twice. ".repeat(6);
    let stream = [[counted(&words, 12, "null"), stop("stop"), DONE.to_owned()].concat()];
    let (got, rewriter) = got(&limited(12), None, &stream);
    assert_eq!((got.reasoning, rewriter.exceeded()), (words, None));
}

#[test]
fn counts_beside_text_are_believed() {
    let delta = |text: &str, count: u64| {
        let data = format!(r#"{{"delta":"{text}","delta_tokens":{count}}}"#);
        format!("event: response.reasoning.delta\ndata: {data}\n\n")
    };
    let stream = [delta("First this. ", 67), delta("Then that. ", 81), delta("And more.", 12)];
    let (got, rewriter) = got(&limited(140), None, &stream);
    assert_eq!(got.reasoning.trim_end(), "First this. Then that.");
    let found = rewriter.exceeded().unwrap();
    // A blank of it is still to come.
    assert_eq!((found.used, found.source), (144, CountSource::Provider));
}

#[test]
fn counts_without_text_are_cut_at_the_limit() {
    let delta = "event: response.reasoning.delta\ndata: {\"delta_tokens\":500}\n\n".to_owned();
    let (got, rewriter) = got(&limited(40), None, &[delta]);
    let found = rewriter.exceeded().unwrap();
    assert_eq!((found.used, found.source), (got.pieces.iter().sum(), CountSource::Provider));
    assert!(found.used < 80, "{found:?}");
}

#[test]
fn an_answer_that_begins_anew_keeps_what_the_attempt_before_had_used() {
    let start = |id: &str| named("message_start", &format!(r#""message":{{"id":"{id}"}}"#));
    let open = || {
        let block = r#""index":0,"content_block":{"type":"thinking","thinking":""}"#;
        named("content_block_start", block)
    };
    let thinks = || {
        let words = "The lease ends, so the job runs twice. ";
        let delta =
            format!(r#""index":0,"delta":{{"type":"thinking_delta","thinking":"{words}"}}"#);
        named("content_block_delta", &delta)
    };
    let once = [start("a"), open(), thinks(), thinks()];
    let (free, rewriter) = got(&limited(1_000), None, &once);
    assert_eq!(rewriter.exceeded(), None);
    let used: u64 = free.pieces.iter().sum();
    let twice = [&once[..], &[start("b"), open(), thinks(), thinks()]].concat();
    let (_, rewriter) = got(&limited(used + used / 2), None, &twice);
    let found = rewriter.exceeded().unwrap();
    assert!(found.used > used + used / 2, "{found:?}");
}

#[test]
fn reasoning_in_events_that_pass_whole_counts_too() {
    let delta = |n: u64| {
        let text = format!("Number {n} runs on and on until the lease has ended.");
        let choice = format!(
            r#"{{"index":0,"delta":{{"reasoning_content":"{text}"}},"logprobs":{{"content":[{{"token":"x"}}]}}}}"#
        );
        event(&format!(r#"{{"choices":[{choice}]}}"#))
    };
    let stream: Vec<_> = (0..20).map(delta).collect();
    for shared in [false, true] {
        let budget = Budget::new(if shared { 50 } else { 1_000 });
        let config = if shared { Config::default() } else { limited(50) };
        let mut rewriter = Rewriter::new(&config, RewriterOptions::default(), Nanos::ZERO).unwrap();
        rewriter.share_budget(budget.clone());
        let mut out = 0;
        played(&mut rewriter, &stream, |_| out += 1);
        let found = rewriter.exceeded().unwrap();
        assert!((50..70).contains(&found.used) && (2..10).contains(&out), "{found:?}, {out}");
        assert_eq!((found.shared, budget.used()), (shared, found.used));
    }
}

#[test]
fn with_events_a_stream_ends_with_one_and_without_a_fault() {
    let words = "The lease ends, so the job runs twice. ".repeat(6);
    let config = limited(20).with_choice("over_budget", "event").unwrap();
    let stream = [reasoning(&words), content("Never."), DONE.to_owned()];
    let (got, mut rewriter) = got(&config, None, &stream);
    assert_eq!((rewriter.take_fault(), got.output.as_str()), (None, ""));
    assert_eq!(got.budget, Vec::from_iter(rewriter.exceeded()));
    assert!(got.budget[0].used > 20);
    let mut rewriter = Rewriter::new(&config, RewriterOptions::default(), Nanos::ZERO).unwrap();
    let mut events = 0;
    played(&mut rewriter, &stream, |given| {
        events += u64::from(matches!(given, Rewritten::Event(_)));
    });
    assert_eq!((rewriter.take_fault(), events), (None, 0));
    assert_eq!(rewriter.exceeded().map(|found| found.limit), Some(20));
}

#[test]
fn what_others_use_up_refuses_the_next_piece_and_lets_output_pass() {
    let budget = Budget::new(60);
    let words = "The lease ends, so the job runs twice. ".repeat(12);
    let config = Config::default();
    let mut options = RewriterOptions::default();
    options.pieces = true;
    let open = || {
        let mut rewriter = Rewriter::new(&config, options, Nanos::ZERO).unwrap();
        rewriter.share_budget(budget.clone());
        rewriter
    };
    let (mut waits, mut speaks) = (open(), open());
    waits.push(Nanos::ZERO, reasoning(&words[..words.len() / 3]).as_bytes()).unwrap();
    speaks.push(Nanos::ZERO, content(&words).as_bytes()).unwrap();
    while !matches!(waits.poll(Nanos::ZERO), Rewritten::Wait(_)) {}
    while !matches!(speaks.poll(Nanos::ZERO), Rewritten::Wait(_)) {}
    let mut other = open();
    other.push(Nanos::ZERO, reasoning(&words).as_bytes()).unwrap();
    while !matches!(other.poll(Nanos::ZERO), Rewritten::Finished) {}
    let used = budget.used();
    // No time passes.
    assert_eq!(waits.poll(Nanos::ZERO), Rewritten::Finished);
    let exceeded = waits.exceeded().unwrap();
    assert!(exceeded.shared && exceeded.used == used && used >= 60, "{exceeded:?}");
    // Output is paced as ever, and comes whole.
    assert!(matches!(speaks.poll(Nanos::ZERO), Rewritten::Wait(_)));
    speaks.finish(Nanos::ZERO);
    let mut now = Nanos::ZERO;
    loop {
        match speaks.poll(now) {
            Rewritten::Wait(at) => now = at,
            Rewritten::Finished => break,
            _ => {}
        }
    }
    assert_eq!((speaks.exceeded(), speaks.stats().bytes_out), (None, words.len() as u64));
    assert_eq!(budget.used(), used);
}

#[test]
fn a_stream_that_is_dropped_stays_charged_with_what_it_gave() {
    let budget = Budget::new(10_000);
    let words = "The lease ends, so the job runs twice. ".repeat(12);
    let mut rewriter =
        Rewriter::new(&Config::default(), RewriterOptions::default(), Nanos::ZERO).unwrap();
    rewriter.share_budget(budget.clone());
    rewriter.push(Nanos::ZERO, counted(&words, 900, r#""stop""#).as_bytes()).unwrap();
    while !matches!(rewriter.poll(Nanos::ZERO), Rewritten::Wait(_)) {}
    let used = budget.used();
    rewriter.cancel(Cancel::Drop);
    assert_eq!(rewriter.poll(Nanos::ZERO), Rewritten::Finished);
    assert_eq!((rewriter.exceeded(), budget.used()), (None, used));
    assert!((1..100).contains(&used), "{used}");
}

#[test]
fn a_collector_keeps_what_had_come() {
    let stream: String = (0..20).map(|_| reasoning("The lease ends. ")).collect();
    for (shared, tells) in [(false, false), (true, false), (false, true)] {
        let config = if shared { Config::default() } else { limited(20) };
        let config = config.with("over_budget", tells.into()).unwrap();
        let budget = Budget::new(if shared { 20 } else { 1_000 });
        let mut collector = Collector::new(&config, None);
        collector.share_budget(budget.clone());
        let pushed = collector.push(stream.as_bytes());
        let exceeded = collector.exceeded().unwrap();
        let told = Err(CollectorError::ReasoningBudgetExceeded(exceeded));
        assert_eq!(pushed, if tells { Ok(()) } else { told });
        assert_eq!((exceeded.shared, exceeded.used), (shared, budget.used()));
        // What comes after it is not taken in, and it is told once.
        let before = collector.text(0).cloned().unwrap();
        assert_eq!(collector.push(stream.as_bytes()), Ok(()));
        assert_eq!(collector.finish(), Ok(()));
        assert_eq!(collector.text(0), Some(&before));
        assert_eq!(collector.answer().verdict, Some(Verdict::Truncated));
        let events = before.reasoning.len() / "The lease ends. ".len();
        assert!((4..8).contains(&events), "{events}");
    }
}

#[test]
fn a_collector_believes_counts() {
    let end = r#"{"choices":[],"usage":{"completion_tokens_details":{"reasoning_tokens":900}}}"#;
    let hidden = [content("Forty-two."), stop("stop"), event(end), DONE.to_owned()].concat();
    let running =
        [counted("It ends.", 9, "null"), counted("", 40, "null"), content("No.")].concat();
    for (stream, source, output) in
        [(hidden, CountSource::Usage, "Forty-two."), (running, CountSource::Provider, "")]
    {
        let mut collector = Collector::new(&limited(30), None);
        let told = collector.push(stream.as_bytes()).and_then(|()| collector.finish());
        assert!(told.is_err());
        assert_eq!(collector.exceeded().map(|found| found.source), Some(source));
        assert_eq!(collector.text(0).map(|text| text.output.as_str()), Some(output));
    }
}
