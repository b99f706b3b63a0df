// The grade book: one SQLite file, one transaction per result, and a history that cannot be changed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "result/result.hpp"

struct sqlite3;

namespace grading {

/// The version of the course that a class is graded with: `version` in class.toml next to the grade book, "1.0.0" or,
/// of one commit, "1.0.0+30a26d93"; "" if none is pinned. Throws input_error.
std::string pinned_version(const std::filesystem::path& book);

/// What of the course in a folder is not as pinned: its version; for a commit also what grades, file by file, but for
/// hand-ins. "" if nothing is.
std::string unlike_the_pin(const std::string& pinned, const std::filesystem::path& source);

/// "ann: lab 03 graded by version 1.0.0, not by the pinned version 1.0.1", for each such result; none without a pin.
std::vector<std::string> graded_by_others(const std::vector<result>& results, const std::string& pinned);

class grade_book {
 public:
  /// Opens or makes the file. Throws std::runtime_error if it is damaged, no grade book, of a newer format, or cannot
  /// be written.
  explicit grade_book(const std::filesystem::path& file);
  ~grade_book();
  grade_book(const grade_book&) = delete;  // owns the connection
  grade_book& operator=(const grade_book&) = delete;

  /// What a result is for: the same key twice is the same result. `round`: "" or a name such as "deadline".
  struct key {
    std::string lab, submission, digest, lab_version, round;
  };

  /// One transaction. False if there is a result for this key already; an infra_error is none, and is only noted.
  bool add(const result& r, const std::string& round);
  bool has(const key& what) const;
  int infra_errors(const key& what) const;

  /// Everything there ever was, oldest first.
  std::vector<result> history(const std::string& lab = "") const;

  /// The result that counts for each lab and submission: that of the deadline round if there is one, otherwise, of
  /// those for which most could be assessed, the one with most points, the older of two equal ones: handing in again
  /// never lowers a grade. Every student is included: if the machine failed each time, with that infra_error.
  std::vector<result> that_count() const;

 private:
  std::vector<result> select(const std::string& sql, const std::vector<std::string>& values) const;
  void run(const std::string& sql) const;
  sqlite3* db_ = nullptr;
  std::filesystem::path file_;
};

}  // namespace grading
