// SQLite with its default durability: a rollback journal and full synchronisation, which also work on clusters' network
// file systems, where a write-ahead log does not.
#include "class/store.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <regex>
#include <stdexcept>

#include "support/command.hpp"
#include "support/toml.hpp"

namespace grading {
namespace {

constexpr const char* schema = R"sql(
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS results (
  id INTEGER PRIMARY KEY,
  lab TEXT NOT NULL, submission TEXT NOT NULL, taken TEXT NOT NULL, lab_version TEXT NOT NULL, round TEXT NOT NULL,
  date TEXT NOT NULL, outcome TEXT NOT NULL, score REAL NOT NULL, out_of REAL NOT NULL,
  json TEXT NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS once ON results (lab, submission, taken, lab_version, round)
  WHERE outcome <> 'infra_error';
CREATE TRIGGER IF NOT EXISTS no_update BEFORE UPDATE ON results BEGIN SELECT RAISE(ABORT, 'history is not changed'); END;
CREATE TRIGGER IF NOT EXISTS no_delete BEFORE DELETE ON results BEGIN SELECT RAISE(ABORT, 'history is not changed'); END;
PRAGMA application_id = 1380732995;
PRAGMA user_version = 1;
COMMIT;
)sql";
constexpr int known_format = 1;  // user_version

struct finalizer {
  void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
};
using statement = std::unique_ptr<sqlite3_stmt, finalizer>;

[[noreturn]] void fail(sqlite3* db, const std::filesystem::path& file) {
  const int code = sqlite3_errcode(db) & 0xFF;
  const std::string name = file.string(), why = sqlite3_errmsg(db);
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
    throw std::runtime_error(
        fmt::format("{} is damaged ({}); restore it from a backup, or save what is readable: sqlite3 {} .recover", name,
                    why, name));
  if (code == SQLITE_FULL || code == SQLITE_IOERR)
    throw std::runtime_error(fmt::format(
        "cannot write {} ({}): is the disk full? Nothing is lost; free some space and run the same command again", name,
        why));
  throw std::runtime_error(fmt::format("{}: {}", name, why));
}

statement prepared(sqlite3* db, const std::filesystem::path& file, const std::string& sql,
                   const std::vector<std::string>& values) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &made, nullptr) != SQLITE_OK) fail(db, file);
  statement result(made);
  for (std::size_t i = 0; i < values.size(); ++i)
    sqlite3_bind_text(made, static_cast<int>(i) + 1, values[i].data(), static_cast<int>(values[i].size()),
                      SQLITE_TRANSIENT);
  return result;
}

std::string text_at(sqlite3_stmt* row, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  return text ? std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(row, column))) : std::string{};
}

}  // namespace

std::string pinned_version(const std::filesystem::path& book) {
  const std::filesystem::path file = book.parent_path() / "class.toml";
  if (!std::filesystem::exists(file)) return "";
  const toml::table document = toml_from(text_of(file), file.string());
  const toml_reader settings(document, file.string());
  settings.allow({"version"});
  const std::string version = settings.text("version");
  if (!std::regex_match(version, std::regex(R"(\d+\.\d+\.\d+(\+[0-9a-f]{7,40})?)")))
    settings.fail_at(settings.line_of("version"),
                     fmt::format("'{0}' is not a version; write \"{1}\", for example, or \"{1}+30a26d93\" for a commit",
                                 version, course_version()));
  return version;
}

std::string unlike_the_pin(const std::string& pinned, const std::filesystem::path& source) {
  const std::size_t plus = pinned.find('+');
  if (pinned.substr(0, plus) != (pinned.empty() ? "" : course_version())) return "this is " + course_version();
  if (plus == std::string::npos) return "";
  const std::string commit = pinned.substr(plus + 1), git = "git -C " + shell_word(source.string()) + " ";
  if (run_command(git + "rev-parse -q --verify '" + commit + "^{commit}' >/dev/null 2>&1") != 0)
    return "git knows no such commit here";
  const std::string differ =
      output_of(git + "diff --name-only " + commit +
                " -- autograder common labs CMakeLists.txt VERSION ':!labs/*/handin/*' ':!*.md'");
  const auto files = std::count(differ.begin(), differ.end(), '\n');
  const std::string first = differ.substr(0, differ.find('\n'));
  if (files < 2) return files == 0 ? "" : first + " differs from it";
  return fmt::format("{} and {} more differ from it", first, files - 1);
}

