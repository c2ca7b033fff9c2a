//! What several tests use: the virtual clock, the recorded streams, small inputs.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use decluster::frames::Frames;
use decluster::sse::{Decoder, Frame, TooLarge};
use serde_json::Value;

pub mod alloc;
pub mod checks;
pub mod drive;
pub mod recut;
pub mod rewriting;
pub mod small;
pub mod speech;
pub mod streams;
pub mod whatwg;

/// The cap the tests give a decoder: more than any recorded event needs.
pub const EVENT_CAP: usize = 8 << 20;

/// The root of the repository.
#[must_use]
pub fn repo_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// A file or folder of the material beside the repository. If it is absent, says so and gives `None`:
/// the test is then skipped.
#[must_use]
pub fn shared(path: &str) -> Option<PathBuf> {
    let found = repo_root().join("../shared").join(path);
    if found.exists() {
        return Some(found);
    }
    skipped(&format!("{} is absent", found.display()));
    None
}

/// One recorded stream.
#[derive(Debug)]
pub struct Capture {
    /// `dialect/name`.
    pub name: String,
    /// The bytes as sent.
    pub bytes: Vec<u8>,
    /// What a right decoder gets from them.
    pub expect: Value,
    /// The sizes of the chunks in which they reached the recorder, where that is known.
    pub chunks: Option<Vec<usize>>,
}

/// All recorded streams of a dialect, by name; empty if there are none here.
///
/// # Panics
///
/// If a file is there but cannot be read.
#[must_use]
#[expect(clippy::panic, reason = "a broken recording fails the test")]
pub fn captures(dialect: &str) -> Vec<Capture> {
    let Some(dir) = shared(&format!("captures/{dialect}")) else { return Vec::new() };
    let read =
        |path: &Path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let json = |path: &Path| -> Value {
        serde_json::from_slice(&read(path))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let mut found: Vec<PathBuf> = fs::read_dir(&dir)
        .map(|entries| entries.flatten().map(|e| e.path()).collect())
        .unwrap_or_default();
    // Expectations and chunk sizes are JSON, too, and have a second extension.
    let inner =
        |path: &Path| path.file_stem().is_some_and(|stem| Path::new(stem).extension().is_some());
    found.retain(|path| {
        path.extension().is_some_and(|e| e == "sse" || e == "ndjson" || e == "json" && !inner(path))
    });
    found.sort();
    let capture = |path: PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let chunks = path.with_extension("chunks.json");
        Capture {
            name: format!("{dialect}/{stem}"),
            bytes: read(&path),
            expect: json(&path.with_extension("expect.json")),
            chunks: chunks.exists().then(|| {
                let lengths = json(&chunks)["lengths"].as_array().cloned().unwrap_or_default();
                lengths.iter().filter_map(Value::as_u64).map(|n| n as usize).collect()
            }),
        }
    };
    found.into_iter().map(capture).collect()
}

/// Cuts `bytes` into pieces of these sizes; what is left over is one more piece.
#[must_use]
pub fn cut<'a>(bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::with_capacity(sizes.len() + 1);
    for &size in sizes {
        let (piece, after) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// Piece sizes that sum up to at least `total`, the same for the same seed: mostly small, now and then
/// large.
#[must_use]
pub fn sizes(total: usize, seed: u64) -> Vec<usize> {
    let mut random = Random(seed);
    let (mut sizes, mut sum) = (Vec::new(), 0);
    while sum < total {
        let bits = random.below(12);
        let size = 1 + random.below(1 << bits) as usize;
        sum += size;
        sizes.push(size);
    }
    sizes
}

/// The splitmix64 generator: enough for test inputs, and the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits().checked_rem(end).unwrap_or(0)
    }
}

/// What gives frames: of one framing or of any.
pub trait Decode {
    /// As [`Decoder::push`].
    fn push(&mut self, bytes: &[u8]);
    /// As [`Decoder::push_line`].
    fn push_line(&mut self, line: &[u8]);
    /// As [`Decoder::finish`].
    fn finish(&mut self);
    /// As [`Decoder::poll`].
    ///
    /// # Errors
    ///
    /// [`TooLarge`].
    fn poll(&mut self) -> Result<Option<Frame<'_>>, TooLarge>;
}

macro_rules! decodes {
    ($($name:ident)+) => {$(
        impl Decode for $name {
            fn push(&mut self, bytes: &[u8]) {
                $name::push(self, bytes);
            }

            fn push_line(&mut self, line: &[u8]) {
                $name::push_line(self, line);
            }

            fn finish(&mut self) {
                $name::finish(self);
            }

            fn poll(&mut self) -> Result<Option<Frame<'_>>, TooLarge> {
                $name::poll(self)
            }
        }
    )+};
}

decodes! { Decoder Frames }

/// Pushes the pieces one by one and shows every frame as soon as it is complete.
///
/// # Errors
///
/// [`TooLarge`], as the decoder reports it.
pub fn decode<'p>(
    decoder: &mut impl Decode,
    pieces: impl IntoIterator<Item = &'p [u8]>,
    mut show: impl FnMut(&Frame<'_>),
) -> Result<(), TooLarge> {
    for piece in pieces {
        decoder.push(piece);
        drain(decoder, &mut show)?;
    }
    decoder.finish();
    drain(decoder, &mut show)
}

/// The same with lines, as an iterator over lines gives them.
///
/// # Errors
///
/// [`TooLarge`], as the decoder reports it.
pub fn decode_lines<'p>(
    decoder: &mut impl Decode,
    lines: impl IntoIterator<Item = &'p [u8]>,
    mut show: impl FnMut(&Frame<'_>),
) -> Result<(), TooLarge> {
    for line in lines {
        decoder.push_line(line);
        drain(decoder, &mut show)?;
    }
    decoder.finish();
    drain(decoder, &mut show)
}

fn drain(decoder: &mut impl Decode, show: &mut impl FnMut(&Frame<'_>)) -> Result<(), TooLarge> {
    while let Some(frame) = decoder.poll()? {
        show(&frame);
    }
    Ok(())
}

/// How many cases a property test runs: `usual`, or if `PROPTEST_CASES` is set as many times that as it is
/// times the 300 of most tests. So those whose cases are large take no longer than the others.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "tests may read the environment")]
pub fn cases(usual: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    asked.map_or(usual, |asked: u32| (u64::from(usual) * u64::from(asked) / USUAL).max(1) as u32)
}

const USUAL: u64 = 300;

/// Says on standard error that a test, or a part of it, did not run. It writes past the test runner, which
/// shows nothing of a test that passes: a skipped one must not look like a passed one.
pub fn skipped(why: &str) {
    let _ = writeln!(io::stderr(), "skipped: {why}");
}
