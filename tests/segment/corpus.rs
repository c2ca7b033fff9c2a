//! Blocks of recorded reasoning: lossless, the same however the text arrives, near the target size, and
//! mostly whole sentences. Skipped, saying so, where the recordings are not at hand.

#![expect(clippy::disallowed_macros, reason = "the figures are for whoever runs the test")]

use std::fs;

use decluster::segment::{Block, Boundary, Cutter, Edge, SegmentConfig, Segmenter};
use decluster_tests::Random;

fn traces() -> Vec<(String, String)> {
    let folder = decluster_tests::shared("reasoning-text");
    let Some(entries) = folder.and_then(|folder| fs::read_dir(folder).ok()) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    paths
        .into_iter()
        .filter_map(|path| Some((path.display().to_string(), fs::read_to_string(&path).ok()?)))
        .collect()
}

fn blocks(text: &str, config: SegmentConfig) -> Vec<Block> {
    let mut segmenter = Segmenter::new(config);
    let mut blocks = segmenter.push(text);
    blocks.extend(segmenter.finish());
    blocks
}

fn cuts<'a>(config: SegmentConfig, parts: impl Iterator<Item = &'a str>) -> [Vec<Edge>; 2] {
    let mut cutter = Cutter::new(config);
    parts.for_each(|part| cutter.push(part));
    cutter.finish();
    [cutter.edges().iter().copied().collect(), cutter.ends().iter().copied().collect()]
}

/// Parts of up to 40 bytes.
fn at_random(text: &str) -> Vec<&str> {
    let mut random = Random(text.len() as u64);
    let (mut parts, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.ceil_char_boundary(random.below(40) as usize));
        parts.push(part);
        rest = after;
    }
    parts
}

#[test]
fn the_blocks_in_a_row_are_the_text() {
    for (path, text) in traces() {
        let whole: String =
            blocks(&text, SegmentConfig::default()).into_iter().map(|block| block.text).collect();
        assert_eq!(whole, text, "{path}");
    }
}

#[test]
fn how_the_text_arrives_changes_nothing() {
    let blocks = SegmentConfig::default();
    for (path, text) in traces() {
        for config in [blocks, blocks.sentences(true)] {
            let whole = cuts(config, [text.as_str()].into_iter());
            // Byte by byte is this: half a character is held by whoever decodes the bytes.
            let by_char = cuts(config, text.split_inclusive(|_| true));
            assert_eq!(by_char, whole, "char by char: {path}");
            let by_chance = cuts(config, at_random(&text).into_iter());
            assert_eq!(by_chance, whole, "at random places: {path}");
        }
    }
}

#[test]
fn blocks_are_near_the_target_and_mostly_sentences() {
    let traces = traces();
    if traces.is_empty() {
        return;
    }
    let (mut count, mut tokens, mut whole, mut forced, mut largest) = (0, 0, 0, 0, 0);
    let (mut long, mut even) = (0, 0);
    for (_, text) in &traces {
        let blocks = blocks(text, SegmentConfig::default());
        let sum: u32 = blocks.iter().map(|block| block.tokens).sum();
        count += blocks.len();
        tokens += sum;
        whole += blocks.iter().filter(|block| block.boundary <= Boundary::Sentence).count();
        forced += blocks.iter().filter(|block| block.boundary >= Boundary::Word).count();
        largest = largest.max(blocks.iter().map(|block| block.tokens).max().unwrap_or(0));
        if sum >= 300 {
            long += 1;
            let hundredths = sum as usize * 100 / blocks.len();
            even += usize::from((1140..=1340).contains(&hundredths));
        }
    }
    let mean = tokens as usize * 100 / count;
    println!(
        "{count} blocks, mean {mean}/100, traces near it {even}/{long}, \
         whole {whole}, forced {forced}, largest {largest}"
    );
    // By the estimate; tests/python/test_segment_corpus.py counts true tokens.
    assert!((1220..=1260).contains(&mean));
    assert!(even * 100 >= long * 92);
    assert!(whole * 100 >= count * 70);
    assert!(forced * 1000 <= count * 15);
    assert!(largest <= 36);
}

#[test]
fn other_targets_are_met_too() {
    let traces = traces();
    if traces.is_empty() {
        return;
    }
    for target in [80, 200, 400, 640] {
        let config = SegmentConfig::default().target_tenths_of_token(target).unwrap_or_default();
        let (mut count, mut tokens) = (0, 0);
        for (_, text) in traces.iter().step_by(5) {
            let blocks = blocks(text, config);
            count += blocks.len();
            tokens += blocks.iter().map(|block| block.tokens as usize).sum::<usize>();
        }
        let tenths = tokens * 10 / count;
        println!("target {target}/10: mean {tenths}/10");
        assert!(tenths.abs_diff(target as usize) * 100 <= target as usize * 12);
    }
}
