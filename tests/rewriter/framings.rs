//! A stream that is no event stream comes out in the framing it came in.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use decluster::{Config, Nanos, Rewriter, RewriterError, RewriterOptions, Rewritten};
use decluster_tests::streams::{read, read_lines};
use decluster_tests::{cut, sizes};

const TEXTS: [&str; 6] = [
    "The lease",
    " ends first. Then it is",
    " renewed by the one",
    " who holds it. Nobody",
    " else may",
    " do so.",
];

fn event(number: usize, text: &str) -> String {
    format!(r#"{{"n":{number},"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#)
}

fn events() -> Vec<String> {
    let last = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    TEXTS.iter().enumerate().map(|(n, text)| event(n, text)).chain([last.to_owned()]).collect()
}

fn config(unit: &str, pace: &str, segment: &str) -> Config {
    let config = Config::default().with_choice("unit", unit).unwrap();
    config.with_choice("pace", pace).unwrap().with_choice("segment", segment).unwrap()
}

/// All that comes out, with or without time between the chunks.
fn rewritten<'p>(
    config: &Config,
    pieces: impl IntoIterator<Item = &'p [u8]>,
    gap: u64,
    by_lines: bool,
) -> String {
    let mut now = Nanos::ZERO;
    let mut rewriter = Rewriter::new(config, RewriterOptions::default(), now).unwrap();
    let mut out = Vec::new();
    let mut drain = |rewriter: &mut Rewriter, now: &mut Nanos, until: Nanos| loop {
        match rewriter.poll(*now) {
            Rewritten::Bytes(bytes) => out.extend_from_slice(bytes),
            Rewritten::Wait(at) if at <= until => *now = at,
            Rewritten::Wait(_) | Rewritten::NeedInput => break *now = until,
            Rewritten::Finished => break,
            other => panic!("{other:?} in byte mode"),
        }
    };
    for piece in pieces {
        let until = now.after(Nanos::from_millis(gap));
        if by_lines {
            rewriter.push_line(now, piece).unwrap();
        } else {
            rewriter.push(now, piece).unwrap();
        }
        drain(&mut rewriter, &mut now, until);
    }
    rewriter.finish(now);
    drain(&mut rewriter, &mut now, Nanos::MAX);
    String::from_utf8(out).unwrap()
}

fn streams() -> [String; 5] {
    let events = events();
    let pretty = events.join(",\r\n").replace(":{", ": {\n  ").replace("}]", "\n}\n]");
    [
        events.join("\n") + "\n",
        events.join("\r\n\r\n"),
        format!("[{}\n]\n", events.join(",\r\n")),
        format!("\u{feff}\n[\n{pretty}\n]"),
        pretty.replace(",\r\n", "\n"),
    ]
}

#[test]
fn what_comes_out_says_what_went_in() {
    for stream in streams() {
        let before = read([stream.as_bytes()], None);
        assert_eq!(before.answer.malformed, 0, "{stream}");
        for unit in ["block", "word"] {
            for seed in 0..6 {
                let config = config(unit, "adaptive", "semantic");
                let pieces = cut(stream.as_bytes(), &sizes(stream.len(), seed));
                let out = rewritten(&config, pieces, [0, 30, 400][seed as usize % 3], false);
                let mut after = read([out.as_bytes()], None);
                assert_eq!(after.texts, before.texts, "{stream}\n{out}");
                after.answer.events = before.answer.events;
                assert_eq!(after.answer, before.answer, "{stream}\n{out}");
                let lines = rewritten(&config, stream.split('\n').map(str::as_bytes), 30, true);
                let lines = read_lines(lines.split_terminator('\n').map(str::as_bytes));
                assert_eq!(lines.texts, before.texts, "by lines: {stream}");
                assert_eq!(lines.answer.verdict, before.answer.verdict);
            }
        }
    }
}

