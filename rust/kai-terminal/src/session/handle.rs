//! The handle: it looks, registers and wakes; the driver acts.

use super::{driver, failures};
use crate::error::{Error, ErrorCode};
use crate::state::{
    Closing, Counters, Key, SendId, SendOutcome, SendRequest, SendResult, SessionOptions,
    SessionState, Startup, Status, WaitReason,
};
use crate::sys::{self, Receipt, Signal, Size, Terminal};
use kai_terminal_screen::{Display, Page};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// What a session is opened with. Nothing is added below.
#[derive(Clone, Debug)]
pub struct Config {
    pub spec: sys::Spec,
    /// The secret of the shell's marks, 32 hexadecimal digits; `None` where the program emits none.
    pub key: Option<String>,
    pub startup: Startup,
    pub startup_timeout: Duration,
    /// The default of a send; `None`: it never expires.
    pub send_timeout: Option<Duration>,
    /// The default of a send: how long output must be silent to be taken for idle.
    pub idle_silence: Duration,
    /// How long a program that polls the terminal must be quiet to be taken for listening. No effect yet: polls are not
    /// looked at.
    pub poll_quiet: Duration,
    pub scrollback_lines: usize,
    pub scrollback_bytes: usize,
    /// The most that is kept of a send's output, in bytes.
    pub max_output: usize,
}

/// What the handle and the driver share.
pub(super) struct Shared {
    pub(super) state: Mutex<SessionState>,
    pub(super) terminal: Box<dyn Terminal>,
    pub(super) grace: Duration,
    /// Wakes the driver: there is something to write, to signal or to close.
    pub(super) work: Notify,
    /// Wakes who waits for an end: a send settled, the start or a close came to its result.
    pub(super) settled: Notify,
    /// Wakes who waits for output.
    pub(super) output: Notify,
    /// Why the program was not started, if it was not.
    pub(super) start_error: Mutex<Option<Error>>,
    program: String,
    cwd: Option<String>,
    startup_timeout: Duration,
    /// The process that opened the session; a forked copy of it must not touch anything.
    owner: u32,
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, SessionState> {
        // A panic while the lock was held is a bug already reported; the state itself stays usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In a forked copy the lock may be held for ever by a thread that does not exist there.
    fn is_ours(&self) -> bool {
        self.owner == std::process::id()
    }

    pub(super) fn fail_start(&self, stage: sys::Stage, error: &std::io::Error) {
        let error = failures::not_started(&self.program, self.cwd.as_deref(), stage, error);
        self.start_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error);
    }
}

/// One open session. Clones name the same one. When the last is dropped, the guard ends what is left.
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
    _alive: Arc<Alive>,
}

/// Tells the driver that nobody holds the session any more.
struct Alive(Arc<Shared>);

impl Drop for Alive {
    fn drop(&mut self) {
        if self.0.is_ours() && self.0.state().begin_close(Instant::now()) {
            self.0.work.notify_one();
        }
    }
}

/// How a close went.
#[derive(Clone, Debug)]
pub struct Closed {
    pub receipt: Receipt,
    pub duration: Duration,
    /// `false`: this call joined a close that was under way.
    pub performed: bool,
}

