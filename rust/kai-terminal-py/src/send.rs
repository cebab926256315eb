//! A send under way.

use crate::convert::Settled;
use crate::own::Own;
use crate::port::{Ask, Port};
use kai_terminal as core;
use pyo3::prelude::*;

#[pyclass(frozen, module = "kai_terminal._core")]
pub(crate) struct Send {
    inner: Own<core::Send>,
}

impl Send {
    pub(crate) fn new(inner: core::Send) -> Self {
        Self {
            inner: Own::new(inner),
        }
    }

    fn ours(&self, py: Python<'_>) -> PyResult<&core::Send> {
        self.inner.get(py)
    }
}

#[pymethods]
impl Send {
    fn done<'py>(
        &self,
        port: &Port,
        event_loop: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Ask)> {
        let done = self.ours(event_loop.py())?.done();
        port.start(event_loop, async move { done.await.map(Settled::from) })
    }

    fn wait_output<'py>(
        &self,
        port: &Port,
        event_loop: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Ask)> {
        let output = self.ours(event_loop.py())?.wait_output();
        port.start(event_loop, async move {
            output.await;
            Ok(())
        })
    }

    fn read_output(&self, py: Python<'_>) -> PyResult<(String, bool)> {
        let inner = self.ours(py)?;
        Ok(py.detach(|| inner.read_output()))
    }

    fn cancel(&self, py: Python<'_>) -> PyResult<bool> {
        let inner = self.ours(py)?;
        Ok(py.detach(|| inner.cancel()))
    }
}
