//! The system calls that the process of a function may make: those of a program that computes in memory that it has.

use std::collections::BTreeMap;

use libc::*;
use seccompiler::{BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch};

use super::error::PythonError;

/// The number of the call that installs a program.
pub const INSTALL: c_long = SYS_seccomp;
/// Those of Landlock: to create a set of rules, to add one, and to restrict the process.
pub const LANDLOCK: [c_long; 3] = [SYS_landlock_create_ruleset, SYS_landlock_add_rule, SYS_landlock_restrict_self];

/// Programs for seccomp, in the order in which they are installed, in hexadecimal digits: the first list where Landlock restricts what can be opened.
pub struct Filters {
    pub with_files: Vec<String>,
    pub without_files: Vec<String>,
}

impl Filters {
    /// For the process of this id.
    pub fn of(process: u32) -> Result<Filters, PythonError> {
        let no_clone3 = program(vec![(SYS_clone3, Vec::new())], SeccompAction::Allow, SeccompAction::Errno(ENOSYS as u32))?;
        let allowed = |opens_files: bool| -> Result<String, PythonError> {
            program(rules(process, opens_files)?, SeccompAction::Errno(EPERM as u32), SeccompAction::Allow)
        };
        Ok(Filters { with_files: vec![no_clone3.clone(), allowed(true)?], without_files: vec![no_clone3, allowed(false)?] })
    }
}

type Rules = Vec<(c_long, Vec<SeccompRule>)>;

fn rules(process: u32, opens_files: bool) -> Result<Rules, PythonError> {
    let masked = |argument: u8, mask: c_int, value: c_int| -> Result<Vec<SeccompRule>, PythonError> {
        let operator = SeccompCmpOp::MaskedEq(mask as u32 as u64);
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value as u32 as u64);
        let rule = condition.and_then(|condition| SeccompRule::new(vec![condition]));
        Ok(vec![rule.map_err(|error| PythonError::NoSeccomp(error.to_string()))?])
    };
    let mut rules: Rules = ALWAYS.iter().map(|number| (*number, Vec::new())).collect();
    let any_of = |argument: u8, mask: c_int, values: &[c_int]| -> Result<Vec<SeccompRule>, PythonError> {
        values.iter().map(|value| masked(argument, mask, *value)).collect::<Result<Vec<_>, _>>().map(|rules| rules.concat())
    };
    // Not those that make the kernel send signals when something happens on a descriptor.
    rules.push((SYS_fcntl, any_of(1, -1, &[F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC])?));
    rules.push((SYS_ioctl, any_of(1, -1, &[TCGETS as c_int, FIONREAD as c_int, FIOCLEX as c_int])?));
    // The limit of memory does not count what is shared or grows like a stack; files can be shared.
    rules.push((SYS_mmap, any_of(3, MAP_SHARED | MAP_ANONYMOUS | MAP_GROWSDOWN, &[0, MAP_ANONYMOUS, MAP_SHARED])?));
    // Threads, and no processes. glibc tries clone3 first, whose flags lie in memory where no filter sees them; without it, it uses clone.
    rules.push((SYS_clone3, Vec::new()));
    rules.push((SYS_clone, masked(0, CLONE_THREAD, CLONE_THREAD)?));
    // Signals to itself, such as those of `abort`.
    rules.push((SYS_tgkill, masked(0, -1, process as c_int)?));
    // The name of a thread.
    rules.push((SYS_prctl, masked(0, -1, PR_SET_NAME)?));
    if opens_files {
        let writes = O_ACCMODE | O_CREAT | O_TRUNC;
        rules.push((SYS_openat, masked(2, writes, O_RDONLY)?));
        #[cfg(target_arch = "x86_64")]
        rules.push((SYS_open, masked(1, writes, O_RDONLY)?));
    }
    Ok(rules)
}

const ALWAYS: &[c_long] = &[
    SYS_brk,
    SYS_clock_getres,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_close,
    SYS_dup,
    SYS_exit,
    SYS_exit_group,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_fadvise64,
    SYS_fstat,
    SYS_futex,
    SYS_get_mempolicy,
    SYS_getcpu,
    SYS_getcwd,
    SYS_getdents64,
    SYS_getegid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getpid,
    SYS_getppid,
    SYS_getrandom,
    SYS_getrlimit,
    SYS_getrusage,
    SYS_gettid,
    SYS_gettimeofday,
    SYS_getuid,
    SYS_lseek,
    SYS_madvise,
    SYS_membarrier,
    SYS_mincore,
    SYS_mprotect,
    SYS_mremap,
    SYS_munmap,
    SYS_nanosleep,
    SYS_newfstatat,
    SYS_ppoll,
    SYS_pread64,
    SYS_pwrite64,
    SYS_pselect6,
    SYS_read,
    SYS_readlinkat,
    SYS_readv,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_restart_syscall,
    SYS_rseq,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sched_getaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_yield,
    SYS_sendto,
    SYS_set_robust_list,
    SYS_set_tid_address,
    SYS_setitimer,
    SYS_sigaltstack,
    SYS_statx,
    SYS_sysinfo,
    SYS_times,
    SYS_uname,
    SYS_write,
    SYS_writev,
    #[cfg(target_arch = "x86_64")]
    SYS_access,
    #[cfg(target_arch = "x86_64")]
    SYS_alarm,
    #[cfg(target_arch = "x86_64")]
    SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")]
    SYS_getdents,
    #[cfg(target_arch = "x86_64")]
    SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    SYS_poll,
    #[cfg(target_arch = "x86_64")]
    SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    SYS_select,
    #[cfg(target_arch = "x86_64")]
    SYS_stat,
    #[cfg(target_arch = "x86_64")]
    SYS_time,
];

fn program(rules: Rules, otherwise: SeccompAction, action: SeccompAction) -> Result<String, PythonError> {
    let failed = |error: &dyn std::fmt::Display| PythonError::NoSeccomp(error.to_string());
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| failed(&error))?;
    let rules: BTreeMap<i64, Vec<SeccompRule>> = rules.into_iter().collect();
    let filter = SeccompFilter::new(rules, otherwise, action, architecture).map_err(|error| failed(&error))?;
    let program = BpfProgram::try_from(filter).map_err(|error| failed(&error))?;
    let mut digits = String::with_capacity(program.len() * 16);
    for instruction in program {
        // As the struct `sock_filter` lies in memory.
        let (code, k) = (instruction.code.to_ne_bytes(), instruction.k.to_ne_bytes());
        let bytes = [code[0], code[1], instruction.jt, instruction.jf, k[0], k[1], k[2], k[3]];
        bytes.iter().for_each(|byte| digits.push_str(&format!("{byte:02x}")));
    }
    Ok(digits)
}
