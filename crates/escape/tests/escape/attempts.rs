//! The attempts, a table: what is tried, with which system call, and what has to come of it.

use std::fs;
use std::path::PathBuf;
use std::process;

use libc::{
    AT_FDCWD, CLONE_NEWUSER, MAP_ANONYMOUS, MAP_PRIVATE, O_CREAT, O_RDWR, O_WRONLY, PROT_EXEC, PROT_READ, PROT_WRITE,
    SIGCHLD, SIGKILL,
};

/// What has to come of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The process is ended at once.
    Killed,
    /// The call is refused with EPERM, and the process goes on.
    Refused,
}

use Fate::{Killed, Refused};

/// One attempt.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    pub(crate) script: String,
    pub(crate) fate: Fate,
    /// Whether it may be made by a worker that is not shut in.
    pub(crate) harmless: bool,
}

/// What the attempts are aimed at: a file, and this very process.
#[derive(Debug)]
pub(crate) struct Ground {
    folder: tempfile::TempDir,
}

const KEPT: &str = "nobody may touch this";

impl Ground {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        fs::write(folder.path().join("kept"), KEPT).expect("a file");
        Self { folder }
    }

    fn kept(&self) -> PathBuf {
        self.folder.path().join("kept")
    }

    /// Tests that nothing has come of any attempt.
    pub(crate) fn check(&self) {
        assert_eq!(fs::read_to_string(self.kept()).expect("it is still there"), KEPT);
        let entries = fs::read_dir(self.folder.path()).expect("it is still there");
        assert_eq!(entries.count(), 1, "something was made");
    }
}

/// A call that ends the process; also one whose arguments make no sense, since it is the call that counts.
fn killed(name: &'static str, call: i64, arguments: &str) -> Attempt {
    attempt(name, call, arguments, Killed)
}

fn refused(name: &'static str, call: i64, arguments: &str) -> Attempt {
    attempt(name, call, arguments, Refused)
}

fn attempt(name: &'static str, call: i64, arguments: &str, fate: Fate) -> Attempt {
    Attempt {
        name,
        script: format!("return syscall({call}, {arguments})"),
        fate,
        harmless: true,
    }
}

/// An attempt that is too much for a worker which is not shut in.
fn harmful(attempt: Attempt) -> Attempt {
    Attempt {
        harmless: false,
        ..attempt
    }
}

/// Every attempt.
pub(crate) fn all(ground: &Ground) -> Vec<Attempt> {
    let kept = ground.kept();
    let kept = format!("{:?}", kept.to_str().expect("a plain path"));
    let new = format!("{:?}", ground.folder.path().join("new").to_str().expect("a plain path"));
    let parent = process::id();
    let mut all = files(&kept, &new, parent);
    all.extend(descriptors());
    all.extend(sockets());
    all.extend(processes(parent));
    all.extend(kernel(&kept));
    all.extend(undoing());
    all.extend(memory());
    #[cfg(target_arch = "x86_64")]
    all.extend(of_this_machine(&kept, &new));
    all
}

