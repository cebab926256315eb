//! The way out of Rust: one port for each event loop.
//!
//! A finished operation is put on a queue and, unless the loop was told already, one write to an eventfd(2) wakes the
//! loop's own selector; `drain` then settles every finished future in one go. No thread of Rust ever attaches to the
//! interpreter: no wait for the GIL in the driver, and nothing to go wrong while the interpreter ends.

use crate::{errors, runtime};
use kai_terminal::Error;
use pyo3::{IntoPyObjectExt, intern, prelude::*};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::HashMap;
use std::future::Future;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Made where the operation ends, called on the loop's thread.
type Answer = Box<dyn for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>> + Send>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The queue and the map are whole between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Mailbox {
    wake: OwnedFd,
    letters: Mutex<Letters>,
}

#[derive(Default)]
struct Letters {
    finished: Vec<(u64, Answer)>,
    /// The loop was woken and has not come yet.
    told: bool,
}

impl Mailbox {
    fn post(&self, id: u64, answer: Answer) {
        let mut letters = lock(&self.letters);
        letters.finished.push((id, answer));
        let tell = !std::mem::replace(&mut letters.told, true);
        drop(letters);
        if tell {
            // It fails only when the counter is full, and then the loop has been woken long ago.
            let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
    }

    fn take(&self) -> Vec<(u64, Answer)> {
        // Emptied before the letters are taken: a letter that comes in between wakes the loop again.
        let _ = rustix::io::read(&self.wake, &mut [0_u8; 8]);
        let mut letters = lock(&self.letters);
        letters.told = false;
        std::mem::take(&mut letters.finished)
    }
}

/// The right to answer one request. Given up without an answer, by a runtime that stops, it says so: nobody is left to
/// wait for ever.
struct Reply {
    mailbox: Arc<Mailbox>,
    id: u64,
    open: bool,
}

impl Reply {
    fn send<T>(mut self, result: Result<T, Error>)
    where
        T: for<'a> IntoPyObject<'a> + Send + 'static,
    {
        self.open = false;
        self.mailbox.post(
            self.id,
            Box::new(move |py| match result {
                Ok(value) => value.into_bound_py_any(py),
                Err(error) => Err(errors::raise(py, &error)),
            }),
        );
    }

    /// Nobody waits for it any more.
    fn forget(mut self) {
        self.open = false;
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if self.open {
            self.mailbox.post(
                self.id,
                Box::new(|py| Err(errors::raise(py, &runtime::stopped()))),
            );
        }
    }
}

#[pyclass(frozen, module = "kai_terminal._core")]
pub(crate) struct Port {
    mailbox: Arc<Mailbox>,
    /// The process that made it: a forked copy shares the eventfd, and must not take its wake-ups away.
    pid: u32,
    /// The loop's futures. They are touched with the interpreter attached only.
    waiting: Mutex<HashMap<u64, Py<PyAny>>>,
    next: AtomicU64,
}

/// Held by the coroutine that awaits. Closing or dropping it drops the waiter in Rust.
#[pyclass(frozen, module = "kai_terminal._core")]
pub(crate) struct Ask {
    id: u64,
    open: Mutex<Option<oneshot::Sender<()>>>,
}

impl Port {
    /// One call in: gives the future to await and the token that cancels. `work` is only a waiter; what it waits for
    /// goes on without it.
    pub(crate) fn start<'py, W, T>(
        &self,
        event_loop: &Bound<'py, PyAny>,
        work: W,
    ) -> PyResult<(Bound<'py, PyAny>, Ask)>
    where
        W: Future<Output = Result<T, Error>> + Send + 'static,
        T: for<'a> IntoPyObject<'a> + Send + 'static,
    {
        let py = event_loop.py();
        let handle = runtime::handle(py)?;
        let future = event_loop.call_method0(intern!(py, "create_future"))?;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.waiting).insert(id, future.clone().unbind());
        let (open, closed) = oneshot::channel::<()>();
        let reply = Reply {
            mailbox: Arc::clone(&self.mailbox),
            id,
            open: true,
        };
        handle.spawn(async move {
            tokio::select! {
                biased;
                result = work => reply.send(result),
                _ = closed => reply.forget(),
            }
        });
        Ok((
            future,
            Ask {
                id,
                open: Mutex::new(Some(open)),
            },
        ))
    }
}

#[pymethods]
impl Port {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        runtime::check_forked(py)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(std::io::Error::from)?;
        let mailbox = Mailbox {
            wake,
            letters: Mutex::default(),
        };
        Ok(Self {
            mailbox: Arc::new(mailbox),
            pid: std::process::id(),
            waiting: Mutex::default(),
            next: AtomicU64::new(0),
        })
    }

    fn fileno(&self) -> i32 {
        self.mailbox.wake.as_raw_fd()
    }

    #[getter]
    fn pending(&self) -> usize {
        lock(&self.waiting).len()
    }

    fn drain(&self, py: Python<'_>) {
        if self.pid != std::process::id() {
            return;
        }
        for (id, answer) in self.mailbox.take() {
            // Cancelled meanwhile, if it is not there.
            let Some(future) = lock(&self.waiting).remove(&id) else {
                continue;
            };
            let future = future.bind(py);
            if let Err(error) = settle(future, answer) {
                // The others must not wait for ever because of this one.
                error.write_unraisable(py, Some(future));
            }
        }
    }

    fn cancel(&self, ask: &Ask) {
        lock(&ask.open).take();
        // Dropped after the lock is: the future's end may run anything.
        let future = lock(&self.waiting).remove(&ask.id);
        drop(future);
    }

    /// The loop is closed: its futures, which hold it, are let go.
    fn abandon(&self) {
        let futures = std::mem::take(&mut *lock(&self.waiting));
        drop(futures);
    }
}

fn settle(future: &Bound<'_, PyAny>, answer: Answer) -> PyResult<()> {
    let py = future.py();
    if future.call_method0(intern!(py, "done"))?.is_truthy()? {
        return Ok(());
    }
    match answer(py) {
        Ok(value) => future.call_method1(intern!(py, "set_result"), (value,))?,
        Err(error) => future.call_method1(intern!(py, "set_exception"), (error,))?,
    };
    Ok(())
}
