//! What the rewriter writes is the stream it read, but for where the text is cut, and when it comes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use decluster::wire::{Dialect, Reader, Verdict};
use decluster::{Cancel, Config, Kind, Nanos, Rewriter, RewriterError, RewriterOptions, Rewritten};
use decluster_tests::recut::Recut;
use decluster_tests::rewriting::{config, rewrite, run};
use decluster_tests::small::event;
use decluster_tests::speech::FORMS;
use decluster_tests::streams::{read, read_with, same};
use decluster_tests::{Capture, Random, captures, cut, sizes};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// The recorded streams of all dialects.
fn recorded() -> impl Iterator<Item = Capture> {
    Dialect::ALL.into_iter().filter(|d| *d != Dialect::Incident).flat_map(|d| captures(d.name()))
}

#[test]
fn recorded_streams_keep_their_meaning() {
    for capture in recorded() {
        let before = read([&capture.bytes[..]], None);
        let seed = capture.bytes.len() as u64;
        let once = rewrite(&config("block", "adaptive", "semantic"), &capture.bytes, seed);
        same(&capture.name, &before, &read([&once[..]], None));
        let twice = rewrite(&config("block", "adaptive", "semantic"), &once, seed + 1);
        same(&format!("{} twice", capture.name), &before, &read([&twice[..]], None));
        let word = rewrite(&config("word", "adaptive", "semantic"), &capture.bytes, seed + 2);
        same(&format!("{} by words", capture.name), &before, &read([&word[..]], None));
    }
}

#[test]
fn with_pace_and_segment_off_the_bytes_are_the_same() {
    let off = config("block", "off", "off");
    for capture in recorded() {
        let out = rewrite(&off, &capture.bytes, capture.bytes.len() as u64);
        assert!(out == capture.bytes, "{}", capture.name);
    }
    for stream in [chat(), responses(), INCIDENT.to_owned(), BROKEN.to_owned()] {
        assert_eq!(String::from_utf8(rewrite(&off, stream.as_bytes(), 5)).unwrap(), stream);
    }
}

