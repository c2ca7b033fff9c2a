//! Arrival traces played on a virtual clock, and their measures: what `decluster simulate` prints.

use crate::{error, params};
use decluster_score::engine::{Blocks, Run};
use decluster_score::{Played, RATES, Score, Trace, header, lay};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::time::Duration;

/// A set of arrival traces. Whatever takes long lets other Python threads run, and looks for signals between
/// two traces.
#[pyclass(module = "decluster._core")]
pub(crate) struct Study {
    inner: decluster_score::Study,
    until: Option<Duration>,
}

#[pymethods]
impl Study {
    /// `texts` are laid under the traces; without any, tokens are counts. What arrives after `until` seconds
    /// is left out. Of the parameters, `max_delay` is the clairvoyants' too.
    #[new]
    #[pyo3(signature = (texts, *, until=None, **parameters))]
    #[expect(clippy::needless_pass_by_value, reason = "this is how arguments come")]
    fn new(
        py: Python<'_>,
        texts: Vec<String>,
        until: Option<f64>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let wrong = |_| PyValueError::new_err("until is a number of seconds, not below 0");
        let until = until.map(Duration::try_from_secs_f64).transpose().map_err(wrong)?;
        let max_delay = params::config(py, parameters)?.get("max_delay").unwrap_or_default();
        let inner = decluster_score::Study::new(Vec::new(), &texts, decluster::Nanos(max_delay));
        Ok(Self { inner, until })
    }

    /// Takes in one line of a trace file. Raises `ValueError` with what is wrong with it.
    fn add(&mut self, py: Python<'_>, name: &str, line: &str) -> PyResult<()> {
        let trace = Trace::from_json(name, "", line);
        let mut trace = trace.map_err(|e| PyValueError::new_err(e.to_string()))?;
        if let Some(until) = self.until {
            trace = trace.until(until.into());
        }
        py.detach(|| self.inner.push(trace));
        Ok(())
    }

    /// How many traces there are.
    fn __len__(&self) -> usize {
        self.inner.traces().len()
    }

    /// All tokens of all traces.
    #[getter]
    fn tokens(&self) -> u64 {
        self.inner.traces().iter().map(Trace::tokens).sum()
    }

    /// The engine with these parameters, over all traces.
    #[pyo3(signature = (**parameters))]
    fn engine(
        &self,
        py: Python<'_>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Simulated> {
        let config = params::config(py, parameters)?;
        let runs = each(py, self.inner.runs(&config))?.into_iter().collect::<Result<Vec<_>, _>>();
        let runs = runs.map_err(|e| error(py, "DeclusterError", &e))?;
        let played = py.detach(|| self.inner.played(runs));
        let names = self.inner.traces().iter().map(|trace| trace.name.clone()).collect();
        let Played { row, runs, blocks } = played;
        Ok(Simulated { names, runs, blocks, row: Py::new(py, Row(row))? })
    }

    /// What leaves as it comes.
    fn pass_through(&self, py: Python<'_>) -> PyResult<Row> {
        self.row(py, self.inner.scores(|trace| trace.arrivals.clone()))
    }

    /// The clairvoyant of the least rate variation.
    fn clairvoyant(&self) -> Row {
        Row(self.inner.clairvoyant())
    }

    /// All references that know the whole trace, by name.
    fn references(&self, py: Python<'_>) -> PyResult<Vec<(String, Row)>> {
        let rules = self.inner.reference_rules().into_iter();
        rules.map(|(name, rule)| Ok((name, self.row(py, self.inner.scores(rule))?))).collect()
    }

    /// The models of other pacers, by name.
    fn peers(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, Row)>> {
        let peers = decluster_score::peers::PEERS.iter();
        peers.map(|peer| Ok((peer.name, self.row(py, self.inner.scores(peer.pace))?))).collect()
    }
}

