#include "support/status_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>

namespace grading {

status_line::status_line(int descriptor, int seconds_elsewhere)
    : descriptor_(descriptor), elsewhere_(seconds_elsewhere), terminal_(isatty(descriptor) == 1) {
  if (terminal_ || elsewhere_ > 0) clock_ = std::thread([this] { tick(); });
}

status_line::~status_line() {
  show("");
  {
    const std::lock_guard lock(mine_);
    ended_ = true;
  }
  changed_.notify_one();
  if (clock_.joinable()) clock_.join();
}

void status_line::show(const std::string& task, const std::string& detail) {
  const std::lock_guard lock(mine_);
  if (task != task_) begun_ = std::chrono::steady_clock::now();
  const bool changed = task != task_ || detail != detail_;
  task_ = task;
  detail_ = detail;
  if (terminal_ && changed) write(task.empty());
}

void status_line::tick() {
  std::unique_lock lock(mine_);
  for (int second = 1; !changed_.wait_for(lock, std::chrono::seconds(1), [this] { return ended_; }); ++second)
    if (!task_.empty() && (terminal_ || second % elsewhere_ == 0)) write(false);
}

void status_line::write(bool wiped) {
  if (wiped && !shown_) return;
  using std::chrono::steady_clock;
  const long seconds = std::chrono::round<std::chrono::seconds>(steady_clock::now() - begun_).count();
  std::string text = task_ + (detail_.empty() ? "" : " " + detail_);
  const std::string time = seconds > 0 ? fmt::format(" {} s", seconds) : "";
  winsize window{};
  if (terminal_ && ioctl(descriptor_, TIOCGWINSZ, &window) == 0 && window.ws_col > time.size() + 1)
    text.resize(std::min(text.size(), window.ws_col - time.size() - 1));
  text += time;
  text = terminal_ ? "\r\033[K" + (wiped ? "" : text) : text + "\n";
  shown_ = !wiped;
  if (::write(descriptor_, text.data(), text.size()) < 0) return;  // a terminal that is gone needs no status
}

}  // namespace grading
