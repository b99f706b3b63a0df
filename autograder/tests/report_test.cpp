// What people see: tables that fit, text from submissions that cannot break out, sources that cannot leak.
#include "report/report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "build/build.hpp"
#include "class/class_report.hpp"
#include "lab/plot.hpp"
#include "report/terminal.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace {

using namespace grading;
namespace fs = std::filesystem;

result nasty() {
  result r;
  r.lab = "03_coalescing";
  r.lab_title = "Coalescing";
  r.submission = "<script>alert(1)</script>";
  r.path = "/nowhere";
  r.printed = "<script>alert(2)</script>\033[31m";
  item_result i;
  i.id = "a<b";
  i.title = "a title that is much too long for a narrow terminal and has to be cut somewhere, as nobody reads on";
  i.kind = item_kind::counters;
  i.verdict = verdict::wasteful;
  i.max_points = 4;
  i.figure = 32;
  i.threshold = 4;
  i.message = "<img src=x onerror=alert(3)> \033[2J " + std::string(300, 'x') + " and more words";
  i.hint = {"<b>hint</b>"};
  i.predictions.resize(1);
  i.predictions[0].key = "<i>key</i>";
  r.items = {i};
  lab::launch_record launch;
  launch.kernel = "<u>kernel</u>";
  launch.lines = {{"/etc/passwd", 1, "<s>global load</s>", 1, 32, 0, 4},
                  {"../../secret.txt", 1, "global load", 1, 4, 0, 4}};
  r.counted = {{"f/1", backend::sim, {0, 1}, {launch}}};
  return r;
}

TEST(Report, EscapesWhateverASubmissionSays) {
  const std::string html = rendered({nasty()}, "/nowhere");
  for (const char* tag : {"<script>alert", "<img", "<b>hint", "<i>key", "<u>kernel", "<s>global", "\033"})
    EXPECT_EQ(html.find(tag), std::string::npos) << tag;
  EXPECT_NE(html.find("&lt;script&gt;alert(2)"), std::string::npos);
  EXPECT_EQ(escaped("a&b<c>\"d'\001"), "a&amp;b&lt;c&gt;&quot;d&#39; ");
}

