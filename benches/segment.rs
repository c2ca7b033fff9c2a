//! The segmenter's speed beside that of other sentence splitters, on the same English prose in one run.
//!
//! *In one go*: the whole text at once, and in pushes of 4 KiB as from a socket. *Token by token*: as
//! providers send it. The others have no streaming of their own, so they are used as is usual: they split
//! what is pending after every token, and all but the last sentence is taken. They lend slices of the text
//! where [`Segmenter`] gives strings, which favours them a little.
//!
//! The text is recorded reasoning from `../shared`, where somebody has that, else the project's own.

#![allow(clippy::disallowed_macros, reason = "says which text it has")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use decluster::segment::{SegmentConfig, Segmenter};
use decluster_score::lay;
use std::hint::black_box;
use std::path::Path;
use std::{fs, io};
use unicode_segmentation::UnicodeSegmentation;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/reasoning-text");
const OWN: &str = include_str!("text.txt");
const BYTES: usize = 400_000;
/// About as much text.
const TOKENS: usize = 100_000;

fn text() -> String {
    let text = recorded(Path::new(RECORDED)).unwrap_or_default();
    if text.len() >= BYTES {
        println!("{} KB of recorded English prose", text.len() / 1000);
        return text;
    }
    println!("{RECORDED} is not there: the project's own text, repeated");
    OWN.repeat(BYTES / OWN.len() + 1)
}

/// Every second trace in English, by name, that is neither code nor a proof.
fn recorded(folder: &Path) -> io::Result<String> {
    let mut files: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.sort();
    let is_prose = |file: &&std::path::PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("en-") && !name.starts_with("en-code") && !name.starts_with("en-dsmath")
    };
    let mut text = String::new();
    for file in files.iter().filter(is_prose).step_by(2) {
        if text.len() >= BYTES {
            break;
        }
        text += &fs::read_to_string(file)?;
        text += "\n\n";
    }
    Ok(text)
}

fn semantic() -> SegmentConfig {
    SegmentConfig::default()
}

fn sentences() -> SegmentConfig {
    SegmentConfig::default().sentences(true)
}

fn cut<'a>(config: SegmentConfig, parts: impl IntoIterator<Item = &'a str>) {
    let mut segmenter = Segmenter::new(config);
    for part in parts {
        black_box(segmenter.push(black_box(part)));
    }
    black_box(segmenter.finish());
}

/// Splits what is pending after every token and takes all but the last sentence.
fn rerun(tokens: &[&str], split: impl for<'a> Fn(&'a str) -> Option<usize>) {
    let mut pending = String::new();
    for token in tokens {
        pending.push_str(black_box(token));
        if let Some(last) = split(&pending) {
            black_box(pending.drain(..last).collect::<String>());
        }
    }
    black_box(pending);
}

/// Where the last of several sentences begins.
fn last_of<'a>(text: &str, sentences: impl Iterator<Item = &'a str>) -> Option<usize> {
    let (count, last) = sentences.fold((0, ""), |(count, _), sentence| (count + 1, sentence));
    (count > 1).then(|| text.len() - last.len())
}

fn in_one_go(criterion: &mut Criterion) {
    let text = text();
    let english = sentencex::language_factory("en");
    let parts: Vec<_> = pieces(&text, 4096).collect();
    let mut group = criterion.benchmark_group("in one go");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("decluster", |b| b.iter(|| cut(semantic(), [text.as_str()])));
    group.bench_function("decluster, 4 KiB pushes", |b| {
        b.iter(|| cut(semantic(), parts.iter().copied()));
    });
    group.bench_function("decluster, sentences", |b| b.iter(|| cut(sentences(), [text.as_str()])));
    group.bench_function("decluster, sentences, 4 KiB pushes", |b| {
        b.iter(|| cut(sentences(), parts.iter().copied()));
    });
    group.bench_function("sentencex", |b| b.iter(|| black_box(english.segment(&text))));
    group.bench_function("unicode-segmentation", |b| {
        b.iter(|| black_box(text.split_sentence_bounds().collect::<Vec<_>>()));
    });
    group.finish();
}

fn token_by_token(criterion: &mut Criterion) {
    let text = text();
    let english = sentencex::language_factory("en");
    let tokens = lay(&text, TOKENS);
    let mut group = criterion.benchmark_group("token by token");
    group.throughput(Throughput::Elements(tokens.len() as u64));
    group.bench_function("decluster", |b| b.iter(|| cut(semantic(), tokens.iter().copied())));
    group.bench_function("decluster, sentences", |b| {
        b.iter(|| cut(sentences(), tokens.iter().copied()));
    });
    group.sample_size(10);
    group.bench_function("sentencex", |b| {
        b.iter(|| rerun(&tokens, |text| last_of(text, english.segment(text).into_iter())));
    });
    group.bench_function("unicode-segmentation", |b| {
        b.iter(|| rerun(&tokens, |text| last_of(text, text.split_sentence_bounds())));
    });
    group.finish();
}

fn pieces(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (part, after) = rest.split_at(rest.floor_char_boundary(most));
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

criterion_group!(benches, in_one_go, token_by_token);
criterion_main!(benches);
