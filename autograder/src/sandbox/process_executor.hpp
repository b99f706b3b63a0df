// Runs requests in a runner process: started when first needed, killed when it takes too long, then restarted. It runs
// only during a request: while the judge writes inputs and reads outputs, all its threads are stopped. It sees only
// copies. A timed call and the judge share one core.
#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "sandbox/call_counter.hpp"
#include "sandbox/channel.hpp"
#include "sandbox/executor.hpp"
#include "sandbox/gpu.hpp"
#include "sandbox/sandbox.hpp"

namespace grading {

/// The total time for all calls of one submission, in all its runners.
struct time_budget {
  std::chrono::seconds all;
  std::chrono::nanoseconds spent{};
  std::chrono::nanoseconds left() const { return all - spent; }
};

struct limits {
  /// The time limit from sending a request to having its whole answer, minus any wait for a core; see README.md.
  std::chrono::milliseconds per_request{10'000};
  std::size_t memory = std::size_t{6} << 30;  ///< bytes in use
  bool trusted = false;                       ///< the staff's own runner: nothing that it wrote is read back
  gpu* device = nullptr;                      ///< if not null, buffers lie in its memory
  bool driver = false;  ///< a GPU's driver runs in the runner and may start threads at any time; always with a device
  time_budget* budget = nullptr;  ///< null: no limit on all calls together
  bool outlives_errors = false;   ///< the runner continues after a call that the device refused
};

class process_executor : public executor {
 public:
  /// In a box, the runner can read `readable`; only its answer leaves the box.
  process_executor(std::filesystem::path runner, limits allowed, wall behind = wall::none,
                   std::vector<std::filesystem::path> readable = {});
  ~process_executor() override;

  answer run(const lab::request& what, const buffer_access& buffers = {}, const std::function<void()>& settle = {},
             const std::function<void(std::span<std::byte>)>& reply = {}) override;
  /// The buffers of later requests may take this many bytes before a new runner is needed.
  void reserve(std::size_t bytes) { reserved_ = std::max(reserved_, bytes); }
  std::size_t room() const { return shared_.size() - std::min(shared_.size(), page_bytes); }  ///< bytes for buffers
  void stand_beside(executor* other) override;
  void start_over() override;
  std::string output() override;
  /// Lets the runner exit normally, with its exit handlers; kills it after that time.
  void finish(std::chrono::milliseconds within);
  std::size_t most_threads() const { return most_threads_; }  ///< of any runner when it was stopped

 private:
  using time_point = std::chrono::steady_clock::time_point;
  answer run_within(std::chrono::nanoseconds limit, const lab::request& what, const buffer_access& buffers,
                    const std::function<void()>& settle, const std::function<void(std::span<std::byte>)>& reply);
  void start();
  void stop();                           ///< kills the runner and whatever it started
  bool drain();                          ///< false if nothing was printed
  void share(std::size_t buffers);       ///< memory for this many bytes of buffers
  bool shares(std::size_t bytes) const;  ///< whether the runner shares that many bytes, at the right position
  void unshare();
  /// Stops the runner at once; if that fails, returns an answer that says why.
  std::optional<answer> hold(std::size_t more_threads = 0);
  answer ended();
  answer failed(answer::ending how, std::string why);
  /// Waits until `reached` returns true; `how` says how to wait (sleep: until something happens; message: until one
  /// comes). Otherwise returns an answer that says what happened instead.
  enum class wait { spin, nap, sleep, message };
  std::optional<answer> wait_for(const std::function<bool()>& reached, wait how);
  std::optional<answer> receive(std::string& text);
  bool speaks() const;  ///< whether it has sent something not yet read
  std::chrono::nanoseconds counted();
  std::string last_words() const;

  std::filesystem::path runner_;
  limits allowed_;
  wall behind_;
  std::vector<std::filesystem::path> readable_;
  std::span<std::byte> shared_;  ///< control page, then the buffers unless they are on the GPU
  private_memory memory_;        ///< for buffers that are on the GPU
  std::unique_ptr<gpu_memory> device_memory_;
  std::size_t reserved_ = std::size_t{1} << 20;
  std::shared_ptr<const int> memory_file_;  ///< backs shared_
  process_executor* beside_ = nullptr;
  child child_;       ///< process -1: not running
  int program_ = -1;  ///< the runner itself, in its box
  /// How it was started.
  struct mode {
    bool host_only = false;     ///< without the device's threads
    bool counted = false;       ///< its system calls are counted
    bool threads = false;       ///< it may start threads
    bool exact_malloc = false;  ///< what calls leave allocated is known to the byte; not for timed calls
    std::filesystem::path exchange;
    bool operator==(const mode&) const = default;
  };
  mode mode_;
  bool cannot_count_ = false;  ///< this machine cannot count system calls
  std::unique_ptr<call_counter> counter_;
  bool starts_over_ = false;  ///< the next request wants its own process
  std::size_t threads_ = 0;   ///< threads at its first stop
  std::size_t most_threads_ = 0;
  std::size_t core_ = 0;              ///< the judge's core on which timed calls run
  time_point began_;                  ///< when the request began
  std::chrono::nanoseconds limit_{};  ///< the most time of the request that may count
  double waited_ = 0;                 ///< seconds for which the runner has waited for a core
  double waited_before_ = 0;          ///< the same at the beginning of the request
  double judge_waited_before_ = 0;    ///< the same for the requesting thread
  int socket_ = -1;
  std::string printed_;
  std::size_t printed_before_ = 0;  ///< bytes of output before the request
  std::size_t discarded_ = 0;
};

}  // namespace grading