impl Study {
    fn row(&self, py: Python<'_>, scores: impl Iterator<Item = Score> + Send) -> PyResult<Row> {
        let scores = each(py, scores)?;
        Ok(Row(py.detach(|| self.inner.row(&scores))))
    }
}

/// All items of what is computed one by one.
fn each<T: Send>(py: Python<'_>, mut items: impl Iterator<Item = T> + Send) -> PyResult<Vec<T>> {
    let mut all = Vec::new();
    while let Some(item) = py.detach(|| items.next()) {
        all.push(item);
        py.check_signals()?;
    }
    Ok(all)
}

/// The measures of one policy over all traces.
#[pyclass(frozen, module = "decluster._core")]
pub(crate) struct Row(decluster_score::Row);

#[pymethods]
impl Row {
    /// A line of a Markdown table below `table_header()`.
    fn line(&self, name: &str) -> String {
        self.0.line(name)
    }

    /// All measures: seconds, shares and counts. Lists go with `STALL_LIMITS_MS`.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (row, dict) = (&self.0, PyDict::new(py));
        dict.set_item("traces", row.traces)?;
        for (name, value) in [
            ("first", row.first),
            ("delay_mean", row.delay_mean),
            ("delay_p95", row.delay_p95),
            ("delay_max", row.delay_max),
            ("steady", row.steady),
            ("variation", row.variation),
            ("energy", row.energy),
            ("low_flow", row.low_flow),
            ("tail", row.tail),
            ("dead", row.dead),
            ("qoe", row.qoe),
        ] {
            dict.set_item(name, value)?;
        }
        dict.set_item("stall", row.stall)?;
        dict.set_item("stalls", row.stalls)?;
        dict.set_item("avoidable", row.avoidable)?;
        dict.set_item("cluster", row.cluster)?;
        dict.set_item("backlog", row.backlog)?;
        Ok(dict)
    }
}

/// The engine over all traces.
#[pyclass(frozen, module = "decluster._core")]
pub(crate) struct Simulated {
    names: Vec<String>,
    runs: Vec<Run>,
    blocks: [Blocks; 4],
    #[pyo3(get)]
    row: Py<Row>,
}

#[pymethods]
impl Simulated {
    /// How many pieces left, and for how many of them a deadline or a tail asked.
    fn pieces(&self) -> (usize, usize) {
        let pieces = || self.runs.iter().flat_map(|run| &run.pieces);
        (pieces().count(), pieces().filter(|piece| piece.hurried).count())
    }

    /// Blocks by the rate of their stream, in tokens per second from `least` up to the next class.
    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (least, blocks) in [0.0].into_iter().chain(RATES).zip(self.blocks) {
            let dict = PyDict::new(py);
            dict.set_item("least", least)?;
            dict.set_item("all", blocks.all)?;
            dict.set_item("cut", blocks.cut)?;
            dict.set_item("cut_first", blocks.cut_first)?;
            list.append(dict)?;
        }
        Ok(list)
    }

    /// What left when: the name of the trace, nanoseconds, and tokens.
    fn releases(&self, place: usize) -> PyResult<(&str, Vec<u64>, Vec<u32>)> {
        let (Some(name), Some(run)) = (self.names.get(place), self.runs.get(place)) else {
            return Err(pyo3::exceptions::PyIndexError::new_err("no such trace"));
        };
        let times = run.schedule.iter().map(|tokens| tokens.at.0).collect();
        Ok((name, times, run.schedule.iter().map(|tokens| tokens.count).collect()))
    }
}

/// The two header lines of the table.
#[pyfunction]
pub(crate) fn table_header() -> String {
    header()
}

/// What each of so many tokens brings when this text lies under a trace.
#[pyfunction]
pub(crate) fn lay_text(text: &str, tokens: usize) -> Vec<&str> {
    lay(text, tokens)
}

/// The silences that count as stalls.
pub(crate) use decluster_score::LIMITS_MS as STALL_LIMITS_MS;
