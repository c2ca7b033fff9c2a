//! What the fuzz targets check, without a fuzzer: their small inputs, what was found before, and some thousand
//! mutations of both, the same in each run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use decluster_tests::alloc::Counting;
use decluster_tests::{Random, cases, checks, repo_root};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The inputs of a target, by name.
fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for folder in ["corpus", "regressions"] {
        let folder = repo_root().join("tests/fuzz").join(folder).join(target);
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let name = entry.path().display().to_string();
            found.push((name, fs::read(entry.path()).unwrap()));
        }
    }
    found.sort();
    found
}

/// The strings of libFuzzer's dictionary.
fn words() -> Vec<Vec<u8>> {
    let file = fs::read_to_string(repo_root().join("tests/fuzz/words.dict")).unwrap();
    let quoted = file.lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
    let word = |text: &str| {
        let (mut word, mut rest) = (Vec::new(), text.as_bytes());
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            word.push(match (byte, after) {
                (b'\\', [b'x', hex @ ..]) => {
                    let (hex, after) = hex.split_at(2);
                    rest = after;
                    u8::from_str_radix(str::from_utf8(hex).unwrap(), 16).unwrap()
                }
                (b'\\', [escaped, after @ ..]) => {
                    rest = after;
                    *escaped
                }
                _ => byte,
            });
        }
        word
    };
    quoted.map(word).collect()
}

/// One to four changes at random places.
fn mutated(inputs: &[(String, Vec<u8>)], words: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut pick = |end: usize| random.below(end as u64) as usize;
    let mut bytes = inputs[pick(inputs.len())].1.clone();
    for _ in 0..=pick(4) {
        let at = pick(bytes.len() + 1);
        let to = at + pick(24).min(bytes.len() - at);
        match pick(7) {
            0 => bytes.insert(at, pick(256) as u8),
            1 => drop(bytes.drain(at..to)),
            2 => bytes.truncate(at),
            3 => {
                let other = &inputs[pick(inputs.len())].1;
                let from = pick(other.len() + 1);
                let to = from + pick(80).min(other.len() - from);
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            4 => {
                let again = bytes[at..to].to_vec();
                bytes.splice(at..at, again);
            }
            // The knobs, most of which are digits.
            5 if !bytes.is_empty() => {
                let end = bytes.iter().position(|b| *b == b'\n').unwrap_or(bytes.len());
                let at = pick(end.max(1));
                bytes[at] = b'0' + pick(10) as u8;
            }
            _ => drop(bytes.splice(at..to, words[pick(words.len())].iter().copied())),
        }
    }
    bytes
}

/// Runs a check and says on which input it failed.
fn run(name: &str, check: checks::Check, input: &[u8]) {
    let done = catch_unwind(AssertUnwindSafe(|| check(input)));
    assert!(done.is_ok(), "{name}: {}", input.escape_ascii());
}

fn all(target: &str) {
    let check = checks::ALL.into_iter().find(|(name, _)| *name == target).unwrap().1;
    let (inputs, words) = (inputs(target), words());
    assert!(inputs.len() > 5 && words.len() > 20);
    for (name, input) in &inputs {
        run(name, check, input);
    }
    let mut random = Random(1);
    for number in 0..cases(1_000) {
        let input = mutated(&inputs, &words, &mut random);
        run(&format!("{target}, mutation {number}"), check, &input);
    }
}

#[test]
fn frames_are_what_the_standard_says_for_any_bytes() {
    all("sse");
}

#[test]
fn frames_of_any_framing_are_whole_and_can_be_written_again() {
    all("frames");
}

#[test]
fn readings_hold_for_any_bytes() {
    all("wire");
}

#[test]
fn re_cut_streams_say_the_same_for_any_bytes_and_settings() {
    all("rewriter");
}
