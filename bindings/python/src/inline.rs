//! A stream that is read where it is consumed: in the caller's thread, or in an event loop.

use crate::budget::{Budget, shared};
use crate::clusters::TOTALS;
use crate::engine::Event;
use crate::flow::{fault, options, piece_of};
use crate::form::{Form, Originals, cut, item, lock};
use crate::known::{Known, Stream};
use crate::source::{Given, Intake};
use crate::{error, params};
use decluster::wire::Answer;
use decluster::{Rewriter, RewriterError, Rewritten};
use decluster_runtime::{End, OwnedObject, OwnedPiece};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyFloat, PyIterator};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::ThreadId;
use std::time::Duration;

/// Opens a stream without a reader. `mode` as of `open_flow`.
#[pyfunction]
#[pyo3(signature = (mode, /, *, framing=None, dialect=None, budget=None, **parameters))]
pub(crate) fn open_inline(
    py: Python<'_>,
    mode: &str,
    framing: Option<&str>,
    dialect: Option<&str>,
    budget: Option<&Bound<'_, Budget>>,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Inline, Known)> {
    let config = params::config(py, parameters)?;
    let options = options(py, mode, dialect)?;
    let mut engine = decluster_runtime::Inline::new(&config, options)
        .map_err(|e| error(py, "ConfigError", &e))?;
    engine.count_in(&TOTALS);
    if let Some(budget) = shared(budget) {
        engine.share_budget(budget);
    }
    let texts = mode == "texts";
    let state = State { engine, form: None, lines: VecDeque::new(), begun: Vec::new(), texts };
    let state = Arc::new(Mutex::new(state));
    let reading = Reading { intake: Intake::new(py, framing)?, count: 0 };
    let known = Known::new(Stream::Inline(Arc::clone(&state)));
    let given = (!options.pieces).then(Originals::default);
    let (reading, reader) = (Mutex::new(reading), Mutex::new(None));
    Ok((Inline { reading, reader, state, given }, known))
}

/// Both ends of a stream.
#[pyclass(frozen, module = "decluster._core")]
pub(crate) struct Inline {
    /// Held while an item is taken in, and by `pull` until it has one to give. Python code may run meanwhile, so
    /// whoever waits for it must let others run.
    reading: Mutex<Reading>,
    /// Who holds it.
    reader: Mutex<Option<ThreadId>>,
    /// Held for moments, in which no Python code runs.
    state: Arc<Mutex<State>>,
    /// Where the source's own items are kept, if they are needed again.
    given: Option<Originals>,
}

struct Reading {
    intake: Intake,
    /// How many events came in.
    count: u64,
}

pub(crate) struct State {
    engine: decluster_runtime::Inline<PyErr>,
    form: Option<Form>,
    /// What came out and was not taken.
    lines: VecDeque<Py<PyAny>>,
    /// The beginning of a line whose end has not come: an event need not end with its line.
    begun: Vec<u8>,
    /// Pieces are given as `str`.
    texts: bool,
}

