// Given: a server on a simulated clock, as an account of calls. Your program's engine and the grader each keep one:
// yours stops at the first invalid call; the grader's decides your grade.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace lab15 {

struct request {
  double arrives;      ///< in seconds; requests are in order of arrival
  int prompt, output;  ///< tokens
};

/// What a server has, what its steps cost in seconds, and its requests.
struct workload {
  int slots = 1, page_tokens = 16, pages = 1;
  double step = 0, step_per_sequence = 0, step_per_cached_token = 0, admitted_token = 0;
  std::vector<request> requests;
};

struct engine_call {
  enum kind : std::int64_t { admit, preempt, step, wait };
  std::int64_t what = step, request = 0;
};

class account {
 public:
  explicit account(workload of) : of_(std::move(of)), free_pages_(of_.pages), all_(of_.requests.size()) {}

  const workload& about() const { return of_; }
  double now() const { return now_; }
  int free_pages() const { return free_pages_; }
  int free_slots() const { return of_.slots - running_; }
  int requests() const { return static_cast<int>(all_.size()); }
  int arrived() const {
    int count = 0;
    while (count < requests() && of_.requests[at(count)].arrives <= now_) ++count;
    return count;
  }
  int tokens(int r) const { return of_.requests.at(at(r)).prompt + all_.at(at(r)).generated; }
  bool running(int r) const { return all_.at(at(r)).runs; }
  bool finished(int r) const { return all_.at(at(r)).generated == of_.requests.at(at(r)).output; }
  bool waiting(int r) const { return r < arrived() && !running(r) && !finished(r); }
  int pages_for(int tokens) const { return (tokens + of_.page_tokens - 1) / of_.page_tokens; }
  /// New pages that the running requests need for their next tokens.
  int needed() const {
    int pages = 0;
    for (int r = 0; r < requests(); ++r)
      if (running(r) && tokens(r) % of_.page_tokens == 0) ++pages;
    return pages;
  }
  /// The first request that waits; requests() if none does.
  int first_waiting() const {
    int r = 0;
    while (r < requests() && !waiting(r)) ++r;
    return r;
  }

  /// Returns "", or the reason why this call is invalid now.
  std::string enter(engine_call c) {
    const auto r = static_cast<int>(c.request);
    const auto name = [&] { return "request " + std::to_string(c.request); };
    if (c.what == engine_call::admit || c.what == engine_call::preempt)
      if (c.request < 0 || c.request >= requests()) return "there is no " + name();
    switch (c.what) {
      case engine_call::admit: {
        if (!waiting(r)) return name() + (running(r) ? " runs" : finished(r) ? " is finished" : " has not arrived");
        if (free_slots() == 0) return "no slot is free";
        const int pages = pages_for(tokens(r));
        if (pages > free_pages_) return name() + " needs " + count(pages) + " free";
        free_pages_ -= pages;
        ++running_;
        one& it = all_[at(r)];
        it.runs = true;
        if (it.admitted) tokens_again_ += tokens(r);
        it.admitted = true;
        now_ += of_.admitted_token * tokens(r);
        return {};
      }
      case engine_call::preempt:
        if (!running(r)) return name() + " does not run";
        leave(r);
        return {};
      case engine_call::step: return take_step();
      case engine_call::wait:
        if (running_ > 0) return "requests run";
        if (first_waiting() < requests()) return "request " + std::to_string(first_waiting()) + " waits";
        if (arrived() == requests()) return "all requests have arrived";
        now_ = of_.requests[at(arrived())].arrives;
        return {};
      default: return "there is no such call";
    }
  }

  // Figures.
  int steps() const { return steps_; }
  int idle_slots() const { return idle_slots_; }  ///< slots free while a request waited, summed over all steps
  std::int64_t tokens_again() const { return tokens_again_; }  ///< tokens computed again after a preemption
  /// The times from arrival to the last token of all finished requests, the shortest first.
  std::vector<double> latencies() const {
    std::vector<double> result;
    for (int r = 0; r < requests(); ++r)
      if (finished(r)) result.push_back(all_[at(r)].ends - of_.requests[at(r)].arrives);
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  struct one {
    int generated = 0;
    bool runs = false, admitted = false;
    double ends = 0;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  std::string count(int pages) const {
    return std::to_string(pages) + (pages == 1 ? " page, " : " pages, ") + std::to_string(free_pages_) +
           (free_pages_ == 1 ? " is" : " are");
  }
  void leave(int r) {
    all_[at(r)].runs = false;
    free_pages_ += pages_for(tokens(r));
    --running_;
  }
  std::string take_step() {
    if (running_ == 0) return "no request runs";
    if (const int pages = needed(); pages > free_pages_) return "the next tokens need " + count(pages) + " free";
    if (first_waiting() < requests()) idle_slots_ += free_slots();
    std::int64_t cached = 0;
    for (int r = 0; r < requests(); ++r) {
      if (!running(r)) continue;
      if (tokens(r) % of_.page_tokens == 0) --free_pages_;
      ++all_[at(r)].generated;
      cached += tokens(r);
    }
    now_ += of_.step + of_.step_per_sequence * running_ + of_.step_per_cached_token * static_cast<double>(cached);
    ++steps_;
    for (int r = 0; r < requests(); ++r)
      if (running(r) && finished(r)) {
        leave(r);
        all_[at(r)].ends = now_;
      }
    return {};
  }

  workload of_;
  double now_ = 0;
  int free_pages_, running_ = 0, steps_ = 0, idle_slots_ = 0;
  std::int64_t tokens_again_ = 0;
  std::vector<one> all_;
};

/// The latency that a share of the requests, 0.5 or 0.99, does not exceed; `sorted` has all latencies.
inline double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace lab15
