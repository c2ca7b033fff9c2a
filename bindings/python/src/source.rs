//! The items of a source: lines or chunks, or events that were parsed already.

use crate::form::Form;
use decluster::{Framer, Framing};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMemoryView, PyString, PyTuple};

/// Takes the items of one source, which are all of one kind.
pub(crate) struct Intake {
    framer: Framer,
    /// The caller has named the framing.
    framed: bool,
    /// Items are bare texts, deltas of no provider's.
    bare: bool,
    /// `str`, not `bytes`.
    text: bool,
    events: Option<bool>,
}

/// What an item is for the engine.
pub(crate) enum Given {
    /// The lines or chunks that can be pushed now.
    Items(Vec<Vec<u8>>),
    /// An event: its name, empty if it has none, and its JSON.
    Event(String, String),
}

impl Intake {
    pub(crate) fn new(py: Python<'_>, framing: Option<&str>) -> PyResult<Self> {
        let bare = framing == Some("text");
        let framing = if bare { None } else { framing_of(py, framing)? };
        let framer = Framer::new(framing);
        Ok(Self { framer, framed: framing.is_some(), bare, text: false, events: None })
    }

    /// What lines and chunks look like, once it is known; none of events.
    pub(crate) fn form(&self) -> Option<Form> {
        self.framer.framing().map(|framing| Form { text: self.text, framing })
    }

    /// The bytes of an item as they are, where that needs no look at other items: the usual case.
    pub(crate) fn settled<'a>(&mut self, item: &'a Bound<'_, PyAny>) -> Option<(&'a [u8], Form)> {
        let framing = self.framer.settled()?;
        let (bytes, text) = match item.cast::<PyBytes>() {
            Ok(bytes) => (bytes.as_bytes(), false),
            Err(_) => (item.cast::<PyString>().ok()?.to_str().ok()?.as_bytes(), true),
        };
        self.text |= text;
        Some((bytes, Form { text: self.text, framing }))
    }

    pub(crate) fn take(&mut self, item: &Bound<'_, PyAny>) -> PyResult<Given> {
        if self.bare {
            if !item.is_instance_of::<PyString>() {
                return Err(gave(item, ", but framing says that it gives texts, which are str"));
            }
            let json = objects(item.py())?.call_method1("text_event", (item,))?.extract()?;
            return Ok(Given::Event(String::new(), json));
        }
        if let Some((name, event)) = event_of(item) {
            if self.framed {
                return Err(gave(item, ", but framing says that it gives lines or chunks"));
            }
            if self.events == Some(false) {
                return Err(gave(item, " after lines or chunks"));
            }
            self.events = Some(true);
            let json = objects(item.py())?.call_method1("dump", (event,))?.extract()?;
            return Ok(Given::Event(name, json));
        }
        let (bytes, text) = bytes_of(item)?;
        if self.events == Some(true) {
            return Err(gave(item, " after events"));
        }
        self.events = Some(false);
        self.text |= text;
        Ok(Given::Items(self.framer.take(bytes)))
    }

    /// The source ended: what was held back.
    pub(crate) fn finish(&mut self) -> Vec<Vec<u8>> {
        self.framer.finish()
    }
}

/// The item of a source with what the engine made of its event.
pub(crate) fn changed<'py>(item: &Bound<'py, PyAny>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    let change =
        |event: &Bound<'py, PyAny>| objects(item.py())?.call_method1("change", (event, json));
    match item.cast::<PyTuple>() {
        Ok(pair) => {
            let event = change(&pair.get_item(1)?)?;
            Ok(PyTuple::new(item.py(), [pair.get_item(0)?, event])?.into_any())
        }
        Err(_) => change(item),
    }
}

/// The event of an item and its name, if it is one: a dict or a model, or a pair.
fn event_of<'py>(item: &Bound<'py, PyAny>) -> Option<(String, Bound<'py, PyAny>)> {
    if item.is_instance_of::<PyString>() || item.is_instance_of::<PyBytes>() {
        return None;
    }
    if is_event(item) {
        return Some((String::new(), item.clone()));
    }
    let pair = item.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2)?;
    let (name, event) = (pair.get_item(0).ok()?, pair.get_item(1).ok()?);
    if !is_event(&event) {
        return None;
    }
    if name.is_none() {
        return Some((String::new(), event));
    }
    Some((name.cast::<PyString>().ok()?.to_string_lossy().into_owned(), event))
}

/// A dict, or a pydantic model as SDKs make of events.
fn is_event(item: &Bound<'_, PyAny>) -> bool {
    let kind = item.get_type();
    let has = |name| kind.hasattr(name).unwrap_or(false);
    item.is_instance_of::<PyDict>() || (has("model_dump_json") && has("model_copy"))
}

/// The bytes of a line or chunk, and whether it was a `str`.
fn bytes_of(item: &Bound<'_, PyAny>) -> PyResult<(Vec<u8>, bool)> {
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
    let known = "lines or chunks are str or bytes, events are dicts, (name, dict), or the pydantic \
                 models (version 2) of an SDK";
    Err(gave(item, &format!("; {known}")))
}

fn gave(item: &Bound<'_, PyAny>, what: &str) -> PyErr {
    match item.get_type().name() {
        Ok(name) => PyTypeError::new_err(format!("the source gave a {name}{what}")),
        Err(error) => error,
    }
}

fn objects(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("decluster._objects")
}

fn framing_of(py: Python<'_>, name: Option<&str>) -> PyResult<Option<Framing>> {
    match name {
        None => Ok(None),
        Some("lines") => Ok(Some(Framing::Lines)),
        Some("bytes") => Ok(Some(Framing::Bytes)),
        Some(other) => {
            let message = format!("framing is 'lines', 'bytes' or 'text', not {other:?}");
            Err(crate::error(py, "ConfigError", &message))
        }
    }
}
