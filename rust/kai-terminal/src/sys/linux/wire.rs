//! The frames between host and guard; `docs/guard-protocol.md` describes them.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::limits::Limit;
use super::users;
use crate::sys::{ExitStatus, Process, Receipt, Report, Spec, Stage};

/// The version that the guard must speak.
pub(super) const PROTOCOL: u32 = 1;

const START: u8 = 1;
const TERMINATE: u8 = 2;

const STARTED: u8 = 1;
const FAILED: u8 = 2;
const EXITED: u8 = 3;
const HANG_UP: u8 = 4;
const QUIESCENT: u8 = 5;
const SURVIVORS: u8 = 6;

/// Bytes of one process in a frame: pid, user, whether and how it ended, and its name.
const PROCESS: usize = 4 + 4 + 1 + 4 + 16;

/// The START frame. Fails where a string holds a NUL or a descriptor has an impossible number: nothing has been
/// started then.
pub(super) fn start(spec: &Spec, host: u32, limits: &[Limit]) -> io::Result<Vec<u8>> {
    let Some((program, arguments)) = spec.argv.split_first() else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "no program is named",
        ));
    };
    let mut frame = Frame::new(START);
    frame.u32(PROTOCOL);
    frame.u32(host);
    frame.u32(milliseconds(spec.grace));
    frame.u32(limits.len() as u32);
    for limit in limits {
        frame.u32(limit.resource);
        frame.u64(limit.soft);
        frame.u64(limit.hard);
    }
    frame.text(program.as_bytes())?;
    frame.u32(spec.argv.len() as u32);
    frame.text(spec.arg0.as_deref().unwrap_or(program).as_bytes())?;
    for argument in arguments {
        frame.text(argument.as_bytes())?;
    }
    frame.u32(spec.env.len() as u32);
    for (name, value) in &spec.env {
        frame.text(&[name.as_bytes(), b"=", value.as_bytes()].concat())?;
    }
    frame.u32(u32::from(spec.cwd.is_some()));
    if let Some(directory) = &spec.cwd {
        frame.text(directory.as_os_str().as_bytes())?;
    }
    frame.u32(spec.descriptors.len() as u32);
    for (number, bytes) in &spec.descriptors {
        if !(3..256).contains(number) || bytes.len() > LARGEST_DATA {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a descriptor that cannot be given",
            ));
        }
        frame.u32(number.cast_unsigned());
        frame.bytes(bytes);
    }
    Ok(frame.finish())
}

/// What a pipe takes without a reader, less a little.
const LARGEST_DATA: usize = 60_000;

pub(super) fn terminate(grace: Duration) -> Vec<u8> {
    let mut frame = Frame::new(TERMINATE);
    frame.u32(milliseconds(grace));
    frame.finish()
}

fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

/// A frame that is being written: the size of what follows, the kind, the fields, all little-endian.
struct Frame(Vec<u8>);

impl Frame {
    fn new(kind: u8) -> Self {
        Self(vec![0, 0, 0, 0, kind])
    }

    fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.u32(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
    }

    /// A string with its terminating NUL, so that the guard can hand it to the kernel where it lies.
    fn text(&mut self, text: &[u8]) -> io::Result<()> {
        if text.contains(&0) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a NUL in an argument, a variable or a path",
            ));
        }
        self.u32(text.len() as u32 + 1);
        self.0.extend_from_slice(text);
        self.0.push(0);
        Ok(())
    }

    fn finish(mut self) -> Vec<u8> {
        let size = self.0.len() as u32 - 4;
        self.0[..4].copy_from_slice(&size.to_le_bytes());
        self.0
    }
}

/// Takes the next whole frame off the front of `received`. Frames of an unknown kind are skipped: a later guard may
/// say more.
pub(super) fn next_report(received: &mut Vec<u8>) -> io::Result<Option<Report>> {
    while let Some(header) = received.first_chunk::<4>() {
        let end = 4 + u32::from_le_bytes(*header) as usize;
        if received.len() < end {
            break;
        }
        let report = parse(&received[4..end]);
        received.drain(..end);
        if let Some(report) = report? {
            return Ok(Some(report));
        }
    }
    Ok(None)
}

fn parse(frame: &[u8]) -> io::Result<Option<Report>> {
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "the guard sent a broken frame");
    let (&kind, payload) = frame.split_first().ok_or_else(broken)?;
    let report = match kind {
        STARTED => Report::Started {
            pid: number(payload).ok_or_else(broken)?,
        },
        FAILED => {
            let (&step, errno) = payload.split_first().ok_or_else(broken)?;
            let error = io::Error::from_raw_os_error(number(errno).ok_or_else(broken)?);
            Report::Failed {
                stage: stage(step).ok_or_else(broken)?,
                error,
            }
        }
        EXITED => Report::Exited(exit_status(number(payload).ok_or_else(broken)?)),
        HANG_UP => Report::HangUp,
        QUIESCENT => {
            let (&killed, list) = payload.split_first().ok_or_else(broken)?;
            Report::Quiescent(Receipt {
                processes: processes(list).ok_or_else(broken)?,
                killed: killed != 0,
            })
        }
        SURVIVORS => Report::Survivors(processes(payload).ok_or_else(broken)?),
        _ => return Ok(None),
    };
    Ok(Some(report))
}

fn number(bytes: &[u8]) -> Option<i32> {
    bytes.first_chunk::<4>().map(|b| i32::from_le_bytes(*b))
}

fn stage(step: u8) -> Option<Stage> {
    [
        Stage::Terminal,
        Stage::Fork,
        Stage::Session,
        Stage::Directory,
        Stage::Limits,
        Stage::Exec,
    ]
    .get(usize::from(step))
    .copied()
}

/// A status of waitpid(2) that is not about stopping.
fn exit_status(raw: i32) -> ExitStatus {
    if libc::WIFSIGNALED(raw) {
        ExitStatus::Signal(libc::WTERMSIG(raw))
    } else {
        ExitStatus::Code(libc::WEXITSTATUS(raw))
    }
}

fn processes(list: &[u8]) -> Option<Vec<Process>> {
    let (entries, rest) = list.as_chunks::<PROCESS>();
    let process = |entry: &[u8; PROCESS]| {
        let name = &entry[13..];
        let name = &name[..name.iter().position(|&b| b == 0).unwrap_or(name.len())];
        Some(Process {
            pid: number(entry)?,
            command: OsStr::from_bytes(name).to_string_lossy().into_owned(),
            user: users::name(number(&entry[4..])?.cast_unsigned()),
            ended: if entry[8] == 0 {
                None
            } else {
                Some(exit_status(number(&entry[9..])?))
            },
        })
    };
    rest.is_empty()
        .then(|| entries.iter().map(process).collect())?
}
