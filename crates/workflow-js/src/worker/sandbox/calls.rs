//! The system calls of a worker that has started: which it may make, and which are refused without ending it.
//!
//! Everything else ends the process with SIGSYS. Nothing in the engine, in Rust's library or in the C library makes
//! such a call, so whoever does has taken the process over, and then no further instruction of it is wanted: an error
//! would only tell the intruder to try the next thing, and its run would look as if nothing had been the matter.
//!
//! The exception are calls by which libraries look around when something else has gone wrong (a panic that wants to
//! print a backtrace, an allocator that counts processors, a first local time that looks for its zone). They do without
//! an answer, and are refused: ending the process there would hide what was really the matter.

use std::collections::BTreeMap;
use std::os::fd::RawFd;

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

pub(super) type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Allowed whatever the arguments: memory that exists, waiting for another thread, time, chance, the end.
const ALLOWED: &[i64] = &[
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
];

/// Refused, since libraries can do without. One is here for our own sake: the filter that refuses is set by `seccomp`
/// after the one that ends the process.
const REFUSED: &[i64] = &[
    libc::SYS_faccessat,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_getcwd,
    libc::SYS_ioctl,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_prctl,
    libc::SYS_prlimit64,
    libc::SYS_readlinkat,
    libc::SYS_sched_getaffinity,
    libc::SYS_seccomp,
    libc::SYS_statx,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
];

const STDIN: RawFd = 0;
const STDOUT: RawFd = 1;
const STDERR: RawFd = 2;

/// The calls that are allowed; `gauge` is the one descriptor besides the standard ones.
///
/// # Errors
///
/// Never for what is asked for here; the library that makes rules tests them.
pub(super) fn allowed(gauge: Option<RawFd>) -> Result<Rules, BackendError> {
    let mut rules: Rules = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let of = |descriptors: &[RawFd]| {
        let rule = |descriptor: &RawFd| SeccompRule::new(vec![is(0, u64::from(descriptor.unsigned_abs()))?]);
        descriptors.iter().map(rule).collect::<Result<Vec<_>, _>>()
    };
    let gauge: Vec<_> = gauge.into_iter().collect();
    rules.insert(libc::SYS_read, of(&[&[STDIN], gauge.as_slice()].concat())?);
    rules.insert(libc::SYS_write, of(&[STDOUT, STDERR])?);
    rules.insert(libc::SYS_writev, of(&[STDOUT, STDERR])?);
    if !gauge.is_empty() {
        rules.insert(libc::SYS_lseek, of(&gauge)?);
    }
    // Memory of its own, from which nothing can be run: the engine interprets.
    let own = has(3, libc::MAP_ANONYMOUS, libc::MAP_ANONYMOUS)?;
    rules.insert(libc::SYS_mmap, vec![SeccompRule::new(vec![no_program()?, own])?]);
    rules.insert(libc::SYS_mprotect, vec![SeccompRule::new(vec![no_program()?])?]);
    // How `abort` ends this very process.
    let own = is(0, u64::from(std::process::id()))?;
    let abort = is(2, u64::from(libc::SIGABRT.unsigned_abs()))?;
    rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![own, abort])?]);
    Ok(rules)
}

/// The calls that are refused.
pub(super) fn refused() -> Rules {
    REFUSED.iter().map(|call| (*call, Vec::new())).collect()
}

fn no_program() -> Result<SeccompCondition, BackendError> {
    has(2, libc::PROT_EXEC, 0)
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn has(argument: u8, mask: i32, bits: i32) -> Result<SeccompCondition, BackendError> {
    let (mask, bits) = (u64::from(mask.unsigned_abs()), u64::from(bits.unsigned_abs()));
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(mask), bits)
}
