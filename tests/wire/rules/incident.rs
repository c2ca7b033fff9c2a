//! The form of the published incident: counts in place of text.

use decluster::Kind::{Output, Reasoning};
use decluster::sse::Decoder;
use decluster::wire::Verdict::{Complete, Truncated};
use decluster::wire::{Dialect, Reader};
use decluster_tests::rewriting::{config, rewrite, steady};
use decluster_tests::small::DONE;
use decluster_tests::{EVENT_CAP, decode};

use super::told;

fn event(kind: &str, data: &str) -> String {
    format!("event: response.{kind}.delta\ndata: {{{data}}}\n\n")
}

/// The sums of the counts of each kind, and how often a count came.
fn counts(bytes: &[u8]) -> ([u64; 2], usize) {
    let (mut decoder, mut reader) = (Decoder::new(EVENT_CAP), Reader::new(None));
    let (mut sums, mut number) = ([0; 2], 0);
    decode(&mut decoder, [bytes], |frame| {
        for text in reader.read(frame).texts {
            sums[text.kind as usize] += u64::from(text.tokens.unwrap_or(0));
            number += usize::from(text.tokens.is_some());
        }
    })
    .unwrap();
    (sums, number)
}

#[test]
fn counts_without_text_are_read_and_cut_evenly() {
    let stream = [
        event("reasoning", r#""delta_tokens": 67"#),
        event("reasoning", r#""delta_tokens": 81"#),
        event("output", r#""delta_tokens": 12"#),
        DONE.to_owned(),
    ]
    .concat();
    let seen = steady(&stream);
    assert_eq!(seen.dialect, Some(Dialect::Incident));
    assert_eq!(told(&seen), ("", "", Complete, None));
    assert_eq!(counts(stream.as_bytes()), ([148, 12], 3));
    for unit in ["block", "word"] {
        let out = rewrite(&config(unit, "adaptive", "semantic"), stream.as_bytes(), 4);
        let (sums, number) = counts(&out);
        assert_eq!(sums, [148, 12], "{unit}");
        assert!(number > 9, "{unit}: {number}");
    }
}

#[test]
fn a_count_may_stand_beside_the_text() {
    let stream = [
        event("reasoning", r#""delta":"So it is. And so it stays.","delta_tokens":8"#),
        event("output", r#""delta":"Yes. ""#),
        event("output", r#""delta":"It is.","delta_tokens":3"#),
    ]
    .concat();
    let seen = steady(&stream);
    assert_eq!(told(&seen), ("So it is. And so it stays.", "Yes. It is.", Truncated, None));
    let out = rewrite(&config("block", "adaptive", "semantic"), stream.as_bytes(), 4);
    assert_eq!(counts(&out).0, [8, 3]);
}

#[test]
fn the_type_may_stand_in_the_data() {
    let stream = "data: {\"type\":\"response.reasoning.delta\",\"delta_tokens\":4}\n\n\
        data: {\"type\":\"response.output.delta\",\"delta\":\"x\"}\n\n";
    assert_eq!(told(&steady(stream)).1, "x");
    assert_eq!(counts(stream.as_bytes()).0, [4, 0]);
}

#[test]
fn what_is_no_count_is_malformed_and_the_stream_goes_on() {
    for wrong in ["-1", "1.5", "1e3", "\"7\"", "true", "[]", "{}", "4294967296"] {
        let stream = [
            event("reasoning", r#""delta_tokens":5"#),
            event("reasoning", &format!(r#""delta_tokens":{wrong}"#)),
            event("output", r#""delta":"x","delta_tokens":1"#),
        ]
        .concat();
        let seen = steady(&stream);
        assert_eq!((seen.answer.malformed, told(&seen).1), (1, "x"), "{wrong}");
        assert_eq!(counts(stream.as_bytes()).0, [5, 1], "{wrong}");
    }
    for nothing in ["null", "0"] {
        let stream = event("reasoning", &format!(r#""delta_tokens":{nothing}"#));
        let seen = steady(&[&stream, &*event("output", r#""delta":"x""#)].concat());
        assert_eq!((seen.answer.malformed, told(&seen).1), (0, "x"), "{nothing}");
    }
}

#[test]
fn text_is_of_the_kind_of_its_event() {
    for (kind, name) in [(Reasoning, "reasoning"), (Output, "output")] {
        let seen = steady(
            &[&*event("output", r#""delta":"""#), &event(name, r#""delta":"x""#), DONE].concat(),
        );
        assert_eq!(seen.text(0, kind), "x");
        let other = if kind == Output { Reasoning } else { Output };
        assert_eq!(seen.text(0, other), "");
    }
}