impl Session {
    /// Opens a terminal and starts its program. Returns at once; `started` tells how it went. To be called inside a
    /// tokio runtime, on which the session's driver then runs.
    ///
    /// # Errors
    /// `START_FAILED` and `RESOURCES`; nothing is left behind then.
    pub fn open(config: Config) -> Result<Self, Error> {
        let program = config
            .spec
            .argv
            .first()
            .map(|path| path.to_string_lossy().into_owned())
            .unwrap_or_default();
        let terminal = sys::linux::open(&config.spec)
            .map_err(|failure| failures::not_opened(&program, &failure))?;
        let options = SessionOptions {
            cols: config.spec.size.cols,
            rows: config.spec.size.rows,
            key: config.key.as_deref().and_then(Key::new),
            startup: config.startup,
            startup_timeout: config.startup_timeout,
            send_timeout: config.send_timeout,
            idle_silence: config.idle_silence,
            scrollback_lines: config.scrollback_lines,
            scrollback_bytes: config.scrollback_bytes,
            max_output: config.max_output,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(SessionState::new(options, Instant::now())),
            terminal: Box::new(terminal),
            grace: config.spec.grace,
            work: Notify::new(),
            settled: Notify::new(),
            output: Notify::new(),
            start_error: Mutex::default(),
            program,
            cwd: config
                .spec
                .cwd
                .map(|cwd| cwd.to_string_lossy().into_owned()),
            startup_timeout: config.startup_timeout,
            owner: std::process::id(),
        });
        driver::spawn(Arc::clone(&shared)).map_err(|error| {
            Error::new(
                ErrorCode::Resources,
                format!("the terminal cannot be watched: {error}"),
            )
        })?;
        Ok(Self {
            _alive: Arc::new(Alive(Arc::clone(&shared))),
            shared,
        })
    }

    /// Waits until the program is ready for input (contract N12). Cancelling changes nothing.
    ///
    /// # Errors
    /// `START_FAILED`, `START_TIMEOUT`, with what was printed; `TRANSPORT_FAILED`. The caller closes the session then.
    pub async fn started(&self) -> Result<(), Error> {
        self.shared
            .until(&self.shared.settled, |state| state.startup().cloned())
            .await
            .map_err(|failure| failures::send_failed(&failure))
            .and_then(|result| {
                if let Some(error) = self.start_error() {
                    return Err(error);
                }
                match result.wait_reason {
                    WaitReason::StdinRead | WaitReason::InferredIdle => Ok(()),
                    WaitReason::Timeout | WaitReason::SessionExit => Err(failures::start_ended(
                        &self.shared.program,
                        &result,
                        self.shared.startup_timeout,
                    )),
                }
            })
    }

    fn start_error(&self) -> Option<Error> {
        self.shared
            .start_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// What was printed before the first prompt, bounded.
    pub fn motd(&self) -> String {
        self.shared.state().motd().to_owned()
    }

    /// The top-level process, once it runs.
    pub fn pid(&self) -> Option<i32> {
        self.shared.state().pid()
    }

    pub fn status(&self) -> Status {
        self.shared.state().status()
    }

    pub fn counters(&self) -> Counters {
        self.shared.state().counters()
    }

    /// Begins a send; it owns the session's only slot until it has settled (contract S13, N8).
    ///
    /// # Errors
    /// `SEND_ACTIVE`, `SESSION_CLOSING`, `SESSION_EXITED`, `INPUT_REFUSED`, and `NOT_AT_PROMPT` for a run; nothing was
    /// written then.
    pub fn start_send(&self, request: &SendRequest) -> Result<Send, Error> {
        let terminal = &self.shared.terminal;
        let id = {
            let mut state = self.shared.state();
            let (modes, foreground) = (terminal.modes().ok(), terminal.foreground().ok().flatten());
            state
                .begin_send(Instant::now(), request, modes, foreground)
                .map_err(|refusal| failures::refused(&refusal))?
        };
        self.shared.work.notify_one();
        let inner = SendInner {
            session: self.clone(),
            id,
            outcome: Mutex::new(None),
        };
        Ok(Send {
            inner: Arc::new(inner),
        })
    }

    /// A page backwards from the newest line (contract R2).
    pub fn page(&self, offset: usize, count: usize) -> Page {
        self.shared.state().display().page(offset, count)
    }

    /// A page forwards from an absolute line (contract R5).
    pub fn page_from(&self, line: u64, count: usize) -> Page {
        self.shared.state().display().page_from(line, count)
    }

    /// Looks at the screen while nothing changes it.
    pub fn with_display<R>(&self, look: impl FnOnce(&Display) -> R) -> R {
        look(self.shared.state().display())
    }

    /// Signals the foreground process group and gives its id (contract K1, K2).
    ///
    /// # Errors
    /// `SIGNAL_DENIED`, `SIGNAL_FAILED`, `SESSION_EXITED`.
    pub fn signal(&self, signal: Signal) -> Result<i32, Error> {
        let state = self.shared.state();
        if state.status() != Status::Running {
            return Err(failures::refused(&crate::state::Refusal::Exited));
        }
        let shell = state.pid();
        // Asked and sent under one lock, as near together as two system calls can be.
        if signal == Signal::Kill
            && shell.is_some()
            && self.shared.terminal.foreground().ok().flatten() == shell
        {
            return Err(Error::new(
                ErrorCode::SignalDenied,
                "SIGKILL is refused while the top-level process itself is in the foreground: close the session instead",
            ));
        }
        self.shared
            .terminal
            .signal_foreground(signal)
            .map_err(|error| failures::signal_failed(&error))
    }

    /// Gives the terminal and the screen this size.
    ///
    /// # Errors
    /// `SESSION_EXITED`, and `TRANSPORT_FAILED` where the terminal refuses.
    pub fn resize(&self, cols: u16, rows: u16) -> Result<(), Error> {
        let mut state = self.shared.state();
        if state.status() != Status::Running {
            return Err(failures::refused(&crate::state::Refusal::Exited));
        }
        self.shared
            .terminal
            .resize(Size { cols, rows })
            .map_err(|error| {
                Error::new(
                    ErrorCode::TransportFailed,
                    format!("the terminal was not resized: {error}"),
                )
            })?;
        state.resize(cols, rows);
        Ok(())
    }

    /// Types bytes at once, beside any send: keys, reports of the mouse.
    ///
    /// # Errors
    /// `SESSION_CLOSING`, `SESSION_EXITED`.
    pub fn type_bytes(&self, bytes: &[u8]) -> Result<(), Error> {
        self.shared
            .state()
            .type_bytes(bytes)
            .map_err(|refusal| failures::refused(&refusal))?;
        self.shared.work.notify_one();
        Ok(())
    }

    /// Ends the managed range and waits until it is proven empty (contract B2, Q1). Joins a close that is under way;
    /// after a failed one, tries again. Cancelling does not stop the close.
    ///
    /// # Errors
    /// `CLOSE_FAILED`, naming what survived.
    pub async fn close(&self) -> Result<Closed, Error> {
        let performed = {
            let mut state = self.shared.state();
            let idle = !matches!(
                state.closing(),
                Closing::Closing { .. } | Closing::Closed { .. }
            );
            state.begin_close(Instant::now());
            idle
        };
        self.shared.work.notify_one();
        let end = self
            .shared
            .until(&self.shared.settled, |state| match state.closing() {
                Closing::Open | Closing::Empty(_) | Closing::Closing { .. } => None,
                Closing::Failed { survivors, .. } => Some(Err(failures::survived(survivors))),
                Closing::Lost { .. } => Some(Err(failures::guard_lost())),
                Closing::Closed { receipt, took } => Some(Ok(Closed {
                    receipt: receipt.clone(),
                    duration: *took,
                    performed,
                })),
            });
        end.await
    }
}

