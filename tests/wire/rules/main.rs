//! Each rule of the wire, each damage that was reported in public and each form of which no recording is
//! public: a small stream of our own and what it says.
//!
//! Where a test answers a public report, a comment names it. [`steady`](decluster_tests::rewriting::steady)
//! reads each stream whole, a byte at a time and cut at every place, and through the rewriter.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod anthropic;
mod azure;
mod bedrock;
mod chat;
mod cohere;
mod ends;
mod framing;
mod gemini;
mod incident;
mod mistral;
mod mixed;
mod model;
mod ollama;
mod reasoning;
mod responses;
mod tags;
mod tools;
mod usage;

use decluster::Kind;
use decluster::sse::Decoder;
use decluster::wire::{Part, Reader, Verdict};
use decluster_tests::streams::Decoded;
use decluster_tests::{EVENT_CAP, decode};

/// What choice 0 says: reasoning, output, how the stream ended and why.
type Told<'d> = (&'d str, &'d str, Verdict, Option<&'d str>);

fn told(decoded: &Decoded) -> Told<'_> {
    let text = |kind| decoded.text(0, kind);
    let verdict = decoded.answer.verdict.unwrap();
    (text(Kind::Reasoning), text(Kind::Output), verdict, decoded.answer.finish())
}

/// The texts of a stream one by one in the order they were read.
fn order(stream: &str) -> Vec<(Kind, String)> {
    let (mut decoder, mut reader) = (Decoder::new(EVENT_CAP), Reader::new(None));
    let mut texts = Vec::new();
    decode(&mut decoder, [stream.as_bytes()], |frame| {
        let reading = reader.read(frame);
        let given = reading.texts.iter().filter(|text| text.part != Part::Tag);
        texts.extend(given.map(|text| (text.kind, text.text.clone().into_owned())));
    })
    .unwrap();
    texts
}

/// Id, name and arguments of the tool calls of choice 0.
fn calls(decoded: &Decoded) -> Vec<[&str; 3]> {
    decoded.answer.tool_calls().iter().map(|c| [&*c.id, &*c.name, &*c.arguments]).collect()
}
