//! A stream read to its end.

use crate::body::tokens_dict;
use crate::budget::{Budget, shared, told};
use crate::flow::{dialect_of, over_budget};
use crate::source::{Given, Intake};
use crate::{error, params};
use decluster::CollectorError;
use decluster::wire::{Dialect, ToolCall};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Puts a stream together without pacing.
#[pyclass(module = "decluster._core")]
pub(crate) struct Collector {
    inner: decluster::Collector,
    intake: Intake,
}

#[pymethods]
impl Collector {
    #[new]
    #[pyo3(signature = (*, framing=None, dialect=None, budget=None, **parameters))]
    fn new(
        py: Python<'_>,
        framing: Option<&str>,
        dialect: Option<&str>,
        budget: Option<&Bound<'_, Budget>>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let config = params::config(py, parameters)?;
        let mut inner = decluster::Collector::new(&config, dialect_of(py, dialect)?);
        if let Some(budget) = shared(budget) {
            inner.share_budget(budget);
        }
        Ok(Self { inner, intake: Intake::new(py, framing)? })
    }

    /// Takes in one item of the source. Says whether the next is wanted.
    fn push(&mut self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        match self.intake.take(item)? {
            Given::Items(items) => self.take_in(py, items)?,
            Given::Event(name, json) => {
                self.inner.push_event(&name, &json).map_err(|e| refused(py, &e))?;
            }
        }
        Ok(self.inner.exceeded().is_none())
    }

    /// Model and tokens so far, however the stream goes on.
    fn told<'py>(&self, py: Python<'py>) -> PyResult<(Option<&str>, Option<Bound<'py, PyDict>>)> {
        let answer = self.inner.answer();
        Ok((answer.model.as_deref(), tokens_dict(py, answer.tokens())?))
    }

    /// The source ended.
    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        let held = self.intake.finish();
        self.take_in(py, held)?;
        self.inner.finish().map_err(|e| refused(py, &e))
    }

    /// What the stream amounts to. Usage and error are JSON.
    fn answer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let answer = self.inner.answer();
        let dict = PyDict::new(py);
        let text = |index| self.inner.text(index).cloned().unwrap_or_default();
        let first = text(0);
        dict.set_item("reasoning", first.reasoning)?;
        dict.set_item("output", first.output)?;
        let calls = PyList::empty(py);
        let choices = PyList::empty(py);
        let mut indexes: Vec<u32> = self.inner.texts().iter().map(|t| t.index).collect();
        indexes.extend(answer.choices.iter().map(|c| c.index));
        indexes.sort_unstable();
        indexes.dedup();
        for index in indexes {
            let choice = answer.choices.iter().find(|c| c.index == index);
            for call in choice.iter().flat_map(|c| &c.tool_calls) {
                calls.append(call_dict(py, index, call)?)?;
            }
            let text = text(index);
            let one = PyDict::new(py);
            one.set_item("index", index)?;
            one.set_item("reasoning", text.reasoning)?;
            one.set_item("output", text.output)?;
            one.set_item("finish", choice.and_then(|c| c.finish.as_deref()))?;
            choices.append(one)?;
        }
        dict.set_item("tool_calls", calls)?;
        dict.set_item("choices", choices)?;
        dict.set_item("model", answer.model.as_deref())?;
        dict.set_item("usage", answer.usage.as_deref())?;
        dict.set_item("tokens", tokens_dict(py, answer.tokens())?)?;
        dict.set_item("reasoning_tokens", answer.reasoning_tokens)?;
        dict.set_item("finish", answer.finish())?;
        dict.set_item("verdict", answer.verdict.map(decluster::wire::Verdict::name))?;
        dict.set_item("reason", answer.reason.as_deref())?;
        dict.set_item("error", answer.error.as_deref())?;
        dict.set_item("dialect", self.inner.dialect().map(Dialect::name))?;
        dict.set_item("events", answer.events)?;
        dict.set_item("comments", answer.comments)?;
        dict.set_item("restarts", answer.restarts)?;
        dict.set_item("repairs", answer.repairs)?;
        dict.set_item("malformed", answer.malformed)?;
        dict.set_item("exceeded", self.inner.exceeded().map(told))?;
        Ok(dict)
    }
}

impl Collector {
    fn take_in(
        &mut self,
        py: Python<'_>,
        items: impl IntoIterator<Item = Vec<u8>>,
    ) -> PyResult<()> {
        let Some(form) = self.intake.form() else { return Ok(()) };
        for item in items {
            let line = form.framing.is_line(&item);
            let pushed = if line { self.inner.push_line(&item) } else { self.inner.push(&item) };
            pushed.map_err(|e| refused(py, &e))?;
        }
        Ok(())
    }
}

fn refused(py: Python<'_>, why: &CollectorError) -> PyErr {
    match why {
        CollectorError::TooLarge(_) => error(py, "TooLarge", why),
        CollectorError::ReasoningBudgetExceeded(exceeded) => over_budget(py, exceeded),
        _ => error(py, "ProviderError", why),
    }
}

/// A tool call as `Answer` has it.
pub(crate) fn call_dict<'py>(
    py: Python<'py>,
    index: u32,
    call: &ToolCall,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("index", index)?;
    dict.set_item("id", &call.id)?;
    dict.set_item("name", &call.name)?;
    dict.set_item("arguments", &call.arguments)?;
    dict.set_item("is_object", call.is_object)?;
    dict.set_item("complete", call.complete)?;
    Ok(dict)
}
