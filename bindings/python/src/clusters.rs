//! How clustered streams come, and what all of this process add up to.

use crate::error;
use decluster::Nanos;
use decluster::guard::{ClusterRule, Clustering, Sketch};
use decluster_runtime::Totals;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, LazyLock};

/// Counts how often text comes in clusters: groups of many tokens beside a silence.
///
/// Arrivals within `group_gap` seconds of a group's first one belong to it. A group of `min_tokens` and more counts as a
/// cluster if a silence of `min_gap` seconds and more came before it or came after it, within the stream. One of these
/// can count many streams, one after the other (`end_stream`) or each in one of its own (`merge`).
///
/// Raises `ConfigError` if a value is negative or no number.
///
/// >>> import decluster
/// >>> clusters = decluster.Clusters()
/// >>> for ms, tokens in [(0, 67), (1400, 81), (1405, 12)]:
/// ...     clusters.record(ms * 1_000_000, tokens)
/// >>> clusters.events
/// 2
#[pyclass(module = "decluster")]
pub(crate) struct Clusters {
    inner: decluster::guard::Clusters,
}

#[pymethods]
impl Clusters {
    #[new]
    #[pyo3(signature = (*, min_tokens=40, min_gap=1.0, group_gap=0.03))]
    fn new(py: Python<'_>, min_tokens: u64, min_gap: f64, group_gap: f64) -> PyResult<Self> {
        let nanos = |name: &str, seconds: f64| {
            if seconds >= 0.0 {
                // (What is too large becomes the largest.)
                Ok(Nanos((seconds * 1e9).round() as u64))
            } else {
                Err(error(
                    py,
                    "ConfigError",
                    &format!("{name} is a time in seconds, not {seconds}"),
                ))
            }
        };
        let (min_gap, group_gap) = (nanos("min_gap", min_gap)?, nanos("group_gap", group_gap)?);
        let rule = ClusterRule { min_tokens, min_gap, group_gap };
        Ok(Self { inner: decluster::guard::Clusters::new(rule) })
    }

    /// So many LLM tokens came, or left, at this time of a monotonic clock. One that runs backwards stands still.
    fn record(&mut self, now_ns: u64, tokens: u64) {
        self.inner.record(Nanos(now_ns), tokens);
    }

    /// The stream is over; what is recorded next is of another one, on a clock of its own.
    fn end_stream(&mut self) {
        self.inner.end_stream();
    }

    /// Counts what another one counted, as if its streams had been seen here and were over. What counts as a cluster was
    /// decided there.
    fn merge(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) {
        // It may be the same one.
        let others = other.borrow().inner.clone();
        slf.borrow_mut().inner.merge(&others);
    }

    /// How many clusters were seen.
    #[getter]
    fn events(&self) -> u64 {
        self.inner.events()
    }

    /// The figures, as under `clusters` in `Stream.stats()`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        clusters_dict(py, &self.inner)
    }

    fn __repr__(&self) -> String {
        format!("Clusters(events={}, tokens={})", self.inner.events(), self.inner.tokens())
    }
}

/// The sums over all streams of this process that are over, in the Prometheus text format, version 0.0.4.
///
/// Serve it with the content type `text/plain; version=0.0.4; charset=utf-8`:
///
/// >>> import decluster
/// >>> def app(environ, start_response):  # WSGI
/// ...     body = decluster.metrics().encode()
/// ...     start_response("200 OK", [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")])
/// ...     return [body]
/// >>> "decluster_pieces_total" in decluster.metrics()
/// True
///
/// Each stream of `wrap`, `pieces` and `blocks` is added once, when it has ended, is closed or is dropped: what still
/// runs is not in it, nor what nobody read. What `collect` reads is not paced and does not count, nor does an `Engine` of
/// your own. The sums are those of this process: one that was forked goes on from what its parent had counted, and workers
/// of a server each have their own.
#[pyfunction]
pub(crate) fn metrics() -> String {
    TOTALS.render()
}

/// All streams of this process.
pub(crate) static TOTALS: LazyLock<Arc<Totals>> = LazyLock::new(Arc::default);

pub(crate) fn clustering_dict<'py>(
    py: Python<'py>,
    clusters: &Clustering,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("before", clusters_dict(py, &clusters.before)?)?;
    dict.set_item("after", clusters_dict(py, &clusters.after)?)?;
    Ok(dict)
}

fn clusters_dict<'py>(
    py: Python<'py>,
    clusters: &decluster::guard::Clusters,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("events", clusters.events())?;
    dict.set_item("events_per_hour", clusters.events_per_hour())?;
    dict.set_item("groups", clusters.groups())?;
    dict.set_item("tokens", clusters.tokens())?;
    dict.set_item("seconds", clusters.watched().0 as f64 / 1e9)?;
    let (sizes, gaps) = (clusters.sizes(), clusters.gaps());
    let size = sketch_dict(py, &sizes, |tokens| tokens)?;
    size.set_item("mean", sizes.mean())?;
    let gap = sketch_dict(py, gaps, |ms| ms as f64 / 1e3)?;
    gap.set_item("mean", gaps.mean().map(|ms| ms / 1e3))?;
    dict.set_item("size", size)?;
    dict.set_item("gap", gap)?;
    Ok(dict)
}

/// Quantiles in the unit that `of` makes of a value.
fn sketch_dict<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    sketch: &Sketch,
    of: fn(u64) -> T,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("p50", sketch.quantile(0.5).map(of))?;
    dict.set_item("p95", sketch.quantile(0.95).map(of))?;
    dict.set_item("max", sketch.max().map(of))?;
    Ok(dict)
}