#[pymethods]
impl Inline {
    /// The next item, reading from the iterator where nothing is due; `None` at the end. Raises the iterator's
    /// own error after all that had arrived before it, but an interrupt at once.
    fn pull(
        &self,
        py: Python<'_>,
        iterator: &Bound<'_, PyIterator>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let mut reading = self.hold(py)?;
        let mut iterator = iterator.clone();
        let mut items = 0_u32;
        loop {
            match self.turn(py) {
                Turn::Pending { wants_input: true, .. } => {
                    items = items.wrapping_add(1);
                    if items.is_multiple_of(BREATH) {
                        // An iterator that is no Python code lets nobody else run.
                        py.check_signals()?;
                        py.detach(std::thread::yield_now);
                    }
                    match iterator.next() {
                        Some(Ok(item)) => {
                            if let Err(error) = self.take(&mut reading.reading, &item) {
                                self.end_with(error);
                            }
                        }
                        Some(Err(error)) if error.is_instance_of::<PyException>(py) => {
                            self.end(&mut reading.reading, Some(error));
                        }
                        Some(Err(error)) => return Err(error),
                        None => self.end(&mut reading.reading, None),
                    }
                }
                Turn::Pending { wants_input: false, due } => {
                    let wait = due.map_or(SLICE, |due| due.min(SLICE));
                    #[expect(
                        clippy::disallowed_methods,
                        reason = "the caller's thread is the one that waits"
                    )]
                    py.detach(|| std::thread::sleep(wait));
                    py.check_signals()?;
                }
                found => return self.given_out(py, found),
            }
        }
    }

    /// What is due: an item, or `None` at the end. If nothing is, a float: in how many seconds something will
    /// be, infinity if not before there is input. Raises as `pull`.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let found = self.turn(py);
        self.given_out(py, found)
    }

    /// Takes in one item of the source; says whether the next is wanted.
    fn push(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let mut reading = self.hold(py)?;
        self.take(&mut reading.reading, item)?;
        drop(reading);
        Ok(self.wants_input())
    }

    /// Whether there is room for more, and anyone to take it.
    #[getter]
    fn wants_input(&self) -> bool {
        lock(&self.state).engine.wants_input()
    }

    /// No more input is taken: the source ended or the stream was closed.
    #[getter]
    fn ended(&self) -> bool {
        lock(&self.state).engine.has_ended()
    }

    /// The source ended.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let mut reading = self.hold(py)?;
        self.end(&mut reading.reading, None);
        Ok(())
    }

    /// The source raised.
    fn fail(&self, py: Python<'_>, error: Bound<'_, PyAny>) -> PyResult<()> {
        let mut reading = self.hold(py)?;
        self.end(&mut reading.reading, Some(PyErr::from_value(error)));
        Ok(())
    }

    /// Ends the stream; what is queued is dropped.
    fn close(&self) {
        // An error that nobody took, too, is dropped where code of others may run, which may ask this stream.
        let dropped = {
            let mut state = lock(&self.state);
            let unread = state.engine.end();
            state.engine.close();
            state.begun.clear();
            (unread, std::mem::take(&mut state.lines))
        };
        drop(dropped);
        if let Some(given) = &self.given {
            given.clear();
        }
    }

    /// Stops pacing what is queued at present.
    fn flush(&self) {
        lock(&self.state).engine.flush();
    }
}

/// What is held while an item is taken in.
struct Held<'a> {
    reading: MutexGuard<'a, Reading>,
    reader: &'a Mutex<Option<ThreadId>>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *lock(self.reader) = None;
    }
}

/// What a poll found.
enum Turn {
    Item(Py<PyAny>),
    Object(OwnedObject),
    Pending { wants_input: bool, due: Option<Duration> },
    Raise(PyErr),
    Fault(RewriterError),
    Finished,
}

impl Inline {
    /// Waits until nobody else reads; refuses who would wait for itself.
    fn hold(&self, py: Python<'_>) -> PyResult<Held<'_>> {
        let me = std::thread::current().id();
        let reading = match self.reading.try_lock() {
            Ok(reading) => reading,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                if *lock(&self.reader) == Some(me) {
                    let message = "this stream is being read by this very thread: its source, or another \
                                   greenlet, must not";
                    return Err(error(py, "Misuse", &message));
                }
                self.reading.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
            }
        };
        *lock(&self.reader) = Some(me);
        Ok(Held { reading, reader: &self.reader })
    }

    fn turn(&self, py: Python<'_>) -> Turn {
        lock(&self.state).turn(py)
    }

    /// What was found as Python takes it. Runs Python code.
    fn given_out(&self, py: Python<'_>, found: Turn) -> PyResult<Option<Py<PyAny>>> {
        match found {
            Turn::Item(item) => Ok(Some(item)),
            Turn::Object(event) => self.given.as_ref().map_or(Ok(None), |g| g.take(py, &event)),
            Turn::Pending { due, .. } => {
                let due = due.map_or(f64::INFINITY, |due| due.as_secs_f64());
                Ok(Some(PyFloat::new(py, due).into_any().unbind()))
            }
            Turn::Raise(error) => Err(error),
            Turn::Fault(found) => Err(fault(py, &found)),
            Turn::Finished => Ok(None),
        }
    }

