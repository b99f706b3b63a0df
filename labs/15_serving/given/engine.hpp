// Given: an engine that records each call.
#pragma once

#include <stdexcept>

#include "account.hpp"
#include "serving.hpp"

namespace lab15 {

/// An invalid call; it is the last one recorded.
struct misuse : std::logic_error {
  using std::logic_error::logic_error;
};

class simulated_engine final : public engine {
 public:
  explicit simulated_engine(workload of) : seen_(std::move(of)) {}

  int slots() const override { return seen_.about().slots; }
  int page_tokens() const override { return seen_.about().page_tokens; }
  int free_pages() const override { return seen_.free_pages(); }
  int arrived() const override { return seen_.arrived(); }
  int requests() const override { return seen_.requests(); }
  int tokens(int request) const override { return seen_.tokens(request); }
  bool finished(int request) const override { return seen_.finished(request); }
  void admit(int request) override { note(engine_call::admit, request); }
  void preempt(int request) override { note(engine_call::preempt, request); }
  void step() override { note(engine_call::step, 0); }
  void wait() override { note(engine_call::wait, 0); }

  const account& seen() const { return seen_; }
  const std::vector<engine_call>& calls() const { return calls_; }
  /// A sensible schedule has fewer: each step generates a token, and so does each admission.
  static std::size_t most_calls(const workload& of) {
    std::size_t tokens = of.requests.size();
    for (const request& r : of.requests) tokens += static_cast<std::size_t>(r.output);
    return 4 * tokens;
  }

 private:
  void note(engine_call::kind what, int request) {
    if (calls_.size() == most_calls(seen_.about())) throw misuse("too many calls");
    calls_.push_back({what, request});
    if (const std::string why = seen_.enter(calls_.back()); !why.empty()) throw misuse(why);
  }

  account seen_;
  std::vector<engine_call> calls_;
};

}  // namespace lab15
