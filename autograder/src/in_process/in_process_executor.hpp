// Runs requests in this process, for GoogleTest and Google Benchmark: quick and easy to debug, but not official,
// because a submission could tamper with the judge. Only programs that link a backend may include this.
#pragma once

#include "lab/ceilings.hpp"
#include "result/words.hpp"
#include "sandbox/channel.hpp"
#include "sandbox/executor.hpp"

namespace grading {

/// The backend with which this program is linked.
inline backend this_backend() { return named<backend>(lab::backend_name()); }

/// The lab that this program grades, and its folder; add_lab writes both.
extern const char* const lab_name;
extern const char* const lab_dir;

class in_process_executor : public executor {
 public:
  answer run(const lab::request& what, const buffer_access& buffers, const std::function<void()>& settle,
             const std::function<void(std::span<std::byte>)>& reply) override {
    const layout where = layout_of(what);
    const std::span<std::byte> memory = memory_.first(where.bytes);
    lab::request placed = what;
    place(placed, where, memory);
    if (buffers.give) buffers.give(memory);
    struct stopwatch : lab::call_gate {
      void begin() override {
        if (*settle) (*settle)();
        started = lab::raw_seconds();
      }
      void end() override { seconds = lab::raw_seconds() - started; }
      void ask() override { ask_judge(); }
      const std::function<void()>* settle = nullptr;
      std::function<void()> ask_judge;
      double started = 0, seconds = 0;
    } watch;
    watch.settle = &settle;
    watch.ask_judge = [&] { reply(placed.outputs.back()); };
    lab::response got = lab::execute(placed, watch);
    if (buffers.take) buffers.take(memory);
    return {answer::ending::answered, std::move(got), {}, watch.seconds};
  }

 private:
  private_memory memory_;
};

}  // namespace grading
