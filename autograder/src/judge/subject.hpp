// A submission on one backend, as an experimenter sees it: prepare a case, call it, inspect its buffers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "course/contract.hpp"
#include "lab/case.hpp"
#include "result/words.hpp"
#include "sandbox/channel.hpp"
#include "sandbox/executor.hpp"

namespace grading {

/// How one call ended.
struct trial {
  grading::verdict verdict = verdict::pass;  ///< pass, wrong, crash, timeout or build_error
  std::string message;                       ///< "" for pass
  bool for_show = false;                     ///< its results do not come from the tensor cores that it keeps busy
  lab::response response{};
  double seconds = 0, waited = 0;  ///< of the call; see answer
  std::size_t memory = 0;          ///< taken by the call, if the case limits it
  std::size_t bytes = 0;           ///< of the case's buffers; 0 if it was not called
  bool ok() const { return verdict == verdict::pass; }
};

/// A case with its inputs, and the state in which a call has left them.
struct prepared_case {
  const lab::test_case* what = nullptr;
  std::vector<lab::buffer> before;  ///< the inputs as the judge made them
  std::unique_ptr<lab::oracle> oracle;
  lab::request request;
  std::vector<lab::buffer> outputs;
  std::string damage;  ///< what the call has changed but must not, as a sentence without its subject; "" if nothing
};

class subject {
 public:
  /// `seed` determines all inputs.
  subject(grading::backend where, std::unique_ptr<executor> runs, std::uint64_t seed);

  grading::backend backend() const { return backend_; }
  std::string output() { return runs_->output(); }
  executor& runs() { return *runs_; }

  /// Names of the buffers in messages; without them, their numbers.
  void use_names(const contract& names) { names_ = names; }
  /// Why part of the submission was not built, in words for the student; "" if all was built.
  std::string left_out;

  /// Called after a crash to find out more, by repeating the call in a separate executor.
  std::function<std::string(const std::function<void(executor&)>& call_again)> on_crash;

  /// Calls the case once and checks the result.
  trial run(const lab::test_case& what);

  /// The same, with counters. A case is counted once, however many items ask; `metrics` are the Nsight Compute names
  /// that any of them needs.
  const trial& count(const lab::test_case& what, const std::set<std::string>& metrics);

  /// The result of count() for the case; null if it was not called.
  const trial* counted(const lab::test_case& what) const;

  /// Times pairs of a call and a copy by the device's events. Checks the output of the last call.
  trial time(const lab::test_case& what, int pairs, const std::string& ceiling);

  // The steps of run(), for callers that repeat a case. Each preparation draws new numbers.
  prepared_case prepare(const lab::test_case& what);
  /// Checks only for crash, timeout and error. `settle` as in executor::run.
  trial call(prepared_case& ready, const std::function<void()>& settle = {});
  void check(prepared_case& ready, trial&);  ///< guard zones, inputs, outputs of the last call

 private:
  trial attempt(const lab::test_case& what, lab::action action, const std::set<std::string>& metrics, int pairs = 0,
                const std::string& ceiling = "copy", unsigned misread = 0);

  /// Null while this case may be called. An entry that crashed or hung is not called again; an entry with an oracle
  /// meets a different one in each case, so it may fail a few times first.
  const trial* given_up(const lab::test_case& what) const;
  std::string named(std::string message, const prepared_case& ready) const;

  contract names_;
  grading::backend backend_;
  std::unique_ptr<executor> runs_;
  std::uint64_t seed_;
  std::map<std::string, std::uint64_t> prepared_;  ///< how many times, by case
  struct falls {
    int count = 0;
    trial later;  ///< the result of calls that are no longer made
  };
  std::map<std::string, falls> fallen_;  ///< entries that crashed or hung
  std::map<std::string, trial> counted_;
};

}  // namespace grading
