//! A stream between a reader thread and its consumer.

use crate::budget::{Budget, shared};
use crate::clusters::TOTALS;
use crate::engine::{Event, Piece};
use crate::form::{Form, Originals, cut, item, lock};
use crate::known::{Known, Stream};
use crate::source::{Given, Intake};
use crate::{error, params};
use decluster::wire::Dialect;
use decluster::{ReasoningBudgetExceeded, RewriterError, RewriterOptions};
use decluster_runtime::{Closed, OwnedPiece, Step, pair};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

/// Opens both ends of a stream. `mode` is `bytes`, `pieces`, `pieces+events`, or `texts`: pieces as `str`.
#[pyfunction]
#[pyo3(signature = (mode, /, *, framing=None, dialect=None, budget=None, **parameters))]
pub(crate) fn open_flow(
    py: Python<'_>,
    mode: &str,
    framing: Option<&str>,
    dialect: Option<&str>,
    budget: Option<&Bound<'_, Budget>>,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Flow, Feed, Known)> {
    let config = params::config(py, parameters)?;
    let options = options(py, mode, dialect)?;
    let (feed, flow) = pair(&config, options).map_err(|e| error(py, "ConfigError", &e))?;
    flow.count_in(&TOTALS);
    if let Some(budget) = shared(budget) {
        flow.share_budget(budget);
    }
    let form = Arc::new(OnceLock::new());
    let given = Originals::default();
    let feed = Feed {
        inner: Some(feed),
        intake: Intake::new(py, framing)?,
        form: Arc::clone(&form),
        given: (!options.pieces).then(|| given.clone()),
        count: 0,
    };
    let flow = Arc::new(flow);
    let known = Known::new(Stream::Threads(Arc::clone(&flow)));
    let texts = mode == "texts";
    Ok((Flow { inner: flow, form, lines: Mutex::default(), given, texts }, feed, known))
}

/// How the stream should go out.
pub(crate) fn options(
    py: Python<'_>,
    mode: &str,
    dialect: Option<&str>,
) -> PyResult<RewriterOptions> {
    let mut options = RewriterOptions::default();
    options.dialect = dialect_of(py, dialect)?;
    options.pieces = mode != "bytes";
    options.events = mode == "pieces+events";
    Ok(options)
}

