#include "status.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include "budget.hpp"
#include "settings.hpp"

namespace sim {
namespace {

using clock = std::chrono::steady_clock;

struct waiting_person {
  std::mutex mine;
  const char* kernel = nullptr;  // null while none runs
  const block_schedule* schedule = nullptr;
  unsigned long launches = 0;
  bool shown = false;
  clock::time_point begun = clock::now();  // when the program began

  [[noreturn]] void tick() {
    for (;; std::this_thread::sleep_for(std::chrono::seconds(1))) {
      const std::scoped_lock lock(mine);
      if (!kernel || clock::now() - begun < std::chrono::seconds(1)) continue;
      // Restores the cursor afterwards, so that the program's own output continues where it was.
      write("\0337\033[?7l\033[K" +
            fmt::format("launch {}, {:.30}: {:.0f} % of its blocks begun, {} s", launches, kernel,
                        100 * schedule->share_begun(),
                        std::chrono::duration_cast<std::chrono::seconds>(clock::now() - begun).count()) +
            "\033[?7h\0338");
      shown = true;
    }
  }
  static void write(const std::string& text) {
    if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // ignore a closed terminal
  }
};

/// Null without a terminal, and under a debugger, which pauses the kernel.
waiting_person* person() {
  static auto* const instance = []() -> waiting_person* {
    if (isatty(STDERR_FILENO) != 1 || setting("SIM_DEBUG")) return nullptr;
    auto* const made = new waiting_person;  // never destroyed: the thread uses it to the end
    std::thread([made] { made->tick(); }).detach();
    return made;
  }();
  return instance;
}

}  // namespace

shown_launch::shown_launch(const char* kernel, const block_schedule& schedule) {
  waiting_person* const p = person();
  if (!p) return;
  const std::scoped_lock lock(p->mine);
  p->kernel = kernel;
  p->schedule = &schedule;
  ++p->launches;
}

shown_launch::~shown_launch() {
  waiting_person* const p = person();
  if (!p) return;
  const std::scoped_lock lock(p->mine);
  p->kernel = nullptr;
  if (p->shown) waiting_person::write("\033[K");
  p->shown = false;
}

}  // namespace sim
