//! What the system call in which a thread is blocked says about what it waits for. Numbers are per architecture.

use libc::{
    SYS_accept, SYS_accept4, SYS_clock_nanosleep, SYS_connect, SYS_copy_file_range,
    SYS_epoll_pwait, SYS_epoll_pwait2, SYS_futex, SYS_futex_waitv, SYS_nanosleep, SYS_ppoll,
    SYS_pread64, SYS_preadv, SYS_preadv2, SYS_pselect6, SYS_read, SYS_readv, SYS_recvfrom,
    SYS_recvmmsg, SYS_recvmsg, SYS_restart_syscall, SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
    SYS_sendfile, SYS_splice, SYS_wait4, SYS_waitid,
};

/// The kind of a blocking call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Reads from this descriptor.
    Read(i32),
    /// Receives from a peer: never a terminal.
    Receive,
    /// Waits for another thread, a child or a signal.
    Idle,
    Timer,
    Poll,
    Other,
}

/// Below this no 64-bit program has its stack: a call that was made from there is one of a 32-bit program, whose table
/// of numbers is another.
const SMALLEST_STACK: u64 = 1 << 32;

/// Pointers of a program are above this, counts and flags below.
const SMALLEST_POINTER: u64 = 4096;

pub(super) fn kind(number: i64, arguments: &[u64; 6], stack: u64) -> Kind {
    if stack < SMALLEST_STACK {
        return Kind::Other;
    }
    // A descriptor is an int: the upper half of its register means nothing.
    let descriptor = |index: usize| arguments[index] as u32 as i32;
    #[expect(
        non_upper_case_globals,
        reason = "the names of the system calls are libc's"
    )]
    match number {
        SYS_read | SYS_readv | SYS_pread64 | SYS_preadv | SYS_preadv2 | SYS_splice
        | SYS_copy_file_range => Kind::Read(descriptor(0)),
        SYS_sendfile => Kind::Read(descriptor(1)),
        SYS_recvfrom | SYS_recvmsg | SYS_recvmmsg | SYS_accept | SYS_accept4 | SYS_connect => {
            Kind::Receive
        }
        SYS_futex | SYS_futex_waitv | SYS_wait4 | SYS_waitid | SYS_rt_sigsuspend
        | SYS_rt_sigtimedwait => Kind::Idle,
        SYS_nanosleep | SYS_clock_nanosleep => Kind::Timer,
        SYS_ppoll => poll_of(arguments[1]),
        SYS_pselect6 => poll_of(arguments[0]),
        SYS_epoll_pwait | SYS_epoll_pwait2 => Kind::Poll,
        SYS_restart_syscall => restarted(arguments),
        _ => older(number, arguments),
    }
}

/// A poll or a select by the count that it was given: watching nothing is an old way to sleep.
fn poll_of(count: u64) -> Kind {
    if count as u32 == 0 {
        Kind::Timer
    } else {
        Kind::Poll
    }
}

/// Calls that only the older tables have.
#[cfg(target_arch = "x86_64")]
fn older(number: i64, arguments: &[u64; 6]) -> Kind {
    match number {
        libc::SYS_poll => poll_of(arguments[1]),
        libc::SYS_select => poll_of(arguments[0]),
        libc::SYS_epoll_wait => Kind::Poll,
        libc::SYS_pause => Kind::Idle,
        _ => Kind::Other,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn older(_number: i64, _arguments: &[u64; 6]) -> Kind {
    Kind::Other
}

/// `FUTEX_WAIT` and `FUTEX_WAIT_BITSET` for threads of one process, the latter by either clock (include/uapi/linux/futex.h).
const FUTEX_WAITS: [u64; 4] = [128, 9 | 128, 9 | 256, 9 | 128 | 256];

/// A call that goes on after the process was stopped and continued: the registers still hold its arguments. Only calls
/// with a timeout are continued like this (`ERESTART_RESTARTBLOCK`): poll(pointer, count, timeout), futex(pointer,
/// operation, ...), nanosleep(pointer, pointer), `clock_nanosleep(clock, flags, ...)`.
fn restarted(arguments: &[u64; 6]) -> Kind {
    if arguments[0] < SMALLEST_POINTER || arguments[1] >= SMALLEST_POINTER {
        Kind::Timer
    } else if FUTEX_WAITS.contains(&arguments[1]) {
        Kind::Idle
    } else {
        poll_of(arguments[1])
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, kind};

    const STACK: u64 = 0x7ffd_0000_0000;
    const POINTER: u64 = 0x7ffd_0000_1000;

    #[test]
    fn a_read_names_its_descriptor_and_ignores_the_upper_half() {
        assert_eq!(
            kind(
                libc::SYS_read,
                &[0xffff_ffff_0000_0005, 1, 1, 0, 0, 0],
                STACK
            ),
            Kind::Read(5)
        );
        assert_eq!(
            kind(libc::SYS_sendfile, &[1, 7, 0, 0, 0, 0], STACK),
            Kind::Read(7)
        );
    }

    #[test]
    fn a_thirty_two_bit_program_has_another_table() {
        assert_eq!(kind(libc::SYS_read, &[0; 6], 0xfff0_0000), Kind::Other);
    }

    #[test]
    fn a_restarted_call_is_told_by_its_arguments() {
        let restart = |arguments| kind(libc::SYS_restart_syscall, &arguments, STACK);
        assert_eq!(restart([POINTER, 2, 1000, 0, 0, 0]), Kind::Poll);
        assert_eq!(restart([POINTER, POINTER, 0, 0, 0, 0]), Kind::Timer);
        assert_eq!(restart([POINTER, 0, 0, 0, 0, 0]), Kind::Timer);
        assert_eq!(restart([1, 0, POINTER, 0, 0, 0]), Kind::Timer);
        assert_eq!(restart([POINTER, 137, 0, POINTER, 0, 0]), Kind::Idle);
    }

    #[test]
    fn a_poll_of_nothing_is_a_sleep() {
        assert_eq!(
            kind(libc::SYS_ppoll, &[POINTER, 0, 0, 0, 0, 0], STACK),
            Kind::Timer
        );
        assert_eq!(
            kind(libc::SYS_pselect6, &[0, 0, 0, 0, POINTER, 0], STACK),
            Kind::Timer
        );
        assert_eq!(
            kind(libc::SYS_pselect6, &[1, POINTER, 0, 0, 0, 0], STACK),
            Kind::Poll
        );
    }
}
