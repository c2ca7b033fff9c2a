//! What reading an event costs, beside the least that any reader must do: `serde_json` parsing the one text
//! field of it into a borrowed string.
//!
//! `cargo bench -p decluster-benches --bench wire`. Events of about 257 bytes, as `OpenAI` sends them; each has
//! a token of text and is counted as one element.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use decluster::sse::Decoder;
use decluster::wire::Reader;
use decluster::{Config, Nanos, Rewriter, RewriterOptions, Rewritten};
use decluster_score::lay;
use serde::Deserialize;
use std::hint::black_box;

const TEXT: &str = include_str!("text.txt");
const EVENTS: usize = 1_000;
/// How many events come with one read of the socket; about 4 KiB.
const READ: usize = 16;
/// Between two reads.
const PERIOD: Nanos = Nanos::from_millis(100);

/// The events of a stream, and how their text alone is parsed.
struct Stream {
    name: &'static str,
    /// As they are sent.
    events: Vec<String>,
    /// The JSON in each.
    data: Vec<String>,
    text: fn(&str) -> Option<&str>,
}

fn chat() -> Stream {
    let data = |token: &str| {
        format!(
            "{{\"id\":\"chatcmpl-CkB7wq0VZt3nYdR5uXsLmA91eHfGo\",\"object\":\"chat.completion.chunk\",\
             \"created\":1764500000,\"model\":\"gpt-5-mini-2025-08-07\",\"service_tier\":\"default\",\
             \"choices\":[{{\"index\":0,\"delta\":{{\"content\":{token}}},\"logprobs\":null,\
             \"finish_reason\":null}}]}}"
        )
    };
    stream(
        "chat",
        data,
        |data| format!("data: {data}\n\n"),
        |data| {
            let chunk: Chunk<'_> = serde_json::from_str(data).ok()?;
            chunk.choices.first().map(|choice| choice.delta.content)
        },
    )
}

fn responses() -> Stream {
    let data = |token: &str| {
        format!(
            "{{\"type\":\"response.output_text.delta\",\"sequence_number\":41,\
             \"item_id\":\"msg_68d1f0a2c4e7b90051f3a8d62b7c4e19a0d5e81f7b3c6d2a94\",\"output_index\":0,\"content_index\":0,\"delta\":{token},\
             \"logprobs\":[],\"obfuscation\":\"q7Zt3nYdR5\"}}"
        )
    };
    let event = |data: &str| format!("event: response.output_text.delta\ndata: {data}\n\n");
    stream("responses", data, event, |data| {
        serde_json::from_str::<Delta<'_>>(data).ok().map(|event| event.delta)
    })
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Content<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    content: &'a str,
}

#[derive(Deserialize)]
struct Delta<'a> {
    delta: &'a str,
}

fn stream(
    name: &'static str,
    data: impl Fn(&str) -> String,
    event: impl Fn(&str) -> String,
    text: fn(&str) -> Option<&str>,
) -> Stream {
    let tokens = lay(TEXT, EVENTS * 2);
    // Where the text has to be unescaped it cannot be borrowed.
    let plain = tokens.iter().filter(|token| !token.contains(['"', '\\', '\n'])).take(EVENTS);
    let data: Vec<_> = plain.map(|token| data(&format!("\"{token}\""))).collect();
    let events = data.iter().map(|data| event(data)).collect();
    Stream { name, events, data, text }
}

fn wire(criterion: &mut Criterion) {
    for stream in [chat(), responses()] {
        let reads: Vec<_> = stream.events.chunks(READ).map(<[String]>::concat).collect();
        let bytes: usize = reads.iter().map(String::len).sum();
        let name = format!("{}, {} bytes", stream.name, bytes / EVENTS);
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(EVENTS as u64));
        group.bench_function("serde_json, the text alone", |bencher| {
            bencher.iter(|| {
                let texts = stream.data.iter().filter_map(|data| (stream.text)(black_box(data)));
                texts.map(str::len).sum::<usize>()
            });
        });
        group.bench_function("decode", |bencher| bencher.iter(|| decode(black_box(&reads))));
        let off = Config::default().with_choice("pace", "off").unwrap_or_default();
        let off = off.with_choice("segment", "off").unwrap_or_default();
        group.bench_function("rewrite, pace and segment off", |bencher| {
            bencher.iter(|| rewrite(&off, black_box(&reads)));
        });
        group.bench_function("rewrite, defaults", |bencher| {
            bencher.iter(|| rewrite(&Config::default(), black_box(&reads)));
        });
        group.finish();
    }
}

/// Bytes to texts; gives the length of all texts.
fn decode(reads: &[String]) -> usize {
    let mut decoder = Decoder::new(1 << 20);
    let mut reader = Reader::new(None);
    let mut length = 0;
    for read in reads {
        decoder.push(read.as_bytes());
        while let Ok(Some(frame)) = decoder.poll() {
            let reading = reader.read(&frame);
            length += black_box(&reading).texts.iter().map(|text| text.text.len()).sum::<usize>();
        }
    }
    length
}

/// Bytes to bytes; gives the length of what comes out.
fn rewrite(config: &Config, reads: &[String]) -> usize {
    let mut now = Nanos::ZERO;
    let Ok(mut rewriter) = Rewriter::new(config, RewriterOptions::default(), now) else { return 0 };
    let mut length = 0;
    for read in reads {
        if rewriter.push(now, read.as_bytes()).is_err() {
            return 0;
        }
        let next = now.after(PERIOD);
        loop {
            match rewriter.poll(now) {
                Rewritten::Bytes(bytes) => length += black_box(bytes).len(),
                Rewritten::Wait(at) if at < next => now = at,
                _ => break,
            }
        }
        now = next;
    }
    length
}

criterion_group!(benches, wire);
criterion_main!(benches);
