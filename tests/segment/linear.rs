//! A megabyte of each text that makes segmenters slow or greedy: blocks stay small, and so does what is
//! held back. What it costs is counted by `make test-cost`.

use decluster::segment::{SegmentConfig, Segmenter};

mod inputs;

/// Like a read from a socket.
const PUSH: usize = 1000;

fn cut(text: &str, config: SegmentConfig, name: &str) {
    let bound = config.block_bytes_max() as usize;
    let mut segmenter = Segmenter::new(config);
    let mut held = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.ceil_char_boundary(PUSH));
        held += part.len();
        for block in segmenter.push(part) {
            assert!(block.text.len() <= bound, "{name}: a block of {} bytes", block.text.len());
            held -= block.text.len();
        }
        assert!(held <= bound, "{name}: {held} bytes are held back");
        rest = after;
    }
    held -= segmenter.finish().iter().map(|block| block.text.len()).sum::<usize>();
    assert_eq!(held, 0, "{name}");
}

fn cut_all(config: SegmentConfig) {
    for input in inputs::INPUTS.iter().chain([&inputs::PROSE]) {
        cut(&input.text(1_000_000), config, input.name);
    }
}

#[test]
fn a_megabyte_of_anything_is_cut_in_bounded_space() {
    cut_all(SegmentConfig::default());
}

#[test]
fn so_it_is_in_sentences() {
    cut_all(SegmentConfig::default().sentences(true));
}