fn files(kept: &str, new: &str, parent: u32) -> Vec<Attempt> {
    let create = O_CREAT | O_WRONLY;
    vec![
        refused("read a file", libc::SYS_openat, &format!("{AT_FDCWD}, {kept}, 0")),
        refused(
            "write a file",
            libc::SYS_openat,
            &format!("{AT_FDCWD}, {kept}, {O_WRONLY}"),
        ),
        refused(
            "make a file",
            libc::SYS_openat,
            &format!("{AT_FDCWD}, {new}, {create}, 0o600"),
        ),
        refused(
            "its own memory",
            libc::SYS_openat,
            &format!("{AT_FDCWD}, '/proc/self/mem', {O_RDWR}"),
        ),
        refused(
            "the parent's memory",
            libc::SYS_openat,
            &format!("{AT_FDCWD}, '/proc/{parent}/mem', {O_RDWR}"),
        ),
        refused(
            "the parent's environment",
            libc::SYS_openat,
            &format!("{AT_FDCWD}, '/proc/{parent}/environ', 0"),
        ),
        refused(
            "a terminal",
            libc::SYS_openat,
            &format!("{AT_FDCWD}, '/dev/tty', {O_RDWR}"),
        ),
        refused(
            "a link",
            libc::SYS_readlinkat,
            &format!("{AT_FDCWD}, '/proc/self/exe', 'xxxxxxxx', 8"),
        ),
        refused(
            "a file's state",
            libc::SYS_newfstatat,
            &format!("{AT_FDCWD}, {kept}, 0, 0"),
        ),
        killed(
            "read a file by another call",
            libc::SYS_openat2,
            &format!("{AT_FDCWD}, {kept}, 0, 24"),
        ),
        harmful(killed(
            "remove a file",
            libc::SYS_unlinkat,
            &format!("{AT_FDCWD}, {kept}, 0"),
        )),
        harmful(killed(
            "rename a file",
            libc::SYS_renameat2,
            &format!("{AT_FDCWD}, {kept}, {AT_FDCWD}, {new}, 0"),
        )),
        harmful(killed(
            "link a file",
            libc::SYS_linkat,
            &format!("{AT_FDCWD}, {kept}, {AT_FDCWD}, {new}, 0"),
        )),
        harmful(killed(
            "make a link",
            libc::SYS_symlinkat,
            &format!("'/etc', {AT_FDCWD}, {new}"),
        )),
        harmful(killed(
            "make a folder",
            libc::SYS_mkdirat,
            &format!("{AT_FDCWD}, {new}, 0o700"),
        )),
        harmful(killed(
            "make a pipe with a name",
            libc::SYS_mknodat,
            &format!("{AT_FDCWD}, {new}, 0o10600, 0"),
        )),
        harmful(killed("cut a file", libc::SYS_truncate, &format!("{kept}, 0"))),
        harmful(killed(
            "open a file to all",
            libc::SYS_fchmodat,
            &format!("{AT_FDCWD}, {kept}, 0o777"),
        )),
        harmful(killed(
            "give a file away",
            libc::SYS_fchownat,
            &format!("{AT_FDCWD}, {kept}, 1, 1, 0"),
        )),
        killed("go elsewhere", libc::SYS_chdir, "'/tmp'"),
        killed("watch files", libc::SYS_inotify_init1, "0"),
        killed(
            "open by handle",
            libc::SYS_open_by_handle_at,
            "0, 'xxxxxxxxxxxxxxxx', 0",
        ),
    ]
}

fn descriptors() -> Vec<Attempt> {
    vec![
        killed(
            "read a descriptor left by the parent",
            libc::SYS_read,
            "9, 'xxxxxxxx', 8",
        ),
        killed("write to its input", libc::SYS_write, "0, 'x', 1"),
        killed("write to the gauge", libc::SYS_write, "3, 'x', 1"),
        killed("read what it said", libc::SYS_read, "1, 'x', 0"),
        killed("read at a place", libc::SYS_pread64, "9, 'xxxxxxxx', 8, 0"),
        killed("move between descriptors", libc::SYS_sendfile, "2, 9, 0, 8"),
        killed("copy a descriptor", libc::SYS_dup, "9"),
        killed("put a descriptor elsewhere", libc::SYS_dup3, "9, 0, 0"),
        refused("copy a descriptor by another call", libc::SYS_fcntl, "9, 0, 0"),
        refused("speak to a terminal", libc::SYS_ioctl, "0, 0x5412, 'x'"),
        killed("make room for a descriptor", libc::SYS_close, "9"),
        killed("make a pipe", libc::SYS_pipe2, "'xxxxxxxx', 0"),
        killed("list a folder", libc::SYS_getdents64, "9, 'xxxxxxxx', 8"),
    ]
}

fn sockets() -> Vec<Attempt> {
    vec![
        killed("a local socket", libc::SYS_socket, "1, 1, 0"),
        killed("a socket of the internet", libc::SYS_socket, "2, 1, 0"),
        killed("a raw socket", libc::SYS_socket, "2, 3, 255"),
        killed("a socket to the kernel", libc::SYS_socket, "16, 3, 0"),
        killed("a pair of sockets", libc::SYS_socketpair, "1, 1, 0, 'xxxxxxxx'"),
        killed("connect", libc::SYS_connect, "0, 'xxxxxxxxxxxxxxxx', 16"),
        killed("bind", libc::SYS_bind, "0, 'xxxxxxxxxxxxxxxx', 16"),
        killed("listen", libc::SYS_listen, "0, 1"),
        killed("accept", libc::SYS_accept4, "0, 0, 0, 0"),
        killed("send a descriptor", libc::SYS_sendmsg, "1, 'xxxxxxxx', 0"),
        killed("receive a descriptor", libc::SYS_recvmsg, "0, 'xxxxxxxx', 0"),
    ]
}

