// Shows a launch's progress on the terminal.
#pragma once

namespace sim {

class block_schedule;

/// During its lifetime, after the first second, a terminal shows the share of the kernel's blocks that have begun.
class shown_launch {
 public:
  shown_launch(const char* kernel, const block_schedule& schedule);
  ~shown_launch();
  shown_launch(const shown_launch&) = delete;  // launches run one after another
  shown_launch& operator=(const shown_launch&) = delete;
};

}  // namespace sim
