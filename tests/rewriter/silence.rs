//! `max_silence`: a source that gives nothing but signs of life is not waited for.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use decluster::wire::Verdict;
use decluster::{Config, Nanos, Rewriter, RewriterError, RewriterOptions, Rewritten};
use decluster_tests::small::{DONE, content, named, stop};
use proptest::prelude::*;

const WORDS: &str = "The lease ends, so the job runs twice. Then it must be renewed. ";

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn open(silence: u64) -> Rewriter {
    let config = Config::default().with("max_silence", ms(silence).0).unwrap();
    Rewriter::new(&config, RewriterOptions::default(), Nanos::ZERO).unwrap()
}

/// Polls as it is told; gives the bytes and when it ended, `None` if it did not by `until`.
fn polled(rewriter: &mut Rewriter, now: &mut Nanos, until: Nanos) -> (Vec<u8>, Option<Nanos>) {
    let mut out = Vec::new();
    loop {
        match rewriter.poll(*now) {
            Rewritten::Bytes(bytes) => out.extend_from_slice(bytes),
            Rewritten::Wait(at) if at <= until => *now = at,
            Rewritten::Wait(_) | Rewritten::NeedInput => {
                *now = until;
                return (out, None);
            }
            Rewritten::Finished => return (out, Some(*now)),
            _ => {}
        }
    }
}

#[test]
fn a_silent_source_ends_after_all_that_had_come() {
    let mut rewriter = open(2_000);
    let mut now = ms(10);
    let begun = "data: {\"choices\":[{\"index\":0,\"delta\":{\"cont";
    rewriter.push(now, (content(WORDS) + begun).as_bytes()).unwrap();
    let (out, ended) = polled(&mut rewriter, &mut now, Nanos::MAX);
    assert_eq!(ended, Some(ms(2_010)));
    assert!(String::from_utf8(out).unwrap().contains("renewed."));
    assert_eq!(rewriter.take_fault(), Some(RewriterError::Stalled { silence: ms(2_000) }));
    assert_eq!(rewriter.stalled(), Some(ms(2_000)));
    let totals = decluster::guard::Totals::default();
    totals.add(&rewriter);
    assert!(totals.render().contains("decluster_stalled_streams_total 1\n"));
    assert_eq!(rewriter.answer().verdict, Some(Verdict::Truncated));
    assert!(rewriter.has_ended() && !rewriter.wants_input());
    assert_eq!(rewriter.push(now, b"data"), Err(RewriterError::Finished));
}

#[test]
fn what_is_queued_is_not_paced_any_more() {
    let config = Config::default().with("max_silence", ms(1_000).0).unwrap();
    let config = config.with_choice("pace", "fixed").unwrap().with("rate", 1).unwrap();
    let config = config.with("burst", 1).unwrap().with("max_delay", ms(60_000).0).unwrap();
    let mut rewriter = Rewriter::new(&config, RewriterOptions::default(), Nanos::ZERO).unwrap();
    let mut now = Nanos::ZERO;
    rewriter.push(now, content(WORDS).as_bytes()).unwrap();
    assert!(rewriter.wants_input());
    let (before, ended) = polled(&mut rewriter, &mut now, ms(999));
    assert!(ended.is_none() && before.len() < 2 * content(WORDS).len(), "it is slow");
    let (_, ended) = polled(&mut rewriter, &mut now, Nanos::MAX);
    assert_eq!((ended, rewriter.stats().bytes_out), (Some(ms(1_000)), WORDS.len() as u64));
}

