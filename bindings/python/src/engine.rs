//! The engine with explicit times, and what it gives.

use crate::budget::told;
use crate::clusters::clustering_dict;
use crate::{FINISHED, NEED_INPUT, error, params};
use decluster::guard::Clustering;
use decluster::{Cancel, Delta, Kind, Nanos, Output, PushError};
use decluster_runtime::OwnedPiece;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Takes the deltas of one stream and gives them back as paced pieces, on the caller's own clock.
///
/// Times are integers: nanoseconds of one monotonic clock, such as `time.monotonic_ns()`. The
/// parameters are those of `PARAMETERS`, with `preset` or `profile` for the values to begin with.
///
/// >>> import decluster
/// >>> engine = decluster.Engine()
/// >>> engine.push(0, "output", "It took hours. Then it held")
/// >>> now = 0
/// >>> while (found := engine.poll(now)) is not decluster.NEED_INPUT:
/// ...     if isinstance(found, decluster.Wait):
/// ...         now = found.at_ns  # your loop waits until then, or until there is input
/// ...     else:
/// ...         print(repr(found.text))
/// 'It took hours.'
/// ' Then it'
/// ' held'
#[pyclass(module = "decluster")]
pub(crate) struct Engine {
    inner: decluster::Engine,
    started: bool,
    config: decluster::Config,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (**parameters))]
    fn new(py: Python<'_>, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let config = params::config(py, parameters)?;
        Ok(Self { inner: decluster::Engine::new(&config, Nanos::ZERO), started: false, config })
    }

    /// Takes in one delta, as a whole or not at all. `kind` is `reasoning` or `output`.
    ///
    /// `index` is the choice. `tokens` is how many LLM tokens the provider says this is: of a text it is only
    /// recorded, without text it is paced in its place.
    ///
    /// Raises `Full`, `TooLarge` or `Finished`.
    #[pyo3(signature = (now_ns, kind, text, *, index=0, tokens=None))]
    fn push(
        &mut self,
        py: Python<'_>,
        now_ns: u64,
        kind: &str,
        text: &str,
        index: u32,
        tokens: Option<u32>,
    ) -> PyResult<()> {
        let kind = kind_of(kind)?;
        let delta = Delta { kind, index, text, tokens };
        self.at(now_ns).push(Nanos(now_ns), delta).map_err(|e| push_error(py, &e))
    }

    /// Queues a number of yours behind everything that has arrived; it comes back as a `Mark` in its place.
    /// With `hurry` the block before it ends here, and all queued text leaves within `max_tail`.
    #[pyo3(signature = (now_ns, id, hurry=false))]
    fn mark(&mut self, py: Python<'_>, now_ns: u64, id: u64, hurry: bool) -> PyResult<()> {
        self.at(now_ns).mark(Nanos(now_ns), id, hurry).map_err(|e| push_error(py, &e))
    }

    /// What comes after this belongs to other blocks than what came before.
    fn end_block(&mut self, now_ns: u64) {
        self.at(now_ns).end_block(Nanos(now_ns));
    }

    /// The stream starts again: an `Event` named `restarted` comes in its place.
    fn begin_attempt(&mut self, py: Python<'_>, now_ns: u64) -> PyResult<()> {
        self.at(now_ns).begin_attempt(Nanos(now_ns)).map_err(|e| push_error(py, &e))
    }

    /// No more input will come: what is queued leaves within `max_tail`, then `FINISHED`.
    fn finish(&mut self, now_ns: u64) {
        self.at(now_ns).finish(Nanos(now_ns));
    }

    /// Stops pacing what is queued at present.
    fn flush(&mut self) {
        self.started = true;
        self.inner.flush();
    }

    /// Ends the stream early: `how` is `flush` (what is queued leaves at once) or `drop`.
    #[pyo3(signature = (how="flush"))]
    fn cancel(&mut self, how: &str) -> PyResult<()> {
        self.started = true;
        self.inner.cancel(match how {
            "flush" => Cancel::Flush,
            "drop" => Cancel::Drop,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "cancel takes 'flush' or 'drop', not {how:?}"
                )));
            }
        });
        Ok(())
    }

    /// What to do now: a `Piece`, a `Mark`, an `Event`, `Wait(at_ns)`, `NEED_INPUT` or `FINISHED`.
    fn poll(&mut self, py: Python<'_>, now_ns: u64) -> PyResult<Py<PyAny>> {
        Ok(match self.at(now_ns).poll(Nanos(now_ns)) {
            Output::Piece(piece) => Py::new(py, Piece::from(OwnedPiece::from(piece)))?.into_any(),
            Output::Mark(id) => Py::new(py, Mark { id })?.into_any(),
            Output::Event(event) => Py::new(py, Event::from(event))?.into_any(),
            Output::Wait(at) => Py::new(py, Wait { at_ns: at.0 })?.into_any(),
            Output::Finished => FINISHED.get(py)?,
            _ => NEED_INPUT.get(py)?,
        })
    }

    /// Whether the caller should go on reading its source.
    #[getter]
    fn wants_input(&self) -> bool {
        self.inner.wants_input()
    }

    /// Counters so far, as those of `Stream.stats()`; delays in seconds.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        stats_dict(py, &self.inner.stats(), self.inner.clusters())
    }
}

impl Engine {
    /// The first time that is given starts the engine's clock.
    fn at(&mut self, now_ns: u64) -> &mut decluster::Engine {
        if !self.started {
            self.started = true;
            self.inner = decluster::Engine::new(&self.config, Nanos(now_ns));
        }
        &mut self.inner
    }
}

