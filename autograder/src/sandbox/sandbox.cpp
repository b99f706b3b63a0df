// bubblewrap, libseccomp, prlimit, setpriv.
#include "sandbox/sandbox.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "sandbox/channel.hpp"

namespace grading {
namespace {

using clock = std::chrono::steady_clock;

/// The filter as a program in memory, for bwrap to read: it denies calls that an attacker needs but a computing program
/// does not. The other defences are namespaces and the lack of descriptors.
int filter(bool tools, bool gpu) {
  scmp_filter_ctx rules = seccomp_init(SCMP_ACT_ALLOW);  // other architectures' calls are killed by default
  if (!rules) throw std::runtime_error("libseccomp cannot make a filter");
  const auto deny = [&](const char* name, int error = EPERM) {
    const int call = seccomp_syscall_resolve_name(name);
    if (call != __NR_SCMP_ERROR) seccomp_rule_add(rules, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), call, 0);
  };
  for (const char* name : {"ptrace",
                           "process_vm_readv",
                           "process_vm_writev",
                           "kcmp",
                           "pidfd_open",
                           "pidfd_getfd",
                           "pidfd_send_signal",
                           "process_madvise",
                           "process_mrelease",
                           "io_uring_setup",
                           "io_uring_enter",
                           "io_uring_register",
                           "bpf",
                           "perf_event_open",
                           "keyctl",
                           "add_key",
                           "request_key",
                           "userfaultfd",
                           "mount",
                           "umount2",
                           "pivot_root",
                           "fsopen",
                           "fsconfig",
                           "fsmount",
                           "fspick",
                           "move_mount",
                           "open_tree",
                           "mount_setattr",
                           "unshare",
                           "setns",
                           "name_to_handle_at",
                           "open_by_handle_at",
                           "kexec_load",
                           "kexec_file_load",
                           "init_module",
                           "finit_module",
                           "delete_module",
                           "clock_settime",
                           "clock_adjtime",
                           "settimeofday",
                           "adjtimex",
                           "personality",
                           "syslog",
                           "swapon",
                           "swapoff",
                           "reboot",
                           "acct",
                           "quotactl",
                           "chroot",
                           "lookup_dcookie",
                           "move_pages",
                           "migrate_pages",
                           "mbind",
                           "set_mempolicy",
                           "fanotify_init",
                           "vhangup",
                           "iopl",
                           "ioperm",
                           "modify_ldt",
                           "sched_setscheduler",
                           "sched_setattr",
                           "sched_setparam",
                           "sched_setaffinity",
                           "setpriority",
                           "ioprio_set"})
    deny(name);
  deny("clone3", ENOSYS);  // its flags lie in memory, where no filter sees them; libraries then use clone
  const scmp_datum_t spaces =
      CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  for (int bit = 0; bit < 32; ++bit)
    if (const scmp_datum_t flag = scmp_datum_t{1} << bit; flag & spaces)
      seccomp_rule_add(rules, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
  seccomp_rule_add(rules, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_NE, AF_UNIX, 0));
  if (!tools) {
    // One process with any number of threads: stopping it stops everything.
    for (const char* name : {"fork", "vfork", "memfd_create", "memfd_secret", "shmget", "msgget", "semget", "mq_open",
                             "setrlimit", "inotify_init", "inotify_init1"})
      deny(name);
    if (!gpu) deny("socket");  // CUDA looks for its own daemon through a local socket, and fails if it may not
    seccomp_rule_add(rules, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    seccomp_rule_add(rules, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1, SCMP_A2(SCMP_CMP_NE, 0, 0));
    // The runner uses send; printf, if a submission redirects it to this socket, uses write.
    seccomp_rule_add(rules, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(write), 1, SCMP_A0(SCMP_CMP_EQ, runner_socket, 0));
    seccomp_rule_add(rules, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(writev), 1, SCMP_A0(SCMP_CMP_EQ, runner_socket, 0));
  }
  const int file = memfd_create("filter", MFD_CLOEXEC);
  const int error = seccomp_export_bpf(rules, file);
  seccomp_release(rules);
  if (file < 0 || error != 0) throw std::runtime_error("libseccomp cannot write its filter");
  lseek(file, 0, SEEK_SET);
  return file;
}

/// A user with no other processes, so that the process limit counts only this box. Only root can assign one.
uid_t own_user() {
  constexpr unsigned first_user = 1'000'000, of_one_grader = 64;
  static std::atomic<unsigned> serial = 0;
  return first_user + static_cast<unsigned>(getpid()) * of_one_grader + serial++ % of_one_grader;
}

std::vector<std::string> words_of(const box& what, wall behind, int filter_fd) {
  std::vector<std::string> words;
  const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  if (behind != wall::none && geteuid() == 0) {
    const uid_t user = own_user();
    for (const box::mount& m : what.mounts)
      if (m.writable && chown(m.from.c_str(), user, user) != 0) fail("chown of a writable mount");
    add({"/usr/bin/setpriv", "--reuid", std::to_string(user), "--regid", std::to_string(user), "--clear-groups"});
    if (behind == wall::user) add({"--no-new-privs", "--bounding-set=-all"});
    add({"--"});
  }
  if (behind != wall::none) {
    add({"/usr/bin/prlimit", "--core=0", fmt::format("--fsize={}", what.file), "--nofile=256",
         fmt::format("--cpu={}", what.cpu_seconds), fmt::format("--stack={}", 64 << 20)});
    // For a user with other processes, the limit would count those, too.
    if (geteuid() == 0) add({fmt::format("--nproc={}", what.processes)});
    if (what.memory) add({fmt::format("--as={}", what.memory)});
    add({"--"});
  }
  if (behind == wall::none && !what.variables.empty()) {
    add({"/usr/bin/env"});
    for (const auto& [name, value] : what.variables) add({fmt::format("{}={}", name, value)});
  }
  if (behind == wall::user) {
    add({"/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "HOME=/tmp", "TMPDIR=/tmp", "LC_ALL=C.UTF-8"});
    if (!what.driver.empty()) add({"LD_LIBRARY_PATH=" + what.driver.string()});
    for (const auto& [name, value] : what.variables) add({fmt::format("{}={}", name, value)});
  }
  if (behind == wall::box) {
    add({"/usr/bin/bwrap", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
         "--unshare-cgroup-try", "--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
         "--clearenv", "--uid", "65534", "--gid", "65534", "--hostname", "box"});
    if (what.tools) {
      for (const char* place : {"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec",
                                "/etc/alternatives", "/etc/ld.so.cache"})
        add({"--ro-bind-try", place, place});
      add({"--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin"});
    } else {
      for (const char* place : {"/usr/lib", "/usr/lib64", "/etc/ld.so.cache"}) add({"--ro-bind-try", place, place});
    }
    add({"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
         "--size", std::to_string(64 << 20), "--tmpfs", "/tmp"});
    for (const box::mount& m : what.mounts) add({m.writable ? "--bind" : "--ro-bind", m.from.string(), m.to.string()});
    for (const std::filesystem::path& node : what.devices) add({"--dev-bind", node.string(), node.string()});
    if (!what.driver.empty())
      add({"--ro-bind", what.driver.string(), "/driver", "--setenv", "LD_LIBRARY_PATH", "/driver"});
    for (const auto& [name, value] : what.variables) add({"--setenv", name, value});
    add({"--chdir", "/tmp", "--setenv", "PATH", "/usr/bin", "--setenv", "HOME", "/tmp", "--setenv", "TMPDIR", "/tmp",
         "--setenv", "LC_ALL", "C.UTF-8", "--seccomp", std::to_string(filter_fd), "--"});
  }
  words.insert(words.end(), what.command.begin(), what.command.end());
  return words;
}

/// Runs the smallest possible box.
std::string try_box() {
  if (!can_limit_system_calls())
    return "this system cannot limit a program's system calls (seccomp), so it is probably an emulator: grade on a "
           "real or virtual machine";
  for (const char* program : {"/usr/bin/bwrap", "/usr/bin/prlimit", "/usr/bin/setpriv"})
    if (access(program, X_OK) != 0) return fmt::format("{} is missing: apt-get install bubblewrap util-linux", program);
  box what;
  what.tools = true;
  what.command = {"/usr/bin/true"};
  try {
    const ran got = run_in(what, wall::box, std::chrono::seconds(10), std::size_t{1} << 30);
    if (got.exit_code == 0) return {};
    return "bubblewrap cannot create a sandbox here (" + got.output.substr(0, got.output.find('\n')) +
           "): allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1; on Ubuntu 24.04 "
           "kernel.apparmor_restrict_unprivileged_userns=0), or run on the host rather than in a container";
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::vector<int> children_of(int process) {
  std::vector<int> result;
  for (const int task : tasks_of(process)) {
    std::ifstream in(fmt::format("/proc/{}/task/{}/children", process, task));
    for (int pid; in >> pid;) result.push_back(pid);
  }
  return result;
}

}  // namespace

bool can_limit_system_calls() {
  const std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

const std::string& sandbox_obstacle() {
  static const std::string why = try_box();
  return why;
}

child start(const box& what, wall behind, std::vector<handed_down> descriptors) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe2");
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  descriptors.push_back({ends[1], STDOUT_FILENO});
  int filter_fd = STDERR_FILENO;
  for (const handed_down& d : descriptors) filter_fd = std::max(filter_fd, d.theirs);
  ++filter_fd;
  int made = -1;
  child result;
  try {
    if (behind == wall::box) {  // bwrap reads and closes it
      made = filter(what.tools, !what.devices.empty());
      descriptors.push_back({made, filter_fd});
    }
    result.process = spawn(words_of(what, behind, filter_fd), descriptors, process_group::own);
  } catch (const std::exception&) {
    for (const int fd : {ends[0], ends[1], made})
      if (fd >= 0) close(fd);
    throw;
  }
  close(ends[1]);
  if (made >= 0) close(made);
  result.output = ends[0];
  result.death = static_cast<int>(syscall(SYS_pidfd_open, result.process, 0));
  if (result.death < 0) fail("pidfd_open");
  return result;
}

int program_in(int box_process) {
  // bwrap is one process outside and the first one inside; the program is below that.
  for (const int first : children_of(box_process))
    for (const int program : children_of(first)) return program;
  return -1;
}

std::size_t memory_of_tree(int process) {
  std::ifstream in(fmt::format("/proc/{}/statm", process));
  std::size_t all = 0, resident = 0;
  in >> all >> resident;
  std::size_t bytes = resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const int below : children_of(process)) bytes += memory_of_tree(below);
  return bytes;
}

memory_use memory_of(int process) {
  std::ifstream in(fmt::format("/proc/{}/status", process));
  memory_use result;
  std::string line;
  const auto kilobytes = [&] { return std::stoull(line.substr(line.find(':') + 1)) << 10; };
  while (std::getline(in, line)) {
    if (line.starts_with("VmHWM:")) result.most = kilobytes();
    if (line.starts_with("VmRSS:")) result.now = kilobytes();
  }
  return result;
}

std::vector<int> tasks_of(int process) {
  std::vector<int> tasks;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone))
    tasks.push_back(std::stoi(task.path().filename().string()));
  return tasks;
}

double ran_by(int process) {
  clockid_t of_process{};
  timespec ran{};
  if (clock_getcpuclockid(process, &of_process) != 0 || clock_gettime(of_process, &ran) != 0) return 0;
  return static_cast<double>(ran.tv_sec) + 1e-9 * static_cast<double>(ran.tv_nsec);
}

double faults_of(int process) {
  std::ifstream in(fmt::format("/proc/{}/stat", process));
  std::string stat;
  std::getline(in, stat);
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(stat.substr(name_end + 2));
  std::string skipped;
  for (int field = 3; field < 10; ++field) rest >> skipped;  // minflt is the tenth, majflt the twelfth
  double minor = 0, major = 0;
  rest >> minor >> skipped >> major;
  return minor + major;
}

double waited_by_task(int task) {
  std::ifstream in(fmt::format("/proc/{}/schedstat", task));
  double ran = 0, waited = 0;
  in >> ran >> waited;
  return 1e-9 * waited;
}

double waited_by(int process) {
  double longest = 0;
  for (const int task : tasks_of(process)) longest = std::max(longest, waited_by_task(task));
  return longest;
}

std::size_t freeze(int process) {
  if (kill(process, SIGSTOP) != 0) return 0;
  const auto all_stopped = [&](const std::vector<int>& tasks) {
    for (const int task : tasks) {
      std::ifstream in(fmt::format("/proc/{}/task/{}/stat", process, task));
      std::string stat;
      std::getline(in, stat);
      const std::size_t name_end = stat.rfind(") ");
      const char state = name_end == std::string::npos ? 'X' : stat[name_end + 2];
      if (state != 'T' && state != 't' && state != 'Z' && state != 'X') return false;
    }
    return true;
  };
  // A thread in an uninterruptible system call stops after it, which takes only a short time.
  const auto deadline = clock::now() + std::chrono::seconds(10);
  std::vector<int> tasks;
  do {
    if (clock::now() > deadline) return 0;
    sched_yield();  // yields without a delay: the process may share our core
    tasks = tasks_of(process);
  } while (!all_stopped(tasks));
  return tasks.size();
}

void thaw(int process) { kill(process, SIGCONT); }

ran run_in(const box& what, wall behind, std::chrono::milliseconds wall, std::size_t memory_in_use) {
  ran result;
  child c = start(what, behind);
  const auto deadline = clock::now() + wall;
  const auto drain = [&] {
    char piece[16 << 10];
    for (ssize_t got; (got = read(c.output, piece, sizeof piece)) > 0;)
      result.output.append(piece, std::min(static_cast<std::size_t>(got), kept_output - result.output.size()));
  };
  for (;;) {
    pollfd events[] = {{c.death, POLLIN, 0}, {c.output, POLLIN, 0}};
    poll(events, 2, 20);
    drain();
    if (events[0].revents) break;
    result.timed_out = clock::now() > deadline;
    result.out_of_memory = memory_of_tree(c.process) > memory_in_use;
    if (result.timed_out || result.out_of_memory) {
      kill(-c.process, SIGKILL);
      kill(c.process, SIGKILL);
    }
    if (events[1].revents & POLLHUP) usleep(1000);
  }
  result.exit_code = wait_for_end(c.process);
  kill(-c.process, SIGKILL);  // orphans, if there is no box
  drain();
  close(c.death);
  close(c.output);
  return result;
}

}  // namespace grading