#[test]
fn an_array_is_json_when_it_has_been_cut_and_joined() {
    let array = format!("[{}\n]\n", events().join(",\r\n"));
    for gap in [0, 30, 400] {
        for unit in ["block", "word"] {
            let pieces = array.as_bytes().chunks(40);
            let out = rewritten(&config(unit, "adaptive", "semantic"), pieces, gap, false);
            let elements: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
            let text = |e: &serde_json::Value| {
                e["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned()
            };
            assert_eq!(elements.iter().map(text).collect::<String>(), TEXTS.concat());
            assert_ne!(elements.len(), TEXTS.len() + 1, "{out}");
        }
    }
}

#[test]
fn a_line_becomes_several_lines() {
    let stream = event(0, "First we look at this. Then \\\"that\\\" and more.") + "\r\n";
    let out = rewritten(&config("block", "adaptive", "semantic"), [stream.as_bytes()], 0, false);
    let parts = ["First we look at this.", " Then \\\"that\\\" and more."];
    assert_eq!(out, parts.map(|part| event(0, part) + "\r\n").concat());
}

#[test]
fn an_element_becomes_several_elements() {
    let stream = format!(
        "[{},\r\n{}\n]",
        event(0, "First we look at this. Then that and more."),
        event(1, "[]")
    );
    let out = rewritten(&config("block", "adaptive", "semantic"), [stream.as_bytes()], 0, false);
    let (a, b) = (event(0, "First we look at this."), event(1, " Then that and more.[]"));
    assert_eq!(out, format!("[{a},\r\n{b}\n]"));
}

#[test]
fn with_pace_and_segment_off_the_bytes_are_the_same() {
    let off = config("block", "off", "off");
    let broken = "[{\"choices\":[]} 1,,x{\"a\":\n]}}]\n[DONE]\n{}\ndata: x\r\r";
    for stream in streams().iter().map(String::as_str).chain([broken, "{\n{}\n", "[", "{}"]) {
        for seed in 0..4 {
            let pieces = cut(stream.as_bytes(), &sizes(stream.len(), seed));
            assert_eq!(rewritten(&off, pieces, 3, false), stream);
        }
    }
}

/// What came out of events: number, data, whether it was changed, and how many are done.
fn objects(config: &Config, events: &[String], gap: u64) -> Vec<(u64, String, bool, u64)> {
    let mut now = Nanos::ZERO;
    let mut rewriter = Rewriter::new(config, RewriterOptions::default(), now).unwrap();
    let mut out = Vec::new();
    let mut drain = |rewriter: &mut Rewriter, now: &mut Nanos, until: Nanos| loop {
        match rewriter.poll(*now) {
            Rewritten::Object { number, name, data, changed, done } => {
                assert_eq!(name, "message");
                out.push((number, data.to_owned(), changed, done));
            }
            Rewritten::Wait(at) if at <= until => *now = at,
            Rewritten::Wait(_) | Rewritten::NeedInput => break *now = until,
            Rewritten::Finished => break,
            other => panic!("{other:?} in a stream of events"),
        }
    };
    for event in events {
        let until = now.after(Nanos::from_millis(gap));
        rewriter.push_event(now, "", event).unwrap();
        drain(&mut rewriter, &mut now, until);
    }
    assert_eq!(rewriter.push(now, b"data: x"), Err(RewriterError::Mixed));
    rewriter.finish(now);
    drain(&mut rewriter, &mut now, Nanos::MAX);
    out
}

#[test]
fn events_come_out_as_events_that_know_where_they_come_from() {
    let mut events = events();
    events.insert(3, r#"{"type":"ping"}"#.to_owned());
    for gap in [0, 30, 400] {
        for unit in ["block", "word"] {
            let out = objects(&config(unit, "adaptive", "semantic"), &events, gap);
            let lines = out.iter().map(|event| event.1.as_str()).collect::<Vec<_>>().join("\n");
            assert_eq!(
                read([lines.as_bytes()], None).text(0, decluster::Kind::Output),
                TEXTS.concat()
            );
            let mut done = 0;
            for (number, data, changed, now_done) in &out {
                assert_eq!(*data != events[*number as usize], *changed);
                assert!(*number >= done, "{number} was done");
                done = *now_done;
            }
            assert_eq!(done, events.len() as u64);
            assert!(out.iter().any(|event| event.2) && out.iter().any(|event| !event.2));
        }
    }
    let off = objects(&config("block", "off", "off"), &events, 3);
    assert_eq!(
        off.iter().map(|event| &event.1).collect::<Vec<_>>(),
        events.iter().collect::<Vec<_>>()
    );
}

#[test]
fn events_without_data_come_out_as_they_came() {
    let events = [r#"{"a":1}"#, "", "", r#"{"b":2}"#].map(str::to_owned);
    let out = objects(&Config::default(), &events, 1);
    let given: Vec<_> = out.iter().map(|(number, data, ..)| (*number, data.as_str())).collect();
    assert_eq!(given, [(0, r#"{"a":1}"#), (1, ""), (2, ""), (3, r#"{"b":2}"#)]);
}

#[test]
fn events_and_bytes_do_not_mix() {
    let config = Config::default().with("max_event_bytes", 4_096).unwrap();
    let open = || Rewriter::new(&config, RewriterOptions::default(), Nanos::ZERO).unwrap();
    let mut bytes = open();
    bytes.push(Nanos::ZERO, b"d").unwrap();
    assert_eq!(bytes.push_event(Nanos::ZERO, "", "{}"), Err(RewriterError::Mixed));
    let mut events = open();
    events.push_event(Nanos::ZERO, "", "{}").unwrap();
    assert_eq!(events.push_line(Nanos::ZERO, b"{}"), Err(RewriterError::Mixed));
    let large = events.push_event(Nanos::ZERO, "", &"x".repeat(5_000)).unwrap_err();
    assert_eq!(large.to_string(), "the event at byte 2 is larger than 4096 bytes");
    assert_eq!(events.push_event(Nanos::ZERO, "", "{}"), Err(RewriterError::Finished));
}

#[test]
fn a_byte_order_mark_stays_before_everything() {
    for stream in ["\u{feff}{}\n\n\n", "\u{feff} {}\n\n", "\u{feff}[{}\n]\n"] {
        let stream = stream.replace("{}", &event(1, "The lease ends first. Then it is renewed."));
        let config = config("block", "adaptive", "semantic");
        let out = rewritten(&config, [stream.as_bytes()], 0, false);
        assert_eq!(out.find('\u{feff}'), Some(0), "{out:?}");
        assert_eq!(out.matches('\u{feff}').count(), 1, "{out:?}");
        assert_eq!(read([out.as_bytes()], None).texts, read([stream.as_bytes()], None).texts);
    }
}

#[test]
fn fields_and_comments_do_not_overtake_json() {
    let text = event(1, "The lease ends first. Then it is renewed.");
    for after in [": still here\n", "\ndata: : still here\n\ndata: [DONE]\n\n"] {
        let stream = format!("{text}\n{after}");
        let before = read([stream.as_bytes()], None);
        let config = config("block", "adaptive", "semantic");
        let out = rewritten(&config, [stream.as_bytes()], 0, false);
        let after = read([out.as_bytes()], None);
        let said = (after.texts, after.answer.verdict, after.answer.comments);
        let answer = before.answer;
        assert_eq!(said, (before.texts, answer.verdict, answer.comments), "{out}");
        assert!(out.trim_start().starts_with('{'), "{out}");
    }
}
