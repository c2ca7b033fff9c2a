//! A stream between a reader thread and its consumer.

use crate::body::tokens_dict;
use crate::engine::{Event, Piece, stats_dict};
use crate::{PENDING, error, params};
use decluster::wire::{Answer, Dialect, Verdict};
use decluster::{Framer, Framing, Rewriter, RewriterOptions};
use decluster_runtime::{Closed, Step, pair};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMemoryView, PyString};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How the source's items look, told from the first of them that tell.
#[derive(Clone, Copy)]
struct Form {
    /// `str`, not `bytes`.
    text: bool,
    framing: Framing,
}

/// Opens both ends of a stream. `mode` is `bytes`, `pieces` or `pieces+events`.
#[pyfunction]
#[pyo3(signature = (mode, /, *, framing=None, dialect=None, **parameters))]
pub(crate) fn open_flow(
    py: Python<'_>,
    mode: &str,
    framing: Option<&str>,
    dialect: Option<&str>,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Flow, Feed)> {
    let config = params::config(py, parameters)?;
    let mut options = RewriterOptions::default();
    options.dialect = dialect_of(dialect)?;
    options.pieces = mode != "bytes";
    options.events = mode == "pieces+events";
    let (feed, flow) = pair(&config, options).map_err(|e| error(py, "ConfigError", &e))?;
    let form = Arc::new(OnceLock::new());
    let framer = Framer::new(framing_of(framing)?);
    let feed = Feed { inner: Some(feed), framer, text: false, form: Arc::clone(&form) };
    Ok((Flow { inner: flow, form, lines: Mutex::new(VecDeque::new()) }, feed))
}

/// The consuming end.
#[pyclass(frozen, module = "decluster._core")]
pub(crate) struct Flow {
    inner: decluster_runtime::Flow<PyErr>,
    form: Arc<OnceLock<Form>>,
    /// Lines of the last event that have not been taken.
    lines: Mutex<VecDeque<Vec<u8>>>,
}

#[pymethods]
impl Flow {
    /// The next item; `None` at the end; `PENDING` when `patience` (seconds, none for ever) is over.
    /// Raises the source's own error after all that had arrived before it. Ctrl-C interrupts it.
    #[pyo3(signature = (patience=None))]
    fn next(&self, py: Python<'_>, patience: Option<f64>) -> PyResult<Option<Py<PyAny>>> {
        let wrong = |_| PyValueError::new_err("patience is a number of seconds, not below 0");
        let mut left = patience.map(Duration::try_from_secs_f64).transpose().map_err(wrong)?;
        loop {
            let slice = left.map_or(SLICE, |left| left.min(SLICE));
            let found = match py.detach(|| self.step(slice)) {
                Taken::Line(bytes) | Taken::Step(Step::Bytes(bytes)) => self.item(py, &bytes)?,
                Taken::Step(Step::Piece(piece)) => Py::new(py, Piece::from(piece))?.into_any(),
                Taken::Step(Step::Other(name, data)) => {
                    Py::new(py, Event::new(name, data))?.into_any()
                }
                Taken::Step(Step::Event(event)) => Py::new(py, Event::from(event))?.into_any(),
                Taken::Step(Step::Failed(error)) => return Err(error),
                Taken::Step(Step::Fault(fault)) => {
                    let name = match fault {
                        decluster::RewriterError::TooLarge(_) => "TooLarge",
                        _ => "DeclusterError",
                    };
                    return Err(error(py, name, &fault));
                }
                Taken::Step(Step::Finished) => return Ok(None),
                Taken::Step(_) => {
                    py.check_signals()?;
                    if let Some(left) = &mut left {
                        *left = left.saturating_sub(slice);
                        if left.is_zero() {
                            return Ok(Some(PENDING.get(py)?));
                        }
                    }
                    continue;
                }
            };
            return Ok(Some(found));
        }
    }

