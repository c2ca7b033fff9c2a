//! The framing layer gives what the standard wants, for every cut of the input.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use decluster::sse::{Decoder, Frame};
use decluster_tests::{EVENT_CAP, cases, shared};
use serde_json::{Value, json};

/// Everything one run over an input says.
#[derive(Debug, Default, PartialEq)]
struct Run {
    events: Vec<Value>,
    comments: u64,
    raw: Vec<u8>,
    unsent: Option<String>,
    id: String,
    retry: Option<u64>,
}

fn run<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Run {
    let mut decoder = Decoder::new(EVENT_CAP);
    let mut run = Run::default();
    let mut show = |frame: &Frame<'_>| {
        run.raw.extend_from_slice(frame.raw);
        run.comments += u64::from(frame.comments);
        let Some(event) = &frame.event else { return };
        if let Some(range) = event.data_range.clone() {
            assert_eq!(&frame.raw[range], event.data.as_bytes());
        }
        if frame.terminated {
            run.events.push(json!({
                "event": event.name, "data": event.data, "id": event.id, "retry": event.retry,
            }));
        } else {
            run.unsent = Some(event.data.to_owned());
        }
    };
    let mut drain = |decoder: &mut Decoder| {
        while let Some(frame) = decoder.poll().unwrap() {
            show(&frame);
        }
    };
    for piece in pieces {
        decoder.push(piece);
        drain(&mut decoder);
    }
    decoder.finish();
    drain(&mut decoder);
    decoder.last_event_id().clone_into(&mut run.id);
    run.retry = decoder.reconnection_ms();
    run
}

/// Where to cut in two: everywhere, but in a very long input near line ends and inside characters, and at
/// some places between. With `PROPTEST_CASES` set (`make test-all`) everywhere there, too.
fn places(input: &[u8]) -> Vec<usize> {
    if input.len() <= EVERYWHERE || cases(0) > 0 {
        return (0..=input.len()).collect();
    }
    let telling = |i: usize| {
        let near = &input[i.saturating_sub(2)..(i + 2).min(input.len())];
        near.iter().any(|b| matches!(b, b'\r' | b'\n' | 0x80..))
    };
    let step = input.len() / 500 + 1;
    let mut places: Vec<usize> =
        (0..=input.len()).filter(|&i| step == 1 || i % step == 0 || telling(i)).collect();
    let thin = places.len() / 2000 + 1;
    places.retain(|i| thin == 1 || i % thin == 0);
    places
}

fn check(name: &str, input: &[u8], expect: &Value) {
    let whole = run([input]);
    assert_eq!(Value::Array(whole.events.clone()), expect["events"], "{name}");
    assert_eq!(whole.raw, input, "{name}: every byte is in one frame");
    assert_eq!(whole.unsent.as_deref(), expect["unsent"].as_str(), "{name}: unsent");
    if let Some(comments) = expect["comments"].as_array() {
        assert_eq!(whole.comments, comments.len() as u64, "{name}: comments");
    }
    if let Some(id) = expect["final_id"].as_str() {
        assert_eq!(whole.id, id, "{name}: last event id");
    }
    if expect.get("final_retry").is_some() {
        assert_eq!(whole.retry, expect["final_retry"].as_u64(), "{name}: reconnection time");
    }
    assert_eq!(run(input.chunks(1)), whole, "{name}: a byte at a time");
    for at in places(input) {
        let (a, b) = input.split_at(at);
        assert_eq!(run([a, b]), whole, "{name}: cut at {at}");
    }
}

#[test]
fn all_published_facts_hold() {
    let Some(path) = shared("captures/sse-conformance.json") else { return };
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(cases.len(), 97);
    for case in &cases {
        let input = base64(case["input_b64"].as_str().unwrap());
        check(case["name"].as_str().unwrap(), &input, case);
    }
}

#[test]
fn each_rule_holds_on_a_small_input() {
    let event = |name: &str, data: &str, id: &str| json!({"event": name, "data": data, "id": id, "retry": null});
    let m = |data: &str| event("message", data, "");
    let cases: Vec<(&str, &[u8], Value)> = vec![
        (
            "three line ends",
            b"data: a\n\ndata: b\r\rdata: c\r\n\r\n",
            json!([m("a"), m("b"), m("c")]),
        ),
        ("a CR and a later LF are one end", b"data: a\r\ndata: b\r\n\r\n", json!([m("a\nb")])),
        ("one BOM goes", b"\xef\xbb\xbfdata: \xef\xbb\xbfx\n\n", json!([m("\u{feff}x")])),
        ("bad UTF-8", b"data: \xe4\xbd\xff\xf0\x9f\n\n", json!([m("\u{fffd}\u{fffd}\u{fffd}")])),
        (
            "only LF and CR end lines",
            "data: a\u{2028}\u{85}\u{b}b\n\n".as_bytes(),
            json!([m("a\u{2028}\u{85}\u{b}b")]),
        ),
        ("comments split nothing", b"data: a\n: c\ndata: b\n\n", json!([m("a\nb")])),
        ("one space goes, no more", b"data:  a \n\ndata:\tb\n\n", json!([m(" a "), m("\tb")])),
        ("empty data is data", b"data\n\ndata:\ndata\n\n", json!([m(""), m("\n")])),
        ("no data, no event", b"event: e\n\ndata: x\n\n", json!([m("x")])),
        (
            "last name wins, for one event",
            b"event: a\nevent: b\ndata: 1\n\ndata: 2\n\n",
            json!([event("b", "1", ""), m("2")]),
        ),
        (
            "ids persist",
            b"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
            json!([event("message", "a", "1"), event("message", "b", "1"), m("c")]),
        ),
        ("an id with NUL is none", b"id: 1\x00\ndata: a\n\n", json!([m("a")])),
        ("names are exact", b"Data: a\n data: b\ndata : c\nfoo\n\n", json!([])),
    ];
    for (name, input, events) in cases {
        check(name, input, &json!({ "events": events }));
    }
    let unsent = json!({"events": [m("a")], "unsent": "b", "final_id": ""});
    check("an open block is not sent", b"data: a\n\nid: 7\ndata: b", &unsent);
}

/// Decodes base64 with padding; enough for the file above.
fn base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for group in text.as_bytes().chunks(4) {
        let kept = group.iter().filter(|&&c| c != b'=').count();
        let bits = group
            .iter()
            .fold(0u32, |n, &c| n << 6 | u32::from(if c == b'=' { 0 } else { digit(c) }));
        out.extend_from_slice(&bits.to_be_bytes()[1..kept.max(1)]);
    }
    out
}

/// Every cut of a longer input takes minutes: time grows with the square of its length.
const EVERYWHERE: usize = 40_000;