#[test]
fn pings_and_comments_are_signs_of_life_only() {
    for sign in [named("ping", ""), ": still here\n\n".to_owned(), "\n".to_owned()] {
        let mut rewriter = open(60_000);
        let start = named("message_start", r#""message":{"id":"a"}"#);
        rewriter.push(Nanos::ZERO, start.as_bytes()).unwrap();
        let (mut now, mut pushed) = (Nanos::ZERO, 0);
        let ended = loop {
            let next = now.after(ms(7_000));
            if let (_, Some(ended)) = polled(&mut rewriter, &mut now, next) {
                break ended;
            }
            rewriter.push(now, sign.as_bytes()).unwrap();
            pushed += 1;
        };
        assert_eq!((ended, pushed), (ms(60_000), 8), "{sign:?}");
        assert!(matches!(rewriter.take_fault(), Some(RewriterError::Stalled { .. })));
    }
}

#[test]
fn an_event_in_time_begins_it_anew() {
    let mut rewriter = open(1_000);
    let mut now = Nanos::ZERO;
    for _ in 0..20 {
        rewriter.push(now, content("Word ").as_bytes()).unwrap();
        let next = now.after(ms(999));
        assert_eq!(polled(&mut rewriter, &mut now, next).1, None);
    }
    rewriter.finish(now);
    assert!(polled(&mut rewriter, &mut now, Nanos::MAX).1.is_some());
    assert_eq!(rewriter.take_fault(), None);
}

#[test]
fn nothing_stalls_once_it_is_finished_or_has_said_its_end() {
    let mut rewriter = open(100);
    let mut now = Nanos::ZERO;
    rewriter.push(now, content(&WORDS.repeat(20)).as_bytes()).unwrap();
    rewriter.finish(now);
    assert!(polled(&mut rewriter, &mut now, Nanos::MAX).1.is_some());
    assert_eq!(rewriter.take_fault(), None);
    // A source that has said its end and is not closed is not waited for either, but nothing is wrong with it.
    let mut rewriter = open(1_000);
    let mut now = Nanos::ZERO;
    let stream = content("Word.") + &stop("stop") + DONE;
    rewriter.push(now, stream.as_bytes()).unwrap();
    assert_eq!(polled(&mut rewriter, &mut now, Nanos::MAX).1, Some(ms(1_000)));
    assert_eq!(rewriter.take_fault(), None);
    assert_eq!(rewriter.answer().verdict, Some(Verdict::Complete));
}

#[test]
fn no_silence_counts_while_no_input_is_wanted() {
    let config = Config::default().with("max_silence", ms(500).0).unwrap();
    let config = config.with("max_rate", 20).unwrap();
    let mut rewriter = Rewriter::new(&config, RewriterOptions::default(), Nanos::ZERO).unwrap();
    rewriter.push(Nanos::ZERO, content(&WORDS.repeat(8)).as_bytes()).unwrap();
    let mut now = Nanos::ZERO;
    let mut wanted_at = None;
    let ended = loop {
        let wanted = rewriter.wants_input();
        match rewriter.poll(now) {
            Rewritten::Finished => break now,
            Rewritten::Wait(at) => now = at,
            _ => {}
        }
        if !wanted && rewriter.wants_input() {
            wanted_at = Some(now);
        }
    };
    let wanted_at = wanted_at.unwrap();
    assert!(wanted_at > ms(2_000), "{wanted_at}");
    assert_eq!(ended, wanted_at.after(ms(500)));
}

#[test]
fn a_consumer_that_was_away_finds_no_silence_in_it() {
    let mut rewriter = open(1_000);
    let mut now = Nanos::ZERO;
    let until = ms(300);
    assert_eq!(polled(&mut rewriter, &mut now, until).1, None);
    // It was told to come at 1 s, and comes an hour later; then the reader gets its turn.
    now = ms(3_600_000);
    assert_eq!(rewriter.poll(now), Rewritten::Wait(now.after(ms(100))));
    rewriter.push(now, content("Word.").as_bytes()).unwrap();
    let until = now.after(ms(999));
    assert_eq!(polled(&mut rewriter, &mut now, until).1, None);
    assert_eq!(polled(&mut rewriter, &mut now, Nanos::MAX).1, Some(ms(3_601_000)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(decluster_tests::cases(200)))]

    /// `Wait` holds in both directions: a poll before it answers the same, the poll at it gives something; and the stream
    /// stalls when, and only when, the silence has lasted.
    #[test]
    fn a_wait_holds(silence in 1u64..3_000, steps in prop::collection::vec((0u64..1_500, 0usize..3), 1..20), unit in 0u64..2, pace in 0u64..3, max_rate in 0u64..80) {
        let config = Config::default().with("max_silence", ms(silence).0).unwrap();
        let config = config.with("unit", unit).unwrap().with("pace", pace).unwrap();
        let config = config.with("max_rate", max_rate).unwrap();
        let mut rewriter = Rewriter::new(&config, RewriterOptions::default(), Nanos::ZERO).unwrap();
        let (mut now, mut promised, mut ended, mut quiet_since) = (Nanos::ZERO, false, false, Nanos::ZERO);
        let mut out = Vec::new();
        let mut whole = String::new();
        for (after, what) in steps.into_iter().chain([(100_000, 1)]) {
            let until = now.after(ms(after));
            loop {
                match rewriter.poll(now) {
                    Rewritten::Wait(at) => {
                        prop_assert!(at > now && !promised);
                        if at > until {
                            break;
                        }
                        let before = Nanos(now.0 + (at.0 - now.0) / 2);
                        prop_assert_eq!(rewriter.poll(before), Rewritten::Wait(at));
                        let before = Nanos(at.0 - 1);
                        prop_assert_eq!(rewriter.poll(before), Rewritten::Wait(at));
                        now = at;
                        promised = true;
                    }
                    Rewritten::NeedInput => panic!("a silence is always bounded"),
                    Rewritten::Finished => {
                        ended = true;
                        break;
                    }
                    Rewritten::Bytes(bytes) => {
                        out.extend_from_slice(bytes);
                        promised = false;
                    }
                    _ => promised = false,
                }
            }
            if ended {
                break;
            }
            promised = false;
            now = until;
            if rewriter.wants_input() {
                let event = [": ping\n\n".to_owned(), named("ping", ""), content("So it goes on. ")];
                rewriter.push(now, event[what].as_bytes()).unwrap();
                if what == 2 {
                    whole.push_str("So it goes on. ");
                    quiet_since = now;
                }
            }
        }
        prop_assert!(ended, "the last silence is longer than any");
        prop_assert!(now >= quiet_since.after(ms(silence)));
        let stalled = matches!(rewriter.take_fault(), Some(RewriterError::Stalled { .. }));
        prop_assert!(stalled);
        let text = decluster_tests::streams::read([&out[..]], None);
        prop_assert_eq!(text.text(0, decluster::Kind::Output), whole);
    }
}