fn processes(parent: u32) -> Vec<Attempt> {
    let shell = "'/bin/sh', 0, 0";
    vec![
        harmful(killed("fork", libc::SYS_clone, &format!("{SIGCHLD}, 0, 0, 0, 0"))),
        harmful(killed("fork by another call", libc::SYS_clone3, "'xxxxxxxx', 88")),
        harmful(killed("become a program", libc::SYS_execve, shell)),
        harmful(killed(
            "become a program by a descriptor",
            libc::SYS_execveat,
            "9, '', 0, 0, 0x1000",
        )),
        harmful(killed(
            "kill the parent",
            libc::SYS_kill,
            &format!("{parent}, {SIGKILL}"),
        )),
        killed("ask whether the parent lives", libc::SYS_kill, &format!("{parent}, 0")),
        killed(
            "a signal to a thread of the parent",
            libc::SYS_tgkill,
            &format!("{parent}, {parent}, 0"),
        ),
        harmful(killed(
            "abort the parent",
            libc::SYS_tgkill,
            &format!("{parent}, {parent}, 6"),
        )),
        killed("a signal to any thread", libc::SYS_tkill, &format!("{parent}, 0")),
        killed(
            "a signal with a value",
            libc::SYS_rt_sigqueueinfo,
            &format!("{parent}, 0, 'xxxxxxxx'"),
        ),
        killed("hold the parent", libc::SYS_pidfd_open, &format!("{parent}, 0")),
        killed("a signal to what is held", libc::SYS_pidfd_send_signal, "0, 0, 0, 0"),
        killed("take a descriptor of another", libc::SYS_pidfd_getfd, "0, 0, 0"),
        harmful(killed(
            "trace the parent",
            libc::SYS_ptrace,
            &format!("16, {parent}, 0, 0"),
        )),
        killed("be traced", libc::SYS_ptrace, "9999, 0, 0, 0"),
        killed(
            "read the parent",
            libc::SYS_process_vm_readv,
            &format!("{parent}, 0, 0, 0, 0, 0"),
        ),
        killed(
            "write the parent",
            libc::SYS_process_vm_writev,
            &format!("{parent}, 0, 0, 0, 0, 0"),
        ),
        refused(
            "the parent's limits",
            libc::SYS_prlimit64,
            &format!("{parent}, 7, 0, 0"),
        ),
        killed("a session of its own", libc::SYS_setsid, ""),
        killed("another group", libc::SYS_setpgid, "0, 0"),
        killed("wait for another", libc::SYS_wait4, "-1, 0, 1, 0"),
        killed("run sooner", libc::SYS_setpriority, "0, 0, -20"),
    ]
}

fn kernel(kept: &str) -> Vec<Attempt> {
    let user = CLONE_NEWUSER;
    vec![
        killed("io_uring", libc::SYS_io_uring_setup, "1, 'xxxxxxxx'"),
        killed("io_uring that is there", libc::SYS_io_uring_enter, "0, 0, 0, 0, 0, 0"),
        killed("faults of memory", libc::SYS_userfaultfd, "0"),
        killed("a file in memory", libc::SYS_memfd_create, "'x', 0"),
        killed("a program in the kernel", libc::SYS_bpf, "0, 0, 0"),
        killed("counters", libc::SYS_perf_event_open, "'xxxxxxxx', 0, -1, -1, 0"),
        harmful(killed("mount", libc::SYS_mount, "'none', '/mnt', 'tmpfs', 0, 0")),
        harmful(killed("mount by another call", libc::SYS_fsopen, "'tmpfs', 0")),
        harmful(killed("unmount", libc::SYS_umount2, "'/mnt', 0")),
        harmful(killed("another root", libc::SYS_chroot, "'/tmp'")),
        harmful(killed("another root for all", libc::SYS_pivot_root, "'/tmp', '/tmp'")),
        harmful(killed("a world of its own", libc::SYS_unshare, &format!("{user}"))),
        killed("another's world", libc::SYS_setns, "0, 0"),
        killed("another personality", libc::SYS_personality, "0xffffffff"),
        killed("keys", libc::SYS_keyctl, "0, -3, 0, 0, 0"),
        killed("a key", libc::SYS_add_key, "'user', 'x', 'x', 1, 0"),
        harmful(killed("a module", libc::SYS_init_module, "'x', 1, ''")),
        harmful(killed("another kernel", libc::SYS_kexec_load, "0, 0, 0, 0")),
        harmful(killed("another name", libc::SYS_sethostname, "'x', 1")),
        harmful(killed("another time", libc::SYS_settimeofday, "0, 0")),
        harmful(killed("stop accounting", libc::SYS_acct, kept)),
        killed("shared memory", libc::SYS_shmget, "0, 4096, 0o600"),
        killed("messages", libc::SYS_msgget, "0, 0o600"),
        killed("a queue", libc::SYS_mq_open, "'/x', 0, 0, 0"),
    ]
}

