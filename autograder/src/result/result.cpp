// Sums, and the store of results: one file per result, written to a temporary file and renamed.
#include "result/result.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <algorithm>

#include <charconv>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "lab/environment.hpp"
#include "lab/statistics.hpp"
#include "support/files.hpp"
#include "support/lock.hpp"
#include "support/names.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* schema_of_stored = "roofline-labs/results/v";
constexpr int known_stored_format = 1;

/// The file's results unchanged, including results from a newer version. Throws input_error if the file itself has a
/// newer format.
std::vector<json> stored(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  const json document = json::parse(text_of(file), nullptr, false);
  if (document.is_discarded() || !document.is_object() || !document.contains("results")) return {};
  if (const int format = format_in(document.value("schema", json()).dump(), schema_of_stored);
      format > known_stored_format)
    throw input_error(newer_text(file.filename().string(), format, known_stored_format));
  const json& results = document["results"];
  return results.is_array() ? std::vector<json>(results.begin(), results.end()) : std::vector<json>{};
}

/// The result's lab and submission, or nothing.
std::pair<std::string, std::string> identity(const json& r) {
  if (!r.is_object()) return {};
  const auto submission = r.find("submission");
  if (submission == r.end() || !submission->is_object()) return {};
  const auto text = [](const json& of, const char* key) {
    const auto found = of.find(key);
    return found != of.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return {text(r, "lab"), text(*submission, "id")};
}

std::filesystem::path place_of(const std::filesystem::path& folder, const std::string& lab, const std::string& id) {
  return folder / lab / (file_name_of(id) + ".json");
}

void write(const std::filesystem::path& file, const json& one) {
  stored(file);  // throws if it is newer
  std::filesystem::create_directories(file.parent_path());
  replace_file(
      file,
      json{{"schema", schema_of_stored + std::to_string(known_stored_format)}, {"results", {one}}}.dump(1) + "\n");
}

}  // namespace

const std::string& course_version() {
  static const std::string version =
#include "version.inc"
      ;
  return version;
}

std::string newer_text(const std::string& file, int format, int known) {
  return fmt::format(
      "{}: written by a newer version of the course: its format is {}, and this version, {}, reads up to {}. Run "
      "./course update, or use the version that wrote it",
      file, format, course_version(), known);
}

int format_in(const std::string& text, const std::string& prefix) {
  int format = 0;
  if (const std::size_t at = text.find(prefix); at != std::string::npos)
    std::from_chars(text.data() + at + prefix.size(), text.data() + text.size(), format);
  return format;
}

std::optional<double> item_result::margin() const {
  if (!figure || !threshold || *threshold == 0.0) return {};
  return *figure / *threshold - 1.0;
}

lab::work item_result::ceiling_rate() const {
  if (samples.empty()) return {};
  std::vector<double> seconds;
  for (const timed_pair& p : samples) seconds.push_back(p.ceiling_seconds);
  const double median = lab::median(seconds);
  return {ceiling_work.flops / median, ceiling_work.bytes / median};
}

std::string item_result::ceiling_text() const {
  const lab::work rate = ceiling_rate();
  if (rate.flops > 0) return fmt::format("{:.1f} GFLOP/s", rate.flops * 1e-9);
  return rate.bytes > 0 ? fmt::format("{:.1f} GB/s", rate.bytes * 1e-9) : "";
}

std::string item_result::earned_text() const {
  return points_text(points) + (most_points ? " to " + points_text(*most_points) : "");
}

double result::score() const {
  double sum = 0;
  for (const item_result& item : items) sum += item.points;
  return sum;
}

double result::most_score() const {
  double sum = 0;
  for (const item_result& item : items) sum += item.most_points.value_or(item.points);
  return sum;
}

std::string score_text(const result& r) {
  const std::string least = points_text(r.score()), most = points_text(r.most_score());
  return fmt::format("{} of {} points", least == most ? least : fmt::format("between {} and {}", least, most),
                     points_text(r.out_of()));
}

double result::out_of() const {
  double sum = 0;
  for (const item_result& item : items) sum += is_assessed(item.verdict) ? item.max_points : 0.0;
  return sum;
}

bool result::all_built() const {
  return std::none_of(items.begin(), items.end(),
                      [](const item_result& i) { return i.verdict == verdict::build_error; });
}

const std::map<std::string, std::string>& this_machine() {
  static const auto known = [] {
    auto found = lab::environment();
    found.erase("date");  // each result has its own
    found["cores"] = std::to_string(std::thread::hardware_concurrency());
    return found;
  }();
  return known;
}

const result* result_of(const std::vector<result>& all, const std::string& lab, const std::string& submission) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const result& r) { return r.lab == lab && r.submission == submission; });
  return found == all.end() ? nullptr : &*found;
}

std::string now_rfc3339() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

void result_store::part_old_file() const {
  const std::filesystem::path old = folder.string() + ".json";
  if (!std::filesystem::exists(old)) return;
  const file_lock alone(old.string() + ".lock", LOCK_EX);
  for (const json& r : stored(old))
    if (const auto [lab, id] = identity(r); !lab.empty() && !id.empty())
      if (const auto file = place_of(folder, lab, id); !std::filesystem::exists(file)) write(file, r);
  std::error_code gone;  // another process may be faster
  std::filesystem::rename(old, old.string() + ".parted", gone);
}

std::vector<result> result_store::load(const std::string& lab) const {
  part_old_file();
  std::vector<result> results;
  std::error_code none;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / lab, none)) {
    if (entry.path().extension() != ".json") continue;
    for (const json& r : stored(entry.path())) {
      try {
        results.push_back(result_from_json(r.dump()));
      } catch (const std::runtime_error&) {
        continue;  // written by another version
      }
    }
  }
  std::sort(results.begin(), results.end(), [](const result& a, const result& b) {
    return std::tie(a.lab, a.submission) < std::tie(b.lab, b.submission);
  });
  return results;
}

std::string prediction_result::text() const {
  int digits = 3;
  const auto alike = [&](const std::optional<double>& value) {
    return right && value && value != right && figure_text(*value, digits) == figure_text(*right, digits);
  };
  while ((alike(first) || alike(predicted)) && digits < std::numeric_limits<double>::max_digits10) ++digits;
  std::string text = key + ": predicted ";
  text += first ? figure_text(*first, digits) : "nothing";
  if (predicted && predicted != first) text += fmt::format(", now {}", figure_text(*predicted, digits));
  return right ? text + fmt::format(", right is {}", figure_text(*right, digits)) : text;
}

void result_store::merge(const std::vector<result>& fresh) const {
  part_old_file();
  for (const result& r : fresh) write(place_of(folder, r.lab, r.submission), json::parse(to_json(r)));
}

void result_store::keep_only(const std::string& lab, const std::vector<std::string>& submissions) const {
  part_old_file();
  std::set<std::filesystem::path> kept;
  for (const std::string& id : submissions) kept.insert(place_of(folder, lab, id));
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder / lab, none))
    if (!kept.contains(entry.path())) std::filesystem::remove(entry.path());
}

}  // namespace grading