    /// Ends the stream; what is queued is dropped.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            self.inner.close();
            self.lock_lines().clear();
        });
    }

    /// Stops pacing what is queued at present.
    fn flush(&self, py: Python<'_>) {
        py.detach(|| self.inner.flush());
    }

    /// Counters so far.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (stats, answer, dialect) = py.detach(|| {
            let (answer, dialect) = self.inner.with_answer(|rewriter, answer| {
                let counts = [answer.events, answer.comments, answer.repairs, answer.malformed];
                (counts, rewriter.dialect().map(Dialect::name))
            });
            (self.inner.stats(), answer, dialect)
        });
        let stats = stats_dict(py, &stats)?;
        stats.set_item("dialect", dialect)?;
        stats.set_item("paced", dialect.is_some())?;
        for (name, count) in ["events", "comments", "repairs", "malformed"].iter().zip(answer) {
            stats.set_item(name, count)?;
        }
        Ok(stats)
    }

    fn dialect(&self, py: Python<'_>) -> Option<&'static str> {
        self.know(py, |rewriter, _| rewriter.dialect().map(Dialect::name))
    }

    /// The last usage object, as JSON.
    fn usage(&self, py: Python<'_>) -> Option<String> {
        self.know(py, |_, answer| answer.usage.clone())
    }

    /// The same in one meaning for all providers.
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        tokens_dict(py, self.know(py, |_, answer| answer.tokens()))
    }

    fn verdict(&self, py: Python<'_>) -> Option<&'static str> {
        self.know(py, |_, answer| answer.verdict.map(Verdict::name))
    }

    /// Why, where the verdict alone does not tell.
    fn reason(&self, py: Python<'_>) -> Option<String> {
        self.know(py, |_, answer| answer.reason.clone())
    }

    /// Whether enough has been seen to say that this stream is of no known dialect, or not of the one that
    /// was named.
    fn unrecognised(&self, py: Python<'_>) -> bool {
        self.know(py, |rewriter, answer| match rewriter.dialect() {
            None if rewriter.is_finished() => {
                answer.events > 0 || answer.verdict == Some(Verdict::Failed)
            }
            None => answer.events >= ENOUGH_EVENTS,
            Some(_) => {
                let nothing = rewriter.stats().deltas == 0
                    && answer.choices.is_empty()
                    && answer.usage.is_none()
                    && answer.error.is_none();
                rewriter.is_finished() && nothing && answer.events > 0
            }
        })
    }
}

/// What a consumer took.
enum Taken {
    Line(Vec<u8>),
    Step(Step<PyErr>),
}

impl Flow {
    /// The next line, or the next step. The lines of an event are handed out under the same lock that it was
    /// taken under, so nobody sees the end of the stream before the last of them.
    fn step(&self, patience: Duration) -> Taken {
        let mut lines = self.lock_lines();
        loop {
            if let Some(line) = lines.pop_front() {
                return Taken::Line(line);
            }
            let step = self.inner.next(patience);
            let ends = match self.form.get().map(|form| form.framing) {
                Some(Framing::Lines) => false,
                Some(Framing::LinesWithEnds) => true,
                _ => return Taken::Step(step),
            };
            let Step::Bytes(bytes) = step else { return Taken::Step(step) };
            lines.extend(bytes.split_inclusive(|byte| *byte == b'\n').map(|line| match line {
                [line @ .., b'\n'] if !ends => line.to_vec(),
                line => line.to_vec(),
            }));
        }
    }

    fn lock_lines(&self) -> MutexGuard<'_, VecDeque<Vec<u8>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the stream something, without keeping other Python threads from running meanwhile.
    fn know<T: Send>(&self, py: Python<'_>, ask: impl FnOnce(&Rewriter, &Answer) -> T + Send) -> T {
        py.detach(|| self.inner.with_answer(ask))
    }