impl Shared {
    /// Waits until `look` finds something; it is asked again after each notification.
    async fn until<T>(
        &self,
        event: &Notify,
        mut look: impl FnMut(&mut SessionState) -> Option<T>,
    ) -> T {
        loop {
            let notified = event.notified();
            tokio::pin!(notified);
            // Registered before the look, or a change between the two would be missed.
            notified.as_mut().enable();
            if let Some(found) = look(&mut self.state()) {
                return found;
            }
            notified.await;
        }
    }
}

/// A send under way, or settled. Clones name the same one.
#[derive(Clone)]
pub struct Send {
    inner: Arc<SendInner>,
}

struct SendInner {
    session: Session,
    id: SendId,
    outcome: Mutex<Option<SendOutcome>>,
}

impl SendInner {
    fn outcome(&self, state: &mut SessionState) -> Option<SendOutcome> {
        let mut kept = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none() {
            *kept = state.outcome(self.id);
        }
        kept.clone()
    }
}

impl Drop for SendInner {
    fn drop(&mut self) {
        // Nobody can ask for the outcome any more: it is not kept for nobody.
        if self.session.shared.is_ours() {
            self.session.shared.state().forget(self.id);
        }
    }
}

impl Send {
    /// Its result; any number of callers may wait, also again later. Cancelling changes nothing.
    ///
    /// # Errors
    /// `TRANSPORT_FAILED`.
    pub fn done(
        &self,
    ) -> impl Future<Output = Result<SendResult, Error>> + std::marker::Send + 'static {
        let inner = Arc::clone(&self.inner);
        async move {
            let shared = &inner.session.shared;
            let outcome = shared
                .until(&shared.settled, |state| inner.outcome(state))
                .await;
            outcome.map_err(|failure| failures::send_failed(&failure))
        }
    }

    /// What it produced since the last call, and whether something was dropped (contract N10).
    pub fn read_output(&self) -> (String, bool) {
        self.inner.session.shared.state().read_output(self.inner.id)
    }

    /// Waits until there is something unread or it has settled.
    pub fn wait_output(&self) -> impl Future<Output = ()> + std::marker::Send + 'static {
        let inner = Arc::clone(&self.inner);
        async move {
            let (shared, id) = (&inner.session.shared, inner.id);
            shared
                .until(&shared.output, |state| {
                    (state.has_output(id) || !state.is_active(id)).then_some(())
                })
                .await;
        }
    }

    /// Drops what was not written yet, discards what no program has read, and interrupts the foreground (contract N6).
    /// `false` once it has settled.
    pub fn cancel(&self) -> bool {
        let cancelled = self.inner.session.shared.state().cancel(self.inner.id);
        if cancelled {
            self.inner.session.shared.work.notify_one();
        }
        cancelled
    }
}