    fn take(&self, reading: &mut Reading, given: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some((bytes, form)) = reading.intake.settled(given) {
            lock(&self.state).push(bytes, form);
            return Ok(());
        }
        match reading.intake.take(given)? {
            Given::Items(items) => self.push_all(reading, items),
            Given::Event(name, json) => {
                if let Some(kept) = &self.given {
                    kept.keep(reading.count, given);
                }
                reading.count += 1;
                let mut state = lock(&self.state);
                let now = state.engine.now();
                state.engine.event(now, &name, &json);
            }
        }
        Ok(())
    }

    fn push_all(&self, reading: &Reading, items: impl IntoIterator<Item = Vec<u8>>) {
        let Some(form) = reading.intake.form() else { return };
        let mut state = lock(&self.state);
        for item in items {
            state.push(&item, form);
        }
    }

    fn end(&self, reading: &mut Reading, error: Option<PyErr>) {
        let held = reading.intake.finish();
        self.push_all(reading, held);
        if let Some(error) = error {
            self.end_with(error);
        } else {
            let mut state = lock(&self.state);
            let now = state.engine.now();
            state.engine.finish(now);
        }
    }

    fn end_with(&self, error: PyErr) {
        let mut state = lock(&self.state);
        if state.engine.has_ended() {
            // See `close`.
            drop(state);
            drop(error);
        } else {
            state.engine.fail(error);
        }
    }
}

impl State {
    pub(crate) fn with_answer<T>(&self, read: impl FnOnce(&Rewriter, &Answer) -> T) -> T {
        self.engine.with_answer(read)
    }

    fn push(&mut self, bytes: &[u8], form: Form) {
        self.form.get_or_insert(form);
        let now = self.engine.now();
        if form.framing.is_line(bytes) {
            self.engine.line(now, bytes);
        } else {
            self.engine.bytes(now, bytes);
        }
    }

    fn turn(&mut self, py: Python<'_>) -> Turn {
        if let Some(line) = self.lines.pop_front() {
            return Turn::Item(line);
        }
        loop {
            let now = self.engine.now();
            let found = match self.engine.poll(now) {
                Rewritten::Bytes(bytes) => {
                    let Some(ends) = self.form.and_then(Form::lines) else {
                        return Turn::Item(item(py, bytes, self.form));
                    };
                    let Self { form, lines, begun, .. } = self;
                    cut(bytes, ends, begun, |line| lines.push_back(item(py, line, *form)));
                    match self.lines.pop_front() {
                        Some(line) => return Turn::Item(line),
                        None => continue,
                    }
                }
                Rewritten::Object { number, name, data, changed, done } => {
                    let (name, data) = (name.to_owned(), data.to_owned());
                    return Turn::Object(OwnedObject { number, name, data, changed, done });
                }
                Rewritten::Piece(piece) => piece_of(py, OwnedPiece::from(piece), self.texts),
                Rewritten::Other { name, data } => {
                    Py::new(py, Event::new(name.to_owned(), data.to_owned())).map(Py::into_any)
                }
                Rewritten::Event(event) => Py::new(py, Event::from(event)).map(Py::into_any),
                Rewritten::Wait(at) => {
                    let due = Some(Duration::from_nanos(at.0.saturating_sub(now.0)));
                    return Turn::Pending { wants_input: self.engine.wants_input(), due };
                }
                Rewritten::NeedInput => {
                    return Turn::Pending { wants_input: self.engine.wants_input(), due: None };
                }
                Rewritten::Finished if !self.begun.is_empty() => {
                    let begun = std::mem::take(&mut self.begun);
                    return Turn::Item(item(py, &begun, self.form));
                }
                Rewritten::Finished => {
                    return match self.engine.end() {
                        End::Failed(error) => Turn::Raise(error),
                        End::Fault(found) => Turn::Fault(found),
                        _ => Turn::Finished,
                    };
                }
            };
            return found.map_or_else(Turn::Raise, Turn::Item);
        }
    }
}

/// Items that may bring nothing before others get their turn.
const BREATH: u32 = 64;
/// How long one wait may last before Python gets a look at its signals.
const SLICE: Duration = Duration::from_millis(50);
