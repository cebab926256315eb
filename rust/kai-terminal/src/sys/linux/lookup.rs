//! Where the guard is: a real file where one is shipped (in a wheel), else the embedded bytes in a sealed memory file,
//! else, where such files may not be executed, a private extracted file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use super::wire::PROTOCOL;

static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kai-terminal-guard"));

/// Linux 6.3 asks whether a memory file is meant to be executed (`MFD_EXEC`), and older kernels refuse the flag.
const MEANT_TO_RUN: MemfdFlags = MemfdFlags::from_bits_retain(0x10);

static CONFIGURED: OnceLock<PathBuf> = OnceLock::new();
static PLACE: Mutex<Option<Place>> = Mutex::new(None);

enum Place {
    File(PathBuf),
    Open {
        path: PathBuf,
        file: OwnedFd,
        identity: (u64, u64),
    },
}

impl Place {
    fn open(file: File) -> io::Result<Self> {
        // Resolved by the child, which has the descriptor until the exec itself.
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let status = file.metadata()?;
        Ok(Self::Open {
            path,
            file: file.into(),
            identity: (status.dev(), status.ino()),
        })
    }

    fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Open { path, .. } => path,
        }
    }

    /// Whether it is still what it was: a host that closes descriptors it does not know (a daemon's start, say) may
    /// have closed the memory file, and something else may have its number now.
    fn holds(&self) -> bool {
        match self {
            Self::File(path) => path.exists(),
            Self::Open { file, identity, .. } => rustix::fs::fstat(file)
                .is_ok_and(|status| (status.st_dev, status.st_ino) == *identity),
        }
    }
}

/// Says where the guard has been installed. The first call counts, and a file that is not there is no error.
pub fn configure_guard(path: PathBuf) {
    let _ = CONFIGURED.set(path);
}

/// The absolute path of a guard that runs here and speaks our protocol: `$KAI_TERMINAL_GUARD` (taken as it is), the
/// configured file, a memory file, an extracted file. Found once; the first call starts it once, to see that it runs.
pub fn guard_path() -> io::Result<PathBuf> {
    let mut place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    if place.as_ref().is_some_and(|place| !place.holds())
        && let Some(Place::Open { file, .. }) = place.take()
    {
        // The number is not ours any more, so closing it would close somebody else's file.
        std::mem::forget(file);
    }
    if place.is_none() {
        *place = Some(locate()?);
    }
    Ok(place.as_ref().expect("it was just set").path().to_owned())
}

fn locate() -> io::Result<Place> {
    if let Some(path) = std::env::var_os("KAI_TERMINAL_GUARD") {
        return Ok(Place::File(std::path::absolute(path)?));
    }
    if let Some(path) = CONFIGURED.get()
        && let Ok(path) = std::path::absolute(path)
        && runs(&path)
    {
        return Ok(Place::File(path));
    }
    match memory() {
        Ok(place) if runs(place.path()) => Ok(place),
        _ => extract(),
    }
}

/// Whether the file is a guard of our version that can be executed. What it prints decides, not its exit status: a host
/// may ignore SIGCHLD or reap everything itself, so that the status is gone.
fn runs(path: &Path) -> bool {
    let expected = format!(
        "kai-terminal-guard {} {PROTOCOL}\n",
        env!("CARGO_PKG_VERSION")
    );
    let Ok(mut child) = spawn_when_free(path) else {
        return false;
    };
    let mut printed = String::new();
    let read = child
        .stdout
        .take()
        .map(|mut output| output.read_to_string(&mut printed));
    // Reaped by somebody else is as good.
    let _ = child.wait();
    matches!(read, Some(Ok(_))) && printed == expected
}

/// Starts it, also where another thread is just starting something: its child holds our descriptor for writing until it
/// executes, and so long the file is busy (`ETXTBSY`). No event tells when that is over.
fn spawn_when_free(path: &Path) -> io::Result<std::process::Child> {
    let mut tries = 100;
    loop {
        let child = Command::new(path)
            .arg("--version")
            .env_clear()
            .process_group_of_its_own()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        match child {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && tries > 0 => {
                tries -= 1;
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            outcome => return outcome,
        }
    }
}

fn memory() -> io::Result<Place> {
    let base = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let make = |flags| memfd_create("kai-terminal-guard", flags);
    let file = make(base | MEANT_TO_RUN).or_else(|_| make(base))?;
    let mut file = File::from(file);
    file.write_all(BYTES)?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL,
    )?;
    Place::open(file)
}

/// A file of this user in the first directory that lets us write and execute. It has no name any more where it can be
/// run by descriptor, so that nothing stays behind; else it keeps one, of its version and this process.
fn extract() -> io::Result<Place> {
    let named = ["XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME"]
        .iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from);
    let mut last = io::Error::other("there is no directory from which the guard can be executed");
    for directory in named
        .chain([std::env::temp_dir()])
        .filter(|directory| directory.is_absolute())
    {
        let name = format!(
            ".kai-terminal-guard-{}-{}",
            env!("CARGO_PKG_VERSION"),
            std::process::id()
        );
        match extract_to(&directory.join(name)) {
            Ok(place) => return Ok(place),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn extract_to(path: &Path) -> io::Result<Place> {
    write_executable(path)?;
    // Opened anew for reading only: what is open for writing cannot be executed.
    let place = File::open(path).and_then(Place::open);
    fs::remove_file(path)?;
    let place = place?;
    if runs(place.path()) {
        return Ok(place);
    }
    write_executable(path)?;
    if runs(path) {
        return Ok(Place::File(path.to_owned()));
    }
    fs::remove_file(path)?;
    Err(io::Error::from(io::ErrorKind::PermissionDenied))
}

fn write_executable(path: &Path) -> io::Result<()> {
    // What an earlier process with our number left behind is ours to replace; what is not ours refuses to go.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o500)
        .open(path)?
        .write_all(BYTES)
}

/// What every start of the guard has in common.
pub(super) trait OwnGroup {
    /// The host's Ctrl-C and Ctrl-Z must not reach it.
    fn process_group_of_its_own(&mut self) -> &mut Self;
}

impl OwnGroup for Command {
    fn process_group_of_its_own(&mut self) -> &mut Self {
        std::os::unix::process::CommandExt::process_group(self, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, extract, extract_to, memory, runs};

    #[test]
    fn the_embedded_guard_runs_from_memory_and_from_a_file_without_a_name() {
        for place in [memory().unwrap(), extract().unwrap()] {
            assert!(matches!(place, Place::Open { .. }));
            assert!(runs(place.path()) && place.holds());
        }
    }

    #[test]
    fn an_extracted_guard_replaces_what_was_left_there_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("guard");
        std::fs::write(&path, "left by another").unwrap();
        assert!(runs(extract_to(&path).unwrap().path()));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_descriptor_that_was_closed_and_used_again_is_not_taken_for_the_guard() {
        let Place::Open {
            path,
            file,
            identity,
        } = memory().unwrap()
        else {
            panic!("not open")
        };
        let other = std::fs::File::open("/dev/null").unwrap().into();
        let place = Place::Open {
            path,
            file: other,
            identity,
        };
        assert!(!place.holds());
        drop(file);
    }

    #[test]
    fn what_is_not_a_guard_is_not_taken_for_one() {
        assert!(!runs("/bin/true".as_ref()));
        assert!(!runs("/nonexistent/kai-terminal-guard".as_ref()));
    }
}
