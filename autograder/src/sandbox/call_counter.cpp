// The judge's end of a seccomp listener.
#include "sandbox/call_counter.hpp"

#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace grading {

call_counter::call_counter(int listener)
    : listener_(listener), wake_(eventfd(0, EFD_CLOEXEC)), answers_([this] { answer_all(); }) {}

call_counter::~call_counter() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  ended_.notify_all();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  answers_.join();
  close(wake_);
  close(listener_);
}

void call_counter::begin(const std::atomic<std::uint32_t>& done) {
  const std::lock_guard lock(mutex_);
  counts_.clear();
  done_ = &done;
}

std::map<std::string, double> call_counter::end() {
  std::map<int, std::uint64_t> counts;
  {
    const std::lock_guard lock(mutex_);
    done_ = nullptr;
    counts.swap(counts_);
  }
  ended_.notify_all();
  std::map<std::string, double> result;
  for (const auto& [number, count] : counts) {
    char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
    result[name ? name : std::to_string(number)] += static_cast<double>(count);
    std::free(name);
  }
  return result;
}

void call_counter::answer_all() {
  std::vector<std::uint64_t> space(128);  // a newer kernel's notification may be longer than ours
  for (;;) {
    pollfd ends[] = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(ends, 2, -1) < 0) continue;
    if (ends[1].revents || (ends[0].revents & (POLLHUP | POLLERR))) return;
    std::fill(space.begin(), space.end(), 0);
    auto& asked = *reinterpret_cast<seccomp_notif*>(space.data());
    if (ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) continue;  // the caller was killed or has ended
    {
      std::unique_lock lock(mutex_);
      if (done_ && done_->load() == 0)
        ++counts_[asked.data.nr];
      else
        ended_.wait(lock, [&] { return !done_ || closing_; });
    }
    seccomp_notif_resp answer{};
    answer.id = asked.id;
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &answer);  // fails if the caller no longer waits: then it asks again
  }
}

}  // namespace grading