    fn item(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<Py<PyAny>> {
        if self.form.get().is_some_and(|form| form.text) {
            let text = String::from_utf8_lossy(bytes);
            return Ok(text.into_pyobject(py)?.into_any().unbind());
        }
        Ok(PyBytes::new(py, bytes).into_any().unbind())
    }
}

/// The reading end.
#[pyclass(module = "decluster._core")]
pub(crate) struct Feed {
    inner: Option<decluster_runtime::Feed<PyErr>>,
    framer: Framer,
    text: bool,
    form: Arc<OnceLock<Form>>,
}

#[pymethods]
impl Feed {
    /// Hands over one item of the source; false when the stream was closed. Blocks while the consumer is
    /// too far behind.
    fn send(&mut self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (bytes, text) = bytes_of(item)?;
        self.text |= text;
        let items = self.framer.take(bytes);
        Ok(self.hand_over(py, items))
    }

    /// The source ended.
    fn finish(&mut self, py: Python<'_>) {
        self.last(py, decluster_runtime::Feed::finish);
    }

    /// The source raised.
    fn fail(&mut self, py: Python<'_>, error: Bound<'_, PyAny>) {
        let error = PyErr::from_value(error);
        self.last(py, |feed| feed.fail(error));
    }
}

impl Feed {
    fn hand_over(&self, py: Python<'_>, items: impl IntoIterator<Item = Vec<u8>>) -> bool {
        let (Some(feed), Some(framing)) = (&self.inner, self.framer.framing()) else {
            return self.inner.is_some();
        };
        self.form.get_or_init(|| Form { text: self.text, framing });
        items.into_iter().all(|item| {
            let line = is_line(framing, &item);
            py.detach(|| if line { feed.line(item) } else { feed.bytes(item) }).is_ok()
        })
    }

    fn last(
        &mut self,
        py: Python<'_>,
        say: impl FnOnce(decluster_runtime::Feed<PyErr>) -> Result<(), Closed> + Send,
    ) {
        let held = self.framer.finish();
        self.hand_over(py, held);
        if let Some(feed) = self.inner.take() {
            // A stream that was closed has nobody to tell.
            let _ = py.detach(|| say(feed));
        }
    }
}

/// Whether an item goes in as a line.
pub(crate) fn is_line(framing: Framing, item: &[u8]) -> bool {
    match framing {
        Framing::Lines => true,
        Framing::LinesWithEnds => item.ends_with(b"\n"),
        Framing::Bytes => false,
    }
}

/// The bytes of an item of a source, and whether it was a `str`.
pub(crate) fn bytes_of(item: &Bound<'_, PyAny>) -> PyResult<(Vec<u8>, bool)> {
    if let Ok(bytes) = item.cast::<PyBytes>() {
        return Ok((bytes.as_bytes().to_vec(), false));
    }
    if let Ok(text) = item.cast::<PyString>() {
        return Ok((text.to_str()?.as_bytes().to_vec(), true));
    }
    if item.is_instance_of::<PyByteArray>() || item.is_instance_of::<PyMemoryView>() {
        let bytes = item.py().get_type::<PyBytes>().call1((item,))?;
        return Ok((bytes.cast::<PyBytes>()?.as_bytes().to_vec(), false));
    }
    let name = item.get_type().name()?;
    Err(PyTypeError::new_err(format!("the source gave a {name}; lines or chunks are str or bytes")))
}

pub(crate) fn dialect_of(name: Option<&str>) -> PyResult<Option<Dialect>> {
    let Some(name) = name else { return Ok(None) };
    let known = Dialect::ALL.map(Dialect::name).join(", ");
    let error = || PyValueError::new_err(format!("no dialect {name:?}; there are: {known}"));
    Dialect::from_name(name).map(Some).ok_or_else(error)
}

pub(crate) fn framing_of(name: Option<&str>) -> PyResult<Option<Framing>> {
    match name {
        None => Ok(None),
        Some("lines") => Ok(Some(Framing::Lines)),
        Some("bytes") => Ok(Some(Framing::Bytes)),
        Some(other) => {
            Err(PyValueError::new_err(format!("framing is 'lines' or 'bytes', not {other:?}")))
        }
    }
}

/// How long one wait may last before Python gets a look at its signals.
const SLICE: Duration = Duration::from_millis(50);
/// A dialect that has not shown itself after so many events is none that is known.
const ENOUGH_EVENTS: u64 = 3;
