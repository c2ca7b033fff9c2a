//! How recorded streams cluster, before and after the pacer: what `decluster diagnose` prints and draws.

use crate::flow::dialect_of;
use crate::{error, params};
use decluster::wire::Dialect;
use decluster_score::diagnose::{DiagnoseError, Diagnosed, Flow, MAX_TOKENS, Times};
use decluster_score::{Side, Spread, Summary};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Diagnoses recorded streams. Whatever takes long lets other Python threads run.
#[pyclass(module = "decluster._core")]
pub(crate) struct Diagnosis {
    inner: decluster_score::diagnose::Diagnosis,
}

#[pymethods]
impl Diagnosis {
    /// The most tokens that all streams may have together.
    #[classattr]
    const MAX_TOKENS: u64 = MAX_TOKENS;

    /// Of the parameters, those whose names begin with `cluster_` say what a cluster is.
    #[new]
    #[pyo3(signature = (*, dialect=None, **parameters))]
    fn new(
        py: Python<'_>,
        dialect: Option<&str>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let config = params::config(py, parameters)?;
        let dialect = dialect_of(py, dialect)?;
        let inner = decluster_score::diagnose::Diagnosis::new(&config, dialect)
            .map_err(|e| error(py, "DeclusterError", &e))?;
        Ok(Self { inner })
    }

    /// Takes in a file. Raises `ValueError` with what is wrong with it, and its line, if it is a matter of one.
    fn add(&mut self, py: Python<'_>, name: &str, file: &[u8]) -> PyResult<()> {
        py.detach(|| self.inner.add(name, file)).map_err(|e| {
            let line = match &e {
                DiagnoseError::Capture(e) => e.line,
                _ => None,
            };
            let message = match e {
                DiagnoseError::Capture(e) => e.message,
                e => e.to_string(),
            };
            PyValueError::new_err((message, line))
        })
    }

    /// How many streams there are.
    fn __len__(&self) -> usize {
        self.inner.streams().len()
    }

    /// What counts as a cluster: tokens, and seconds.
    fn rule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (rule, dict) = (self.inner.rule(), PyDict::new(py));
        dict.set_item("min_tokens", rule.min_tokens)?;
        dict.set_item("min_gap", rule.min_gap.0 as f64 / 1e9)?;
        dict.set_item("group_gap", rule.group_gap.0 as f64 / 1e9)?;
        Ok(dict)
    }

    /// What a stream is.
    fn stream<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyDict>> {
        let (stream, dict) = (self.at(place)?, PyDict::new(py));
        dict.set_item("name", &stream.name)?;
        dict.set_item("dialect", stream.dialect.map(Dialect::name))?;
        dict.set_item(
            "times",
            match stream.times {
                Times::None => None,
                Times::Recorded => Some("recorded"),
                Times::Sent => Some("sent"),
            },
        )?;
        Ok(dict)
    }

    /// The figures of a stream, or of all; times in seconds.
    #[pyo3(signature = (place=None))]
    fn summary<'py>(&self, py: Python<'py>, place: Option<usize>) -> PyResult<Bound<'py, PyDict>> {
        let streams = self.chosen(place)?;
        let summary = py.detach(|| Summary::new(&streams, self.inner.rule()));
        let dict = PyDict::new(py);
        dict.set_item("streams", summary.streams)?;
        dict.set_item("timed", summary.timed)?;
        dict.set_item("tokens", summary.tokens)?;
        dict.set_item("reasoning", summary.reasoning)?;
        dict.set_item("deltas", summary.delta_count)?;
        dict.set_item("delta_tokens", spread(py, summary.deltas)?)?;
        dict.set_item("large_deltas", summary.large_deltas)?;
        dict.set_item("attempts", summary.attempts)?;
        dict.set_item("retried", summary.retried)?;
        dict.set_item("watched", summary.watched)?;
        dict.set_item("before", side(py, &summary.before)?)?;
        dict.set_item("after", side(py, &summary.after)?)?;
        dict.set_item("held", spread(py, summary.held)?)?;
        dict.set_item("first_held", spread(py, summary.first_held)?)?;
        dict.set_item("unavoidable", summary.unavoidable)?;
        Ok(dict)
    }

    /// The groups that arrived, or with `after` that left, in order: nanoseconds of first and last token, tokens, and
    /// whether it is a cluster. Of a stream, or of all in a row.
    #[pyo3(signature = (place=None, *, after))]
    fn groups(&self, place: Option<usize>, after: bool) -> PyResult<Vec<(u64, u64, u64, bool)>> {
        let groups =
            self.chosen(place)?.into_iter().flat_map(|stream| &side_of(stream, after).groups);
        Ok(groups.map(|g| (g.from.0, g.to.0, g.tokens, g.is_cluster)).collect())
    }

    /// The silences between groups, in nanoseconds.
    #[pyo3(signature = (place=None, *, after))]
    fn gaps(&self, place: Option<usize>, after: bool) -> PyResult<Vec<u64>> {
        let gaps = self.chosen(place)?.into_iter().flat_map(|stream| side_of(stream, after).gaps());
        Ok(gaps.map(|gap| gap.0).collect())
    }

    /// What arrived, or left, when: nanoseconds and tokens.
    #[pyo3(signature = (place, *, after))]
    fn flow(&self, place: usize, after: bool) -> PyResult<Vec<(u64, u32)>> {
        let flow = side_of(self.at(place)?, after);
        Ok(flow.tokens.iter().map(|tokens| (tokens.at.0, tokens.count)).collect())
    }
}

impl Diagnosis {
    fn at(&self, place: usize) -> PyResult<&Diagnosed> {
        let stream = self.inner.streams().get(place);
        stream.ok_or_else(|| PyIndexError::new_err("no such stream"))
    }

    fn chosen(&self, place: Option<usize>) -> PyResult<Vec<&Diagnosed>> {
        match place {
            Some(place) => Ok(vec![self.at(place)?]),
            None => Ok(self.inner.streams().iter().collect()),
        }
    }
}

fn side_of(stream: &Diagnosed, after: bool) -> &Flow {
    if after { &stream.after } else { &stream.before }
}

fn side<'py>(py: Python<'py>, side: &Side) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("events", side.events)?;
    dict.set_item("per_hour", side.per_hour)?;
    dict.set_item("groups", side.groups)?;
    dict.set_item("sizes", spread(py, side.sizes)?)?;
    dict.set_item("gaps", spread(py, side.gaps)?)?;
    dict.set_item("first", spread(py, side.first)?)?;
    Ok(dict)
}

fn spread(py: Python<'_>, spread: Option<Spread>) -> PyResult<Option<Bound<'_, PyDict>>> {
    let Some(Spread { p50, p95, max }) = spread else { return Ok(None) };
    let dict = PyDict::new(py);
    dict.set_item("p50", p50)?;
    dict.set_item("p95", p95)?;
    dict.set_item("max", max)?;
    Ok(Some(dict))
}
