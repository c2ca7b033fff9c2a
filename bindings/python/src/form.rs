//! What the items of a source look like, so that what comes out looks the same.

use crate::source;
use decluster::Framing;
use decluster_runtime::OwnedObject;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Told from the first items that tell.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// `str`, not `bytes`.
    pub(crate) text: bool,
    pub(crate) framing: Framing,
}

impl Form {
    /// Whether what comes out is cut into lines, and then whether they have their ends.
    pub(crate) fn lines(self) -> Option<bool> {
        match self.framing {
            Framing::Lines => Some(false),
            Framing::LinesWithEnds => Some(true),
            Framing::Bytes => None,
        }
    }
}

/// Cuts what came out into lines, with their ends or without; the last, if its end has not come, is `begun`.
pub(crate) fn cut(bytes: &[u8], ends: bool, begun: &mut Vec<u8>, mut line: impl FnMut(&[u8])) {
    let mut start = 0;
    let left = usize::from(!ends);
    for end in memchr::memchr_iter(b'\n', bytes) {
        let own = &bytes[start..=end];
        start = end + 1;
        if begun.is_empty() {
            line(&own[..own.len() - left]);
        } else {
            begun.extend_from_slice(own);
            line(&begun[..begun.len() - left]);
            begun.clear();
        }
    }
    begun.extend_from_slice(&bytes[start..]);
}

/// An item of the source's type.
pub(crate) fn item(py: Python<'_>, bytes: &[u8], form: Option<Form>) -> Py<PyAny> {
    if form.is_some_and(|form| form.text) {
        // Checked as a whole first: that is several times as fast.
        let text = str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::from);
        return PyString::new(py, &text).into_any().unbind();
    }
    PyBytes::new(py, bytes).into_any().unbind()
}

/// The source's own items of the events that are under way, by the numbers the engine gives them.
#[derive(Clone, Default)]
pub(crate) struct Originals(Arc<Mutex<BTreeMap<u64, Py<PyAny>>>>);

impl Originals {
    pub(crate) fn keep(&self, number: u64, item: &Bound<'_, PyAny>) {
        lock(&self.0).insert(number, item.clone().unbind());
    }

    /// The item of an event, or one like it that says what the event says now; none if the stream was closed.
    pub(crate) fn take(&self, py: Python<'_>, event: &OwnedObject) -> PyResult<Option<Py<PyAny>>> {
        let (item, done) = {
            let mut given = lock(&self.0);
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

    pub(crate) fn clear(&self) {
        drop(std::mem::take(&mut *lock(&self.0)));
    }
}

pub(crate) fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
