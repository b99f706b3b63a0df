// How a benchmark and a simulated machine communicate: the benchmark runs in your program, the machine in the grader's.
// A request that needs no answer is recorded; one that needs an answer sends the records and waits. So nothing in your
// program's memory reveals what the machine will do next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <span>

#include "benchmark.hpp"

namespace lab02 {

struct step {
  enum kind : std::int32_t {
    wall_seconds,
    steady_seconds,
    clock_share,
    prepare,
    touch,
    flush_caches,
    rest,
    run,
    keep,
    run_nothing,
    wait_for_stream,
    wait_for_device
  };
  std::int32_t what = touch;
  std::int32_t number = 0;  ///< an input, the number of inputs, or the run whose result is kept
  double seconds = 0;
};

struct mailbox {
  std::int64_t count = 0;
  double answer = 0;  ///< to the last step
  step steps[255];
};
static_assert(sizeof(mailbox) == 4096);

/// The benchmark's side.
class distant_machine : public machine {
 public:
  /// `ask` returns when the machine has carried out the steps in `box`.
  distant_machine(mailbox& box, std::function<void()> ask) : box_(box), ask_(std::move(ask)) { box_.count = 0; }

  double wall_seconds() override { return answer_to({step::wall_seconds}); }
  double steady_seconds() override { return answer_to({step::steady_seconds}); }
  double clock_share() override { return answer_to({step::clock_share}); }
  void prepare(int count) override { note({step::prepare, count}); }
  void touch() override { note({step::touch}); }
  void flush_caches() override { note({step::flush_caches}); }
  void rest(double seconds) override { note({step::rest, 0, seconds}); }
  result run(int i) override {
    note({step::run, i});
    return {++runs_};
  }
  void keep(result r) override { note({step::keep, static_cast<std::int32_t>(r.value)}); }
  void run_nothing() override { note({step::run_nothing}); }
  void wait_for_stream() override { note({step::wait_for_stream}); }
  void wait_for_device() override { note({step::wait_for_device}); }

  void hand_over() {
    ask_();
    box_.count = 0;
  }

 private:
  void note(step s) {
    box_.steps[box_.count++] = s;
    if (box_.count == std::ssize(box_.steps)) hand_over();
  }
  double answer_to(step s) {
    box_.steps[box_.count++] = s;
    hand_over();
    return box_.answer;
  }

  mailbox& box_;
  std::function<void()> ask_;
  std::int64_t runs_ = 0;
};

/// The machine's side: `m` carries out the steps in `bytes`, which may contain anything.
inline void answer(machine& m, std::span<std::byte> bytes) {
  mailbox box;
  if (bytes.size() != sizeof box) return;
  std::memcpy(&box, bytes.data(), sizeof box);
  const auto count = std::clamp<std::int64_t>(box.count, 0, std::ssize(box.steps));
  for (const step& s : std::span(box.steps).first(static_cast<std::size_t>(count))) switch (s.what) {
      case step::wall_seconds: box.answer = m.wall_seconds(); break;
      case step::steady_seconds: box.answer = m.steady_seconds(); break;
      case step::clock_share: box.answer = m.clock_share(); break;
      case step::prepare: m.prepare(s.number); break;
      case step::touch: m.touch(); break;
      case step::flush_caches: m.flush_caches(); break;
      case step::rest: m.rest(s.seconds); break;
      case step::run: m.run(s.number); break;
      case step::keep: m.keep({s.number}); break;
      case step::run_nothing: m.run_nothing(); break;
      case step::wait_for_stream: m.wait_for_stream(); break;
      case step::wait_for_device: m.wait_for_device(); break;
      default: break;
    }
  std::memcpy(bytes.data(), &box, sizeof box);
}

}  // namespace lab02
