//! What is known of a stream while it runs and after.

use crate::body::tokens_dict;
use crate::budget::{Told, told};
use crate::collect::call_dict;
use crate::engine::stats_dict;
use crate::form::lock;
use crate::inline::State;
use decluster::Rewriter;
use decluster::wire::{Answer, Dialect, Verdict};
use decluster_runtime::Flow;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex};

/// What is known of a stream so far.
#[pyclass(frozen, module = "decluster._core")]
pub(crate) struct Known {
    stream: Stream,
}

/// The stream that is asked.
pub(crate) enum Stream {
    Threads(Arc<Flow<PyErr>>),
    Inline(Arc<Mutex<State>>),
}

#[pymethods]
impl Known {
    /// Counters so far.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (stats, clusters, counts, dialect) = self.ask(py, |rewriter, answer| {
            let counts = [answer.events, answer.comments, answer.repairs, answer.malformed];
            let dialect = rewriter.dialect().map(Dialect::name);
            (rewriter.stats(), rewriter.clusters().clone(), counts, dialect)
        });
        let stats = stats_dict(py, &stats, &clusters)?;
        stats.set_item("dialect", dialect)?;
        stats.set_item("paced", dialect.is_some())?;
        for (name, count) in ["events", "comments", "repairs", "malformed"].iter().zip(counts) {
            stats.set_item(name, count)?;
        }
        Ok(stats)
    }

    fn dialect(&self, py: Python<'_>) -> Option<&'static str> {
        self.ask(py, |rewriter, _| rewriter.dialect().map(Dialect::name))
    }

    /// The model as the provider names it.
    fn model(&self, py: Python<'_>) -> Option<String> {
        self.ask(py, |_, answer| answer.model.clone())
    }

    /// The last usage object, as JSON.
    fn usage(&self, py: Python<'_>) -> Option<String> {
        self.ask(py, |_, answer| answer.usage.clone())
    }

    /// The same in one meaning for all providers.
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        tokens_dict(py, self.ask(py, |_, answer| answer.tokens()))
    }

    /// The tool calls so far.
    fn tool_calls<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let calls = self.ask(py, |_, answer| {
            let choices = answer.choices.iter();
            choices
                .flat_map(|choice| {
                    choice.tool_calls.iter().map(|call| (choice.index, call.clone()))
                })
                .collect::<Vec<_>>()
        });
        calls.iter().map(|(index, call)| call_dict(py, *index, call)).collect()
    }

    /// The provider's own word for why choice 0 stopped.
    fn finish(&self, py: Python<'_>) -> Option<String> {
        self.ask(py, |_, answer| answer.finish().map(str::to_owned))
    }

    /// The first error object in the stream, as JSON.
    fn error(&self, py: Python<'_>) -> Option<String> {
        self.ask(py, |_, answer| answer.error.clone())
    }

    fn verdict(&self, py: Python<'_>) -> Option<&'static str> {
        self.ask(py, |_, answer| answer.verdict.map(Verdict::name))
    }

    /// Why, where the verdict alone does not tell.
    fn reason(&self, py: Python<'_>) -> Option<String> {
        self.ask(py, |_, answer| answer.reason.clone())
    }

    /// By how much the reasoning exceeded its limit, if it did.
    fn exceeded(&self, py: Python<'_>) -> Option<Told> {
        self.ask(py, |rewriter, _| rewriter.exceeded().map(told))
    }

    /// Whether this is a stream that decluster reads: none as long as that cannot be said. False for one of
    /// no known dialect, and for one that is not of the dialect that was named.
    fn recognised(&self, py: Python<'_>) -> Option<bool> {
        self.ask(py, |rewriter, _| rewriter.recognised())
    }
}

impl Known {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream }
    }

    fn ask<T: Send>(&self, py: Python<'_>, read: impl FnOnce(&Rewriter, &Answer) -> T + Send) -> T {
        match &self.stream {
            // Without keeping other Python threads from running meanwhile.
            Stream::Threads(flow) => py.detach(|| flow.with_answer(read)),
            Stream::Inline(state) => lock(state).with_answer(read),
        }
    }
}
