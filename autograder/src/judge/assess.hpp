// From a rubric item to a verdict with points.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "course/rubric.hpp"
#include "course/submission.hpp"
#include "judge/advice.hpp"
#include "judge/predictions.hpp"
#include "judge/subject.hpp"
#include "result/result.hpp"
#include "sandbox/executor.hpp"

namespace grading {

/// A submission, and everything needed to assess it on this machine.
struct grading_session {
  const grading::rubric* rules = nullptr;
  std::vector<std::unique_ptr<subject>> subjects;  ///< at most one for each backend; host cases run on the first
  std::string without_cuda;                        ///< why that backend is absent
  std::filesystem::path predictions;               ///< the submission's predictions.toml
  std::map<std::string, std::string> handed_in;    ///< texts of the hand-in files that findings and changes need
  std::set<std::string> asserting;                 ///< the hand-in files that were compiled with an assertion
  std::filesystem::path originals;                 ///< labs/NN_topic/crashed, if the lab has one
  std::filesystem::path crashed_programs;          ///< the folder with these programs, built; empty: not assessed
  locked_predictions locked;        ///< if none are locked yet, those in the file are locked once complete
  std::unique_ptr<executor> staff;  ///< measures ceilings, in its own process; null: they are measured here
  /// Times device code by the judge's clock, in the judge's memory; null: the backend "cuda" times itself by events.
  std::unique_ptr<subject> on_gpu;
  std::unique_ptr<executor> staff_on_gpu;
  modelled_device device;                                        ///< the one that the backend "sim" simulates
  std::set<std::string> advised;                                 ///< cases that already have advice
  std::map<std::string, item_result> checked;                    ///< the correctness items assessed so far, by id
  std::map<std::string, std::pair<verdict, std::string>> wrong;  ///< functions that failed in them: one case of each
  int pairs = 21;  ///< pairs of call and ceiling for one throughput figure

  subject* subject_on(backend which) const;  ///< null if absent
};

/// Assesses one item; correctness only once. Throws only for faults of the grader or of the rubric.
item_result assess(const item& what, grading_session& session);

/// The same item if the submission could not be built.
item_result not_built(const item& what, const std::string& why);

// The five kinds, each in its own file or in assess.cpp. `out` already has id, title, kind and max_points.
void assess_correctness(const item& what, grading_session& session, item_result& out);
void assess_counters(const item& what, grading_session& session, item_result& out);
void assess_predictions(const item& what, grading_session& session, item_result& out);
void assess_findings(const item& what, grading_session& session, item_result& out);
void assess_throughput(const item& what, grading_session& session, item_result& out);

/// A function that failed in a correctness item of the session is not timed: it keeps its verdict and gets no points.
bool is_not_timed(const std::string& entry, const grading_session& session, item_result& out);

}  // namespace grading
