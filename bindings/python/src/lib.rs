//! The compiled half of the Python package: thin faces over the core and the runtime crate.
//!
//! What a Rust user would want, too, belongs there, not here.

mod body;
mod budget;
mod clusters;
mod collect;
mod diagnose;
mod engine;
mod flow;
mod form;
mod inline;
mod known;
mod ledger;
mod params;
mod segment;
mod source;
mod study;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

/// `decluster._core`; its public names are re-exported by `decluster`.
#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<budget::Budget>()?;
    m.add_class::<engine::Engine>()?;
    m.add_class::<engine::Piece>()?;
    m.add_class::<engine::Mark>()?;
    m.add_class::<engine::Event>()?;
    m.add_class::<engine::Wait>()?;
    m.add_class::<Signal>()?;
    m.add_class::<params::Parameter>()?;
    m.add_class::<flow::Flow>()?;
    m.add_class::<flow::Feed>()?;
    m.add_class::<inline::Inline>()?;
    m.add_class::<known::Known>()?;
    m.add_class::<collect::Collector>()?;
    m.add_class::<ledger::PriceTable>()?;
    m.add_class::<ledger::Book>()?;
    m.add_class::<params::Preset>()?;
    m.add_class::<segment::Segmenter>()?;
    m.add_class::<segment::Block>()?;
    m.add_class::<clusters::Clusters>()?;
    m.add("PARAMETERS", params::all(m.py())?)?;
    m.add("PRESETS", params::presets(m.py(), decluster::PRESETS)?)?;
    m.add("PROFILES", params::presets(m.py(), decluster::PROFILES)?)?;
    for signal in [&NEED_INPUT, &FINISHED] {
        m.add(signal.name, signal.get(m.py())?)?;
    }
    m.add_class::<diagnose::Diagnosis>()?;
    m.add_class::<study::Study>()?;
    m.add_class::<study::Simulated>()?;
    m.add_class::<study::Row>()?;
    m.add("STALL_LIMITS_MS", PyTuple::new(m.py(), study::STALL_LIMITS_MS)?)?;
    m.add_function(wrap_pyfunction!(study::table_header, m)?)?;
    m.add_function(wrap_pyfunction!(study::lay_text, m)?)?;
    m.add_function(wrap_pyfunction!(flow::open_flow, m)?)?;
    m.add_function(wrap_pyfunction!(inline::open_inline, m)?)?;
    m.add_function(wrap_pyfunction!(body::read_body, m)?)?;
    m.add_function(wrap_pyfunction!(clusters::metrics, m)?)?;
    Ok(())
}

/// An answer without content: one object, compared by identity.
#[pyclass(frozen, module = "decluster")]
struct Signal {
    name: &'static str,
}

#[pymethods]
impl Signal {
    fn __repr__(&self) -> &'static str {
        self.name
    }
}

struct SignalCell {
    name: &'static str,
    cell: PyOnceLock<Py<Signal>>,
}

impl SignalCell {
    const fn new(name: &'static str) -> Self {
        Self { name, cell: PyOnceLock::new() }
    }

    fn get(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let signal = self.cell.get_or_try_init(py, || Py::new(py, Signal { name: self.name }))?;
        Ok(signal.clone_ref(py).into_any())
    }
}

static NEED_INPUT: SignalCell = SignalCell::new("NEED_INPUT");
static FINISHED: SignalCell = SignalCell::new("FINISHED");

/// An error of the package, by its name in `decluster._errors`.
fn error(py: Python<'_>, name: &str, message: &impl std::fmt::Display) -> PyErr {
    let class = py.import("decluster._errors").and_then(|errors| errors.getattr(name));
    match class.and_then(|class| class.call1((message.to_string(),))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