/// The consuming end.
#[pyclass(frozen, module = "decluster._core")]
pub(crate) struct Flow {
    inner: Arc<decluster_runtime::Flow<PyErr>>,
    form: Arc<OnceLock<Form>>,
    lines: Mutex<Lines>,
    given: Originals,
    texts: bool,
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

#[pymethods]
impl Flow {
    /// The next item; `None` at the end. Raises the source's own error after all that had arrived before it.
    /// Ctrl-C interrupts it.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        loop {
            let found = match py.detach(|| self.step(SLICE)) {
                Taken::Line(bytes) | Taken::Step(Step::Bytes(bytes)) => {
                    item(py, &bytes, self.form.get().copied())
                }
                Taken::Step(Step::Object(event)) => return self.given.take(py, &event),
                Taken::Step(Step::Piece(piece)) => piece_of(py, piece, self.texts)?,
                Taken::Step(Step::Other(name, data)) => {
                    Py::new(py, Event::new(name, data))?.into_any()
                }
                Taken::Step(Step::Event(event)) => Py::new(py, Event::from(event))?.into_any(),
                Taken::Step(Step::Failed(error)) => return Err(error),
                Taken::Step(Step::Fault(found)) => return Err(fault(py, &found)),
                Taken::Step(Step::Finished) => return Ok(None),
                Taken::Step(_) => {
                    py.check_signals()?;
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
        self.given.clear();
    }

    /// Stops pacing what is queued at present.
    fn flush(&self, py: Python<'_>) {
        py.detach(|| self.inner.flush());
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
            let Some(ends) = self.form.get().and_then(|form| form.lines()) else {
                return Taken::Step(step);
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
            let Lines { whole, begun, .. } = &mut *lines;
            cut(&bytes, ends, begun, |line| whole.push_back(line.to_vec()));
        }
    }

    fn lock_lines(&self) -> MutexGuard<'_, Lines> {
        lock(&self.lines)
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
        if self.is_closed() {
            return Ok(false);
        }
        match self.intake.take(item)? {
            Given::Items(items) => Ok(self.hand_over(py, items)),
            Given::Event(name, json) => {
                let Some(feed) = &self.inner else { return Ok(false) };
                if let Some(given) = &self.given {
                    given.keep(self.count, item);
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
    /// Asked before anything that lets other threads run: when the interpreter ends, all streams are closed, and a
    /// thread that wants to come back into Python from here then would be ended in the middle of this code.
    fn is_closed(&self) -> bool {
        self.inner.as_ref().is_none_or(decluster_runtime::Feed::is_closed)
    }

    fn hand_over(&self, py: Python<'_>, items: impl IntoIterator<Item = Vec<u8>>) -> bool {
        let (Some(feed), Some(form)) = (&self.inner, self.intake.form()) else {
            return self.inner.is_some();
        };
        self.form.get_or_init(|| form);
        items.into_iter().all(|item| {
            let line = form.framing.is_line(&item);
            py.detach(|| if line { feed.line(item) } else { feed.bytes(item) }).is_ok()
        })
    }

    fn last(
        &mut self,
        py: Python<'_>,
        say: impl FnOnce(decluster_runtime::Feed<PyErr>) -> Result<(), Closed> + Send,
    ) {
        if self.is_closed() {
            // There is nobody to tell.
            self.inner = None;
            return;
        }
        let held = self.intake.finish();
        self.hand_over(py, held);
        if let Some(feed) = self.inner.take() {
            // It may have been closed just now.
            let _ = py.detach(|| say(feed));
        }
    }
}

pub(crate) fn piece_of(py: Python<'_>, piece: OwnedPiece, as_text: bool) -> PyResult<Py<PyAny>> {
    if as_text {
        return Ok(PyString::new(py, &piece.text).into_any().unbind());
    }
    Ok(Py::new(py, Piece::from(piece))?.into_any())
}

/// What was wrong with the stream.
pub(crate) fn fault(py: Python<'_>, fault: &RewriterError) -> PyErr {
    match fault {
        RewriterError::TooLarge(_) => error(py, "TooLarge", fault),
        RewriterError::ReasoningBudgetExceeded(exceeded) => over_budget(py, exceeded),
        RewriterError::Stalled { silence } => {
            let raised = error(py, "Stalled", fault);
            let told = raised.value(py).setattr("silence", silence.0 as f64 / 1e9);
            told.err().unwrap_or(raised)
        }
        _ => error(py, "ProviderError", fault),
    }
}

pub(crate) fn over_budget(py: Python<'_>, exceeded: &ReasoningBudgetExceeded) -> PyErr {
    let raised = error(py, "ReasoningBudgetExceeded", exceeded);
    let value = raised.value(py);
    let told = value
        .setattr("used", exceeded.used)
        .and_then(|()| value.setattr("limit", exceeded.limit))
        .and_then(|()| value.setattr("source", exceeded.source.name()))
        .and_then(|()| value.setattr("shared", exceeded.shared));
    told.err().unwrap_or(raised)
}

pub(crate) fn dialect_of(py: Python<'_>, name: Option<&str>) -> PyResult<Option<Dialect>> {
    let Some(name) = name else { return Ok(None) };
    let known = Dialect::ALL.map(Dialect::name).join(", ");
    let unknown = || error(py, "ConfigError", &format!("no dialect {name:?}; there are: {known}"));
    Dialect::from_name(name).map(Some).ok_or_else(unknown)
}

/// How long one wait may last before Python gets a look at its signals.
const SLICE: Duration = Duration::from_millis(50);