fn undoing() -> Vec<Attempt> {
    vec![
        refused("be dumped and traced again", libc::SYS_prctl, "4, 1, 0, 0, 0"),
        refused("let anybody trace", libc::SYS_prctl, "0x59616d61, -1, 0, 0, 0"),
        refused("turn the filter off", libc::SYS_prctl, "22, 0, 0, 0, 0"),
        refused("another filter", libc::SYS_seccomp, "1, 0, 0"),
        refused("more descriptors", libc::SYS_prlimit64, "0, 7, 'xxxxxxxxxxxxxxxx', 0"),
        killed("more rights", libc::SYS_capset, "'xxxxxxxx', 0"),
        harmful(killed("another user", libc::SYS_setuid, "0")),
        harmful(killed("another group of users", libc::SYS_setgid, "0")),
        killed("more paths", libc::SYS_landlock_create_ruleset, "0, 0, 1"),
        killed("fewer limits", libc::SYS_setrlimit, "7, 'xxxxxxxxxxxxxxxx'"),
    ]
}

fn memory() -> Vec<Attempt> {
    let own = MAP_PRIVATE | MAP_ANONYMOUS;
    let data = PROT_READ | PROT_WRITE;
    let code = PROT_READ | PROT_EXEC;
    let both = data | PROT_EXEC;
    vec![
        killed(
            "memory to run",
            libc::SYS_mmap,
            &format!("0, 4096, {both}, {own}, -1, 0"),
        ),
        killed(
            "a file as memory",
            libc::SYS_mmap,
            &format!("0, 4096, {PROT_READ}, {MAP_PRIVATE}, 9, 0"),
        ),
        killed(
            "a file as a program",
            libc::SYS_mmap,
            &format!("0, 4096, {code}, {MAP_PRIVATE}, 9, 0"),
        ),
        Attempt {
            name: "make memory run",
            script: format!(
                "const memory = syscall({}, 0, 4096, {data}, {own}, -1, 0); return syscall({}, memory, 4096, {code})",
                libc::SYS_mmap,
                libc::SYS_mprotect
            ),
            fate: Killed,
            harmless: true,
        },
        killed(
            "memory of another kind",
            libc::SYS_pkey_mprotect,
            &format!("0, 0, {code}, -1"),
        ),
        killed("memory out of order", libc::SYS_remap_file_pages, "0, 4096, 0, 0, 0"),
    ]
}

/// Calls that only this kind of processor has, and another convention for all of them.
#[cfg(target_arch = "x86_64")]
fn of_this_machine(kept: &str, new: &str) -> Vec<Attempt> {
    const X32: i64 = 0x4000_0000;
    vec![
        refused("the old way to read a file", libc::SYS_open, &format!("{kept}, 0")),
        harmful(killed(
            "the old way to make a file",
            libc::SYS_creat,
            &format!("{new}, 0o600"),
        )),
        harmful(killed("the old way to remove a file", libc::SYS_unlink, kept)),
        harmful(killed("the old way to fork", libc::SYS_fork, "")),
        killed("the old way to make a pipe", libc::SYS_pipe, "'xxxxxxxx'"),
        killed("the old way to copy a descriptor", libc::SYS_dup2, "9, 0"),
        Attempt {
            name: "the x32 convention",
            script: format!("return syscall({}, {AT_FDCWD}, {kept}, 0)", libc::SYS_openat + X32),
            fate: Killed,
            harmless: false,
        },
    ]
}