/// What is released at once: a block, or a part of one. `str(piece)` is its text.
#[pyclass(frozen, get_all, module = "decluster")]
pub(crate) struct Piece {
    /// The text; empty for a part of a token count without text.
    text: String,
    /// `reasoning` or `output`.
    kind: &'static str,
    /// The choice, from 0.
    index: u32,
    /// Numbers all that leaves, in order, from 0.
    seq: u64,
    /// Number of the block within its choice, from 0.
    block: u64,
    /// Number of this piece within its block, from 0.
    part: u32,
    /// What stands at its end: `paragraph`, `line`, `sentence`, `clause`, `word` or `grapheme`.
    boundary: &'static str,
    /// Whether the block is known to end here.
    ends_block: bool,
    /// Estimate of its LLM tokens.
    tokens: u32,
    /// Number of the delta that holds its last byte, from 0.
    origin: u64,
    /// When its first byte arrived, in nanoseconds of the stream's clock.
    arrived_ns: u64,
}

#[pymethods]
impl Piece {
    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str) = ("text", "kind");

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = self.text.as_str().into_pyobject(py)?;
        Ok(format!(
            "Piece({}, kind='{}', block={}, part={}, boundary='{}')",
            text.repr()?,
            self.kind,
            self.block,
            self.part,
            self.boundary
        ))
    }
}

impl From<OwnedPiece> for Piece {
    fn from(p: OwnedPiece) -> Self {
        Self {
            text: p.text,
            kind: p.kind.name(),
            index: p.index,
            seq: p.seq,
            block: p.block,
            part: p.part,
            boundary: p.boundary.name(),
            ends_block: p.ends_block,
            tokens: p.tokens,
            origin: p.origin,
            arrived_ns: p.arrived.0,
        }
    }
}

/// A mark whose turn has come (`Engine.mark`).
#[pyclass(frozen, get_all, module = "decluster")]
pub(crate) struct Mark {
    /// The number that was given.
    id: u64,
}

#[pymethods]
impl Mark {
    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str,) = ("id",);

    fn __repr__(&self) -> String {
        format!("Mark({})", self.id)
    }
}

/// Something that is not text: an event of the stream, or one of these.
///
/// `restarted`: what came so far is void, attempt number `attempt` follows. `reclassified`: all output of
/// choice `index` so far was reasoning, since a closing tag came that nothing had opened.
#[pyclass(frozen, get_all, module = "decluster")]
pub(crate) struct Event {
    /// The event's own name, `message` where it has none; or `restarted`, `reclassified`.
    name: String,
    /// What it says, mostly JSON.
    data: String,
}

#[pymethods]
impl Event {
    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str) = ("name", "data");

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let data = self.data.as_str().into_pyobject(py)?;
        Ok(format!("Event('{}', {})", self.name, data.repr()?))
    }
}

impl Event {
    pub(crate) fn new(name: String, data: String) -> Self {
        Self { name, data }
    }
}

impl From<decluster::Event> for Event {
    fn from(event: decluster::Event) -> Self {
        match event {
            decluster::Event::Restarted { attempt } => {
                Self::new("restarted".to_owned(), format!("{{\"attempt\":{attempt}}}"))
            }
            decluster::Event::Reclassified { index } => {
                Self::new("reclassified".to_owned(), format!("{{\"index\":{index}}}"))
            }
            decluster::Event::BudgetExceeded(exceeded) => {
                let (used, limit, source, shared) = told(exceeded);
                let data = format!(
                    "{{\"used\":{used},\"limit\":{limit},\"source\":\"{source}\",\"shared\":{shared}}}"
                );
                Self::new("budget_exceeded".to_owned(), data)
            }
            _ => Self::new("unknown".to_owned(), String::new()),
        }
    }
}

/// Nothing before `at_ns` unless there is input; then something.
#[pyclass(frozen, get_all, module = "decluster")]
pub(crate) struct Wait {
    /// When to poll again, on the clock of the calls.
    at_ns: u64,
}

#[pymethods]
impl Wait {
    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str,) = ("at_ns",);

    fn __repr__(&self) -> String {
        format!("Wait({})", self.at_ns)
    }
}

/// The counters as a dict; delays in seconds.
pub(crate) fn stats_dict<'py>(
    py: Python<'py>,
    stats: &decluster::Stats,
    clusters: &Clustering,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in [
        ("deltas", stats.deltas),
        ("pieces", stats.pieces),
        ("blocks", stats.blocks),
        ("cuts", stats.cuts),
        ("hurried", stats.hurried),
        ("tokens_in", stats.tokens_in),
        ("tokens_out", stats.tokens_out),
        ("bytes_in", stats.bytes_in),
        ("bytes_out", stats.bytes_out),
        ("queued_bytes", stats.queued_bytes),
        ("rate", stats.rate),
    ] {
        dict.set_item(name, value)?;
    }
    dict.set_item("max_delay", stats.max_delay.0 as f64 / 1e9)?;
    dict.set_item("clusters", clustering_dict(py, clusters)?)?;
    Ok(dict)
}

fn kind_of(name: &str) -> PyResult<Kind> {
    [Kind::Reasoning, Kind::Output].into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        PyValueError::new_err(format!("kind is 'reasoning' or 'output', not {name:?}"))
    })
}

fn push_error(py: Python<'_>, refused: &PushError) -> PyErr {
    let name = match refused {
        PushError::Full { .. } => "Full",
        PushError::TooLarge { .. } => "TooLarge",
        PushError::Finished => "Finished",
        _ => "DeclusterError",
    };
    error(py, name, refused)
}