std::vector<std::string> graded_by_others(const std::vector<result>& results, const std::string& pinned) {
  std::vector<std::string> others;
  for (const result& r : results)
    if (!pinned.empty() && r.course_version != pinned)
      others.push_back(
          fmt::format("{}: lab {} graded by {}, not by the pinned version {}", r.submission, r.lab.substr(0, 2),
                      r.course_version.empty() ? "a version before 1.0.0" : "version " + r.course_version, pinned));
  return others;
}

grade_book::grade_book(const std::filesystem::path& file) : file_(file) {
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  try {
    if (sqlite3_open(file.c_str(), &db_) != SQLITE_OK) fail(db_, file_);
    sqlite3_busy_timeout(db_, 60'000);            // another grader's transaction ends sooner
    const auto first = [&](const char* pragma) {  // closed at once: an open statement would hold a lock
      const statement ask = prepared(db_, file_, pragma, {});
      if (sqlite3_step(ask.get()) != SQLITE_ROW) fail(db_, file_);
      return text_at(ask.get(), 0);
    };
    if (const std::string said = first("PRAGMA quick_check(1)"); said != "ok")
      throw std::runtime_error(
          fmt::format("{} is damaged ({}); restore it from a backup, or save what is readable: sqlite3 {} .recover",
                      file.string(), said, file.string()));
    const int format = std::stoi(first("PRAGMA user_version"));
    if (format > known_format) throw input_error(newer_text(file.string(), format, known_format));
    if (format == 0) run(schema);
  } catch (...) {
    sqlite3_close(db_);
    throw;
  }
}

grade_book::~grade_book() { sqlite3_close(db_); }

void grade_book::run(const std::string& sql) const {
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return;
  const std::string why = sqlite3_errmsg(db_);
  const int code = sqlite3_errcode(db_);
  if (!sqlite3_get_autocommit(db_)) {
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    if (code != SQLITE_FULL && code != SQLITE_IOERR) throw std::runtime_error(file_.string() + ": " + why);
  }
  fail(db_, file_);
}

bool grade_book::add(const result& r, const std::string& round) {
  const statement insert = prepared(
      db_, file_,
      "INSERT OR IGNORE INTO results (lab, submission, taken, lab_version, round, date, outcome, json, score, out_of) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      {r.lab, r.submission, r.digest, r.lab_version, round, r.date, name_of(r.outcome), to_json(r)});
  sqlite3_bind_double(insert.get(), 9, r.score());
  sqlite3_bind_double(insert.get(), 10, r.out_of());
  if (sqlite3_step(insert.get()) != SQLITE_DONE) fail(db_, file_);
  return sqlite3_changes(db_) > 0;
}

bool grade_book::has(const key& k) const {
  const statement find = prepared(
      db_, file_,
      "SELECT 1 FROM results WHERE lab = ? AND submission = ? AND taken = ? AND lab_version = ? AND round = ? AND "
      "outcome <> 'infra_error'",
      {k.lab, k.submission, k.digest, k.lab_version, k.round});
  const int got = sqlite3_step(find.get());
  if (got != SQLITE_ROW && got != SQLITE_DONE) fail(db_, file_);
  return got == SQLITE_ROW;
}

std::vector<result> grade_book::select(const std::string& sql, const std::vector<std::string>& values) const {
  const statement rows = prepared(db_, file_, sql, values);
  std::vector<result> results;
  int got = 0;
  while ((got = sqlite3_step(rows.get())) == SQLITE_ROW) results.push_back(result_from_json(text_at(rows.get(), 0)));
  if (got != SQLITE_DONE) fail(db_, file_);
  return results;
}

std::vector<result> grade_book::history(const std::string& lab) const {
  if (lab.empty()) return select("SELECT json FROM results ORDER BY id", {});
  return select("SELECT json FROM results WHERE lab = ? ORDER BY id", {lab});
}

std::vector<result> grade_book::that_count() const {
  return select(
      "SELECT json FROM (SELECT json, lab, submission, row_number() OVER (PARTITION BY lab, submission ORDER BY "
      "outcome = 'infra_error', round = 'deadline' DESC, out_of DESC, score DESC, id) AS rank FROM results) "
      "WHERE rank = 1 ORDER BY lab, submission",
      {});
}

}  // namespace grading
