//! A stream between a reader thread and its consumer.

use crate::body::tokens_dict;
use crate::engine::{Event, Piece, stats_dict};
use crate::source::{self, Given, Intake, is_line};
use crate::{PENDING, error, params};
use decluster::wire::{Answer, Dialect, Verdict};
use decluster::{Framing, Rewriter, RewriterOptions};
use decluster_runtime::{Closed, OwnedObject, Step, pair};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::{BTreeMap, VecDeque};
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
    let given = Originals::default();
    let feed = Feed {
        inner: Some(feed),
        intake: Intake::new(framing)?,
        form: Arc::clone(&form),
        given: (!options.pieces).then(|| Arc::clone(&given)),
        count: 0,
    };
    Ok((Flow { inner: flow, form, lines: Mutex::default(), given }, feed))
}

/// The consuming end.
#[pyclass(frozen, module = "decluster._core")]
pub(crate) struct Flow {
    inner: decluster_runtime::Flow<PyErr>,
    form: Arc<OnceLock<Form>>,
    lines: Mutex<Lines>,
    given: Originals,
}

/// What came out and was not taken.
#[derive(Default)]
struct Lines {
    whole: VecDeque<Vec<u8>>,
    /// The beginning of a line whose end has not come: an event need not end with its line.
    begun: Vec<u8>,
    /// What comes after that.
    last: Option<Step<PyErr>>,
}

/// The source's own items of the events that are under way, by the numbers the engine gives them.
type Originals = Arc<Mutex<BTreeMap<u64, Py<PyAny>>>>;

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
                Taken::Step(Step::Object(event)) => match self.event(py, &event)? {
                    Some(item) => item,
                    None => return Ok(None),
                },
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
            *self.lock_lines() = Lines::default();
        });
        drop(std::mem::take(&mut *lock(&self.given)));
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
            if let Some(line) = lines.whole.pop_front() {
                return Taken::Line(line);
            }
            if let Some(step) = lines.last.take() {
                return Taken::Step(step);
            }
            let step = self.inner.next(patience);
            let ends = match self.form.get().map(|form| form.framing) {
                Some(Framing::Lines) => false,
                Some(Framing::LinesWithEnds) => true,
                _ => return Taken::Step(step),
            };
            let bytes = match step {
                Step::Bytes(bytes) => bytes,
                Step::Pending => return Taken::Step(step),
                step => {
                    let begun = std::mem::take(&mut lines.begun);
                    lines.whole.extend((!begun.is_empty()).then_some(begun));
                    lines.last = Some(step);
                    continue;
                }
            };
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                lines.begun.extend_from_slice(line);
                if line.ends_with(b"\n") {
                    let mut line = std::mem::take(&mut lines.begun);
                    line.truncate(line.len() - usize::from(!ends));
                    lines.whole.push_back(line);
                }
            }
        }
    }

    /// The source's own item, or one like it that says what the event says now; none if the stream was closed.
    fn event(&self, py: Python<'_>, event: &OwnedObject) -> PyResult<Option<Py<PyAny>>> {
        let (item, done) = {
            let mut given = lock(&self.given);
            let item = given.get(&event.number).map(|item| item.clone_ref(py));
            let open = given.split_off(&event.done);
            (item, std::mem::replace(&mut *given, open))
        };
        // Dropping an object may run code of its own, which may come back here.
        drop(done);
        match item {
            Some(item) if event.changed => {
                Ok(Some(source::changed(item.bind(py), &event.data)?.unbind()))
            }
            item => Ok(item),
        }
    }

    fn lock_lines(&self) -> MutexGuard<'_, Lines> {
        lock(&self.lines)
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
    intake: Intake,
    form: Arc<OnceLock<Form>>,
    /// Where the source's own items are kept, if they are needed again.
    given: Option<Originals>,
    /// How many events were handed over.
    count: u64,
}

#[pymethods]
impl Feed {
    /// Hands over one item of the source; false when the stream was closed. Blocks while the consumer is
    /// too far behind.
    fn send(&mut self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        match self.intake.take(item)? {
            Given::Items(items) => Ok(self.hand_over(py, items)),
            Given::Event(name, json) => {
                let Some(feed) = &self.inner else { return Ok(false) };
                if let Some(given) = &self.given {
                    lock(given).insert(self.count, item.clone().unbind());
                }
                self.count += 1;
                Ok(py.detach(|| feed.event(name, json)).is_ok())
            }
        }
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
        let (Some(feed), Some(framing)) = (&self.inner, self.intake.framing()) else {
            return self.inner.is_some();
        };
        self.form.get_or_init(|| Form { text: self.intake.text, framing });
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
        let held = self.intake.finish();
        self.hand_over(py, held);
        if let Some(feed) = self.inner.take() {
            // A stream that was closed has nobody to tell.
            let _ = py.detach(|| say(feed));
        }
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn dialect_of(name: Option<&str>) -> PyResult<Option<Dialect>> {
    let Some(name) = name else { return Ok(None) };
    let known = Dialect::ALL.map(Dialect::name).join(", ");
    let error = || PyValueError::new_err(format!("no dialect {name:?}; there are: {known}"));
    Dialect::from_name(name).map(Some).ok_or_else(error)
}

/// How long one wait may last before Python gets a look at its signals.
const SLICE: Duration = Duration::from_millis(50);
/// A dialect that has not shown itself after so many events is none that is known.
const ENOUGH_EVENTS: u64 = 3;
