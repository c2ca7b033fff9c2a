//! The segmenter alone: text in, blocks out, no pacing.

use crate::{error, params};
use decluster::segment::SegmentConfig;
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::sync::{Mutex, PoisonError};

/// Cuts a text that arrives in parts into blocks, each given as soon as its end is known.
///
/// >>> import decluster
/// >>> segmenter = decluster.Segmenter(mode="sentences")
/// >>> for delta in ("It costs 3.", "50 euros. Dr. I", "to will pay."):
/// ...     for block in segmenter.push(delta):
/// ...         print(repr(block.text))
/// 'It costs 3.50 euros.'
/// >>> segmenter.finish()[0].text
/// ' Dr. Ito will pay.'
///
/// The blocks in a row are the text, to the character: the blank between two sentences begins the
/// second, up to two newlines end the block before them. How the text was cut into pushes changes nothing.
///
/// `mode` is `semantic`: blocks of about `target` LLM tokens that end at sentences, lines and
/// clauses; or `sentences`: every sentence and every line is a block, and `target` says nothing.
/// What is longer than 256 tokens or 4 KiB is cut even then, at a clause or a blank. A full stop before a
/// small letter ends no sentence, unless all of the text so far is in small letters.
///
/// A block is known a token or two behind its end; one that ends with two newlines, at once. In a
/// silence, `flush` gives what may be complete.
///
/// `target` is 4 to 64, in steps of 0.1. The largest block is about three times as large. Below 8
/// blocks come out larger than asked, since text has too few places to cut. Up to the default an empty
/// line always ends a block; with larger targets short paragraphs are joined, as sentences are. `level`
/// keeps the average of the whole text near the target, at the price of a few sentences cut at a
/// comma; without it dense text has larger blocks. It says nothing of sentences.
///
/// Threads may share a segmenter; each call is done as a whole.
///
/// Raises `ConfigError` for a target out of bounds or a mode that there is not, `TypeError` for
/// what is no number or no name.
#[pyclass(frozen, module = "decluster")]
pub(crate) struct Segmenter {
    /// A lock rather than `&mut self`: pyo3 would refuse the second of two threads.
    inner: Mutex<decluster::segment::Segmenter>,
    config: SegmentConfig,
}

#[pymethods]
impl Segmenter {
    #[new]
    #[pyo3(
        signature = (*, target=None, mode=None, level=true),
        text_signature = "(*, target=12.4, mode='semantic', level=True)"
    )]
    fn new(
        py: Python<'_>,
        target: Option<&Bound<'_, PyAny>>,
        mode: Option<&Bound<'_, PyAny>>,
        level: bool,
    ) -> PyResult<Self> {
        let parameters = PyDict::new(py);
        parameters.set_item("target", target)?;
        let config = params::config(py, Some(&parameters))?.segmenting().unwrap_or_default();
        let sentences = mode.map_or(Ok(false), is_sentences)?;
        let config = config.level(level).sentences(sentences);
        Ok(Self { inner: Mutex::new(decluster::segment::Segmenter::new(config)), config })
    }

    /// Takes in more of the text, however it was cut, and gives the blocks that are complete now.
    ///
    /// Raises `TypeError` for what is no `str`, and `UnicodeEncodeError` for half a surrogate pair.
    /// Then nothing of it was taken in, and the segmenter is as it was.
    fn push(&self, text: &Bound<'_, PyAny>) -> PyResult<Vec<Block>> {
        let text = text_of(text)?;
        Ok(self.blocks(|segmenter| segmenter.push(text)))
    }

    /// Gives what is held if a sentence or a line may end there ("Dr." may not), and nothing otherwise:
    /// for who would rather have it now than wait for what follows, as when a stream falls silent.
    ///
    /// Where blocks end is then no longer a matter of the text alone; everything else goes on.
    fn flush(&self) -> Vec<Block> {
        self.blocks(decluster::segment::Segmenter::flush)
    }

    /// The text that has not been given out yet.
    #[getter]
    fn pending(&self) -> String {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).pending().to_owned()
    }

    /// The text ends here: gives what is left of it.
    ///
    /// A `push` after that begins a new text: no block spans both. Numbers go on, and `level` keeps
    /// the average of all texts together.
    fn finish(&self) -> Vec<Block> {
        self.blocks(decluster::segment::Segmenter::finish)
    }

    fn __repr__(&self) -> String {
        format!(
            "Segmenter(target={:?}, mode='{}', level={})",
            f64::from(self.config.target_tenths()) / 10.0,
            MODES[usize::from(self.config.is_sentences())],
            if self.config.is_level() { "True" } else { "False" },
        )
    }
}

impl Segmenter {
    /// No Python runs under the lock, so nobody who waits for it holds what its owner needs.
    fn blocks(
        &self,
        act: impl FnOnce(&mut decluster::segment::Segmenter) -> Vec<decluster::segment::Block>,
    ) -> Vec<Block> {
        let mut segmenter = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut segmenter).into_iter().map(Block::from).collect()
    }
}

/// What a `Segmenter` gives: a sentence, a line, a clause. `str(block)` is its text.
#[pyclass(frozen, get_all, eq, hash, module = "decluster")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Block {
    /// Its text, with the blank before it and up to two newlines after it.
    text: String,
    /// What stands at its end: `paragraph`, `line`, `sentence`, `clause`, `word` or `grapheme`.
    boundary: &'static str,
    /// Counts the blocks of a segmenter, from 0.
    number: u64,
    /// Estimate of its LLM tokens.
    tokens: u32,
}

#[pymethods]
impl Block {
    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str) = ("text", "boundary");

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = self.text.as_str().into_pyobject(py)?;
        Ok(format!(
            "Block({}, boundary='{}', number={}, tokens={})",
            text.repr()?,
            self.boundary,
            self.number,
            self.tokens
        ))
    }
}

impl From<decluster::segment::Block> for Block {
    fn from(block: decluster::segment::Block) -> Self {
        Self {
            text: block.text,
            boundary: block.boundary.name(),
            number: block.number,
            tokens: block.tokens,
        }
    }
}

fn is_sentences(mode: &Bound<'_, PyAny>) -> PyResult<bool> {
    let all = MODES.join(" ");
    let Ok(name) = mode.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!("mode takes one of: {all}")));
    };
    let name = name.to_str()?;
    let found = MODES.iter().position(|mode| *mode == name);
    let wrong = || error(mode.py(), "ConfigError", &format!("mode = {name:?} is none of: {all}"));
    found.map(|place| place == 1).ok_or_else(wrong)
}

/// The text of a push, or what the caller should have done.
fn text_of<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    let Ok(text) = given.cast::<PyString>() else {
        let name = given.get_type().name()?;
        let message = format!(
            "push takes str, not {name}: bytes go through an incremental decoder first, \
             codecs.getincrementaldecoder('utf-8')()"
        );
        return Err(PyTypeError::new_err(message));
    };
    text.to_str().inspect_err(|error| {
        if error.is_instance_of::<PyUnicodeEncodeError>(given.py()) {
            // Python's own words, "surrogates not allowed", do not help who never asked to encode.
            let _ = error.value(given.py()).setattr("reason", HALF_PAIR);
        }
    })
}

/// By `SegmentConfig::sentences`.
const MODES: [&str; 2] = ["semantic", "sentences"];
const HALF_PAIR: &str = "half a surrogate pair: join it to its other half before the push";
