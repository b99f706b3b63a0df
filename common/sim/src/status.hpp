// How far a launch is, on the terminal of someone who waits for it.
#pragma once

namespace sim {

class block_schedule;

/// While it lives, and after a second, a terminal shows what share of the kernel's blocks has begun.
class shown_launch {
 public:
  shown_launch(const char* kernel, const block_schedule& schedule);
  ~shown_launch();
  shown_launch(const shown_launch&) = delete;  // launches run one after another
  shown_launch& operator=(const shown_launch&) = delete;
};

}  // namespace sim