/// The characters with a meaning in HTML, in order: a browser makes elements and attributes from them.
std::string markup_of(const std::string& html) {
  std::string found;
  for (const char c : html)
    if (std::string("<>\"'").find(c) != std::string::npos ||
        (static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t'))
      found += c;
  return found;
}

/// The paths of all strings.
void find_strings(const nlohmann::json& in, const nlohmann::json::json_pointer& at,
                  std::vector<nlohmann::json::json_pointer>& found) {
  if (in.is_string()) found.push_back(at);
  if (in.is_object())
    for (const auto& [key, value] : in.items()) find_strings(value, at / key, found);
  if (in.is_array())
    for (std::size_t i = 0; i < in.size(); ++i) find_strings(in[i], at / i, found);
}

/// Whatever text a result contains, both pages have the same elements and attributes.
TEST(Report, EscapesEveryTextOfAResult) {
  result r = nasty();
  item_result& item = r.items[0];
  item.message = item.what = "x";
  item.hint = item.advice = {"x", "x"};
  item.conditions = {{"x", "x", backend::sim, 1, 2, 3, false}, {"x", "x", backend::sim, {}, {}, {}, true}};
  item.predictions[0].waits_for = "x";
  r.outcome = outcome::refused;
  r.flags = r.notes = {"x"};
  r.machine = {{"cpu", "x"}, {"gpu", "x"}, {"driver", "x"}, {"compiler", "x"}, {"system", "x"}, {"cores", "x"}};
  r.date = r.graded_from = r.digest = r.lab_version = r.printed = "x";
  const nlohmann::json document = nlohmann::json::parse(to_json(r));
  std::vector<nlohmann::json::json_pointer> places;
  find_strings(document, nlohmann::json::json_pointer(), places);
  const auto pages_with = [&](const nlohmann::json::json_pointer& place, const std::string& text) {
    nlohmann::json changed = document;
    changed[place] = text;
    const std::vector<result> results = {result_from_json(changed.dump())};
    return rendered(results, "/nowhere") + class_page(results) + leaderboard_page(results);
  };
  std::mt19937 random(1);
  const std::string letters = "<>&\"'=/`{}# \t\r\x01\x1b\x7f!-script";
  int tried = 0;
  for (const auto& place : places) {
    std::string markup;
    try {
      markup = markup_of(pages_with(place, "x"));
    } catch (const not_a_result&) {
      continue;  // a word from a list, such as a verdict, not free text
    }
    ++tried;
    std::vector<std::string> texts = {"<script>alert(1)</script>",
                                      "\" onload=\"alert(1)",
                                      "' onload='alert(1)",
                                      "-->",
                                      "{{{printed}}}",
                                      "{{#items}}",
                                      "</style>",
                                      "&lt;"};
    for (int k = 0; k < 5; ++k) {
      texts.emplace_back();
      for (int n = 0; n < 30; ++n) texts.back() += letters[random() % letters.size()];
    }
    for (const std::string& text : texts)
      EXPECT_EQ(markup_of(pages_with(place, text)), markup) << place.to_string() << " = " << text;
  }
  EXPECT_GT(tried, 30);
}

TEST(Leaderboard, HasTheBestOfEachUnderAnotherName) {
  std::vector<result> history;
  const auto graded = [&](const std::string& who, double ratio, verdict v, const std::string& flag = "") {
    result r;
    r.lab = "03_coalescing";
    r.submission = who;
    r.date = fmt::format("2026-11-{:02}T12:00:00Z", history.size() + 1);
    r.seed = 1000 + history.size();
    if (!flag.empty()) r.flags = {flag};
    item_result i;
    i.id = "fast";
    i.title = "a copy, relative to memcpy";
    i.kind = item_kind::throughput;
    i.verdict = v;
    i.figure = ratio;
    r.items = {i, i};
    r.items[1].id = "right";
    r.items[1].title = "a copy is right";
    r.items[1].kind = item_kind::correctness;
    history.push_back(r);
  };
  graded("ann", 0.511, verdict::too_slow);
  graded("bob", 0.622, verdict::too_slow);
  graded("ann", 0.733, verdict::pass);
  graded("bob", 0.644, verdict::pass);          // bob's best, but no record
  graded("ann", 0.255, verdict::too_slow);      // handing in again never lowers a place
  graded("cleo", 0.966, verdict::pass, "odd");  // hidden until a person has reviewed it
  graded("cleo", 1.577, verdict::inconclusive);
  const std::string html = leaderboard_page(history);
  const std::string text = html.substr(html.find("<h1>"));
  for (const char* name : {"ann", "bob", "cleo", "0.255", "0.966", "1.577", "a copy is right"})
    EXPECT_EQ(text.find(name), std::string::npos) << name;
  std::string order;
  for (std::size_t at = 0; (at = text.find("0.", at)) != std::string::npos; at += 5) order += text.substr(at, 5) + " ";
  EXPECT_EQ(order, "0.733 0.644 0.511 0.622 0.733 ");  // two students, three records
  EXPECT_NE(text.find("2026-11-03: 0.733 by "), std::string::npos);
  history.resize(2);  // a student's name does not depend on later results
  const auto name_of_first = [](const std::string& page) { return page.substr(page.find("0.511 by ") + 9, 6); };
  EXPECT_EQ(name_of_first(leaderboard_page(history)), name_of_first(html));
  history[0].seed = 7;
  EXPECT_NE(name_of_first(leaderboard_page(history)), name_of_first(html));
  EXPECT_NE(leaderboard_page({}).find("No throughput was graded yet"), std::string::npos);
}

/// {{{...}}} and {{&...}} insert a value without escaping it.
TEST(Report, EscapesAllButDrawings) {
  for (const char* file : {"report/report.html", "class/class.html", "class/leaderboard.html"}) {
    const std::string text = text_of(fs::path(LAB_SOURCE_DIR) / "autograder/src" / file);
    EXPECT_EQ(text.find("{{&"), std::string::npos) << file;
    for (std::size_t at = 0; (at = text.find("{{{", at)) != std::string::npos; at += 3)
      EXPECT_EQ(text.substr(at, 9), "{{{svg}}}") << file;
  }
}

TEST(Report, ShowsNoFileFromElsewhere) { EXPECT_EQ(rendered({nasty()}, "/nowhere").find("root:"), std::string::npos); }

TEST(Report, NamesEverySubmissionAndLabelsModelledTimes) {
  result r = nasty();
  r.submission = "student";
  const std::string html = rendered({r}, "/nowhere");
  EXPECT_NE(html.find(">03 student</a>"), std::string::npos);
  EXPECT_NE(html.find("modelled"), std::string::npos);
  EXPECT_NE(rendered({}, "/nowhere").find("Nothing has been graded yet"), std::string::npos);
}

TEST(Report, DrawsASweepOfOneKernelOnly) {
  result r = nasty();
  EXPECT_EQ(rendered({r}, "/nowhere").find("Sweep: "), std::string::npos);
  lab::launch_record launch = r.counted[0].launches[0];
  r.counted[0].launches.clear();
  for (std::uint32_t blocks = 100; blocks <= 600; blocks += 100) {
    launch.grid[0] = blocks;
    launch.modelled_seconds = 1e-6 * blocks;
    r.counted[0].launches.push_back(launch);
  }
  if (lab::drawn_by_gnuplot("set terminal svg\nplot x\n").empty()) GTEST_SKIP() << "no gnuplot here";
  const std::string html = rendered({r}, "/nowhere");
  EXPECT_NE(html.find("Sweep: f/1"), std::string::npos);
  EXPECT_NE(html.find("blocks of the launch"), std::string::npos);
  r.counted[0].launches.back().kernel = "another";
  EXPECT_EQ(rendered({r}, "/nowhere").find("Sweep: "), std::string::npos);
}

int widest_line(const std::string& text) {
  int widest = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    widest = std::max(widest, static_cast<int>(std::count_if(line.begin(), line.end(), [](char c) {
                        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                      })));
  return widest;
}

TEST(Terminal, TablesFit) {
  result r = nasty();
  r.items[0].message = "words that go on and on until the line is full and then some more of them follow, and more";
  r.items.push_back(r.items[0]);
  r.items[1].verdict = verdict::not_assessed;
  for (const int width : {60, 80, 120, 140}) {
    EXPECT_LE(widest_line(laid_out(r, {width, false})), width);
    EXPECT_LE(widest_line(summary_table({{r, "a surprise"}, {r, ""}}, {width, false})), width);
  }
}

TEST(Terminal, PassesNoEscapeSequenceOn) {
  EXPECT_EQ(laid_out(nasty(), {80, false}).find('\033'), std::string::npos);
  EXPECT_NE(laid_out(nasty(), {80, true}).find("\033[33m"), std::string::npos);
  EXPECT_EQ(wrapped("a\xC2\x9B"
                    "b \xC3\x9B \xC2\xA0",
                    0, 80),
            "a b \xC3\x9B \xC2\xA0\n");
}

TEST(Terminal, SaysHowManyCasesPassedBefore) {
  result before = nasty(), after;
  before.items[0].kind = item_kind::correctness;
  before.items[0].verdict = verdict::wrong;
  before.items[0].what = "cases";
  before.items[0].figure = 0;
  before.items[0].threshold = 15;
  after = before;
  EXPECT_EQ(changed_items(before, after, {80, false}), "  nothing changed\n");
  after.items[0].figure = 12;
  const std::string changed = changed_items(before, after, {80, false});
  EXPECT_NE(changed.find("12 of 15 cases, was 0"), std::string::npos) << changed;
  EXPECT_LE(widest_line(changed), 80);
  EXPECT_NE(laid_out(after, {80, false}, &before).find("12 of 15 cases, was 0"), std::string::npos);
  EXPECT_EQ(laid_out(after, {80, false}, &after).find("was 0"), std::string::npos);
}

TEST(Terminal, ShowsAdviceUnderItsItem) {
  result r = nasty();
  r.items[0].advice = {"the grid is <b>too small</b>: 4 blocks on 132 multiprocessors (launch__grid_size)"};
  const std::string text = laid_out(r, {60, false});
  EXPECT_NE(text.find("ADVICE  a<b, costs no points\n    the grid is"), std::string::npos) << text;
  const std::string html = rendered({r}, "/nowhere");
  EXPECT_NE(html.find("&lt;b&gt;too small"), std::string::npos);
  EXPECT_EQ(result_from_json(to_json(r)).items[0].advice, r.items[0].advice);
}

TEST(Terminal, SaysOnceWhatManyItemsHaveInCommon) {
  result r;
  item_result i;
  i.verdict = verdict::build_error;
  i.message = "a semicolon is missing";
  for (const char* id : {"first", "second", "third"}) i.id = id, r.items.push_back(i);
  i.id = "other";
  i.verdict = verdict::crash;
  r.items.insert(r.items.begin() + 1, i);
  const std::string text = laid_out(r, {80, false});
  EXPECT_NE(text.find("BUILD ERROR  first\n    a semicolon is missing\n    the same: second, third\n"), text.npos)
      << text;
  EXPECT_NE(text.find("CRASH  other\n    a semicolon is missing\n"), text.npos) << text;
  EXPECT_EQ(text.find("BUILD ERROR  second"), text.npos) << text;
}

TEST(Terminal, SaysOneRaceOnceWhateverTheCase) {
  result r;
  item_result i;
  i.verdict = verdict::wrong;
  const std::string race = "a/tile.cu:19: k<32>: block (0,0,0): race in shared memory: load, and store at a/tile.cu:16";
  i.id = "first", i.message = "14 of 15 cases fail; the smallest: k/1x37: " + race + " (35 times)", i.hint = {"order"};
  r.items.push_back(i);
  i.id = "second", i.message = "k/1024x1024: " + race + " (557056 times)", i.hint = {};
  r.items.push_back(i);
  i.id = "third", i.message = "k/1x37: " + race.substr(0, race.size() - 2) + "7";
  r.items.push_back(i);
  const std::string text = laid_out(r, {140, false});
  EXPECT_NE(text.find("    the same: second\n"), text.npos) << text;
  EXPECT_EQ(text.find("WRONG  second"), text.npos) << text;
  EXPECT_NE(text.find("WRONG  third"), text.npos) << text;
}

TEST(Terminal, KeepsItemsApartThatHaveOtherHints) {
  result r;
  item_result i;
  i.verdict = verdict::wrong;
  i.message = "wrong for 'ann': cause";
  for (const char* id : {"first", "second", "third"}) {
    i.id = id;
    i.hint = {i.id + "'s"};
    r.items.push_back(i);
  }
  r.items[2].hint = r.items[0].hint;
  const std::string text = laid_out(r, {80, false});
  EXPECT_NE(text.find("WRONG  first\n    wrong for 'ann': cause\n    hint: first's\n    the same: third\n"), text.npos)
      << text;
  EXPECT_NE(text.find("WRONG  second\n    wrong for 'ann': cause\n    hint: second's\n"), text.npos) << text;
}

TEST(Terminal, ShowsCountsOfSevenDigitsWhole) {
  result r = nasty();
  r.items[0].kind = item_kind::counters;
  r.items[0].figure = 2097152;
  r.items[0].threshold = 1048576;
  EXPECT_NE(laid_out(r, {100, false}).find("2,097,152 (bar 1,048,576)"), std::string::npos);
}

TEST(Terminal, SaysWhatTheCeilingIs) {
  result r = nasty();
  item_result& i = r.items[0];
  i.kind = item_kind::throughput;
  i.verdict = verdict::pass;
  i.figure = 0.989;
  i.threshold = 0.9;
  i.work = i.ceiling_work = {0, 3e9};
  EXPECT_NE(laid_out(r, {100, false}).find("0.989 (bar 0.9)"), std::string::npos);  // nothing was timed
  i.samples = {{0.2, 0.25}, {0.2, 0.2}, {0.2, 0.1}};
  EXPECT_NE(laid_out(r, {100, false}).find("0.989 of 15.0 GB/s"), std::string::npos);
  i.ceiling_work = {6e9, 0};
  EXPECT_NE(laid_out(r, {100, false}).find("0.989 of 30.0 GFLOP/s"), std::string::npos);
}

TEST(Terminal, TotalSaysWhatIsMissingAndWhy) {
  result r = nasty();
  r.items[0].points = 3.75;
  item_result gpu = r.items[0];
  gpu.verdict = verdict::not_assessed;
  gpu.points = 0;
  gpu.max_points = 15;
  gpu.message = "no GPU on this machine";
  r.items.push_back(gpu);
  EXPECT_EQ(total_line(r), "3.75 of 4 points (15 not assessed here: no GPU on this machine)");
}

TEST(Terminal, NumbersAreShort) {
  EXPECT_EQ(points_text(83.75), "83.75");
  EXPECT_EQ(points_text(100), "100");
  EXPECT_EQ(points_text(1.5), "1.5");
  EXPECT_EQ(points_text(0), "0");
  EXPECT_EQ(figure_text(4), "4");
  EXPECT_EQ(figure_text(0.83219), "0.832");
  EXPECT_EQ(figure_text(100), "100");
  EXPECT_EQ(figure_text(31.84), "31.8");
  EXPECT_EQ(figure_text(999), "999");
  EXPECT_EQ(figure_text(1000), "1,000");
  EXPECT_EQ(figure_text(14'200'000), "14,200,000");
  EXPECT_EQ(figure_text(-123'456), "-123,456");
  EXPECT_EQ(figure_text(999.7), "1,000");
  EXPECT_EQ(figure_text(5347.62), "5,348");
  EXPECT_EQ(figure_text(5347.62, 5), "5,347.6");
  EXPECT_EQ(figure_text(1.5e15), "1.5e+15");
}

TEST(Build, PicksTheFirstErrors) {
  EXPECT_EQ(
      first_errors("a.cu:1:2: warning: x\na.cu:3:4: error: one\nnote\nb.cu:5: error: two\nmake: *** [x] Error 1\n"),
      "a.cu:3:4: error: one\nb.cu:5: error: two");
  EXPECT_EQ(first_errors("1\n2\n3\n4\n"), "2\n3\n4");
  EXPECT_EQ(first_errors(""), "");
}

TEST(Build, ReadsHowFarABuildIs) {
  EXPECT_EQ(step_of("[12/240] Building CXX object x.o"), "[12/240]");
  EXPECT_EQ(step_of("[ 12%] Building CXX object x.o"), "[ 12%]");
  EXPECT_EQ(step_of("[-Wunused] is a warning"), "");
  EXPECT_EQ(step_of("x.cpp:1: error"), "");
}

TEST(Build, RunsCmakeAndReportsFailures) {
  const fs::path folder = fs::temp_directory_path() / ("build_test_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "said.txt") << "x.cu:3: error: no\n";
  std::ofstream(folder / "CMakeLists.txt")
      << "cmake_minimum_required(VERSION 3.25)\nproject(x LANGUAGES NONE)\nadd_custom_target(good)\n"
         "add_custom_target(bad COMMAND cat ${CMAKE_SOURCE_DIR}/said.txt COMMAND false)\n";
  ASSERT_EQ(std::system(("cmake -G Ninja -S " + folder.string() + " -B " + folder.string() + "/b > /dev/null").c_str()),
            0);
  builder make(folder / "b");
  EXPECT_TRUE(make.has_target("good"));
  EXPECT_FALSE(make.has_target("ugly"));
  EXPECT_TRUE(make.build("good").ok);
  const build_outcome bad = make.build("bad");
  EXPECT_FALSE(bad.ok);
  EXPECT_EQ(bad.message.rfind("x.cu:3: error: no\n", 0), 0u) << bad.message;
  fs::remove_all(folder);
}

}  // namespace

TEST(Report, HasATabWithTheWarpViewOrSaysWhyThereIsNone) {
  const temporary_folder place("report");
  const fs::path handin = place.path() / "handin", report = place.path() / "report";
  replace_file(handin / "copy.cu", "");
  result r;
  r.lab = "03_coalescing";
  r.submission = "student";
  r.path = handin;
  const auto says = [&](const char* words) {
    return rendered({r}, "/nowhere", report).find(words) != std::string::npos;
  };
  const char *frame = "<iframe src=\"see/03_coalescing.html\"", *older = "Drawn before the files were changed";
  EXPECT_TRUE(says("none of your kernels that are counted has run to its end"));
  EXPECT_FALSE(says(frame));
  replace_file(report / warp_view_of(r.lab), "page");
  EXPECT_TRUE(says(frame));
  EXPECT_FALSE(says(older));
  fs::last_write_time(handin / "copy.cu", fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_TRUE(says(frame) && says(older));
  r.outcome = outcome::build_failed;
  EXPECT_TRUE(says("Nothing is drawn until your kernels compile.") && !says(frame) && !says(older));
  r.outcome = outcome::graded;
  EXPECT_EQ(rendered({r}, "/nowhere").find("role=\"tab\""), std::string::npos);  // a class's report
  r.official = true;
  EXPECT_FALSE(says("role=\"tab\""));
  r.official = false;
  fs::remove(handin / "copy.cu");
  EXPECT_TRUE(says("In this lab you write no kernel") && !says(frame));
}
