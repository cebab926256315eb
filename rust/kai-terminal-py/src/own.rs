//! What belongs to the process that made it.

use crate::runtime;
use pyo3::prelude::*;
use std::mem::ManuallyDrop;

/// A value that a forked copy of the process neither uses nor drops: its locks may be held there by threads that do not
/// exist, and its end would be its original's.
pub(crate) struct Own<T> {
    value: Option<ManuallyDrop<T>>,
    pid: u32,
}

impl<T> Own<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Some(ManuallyDrop::new(value)),
            pid: std::process::id(),
        }
    }

    /// # Errors
    /// `FORKED`.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<&T> {
        runtime::check_owner(py, self.pid)?;
        Ok(self
            .value
            .as_ref()
            .expect("the value is there until the drop"))
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.pid == std::process::id()
            && let Some(value) = self.value.take()
        {
            drop(ManuallyDrop::into_inner(value));
        }
    }
}
