// The grade book: one SQLite file, one transaction per result, and an unchangeable history.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "result/result.hpp"

struct sqlite3;

namespace grading {

/// The version of the course with which a class is graded: `version` in class.toml next to the grade book, "1.0.0" or,
/// for a commit, "1.0.0+30a26d93"; "" if none is pinned. Throws input_error.
std::string pinned_version(const std::filesystem::path& book);

/// How the course in a folder differs from the pin: in its version or, for a commit, also in any file that affects
/// grades, except hand-ins. "" if it does not.
std::string unlike_the_pin(const std::string& pinned, const std::filesystem::path& source);

/// "ann: lab 03 graded by version 1.0.0, not by the pinned version 1.0.1" for each such result; none without a pin.
std::vector<std::string> graded_by_others(const std::vector<result>& results, const std::string& pinned);

class grade_book {
 public:
  /// Opens or creates the file. Throws std::runtime_error if it is damaged, not a grade book, in a newer format, or
  /// cannot be written.
  explicit grade_book(const std::filesystem::path& file);
  ~grade_book();
  grade_book(const grade_book&) = delete;  // owns the connection
  grade_book& operator=(const grade_book&) = delete;

  /// Identifies a result. `round`: "" or a name such as "deadline".
  struct key {
    std::string lab, submission, digest, lab_version, round;
  };

  /// One transaction. Returns false if there already is a result for this key; an infra_error does not count as one and
  /// is only recorded.
  bool add(const result& r, const std::string& round);
  bool has(const key& what) const;

  /// All results ever added, oldest first.
  std::vector<result> history(const std::string& lab = "") const;

  /// The result that counts for each lab and submission: the deadline round's if there is one; otherwise, of those with
  /// the most assessed points, the one with the most points, or the oldest of these. So handing in again never lowers a
  /// grade. Includes every student, with an infra_error if the machine failed each time.
  std::vector<result> that_count() const;

 private:
  std::vector<result> select(const std::string& sql, const std::vector<std::string>& values) const;
  void run(const std::string& sql) const;
  sqlite3* db_ = nullptr;
  std::filesystem::path file_;
};

}  // namespace grading
