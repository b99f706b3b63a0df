// Locks between processes, for writing a file and for measuring on this machine.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>

namespace grading {

/// A lock on a file, which need not exist; released with the object or when the process ends.
class file_lock {
 public:
  /// Waits for the lock: LOCK_SH shared, LOCK_EX exclusive. Throws std::runtime_error if the file cannot be opened.
  file_lock(const std::filesystem::path& path, int how) : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ < 0) throw std::runtime_error("cannot open " + path.string());
    while (flock(fd_, how) != 0 && errno == EINTR) {
    }
  }
  ~file_lock() {
    if (fd_ >= 0) close(fd_);
  }
  file_lock(file_lock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  file_lock& operator=(file_lock&&) = delete;  // owns the descriptor
  void give_back() { flock(fd_, LOCK_UN); }

 private:
  int fd_;
};

/// A measurement has the machine to itself; all other work of graders is concurrent. A waiting measurement blocks new
/// work, so that it gets its turn.
class machine_lock {
 public:
  enum use { shared, alone };
  /// `build` is the build directory, which all graders of a course share.
  machine_lock(const std::filesystem::path& build, use how)
      : door_(build / "measuring.door", LOCK_EX), room_(build / "measuring.lock", how == alone ? LOCK_EX : LOCK_SH) {
    if (how == shared) door_.give_back();
  }

 private:
  file_lock door_, room_;
};

}  // namespace grading