#[test]
fn with_pace_and_segment_off_events_come_one_by_one_and_are_counted() {
    let mut now = Nanos::ZERO;
    let off = config("block", "off", "off");
    let mut rewriter = Rewriter::new(&off, RewriterOptions::default(), now).unwrap();
    // Half a character stays in the string that it came in.
    let events = [delta("a\\ud83d"), ": ping\n".to_owned(), delta("\\ude00 b"), delta("c")];
    rewriter.push(now, events.concat().as_bytes()).unwrap();
    assert!(rewriter.stats().queued_bytes > events.concat().len() as u64);
    for event in &events {
        assert_eq!(rewriter.poll(now), Rewritten::Bytes(event.as_bytes()));
    }
    assert_eq!(rewriter.poll(now), Rewritten::NeedInput);
    now = now.after(Nanos::from_millis(1));
    rewriter
        .push(now, event(r#"{"choices":[{"index":7,"delta":{"con"#).trim_end().as_bytes())
        .unwrap();
    assert_eq!(rewriter.poll(now), Rewritten::NeedInput);
    let stats = rewriter.stats();
    assert_eq!((stats.deltas, stats.pieces, stats.bytes_in, stats.bytes_out), (3, 3, 8, 8));
    assert_eq!((stats.queued_bytes, stats.max_delay), (0, Nanos::ZERO));
    rewriter.cancel(Cancel::Drop);
    assert_eq!(rewriter.poll(now), Rewritten::Finished);
}

#[test]
fn a_delta_is_cut_at_blocks_and_only_its_text_changes() {
    let stream = event(
        r#"{"id":"a", "choices":[{"index":0,"delta":{"content":"First we look at this. Then \"that\" … and more."},"finish_reason":null}],"x":1.50}"#,
    );
    let out = lines(&config("block", "adaptive", "semantic"), &stream);
    assert_eq!(
        out,
        [
            r#"data: {"id":"a", "choices":[{"index":0,"delta":{"content":"First we look at this."},"finish_reason":null}],"x":1.50}"#,
            r#"data: {"id":"a", "choices":[{"index":0,"delta":{"content":" Then \"that\" … and more."},"finish_reason":null}],"x":1.50}"#,
        ]
    );
}

#[test]
fn a_delta_may_be_cut_at_sentences_alone() {
    let sentences = [
        "No.",
        " The worker holds the lease, renews it, checks it, writes what it has, renews it, and ends.",
        " So it is.",
    ];
    let out = lines(&config("block", "adaptive", "sentences"), &delta(&sentences.concat()));
    assert_eq!(out, sentences.map(|text| delta(text).trim_end().to_owned()));
    let semantic = lines(&config("block", "adaptive", "semantic"), &delta(&sentences.concat()));
    assert_ne!(semantic, out);
}

#[test]
fn deltas_of_different_names_are_not_joined() {
    let named = |name: &str, text: &str| format!("event: {name}\n{}", delta(text));
    let stream = [named("a", "One"), named("a", " word"), named("b", " more.")].concat();
    let out = lines(&config("block", "adaptive", "semantic"), &stream);
    let names = out.iter().filter(|line| line.starts_with("event"));
    assert_eq!(names.collect::<Vec<_>>(), ["event: a", "event: a", "event: b"], "{out:#?}");
}

#[test]
fn deltas_of_one_shape_are_joined_in_the_last() {
    let word = |n: u32, t: &str| {
        event(&format!(
            r#"{{"created":{n},"choices":[{{"index":0,"delta":{{"content":"{t}"}}}}]}}"#
        ))
    };
    let stream: String = ["It", " is", " the", " lease", " that", " ends", "."]
        .iter()
        .zip(1..)
        .map(|(t, n)| word(n, t))
        .collect();
    let out = lines(&config("block", "adaptive", "semantic"), &stream);
    // The first word goes at once, the rest of the block with the event that completed it.
    assert_eq!(out.len(), 2, "{out:#?}");
    assert_eq!(out[0], r#"data: {"created":1,"choices":[{"index":0,"delta":{"content":"It"}}]}"#);
    assert_eq!(
        out[1],
        r#"data: {"created":7,"choices":[{"index":0,"delta":{"content":" is the lease that ends."}}]}"#
    );
}

#[test]
fn what_else_is_in_an_event_stays_on_its_last_part() {
    let stream = event(
        r#"{"choices":[{"index":0,"delta":{"content":"One thing is here. Another thing is there."},"finish_reason":"stop"}],"usage":{"total_tokens":9}}"#,
    );
    let out = lines(&config("block", "adaptive", "semantic"), &stream);
    assert_eq!(out.len(), 2, "{out:#?}");
    assert!(out[0].contains(r#""finish_reason":null}],"usage":null"#), "{}", out[0]);
    assert!(
        out[1].contains(r#""finish_reason":"stop"}],"usage":{"total_tokens":9}"#),
        "{}",
        out[1]
    );
}

#[test]
fn reasoning_and_output_in_one_delta_become_two_events() {
    let stream = event(
        r#"{"choices":[{"index":0,"delta":{"content":"So.","reasoning_content":"Thus it ends."}}]}"#,
    );
    let out = lines(&config("block", "adaptive", "semantic"), &stream);
    assert_eq!(
        out,
        [
            r#"data: {"choices":[{"index":0,"delta":{"content":"","reasoning_content":"Thus it ends."}}]}"#,
            r#"data: {"choices":[{"index":0,"delta":{"content":"So.","reasoning_content":""}}]}"#,
        ]
    );
}

#[test]
fn numbers_and_ids_let_a_client_resume_after_any_part() {
    let delta = |n: u32, text: &str| {
        format!(
            "event: response.output_text.delta\nid: e{n}\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{n},\"output_index\":0,\"content_index\":0,\"delta\":\"{text}\"}}\n\n"
        )
    };
    let stream = [
        delta(4, "The first one stands here. "),
        delta(5, "A second one follows now. And a third ends it."),
    ]
    .concat();
    let out =
        String::from_utf8(rewrite(&config("block", "adaptive", "semantic"), stream.as_bytes(), 0))
            .unwrap();
    let numbers: Vec<&str> = out.split("sequence_number\":").skip(1).map(|t| &t[..1]).collect();
    assert_eq!(numbers.last(), Some(&"5"));
    assert!(numbers.is_sorted(), "{numbers:?}");
    // Only the part that completes an event may confirm it.
    assert_eq!(out.matches("id: e5").count(), 1);
    assert!(out.rfind("id: e5") > out.rfind("A second"), "{out}");
}

#[test]
fn counts_without_text_are_cut_into_even_counts() {
    let out = lines(&config("block", "adaptive", "semantic"), INCIDENT);
    let counts: Vec<u32> = out
        .iter()
        .filter_map(|line| {
            line.strip_prefix("data: {\"delta_tokens\": ")?.strip_suffix('}')?.parse().ok()
        })
        .collect();
    assert_eq!(counts, [14, 14, 13, 13, 13, 12, 12, 12, 12, 11, 11, 11, 12]);
}

#[test]
fn deltas_with_data_for_each_token_pass_whole() {
    let stream = event(
        r#"{"choices":[{"index":0,"delta":{"content":"One. Two three four five. Six seven."},"logprobs":{"content":[{"token":"One","logprob":-0.1}]}}]}"#,
    );
    assert_eq!(
        rewrite(&config("word", "adaptive", "semantic"), stream.as_bytes(), 0),
        stream.as_bytes()
    );
}

#[test]
fn json_that_was_ascii_stays_ascii() {
    let stream = event(
        r#"{"choices":[{"index":0,"delta":{"content":"Na\u00efve words come first. Then \ud83e\udd80 and the rest."}}]}"#,
    );
    let out = rewrite(&config("word", "adaptive", "semantic"), stream.as_bytes(), 0);
    assert!(out.is_ascii());
    assert!(
        read([&out[..]], None).text(0, Kind::Output)
            == "Naïve words come first. Then 🦀 and the rest."
    );
}

#[test]
fn an_event_leaves_with_all_of_its_last_line_end() {
    let stream = chat().replace('\n', "\r\n");
    let off = config("block", "off", "off");
    let settings =
        [off, config("block", "off", "semantic"), config("word", "adaptive", "semantic")];
    for config in settings {
        // An event a chunk: each must be whole before the next one comes.
        let chunks = stream.split_inclusive("\r\n\r\n").map(str::as_bytes);
        let (out, _) = run(&config, chunks, Nanos::from_millis(5_000));
        for bytes in out {
            assert!(bytes.ends_with(b"\r\n"), "{}", String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn crlf_stays_crlf() {
    let stream = chat().replace('\n', "\r\n");
    let out =
        String::from_utf8(rewrite(&config("block", "adaptive", "semantic"), stream.as_bytes(), 3))
            .unwrap();
    assert_eq!(out.matches('\n').count(), out.matches("\r\n").count());
}

#[test]
fn comments_go_at_once_and_events_keep_their_order() {
    let text = "This is a rather long text that takes a while to be shown. ".repeat(10);
    let stream = format!(
        "{}: ping\n\n{}",
        delta(&text),
        event(
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}"#
        )
    );
    let out = lines(&config("block", "adaptive", "semantic"), &stream);
    assert_eq!(out[0], ": ping");
    assert!(out.last().unwrap().contains("tool_calls"));
    assert!(out.len() > 10);
}

#[test]
fn broken_events_pass_unchanged_and_are_counted() {
    let (out, answer) =
        run(&config("block", "adaptive", "semantic"), [BROKEN.as_bytes()], Nanos::ZERO);
    let out = String::from_utf8(out.concat()).unwrap();
    assert!(out.contains("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\n\n"));
    assert!(out.contains("data: {\"surprise\":true}\n\n"));
    assert_eq!(answer.malformed, 1);
    assert_eq!(answer.verdict, Some(Verdict::Complete));
}

#[test]
fn a_page_instead_of_a_stream_passes_and_fails() {
    let page = "<!doctype html>\n<html><body><h1>502 Bad Gateway</h1></body></html>\n";
    let (out, answer) =
        run(&config("block", "adaptive", "semantic"), [page.as_bytes()], Nanos::ZERO);
    assert_eq!(String::from_utf8(out.concat()).unwrap(), page);
    assert_eq!(answer.verdict, Some(Verdict::Failed));
}

#[test]
fn an_event_over_the_cap_ends_the_stream_after_the_text_before_it() {
    let config = config("block", "adaptive", "semantic").with("max_event_bytes", 4_096).unwrap();
    let mut now = Nanos::ZERO;
    let mut rewriter = Rewriter::new(&config, RewriterOptions::default(), now).unwrap();
    let stream = [delta("Kept whole."), delta(&"x".repeat(5_000))].concat();
    let error = rewriter.push(now, stream.as_bytes()).unwrap_err();
    assert!(matches!(error, RewriterError::TooLarge(_)), "{error}");
    let mut out = Vec::new();
    loop {
        match rewriter.poll(now) {
            Rewritten::Bytes(bytes) => out.extend_from_slice(bytes),
            Rewritten::Wait(at) => now = at,
            _ => break,
        }
    }
    assert_eq!(read([&out[..]], None).text(0, Kind::Output), "Kept whole.");
    assert_eq!(rewriter.answer().verdict, Some(Verdict::Truncated));
    assert_eq!(rewriter.push(now, b"x"), Err(RewriterError::Finished));
}

#[test]
fn five_megabytes_in_one_event_pass() {
    let text = "All of it must come out again, in order and in time. ".repeat(100_000);
    let stream = delta(&text);
    let (out, _) = run(&config("block", "adaptive", "semantic"), [stream.as_bytes()], Nanos::ZERO);
    assert_eq!(read([&out.concat()[..]], None).text(0, Kind::Output), text);
}

#[test]
fn pieces_carry_the_text_and_events_the_rest() {
    let mut options = RewriterOptions::default();
    options.pieces = true;
    options.events = true;
    let mut now = Nanos::ZERO;
    let mut rewriter =
        Rewriter::new(&config("whole", "adaptive", "semantic"), options, now).unwrap();
    let stream = chat();
    rewriter.push(now, stream.as_bytes()).unwrap();
    rewriter.finish(now);
    let (mut output, mut events) = (String::new(), Vec::new());
    loop {
        match rewriter.poll(now) {
            Rewritten::Piece(piece) => {
                assert!(piece.part == 0 && piece.ends_block, "{piece:?} is a whole block");
                output.push_str(piece.text);
            }
            Rewritten::Other { data, .. } => events.push(data.to_owned()),
            Rewritten::Wait(at) => now = at,
            Rewritten::Finished => break,
            other => panic!("{other:?}"),
        }
    }
    let before = read([stream.as_bytes()], None);
    let text = [before.text(0, Kind::Reasoning), before.text(0, Kind::Output)].concat();
    assert_eq!(output, text);
    assert_eq!(events.last().map(String::as_str), Some("[DONE]"));
    assert!(events.iter().any(|e| e.contains("\"finish_reason\":\"stop\"")), "{events:#?}");
}

fn small() -> Config {
    Config::default().with("max_queue_bytes", 65_536).unwrap()
}

fn open(config: &Config) -> Rewriter {
    Rewriter::new(config, RewriterOptions::default(), Nanos::ZERO).unwrap()
}

/// Takes all that comes until nothing more does; leaps over waits.
fn take_all(rewriter: &mut Rewriter, now: &mut Nanos) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        match rewriter.poll(*now) {
            Rewritten::Bytes(bytes) => {
                assert!(!bytes.is_empty(), "an empty chunk ends a chunked body");
                out.extend_from_slice(bytes);
            }
            Rewritten::Wait(at) => *now = at,
            Rewritten::Finished | Rewritten::NeedInput => return out,
            other => panic!("{other:?} in byte mode"),
        }
    }
}

#[test]
fn events_larger_than_the_queue_are_taken_whole() {
    let long = "Some words of it. ".repeat(4_000);
    let finish = event(&format!(
        r#"{{"choices":[{{"index":0,"delta":{{"content":"{long}"}},"finish_reason":"stop"}}]}}"#
    ));
    let both = event(&format!(
        r#"{{"choices":[{{"index":0,"delta":{{"reasoning":"{long}","content":"{long}"}}}}]}}"#
    ));
    for stream in [
        finish,
        [delta("First a few. "), both, delta("And the rest. ").repeat(3), event("[DONE]")].concat(),
    ] {
        let before = read([stream.as_bytes()], None);
        let mut rewriter = open(&small());
        let mut now = Nanos::ZERO;
        rewriter.push(now, stream.as_bytes()).unwrap();
        rewriter.finish(now);
        let out = take_all(&mut rewriter, &mut now);
        same("larger than the queue", &before, &read([&out[..]], None));
    }
}

#[test]
fn what_is_wrong_behind_a_full_queue_is_told_too() {
    let config = small().with("max_event_bytes", 4_096).unwrap();
    let stream = [delta("Some words. ").repeat(2_000), delta(&"x".repeat(5_000))].concat();
    let mut rewriter = open(&config);
    let mut now = Nanos::ZERO;
    rewriter.push(now, stream.as_bytes()).unwrap();
    assert!(!rewriter.wants_input());
    let out = take_all(&mut rewriter, &mut now);
    assert_eq!(read([&out[..]], None).text(0, Kind::Output), "Some words. ".repeat(2_000));
    assert!(matches!(rewriter.take_fault(), Some(RewriterError::TooLarge(_))));
}

#[test]
fn a_caller_that_asks_first_is_never_refused() {
    let config = small().with("max_event_bytes", 1_000_000).unwrap();
    let half = delta(&"word ".repeat(190_000));
    let (most, last) = half.split_at(half.len() - 10);
    let chunks =
        [most.to_owned(), [last, &delta("a ").repeat(4_000)].concat(), delta("b ").repeat(9_000)];
    let mut rewriter = open(&config);
    let (mut now, mut out) = (Nanos::ZERO, Vec::new());
    for chunk in &chunks {
        while !rewriter.wants_input() {
            out.extend(take_all(&mut rewriter, &mut now));
        }
        rewriter.push(now, chunk.as_bytes()).unwrap();
    }
    rewriter.finish(now);
    out.extend(take_all(&mut rewriter, &mut now));
    let whole = chunks.concat();
    assert!(read([&out[..]], None).texts == read([whole.as_bytes()], None).texts);
}

/// How many events of this name and data it takes before it is full.
fn fill(rewriter: &mut Rewriter, name: &str, data: &str) -> usize {
    let mut refused = || rewriter.push_event(Nanos::ZERO, name, data).err();
    let (pushed, refusal) = (0..10_000).find_map(|n| Some((n, refused()?))).unwrap();
    assert!(matches!(refusal, RewriterError::Full { .. }), "{refusal}");
    pushed
}

#[test]
fn names_of_events_take_room_too() {
    let mut rewriter = open(&small());
    let name = "n".repeat(1_000);
    let pushed = fill(&mut rewriter, &name, "{}");
    rewriter.finish(Nanos::ZERO);
    let mut given = 0;
    while let Rewritten::Object { name: told, .. } = rewriter.poll(Nanos::ZERO) {
        assert_eq!(told, name);
        given += 1;
    }
    assert_eq!(given, pushed);
}

#[test]
fn events_without_data_take_room_too() {
    fill(&mut open(&small()), "n", "");
}

#[test]
fn intake_is_bounded_without_pacing_too() {
    let mut rewriter = open(&small());
    let mut now = Nanos::ZERO;
    rewriter.stop_pacing();
    let one = delta("Some words. ");
    let mut pushed = 0;
    while rewriter.wants_input() {
        rewriter.push(now, one.as_bytes()).unwrap();
        pushed += 1;
        assert!(pushed < 10_000, "without an end");
    }
    while rewriter.push(now, one.as_bytes()).is_ok() {
        pushed += 1;
        assert!(pushed < 10_000, "without an end");
    }
    let out = take_all(&mut rewriter, &mut now);
    // All but a character that may still grow.
    assert!(now <= Nanos::from_millis(100), "{now}");
    assert!(rewriter.wants_input());
    assert_eq!(read([&out[..]], None).text(0, Kind::Output), "Some words. ".repeat(pushed));
}

#[test]
fn no_more_is_taken_in_once_it_was_finished_cancelled_or_at_fault() {
    let now = Nanos::ZERO;
    let ends: [fn(&mut Rewriter); 4] = [
        |rewriter| rewriter.finish(Nanos::ZERO),
        |rewriter| rewriter.cancel(Cancel::Flush),
        |rewriter| rewriter.cancel(Cancel::Drop),
        |rewriter| {
            let large = delta(&"x".repeat(5_000));
            let refused = rewriter.push(Nanos::ZERO, large.as_bytes());
            assert!(matches!(refused, Err(RewriterError::TooLarge(_))));
        },
    ];
    for end in ends {
        let mut rewriter = open(&small().with("max_event_bytes", 4_096).unwrap());
        rewriter.push(now, delta("Some words. ").as_bytes()).unwrap();
        assert!(!rewriter.has_ended());
        end(&mut rewriter);
        assert!(rewriter.has_ended());
        assert_eq!(rewriter.push(now, b""), Err(RewriterError::Finished));
    }
}

#[test]
fn a_stream_is_recognised_by_what_it_brings() {
    let named = |dialect| {
        let mut options = RewriterOptions::default();
        options.dialect = dialect;
        Rewriter::new(&Config::default(), options, Nanos::ZERO).unwrap()
    };
    let role = event(r#"{"choices":[{"index":0,"delta":{"role":"assistant"}}]}"#);
    let error = event(r#"{"error":{"message":"no"}}"#);
    let other = event(r#"{"temperature":21.5}"#);
    let html = "<html><body>Bad gateway</body></html>".to_owned();
    let (chat, anthropic) = (Some(Dialect::Chat), Some(Dialect::Anthropic));
    // The dialect that is named, the stream, and what is known before its end and at it.
    for (dialect, stream, before, after) in [
        (None, String::new(), None, None),
        (None, ": keep-alive\n\n".to_owned(), None, None),
        (None, role, Some(true), Some(true)),
        (None, delta("Some words."), Some(true), Some(true)),
        (chat, String::new(), None, None),
        (chat, delta("Some words."), Some(true), Some(true)),
        (chat, error, Some(true), Some(true)),
        (anthropic, delta("Some words."), None, Some(false)),
        (None, other.clone(), None, Some(false)),
        (None, other.repeat(2), None, Some(false)),
        (None, other.repeat(3), Some(false), Some(false)),
        (anthropic, other.repeat(3), None, Some(false)),
        (None, html, None, Some(false)),
    ] {
        let mut rewriter = named(dialect);
        rewriter.push(Nanos::ZERO, stream.as_bytes()).unwrap();
        assert_eq!(rewriter.recognised(), before, "{dialect:?} {stream}");
        rewriter.finish(Nanos::ZERO);
        assert_eq!(rewriter.recognised(), after, "{dialect:?} {stream} at its end");
    }
}

#[test]
fn a_choice_too_many_passes_as_it_is() {
    let config = Config::default().with("max_choices", 1).unwrap();
    let stream = event(
        r#"{"choices":[{"index":0,"delta":{"content":"A."}},{"index":1,"delta":{"content":"B."}}]}"#,
    );
    assert_eq!(run(&config, [stream.as_bytes()], Nanos::ZERO).0.concat(), stream.as_bytes());
}

#[test]
fn cancel_flushes_all_that_came_or_forgets_it() {
    let stream = delta("Some words. ").repeat(3_000);
    for (how, want) in [(Cancel::Flush, 3_000), (Cancel::Drop, 0)] {
        let mut rewriter = open(&small());
        let mut now = Nanos::ZERO;
        rewriter.push(now, b": ping\n\n").unwrap();
        rewriter.push(now, stream.as_bytes()).unwrap();
        rewriter.cancel(how);
        let out = take_all(&mut rewriter, &mut now);
        assert_eq!(read([&out[..]], None).text(0, Kind::Output), "Some words. ".repeat(want));
        assert_eq!(now, Nanos::ZERO, "at once");
        assert_eq!(rewriter.poll(now), Rewritten::Finished);
    }
}

#[test]
fn blank_lines_and_foreign_bodies_stay_as_they_are() {
    for stream in [
        format!("\n{}\n\n", event("[DONE]")),
        "<html>\n\n\n<body>\n".to_owned(),
        "\n\n\n".to_owned(),
    ] {
        let (out, _) =
            run(&config("block", "adaptive", "semantic"), [stream.as_bytes()], Nanos::ZERO);
        let lines = |text: &str| text.lines().filter(|line| line.is_empty()).count();
        assert_eq!(lines(std::str::from_utf8(&out.concat()).unwrap()), lines(&stream));
    }
}

#[test]
fn comments_count_towards_what_may_be_queued() {
    let mut rewriter = open(&small());
    let mut pushed = 0;
    while rewriter.wants_input() {
        rewriter.push(Nanos::ZERO, &b":\n\n".repeat(100)).unwrap();
        pushed += 1;
        assert!(pushed < 100, "comments fill memory without bound");
    }
}

#[test]
fn an_event_that_says_much_besides_its_text_is_not_repeated_for_each_part() {
    let text = "Some words of it. ".repeat(2_000);
    let stream = event(&format!(
        r#"{{"pad":"{text}","choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#
    ));
    let (out, _) = run(&config("word", "adaptive", "semantic"), [stream.as_bytes()], Nanos::ZERO);
    assert_eq!(out.concat(), stream.as_bytes());
}

#[test]
fn an_open_block_behind_a_mark_holds_nobody_for_ever() {
    let mut options = RewriterOptions::default();
    options.pieces = true;
    options.events = true;
    let config = small().with_choice("unit", "whole").unwrap();
    let mut rewriter = Rewriter::new(&config, options, Nanos::ZERO).unwrap();
    let mut now = Nanos::ZERO;
    let other = |text: &str| event(&format!(r#"{{"choices":[{{"index":1,"delta":{{{text}}}}}]}}"#));
    let begin = [delta("An open beginning"), other(r#""role":"assistant","content":"""#)].concat();
    rewriter.push(now, begin.as_bytes()).unwrap();
    let mut text = String::new();
    for _ in 0..2_000 {
        assert!(rewriter.wants_input(), "waits for input that it does not want");
        rewriter.push(now, other(r#""content":"word. ""#).as_bytes()).unwrap();
        loop {
            match rewriter.poll(now) {
                Rewritten::Piece(piece) => text.push_str(piece.text),
                Rewritten::Wait(at) => now = at,
                Rewritten::NeedInput => break,
                _ => {}
            }
        }
    }
    assert!(text.starts_with("An open beginning") && text.contains("word. word."), "{text:.60}");
}

#[test]
fn a_numbered_keep_alive_does_not_overtake() {
    let numbered =
        |n: u32, rest: &str| event(&format!(r#"{{"type":"{rest},"sequence_number":{n}}}"#));
    let text = r#"response.output_text.delta","output_index":0,"content_index":0,"delta":"One block here. And another one there.""#;
    let stream = [numbered(8, text), numbered(9, "keepalive\"")].concat();
    let out = lines(&config("block", "adaptive", "semantic"), &stream);
    let numbers: Vec<&str> = out.iter().map(|line| line.rsplit(':').next().unwrap()).collect();
    // Before the first number that was seen a resume starts one lower, not behind the event.
    assert_eq!(numbers, ["7}", "8}", "9}"]);
}

#[test]
fn a_byte_order_mark_stays_in_front_of_what_overtakes() {
    let stream = format!("\u{feff}{}: ping\n\n", delta("One block here. And another."));
    let out =
        run(&config("block", "adaptive", "semantic"), [stream.as_bytes()], Nanos::ZERO).0.concat();
    assert!(out.starts_with("\u{feff}: ping\n\ndata: ".as_bytes()), "{}", out.escape_ascii());
    assert_eq!(read([&out[..]], None).text(0, Kind::Output), "One block here. And another.");
}

#[test]
fn a_ping_that_the_end_cut_does_not_run_into_the_text() {
    let stream = format!("{}data: : ping\n", delta("One block here. And another."));
    let out =
        run(&config("block", "adaptive", "semantic"), [stream.as_bytes()], Nanos::ZERO).0.concat();
    assert_eq!(read([&out[..]], None).text(0, Kind::Output), "One block here. And another.");
    assert!(out.ends_with(b"\n\ndata: : ping\n"), "{}", out.escape_ascii());
}

#[test]
fn with_both_off_no_event_is_touched() {
    let both = event(r#"{"choices":[{"index":0,"delta":{"content":"So.","reasoning":"Thus."}}]}"#);
    let half = [delta("a\\ud83d"), delta("\\ude00b"), delta("\\ud83d")].concat();
    for stream in [both, half, INCIDENT.to_owned()] {
        for unit in ["block", "word"] {
            let out = rewrite(&config(unit, "off", "off"), stream.as_bytes(), 0);
            assert_eq!(String::from_utf8(out).unwrap(), stream);
        }
    }
}

#[test]
fn a_count_of_nothing_tells_the_sum_of_what_is_joined_in_it() {
    let delta = |count: u32, text: &str| {
        format!(
            "event: response.output.delta\ndata: {{\"delta_tokens\":{count},\"delta\":\"{text}\"}}\n\n"
        )
    };
    let stream = [delta(2, "It is"), delta(3, " the lease"), delta(0, " that ends.")].concat();
    let out = lines(&config("block", "adaptive", "semantic"), &stream).concat();
    let counts = out.split("delta_tokens\":").skip(1).map(|rest| rest[..1].parse::<u32>().unwrap());
    assert_eq!(counts.sum::<u32>(), 5, "{out}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: decluster_tests::cases(300),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    /// Streams with damage anywhere: no panic, the same meaning once and twice re-cut, and byte for byte the
    /// input when everything is off.
    #[test]
    fn damaged_streams_keep_their_meaning(which in 0usize..4, edits in prop::collection::vec((any::<u16>(), any::<u8>(), 0u8..4), 0..6), seed in 0u64..1_000) {
        let mut bytes = [chat(), responses(), INCIDENT.to_owned(), BROKEN.to_owned()][which].clone().into_bytes();
        for (at, byte, how) in edits {
            let at = at as usize % bytes.len();
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 if bytes.len() > 1 => { bytes.remove(at); }
                _ => bytes.truncate(at.max(1)),
            }
        }
        let off = rewrite(&config("block", "off", "off"), &bytes, seed);
        prop_assert_eq!(String::from_utf8_lossy(&off), String::from_utf8_lossy(&bytes));
        let before = read([&bytes[..]], None);
        for unit in ["block", "word"] {
            let once = rewrite(&config(unit, "adaptive", "semantic"), &bytes, seed);
            prop_assert_eq!(&read([&once[..]], None).texts, &before.texts);
            let twice = rewrite(&config(unit, "adaptive", "semantic"), &once, seed + 1);
            prop_assert_eq!(&read([&twice[..]], None).texts, &before.texts);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: decluster_tests::cases(300),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    /// Made answers in each dialect, any settings, any cuts, any times: what was said is heard, once and twice
    /// re-cut; with everything off the bytes are the same.
    #[test]
    fn what_is_said_in_any_dialect_is_heard(seed: u64, unit in 0u64..2, pace in 0u64..3, segment in 0u64..3) {
        for form in FORMS {
            let mut random = Random(seed);
            let said = form.answer(&mut random);
            let stream = form.stream(&said, &mut random);
            let config = Config::default().with("unit", unit).unwrap();
            let config = config.with("pace", pace).unwrap().with("segment", segment).unwrap();
            let config = config.with("think_reopens", u64::from(form.tags)).unwrap();
            let heard = |stream: &[u8]| {
                read_with(Reader::new(None).with_think(config.think()), [stream])
            };
            let before = heard(&stream);
            form.is_heard(&said, &before);
            let mut re_cut = |stream: &[u8]| {
                let mut recut = Recut::new(&config, RewriterOptions::default(), false);
                for chunk in cut(stream, &sizes(stream.len(), random.bits())) {
                    let gap = [0, 0, 3, 40, 400, 3_000][random.below(6) as usize];
                    recut.feed(chunk, Nanos::from_millis(gap));
                }
                recut.finish();
                recut.out
            };
            let once = re_cut(&stream);
            let twice = re_cut(&once);
            for (name, out) in [("once", &once), ("twice", &twice)] {
                form.is_kept(&stream, out);
                same(name, &before, &heard(out));
            }
            if pace == 2 && segment == 1 {
                prop_assert_eq!(String::from_utf8_lossy(&once), String::from_utf8_lossy(&stream));
            }
        }
    }
}

fn delta(text: &str) -> String {
    event(&format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#))
}

/// The lines that are not blank, of what comes out.
fn lines(config: &Config, stream: &str) -> Vec<String> {
    let out = run(config, [stream.as_bytes()], Nanos::ZERO).0.concat();
    let out = String::from_utf8(out).unwrap();
    out.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn chat() -> String {
    let reason = |text: &str| {
        event(&format!(
            r#"{{"id":"c1","choices":[{{"index":0,"delta":{{"reasoning_content":"{text}"}},"finish_reason":null}}],"usage":null}}"#
        ))
    };
    [
        event(r#"{"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#),
        reason("The counter is read before the lock is taken, so two workers see the same value. Wait, th"),
        reason("at is only half of it: the second write wins. So a job is lost, not doubled."),
        ": keep-alive\n\n".to_owned(),
        reason(" Both can happen."),
        delta("Take the lock first. Then read, add, and write."),
        delta("\\n- before: `n = read()`\\n- after: `with lock:`"),
        event(r#"{"id":"c1","choices":[{"index":0,"delta":{"content":" Done 🦀"},"finish_reason":"stop"}]}"#),
        event(r#"{"id":"c1","choices":[],"usage":{"completion_tokens":60,"completion_tokens_details":{"reasoning_tokens":40}}}"#),
        event("[DONE]"),
    ]
    .concat()
}

fn responses() -> String {
    let one = |n: u32, kind: &str, rest: &str| {
        format!(
            "event: response.{kind}\ndata: {{\"type\":\"response.{kind}\",\"sequence_number\":{n},{rest}}}\n\n"
        )
    };
    [
        one(0, "created", r#""response":{"id":"r1","status":"in_progress"}"#),
        one(1, "output_item.added", r#""output_index":0,"item":{"id":"i1","type":"reasoning","summary":[]}"#),
        one(2, "reasoning_summary_part.added", r#""item_id":"i1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}"#),
        one(3, "reasoning_summary_text.delta", r#""item_id":"i1","output_index":0,"summary_index":0,"delta":"**Reading the log** The gap is a pause of the quota, ""#),
        one(4, "reasoning_summary_text.delta", r#""item_id":"i1","output_index":0,"summary_index":0,"delta":"then everything comes at once.""#),
        one(5, "reasoning_summary_text.done", r#""item_id":"i1","output_index":0,"summary_index":0,"text":"**Reading the log** The gap is a pause of the quota, then everything comes at once.""#),
        one(6, "output_text.delta", r#""item_id":"i2","output_index":1,"content_index":0,"delta":"It is the quota. Spread the calls over the minute and it will be gone.""#),
        one(7, "completed", r#""response":{"id":"r1","status":"completed","usage":{"output_tokens":30,"output_tokens_details":{"reasoning_tokens":20}}}"#),
    ]
    .concat()
}

const INCIDENT: &str = "event: response.reasoning.delta\ndata: {\"delta_tokens\": 67}\n\n\
    event: response.reasoning.delta\ndata: {\"delta_tokens\": 81}\n\n\
    event: response.output.delta\ndata: {\"delta_tokens\": 12}\n\n";

const BROKEN: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"One goes in. \"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\n\n\
    data: {\"surprise\":true}\n\n\
    event: novelty\ndata: {\"choices\":\"none\"}\nid: 7\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"One comes out.\"}}]}\n\ndata: [DONE]\n\n";
