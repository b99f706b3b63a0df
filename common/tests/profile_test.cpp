// lab::profile on the CPU, and its outputs: a range's cost, sums, and a trace's form.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "lab/profiler.hpp"
#include "trace_faults.hpp"

namespace {

using json = nlohmann::json;
namespace fs = std::filesystem;

void wait(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

lab::profile::row row(const lab::profile& p, const std::string& path) {
  for (const lab::profile::row& r : p.rows())
    if (r.path == path) return r;
  ADD_FAILURE() << "no range " << path;
  return {};
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct directory {
  fs::path path = fs::temp_directory_path() / ("profile_test_" + std::to_string(getpid()));
  ~directory() { fs::remove_all(path); }
};

void two_layers() {
  for (int i = 0; i < 2; ++i) {
    const lab::range here("layer");
    wait(2);
    {
      const lab::range inner("attention", {.flops = 4e6, .bytes = 1e6});
      wait(6);
    }
    const lab::range inner("mlp", {.flops = 2e6, .bytes = 3e6});
    wait(4);
  }
}

TEST(Profile, TimesAreSelfAndTotal) {
  lab::profile p;
  p.run("forward", two_layers);
  const auto whole = row(p, "forward"), layer = row(p, "forward/layer"), attention = row(p, "forward/layer/attention"),
             mlp = row(p, "forward/layer/mlp");
  EXPECT_EQ(layer.calls, 2);
  EXPECT_EQ(attention.calls, 2);
  EXPECT_GE(attention.host_seconds, 0.012);
  EXPECT_GE(mlp.host_seconds, 0.008);
  EXPECT_GE(layer.host_self_seconds, 0.004);
  EXPECT_NEAR(layer.host_seconds, layer.host_self_seconds + attention.host_seconds + mlp.host_seconds, 1e-9);
  EXPECT_NEAR(whole.host_seconds, whole.host_self_seconds + layer.host_seconds, 1e-9);
  EXPECT_EQ(whole.device_seconds, 0);
  EXPECT_EQ(whole.launches, 0);
}

TEST(Profile, TheLongestComesFirst) {
  lab::profile p;
  p.run("forward", two_layers);
  const auto rows = p.rows();
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_GE(rows[i - 1].host_seconds, rows[i].host_seconds);
}

TEST(Profile, WorkIsOfInnerRangesUnlessDeclared) {
  lab::profile p;
  p.run("forward", two_layers);
  EXPECT_EQ(row(p, "forward").declared.flops, 2 * 6e6);
  EXPECT_EQ(row(p, "forward").declared.bytes, 2 * 4e6);
  EXPECT_EQ(row(p, "forward/layer/attention").declared.flops, 8e6);
  const auto bound = row(p, "forward/layer/mlp").bound_seconds;
  EXPECT_GT(bound.warm, 0) << "the roof was measured";
  EXPECT_GE(bound.cold, bound.warm) << "DRAM is no faster than the cache";
  EXPECT_EQ(bound.measured, 0) << "a CPU's bytes are not counted";
  lab::profile q;
  q.run("forward", [] {
    const lab::range outer("outer", {.flops = 5, .bytes = 7});
    const lab::range inner("inner", {.flops = 100, .bytes = 100});
  });
  EXPECT_EQ(row(q, "forward/outer").declared.flops, 5) << "the outer range's declaration includes inner work";
}

TEST(Profile, AnotherRunOfANameAddsUpAndAnotherNameStandsBeside) {
  lab::profile p;
  p.run("one", [] { const lab::range here("part"); });
  p.run("one", [] { const lab::range here("part"); });
  p.run("two", [] { const lab::range here("part"); });
  EXPECT_EQ(row(p, "one/part").calls, 2);
  EXPECT_EQ(row(p, "two/part").calls, 1);
}

TEST(Profile, RangesOfOtherThreadsAreRootsOfTheirOwn) {
  lab::profile p;
  p.run("forward", [] {
    std::jthread other([] {
      const lab::range here("helper");
      const lab::range inner("inner");
      wait(1);
    });
    const lab::range here("mine");
  });
  EXPECT_EQ(row(p, "helper/inner").calls, 1);
  EXPECT_EQ(row(p, "forward/mine").calls, 1);
}

TEST(Profile, OutsideOfARunRangesAreNotRecorded) {
  const lab::range before("before");
  lab::profile p;
  p.run("forward", [] { const lab::range here("inside"); });
  const lab::range after("after");
  EXPECT_EQ(p.rows().size(), 2u);
  EXPECT_EQ(lab::range_listener::current.load(), nullptr);
}

TEST(Profile, ARangeThatOutlivesItsRunDoesNoHarm) {
  std::unique_ptr<lab::range> late;
  lab::profile p;
  p.run("forward", [&] { late = std::make_unique<lab::range>("late"); });
  p.run("again", [&] {
    const lab::range here("inside");
    late.reset();
  });
  EXPECT_EQ(row(p, "again/inside").calls, 1);
}

TEST(Profile, WithinAnotherRunItIsRefused) {
  lab::profile p;
  EXPECT_THROW(p.run("outer",
                     [] {
                       lab::profile q;
                       q.run("inner", [] {});
                     }),
               std::logic_error);
  p.run("after", [] {});
  EXPECT_EQ(row(p, "after").calls, 1);
}

TEST(Profile, TableFitsTheTerminal) {
  lab::profile p;
  std::ostringstream empty, text, narrow;
  p.table(empty);
  EXPECT_NE(empty.str().find("lab::profile::run"), std::string::npos) << "says what to do";
  p.run("forward", two_layers);
  p.table(text);
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_LT(text.str().find("layer/attention"), text.str().find("layer/mlp")) << "sorted by time";
  setenv("COLUMNS", "80", 1);
  p.table(narrow);
  unsetenv("COLUMNS");
  std::istringstream narrow_lines(narrow.str());
  for (std::string line; std::getline(narrow_lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_NE(narrow.str().find("of roof"), std::string::npos) << "no column is missing";
  std::puts(text.str().c_str());
}

TEST(Profile, WritesTableJsonTraceAndPlot) {
  const directory there;
  lab::profile p;
  p.run("forward", two_layers);
  p.write(there.path / "made" / "for it");
  const fs::path files = there.path / "made" / "for it";
  EXPECT_NE(text_of(files / "table.txt").find("attention"), std::string::npos);

  const json data = json::parse(text_of(files / "profile.json"));
  EXPECT_TRUE(data.at("device").is_null());
  EXPECT_GT(data.at("roofs").at("processor").at("flops_per_second").at("FP32").get<double>(), 1e8);
  EXPECT_GT(data.at("roofs").at("processor").at("bytes_per_second").at("DRAM").get<double>(), 1e8);
  EXPECT_EQ(data.at("ranges").size(), 4u);
  for (const json& r : data["ranges"])
    for (const char* key : {"path", "calls", "host_seconds", "host_self_seconds", "device_seconds", "launches",
                            "declared", "bound_seconds", "metrics"})
      EXPECT_TRUE(r.contains(key)) << key;

  const json trace = json::parse(text_of(files / "trace.json"));
  EXPECT_EQ(lab::trace_faults(trace), std::vector<std::string>{});
  EXPECT_EQ(std::count_if(trace["traceEvents"].begin(), trace["traceEvents"].end(),
                          [](const json& e) { return e["name"] == "attention"; }),
            2);

  if (std::system("gnuplot --version >/dev/null 2>&1") == 0) {
    const std::string svg = text_of(files / "roofline.svg");
    EXPECT_NE(svg.find("<svg"), std::string::npos);
    EXPECT_NE(svg.find("attention"), std::string::npos);
  }
}

TEST(Trace, FaultsAreFound) {
  const json good = {{"ph", "X"}, {"name", "a"}, {"cat", "c"}, {"pid", 1}, {"tid", 2}, {"ts", 5.0}, {"dur", 10.0}};
  const json name = {{"ph", "M"}, {"name", "thread_name"}, {"pid", 1}, {"tid", 2}, {"args", {{"name", "t"}}}};
  const auto with = [&](json event) { return json{{"traceEvents", {name, good, std::move(event)}}}; };
  EXPECT_EQ(lab::trace_faults(with(good)).size(), 0u);
  for (const char* missing : {"ph", "name", "pid", "tid", "ts", "dur"}) {
    json event = good;
    event.erase(missing);
    EXPECT_EQ(lab::trace_faults(with(event)).size(), 1u) << missing;
  }
  json event = good;
  event["dur"] = -1;
  EXPECT_EQ(lab::trace_faults(with(event)).size(), 1u);
  event["dur"] = 10.0;
  event["ts"] = 10.0;
  EXPECT_EQ(lab::trace_faults(with(event)).size(), 1u) << "they overlap, and neither contains the other";
  event["tid"] = 3;
  EXPECT_EQ(lab::trace_faults(with(event)).size(), 1u) << "a track without a name";
  EXPECT_EQ(lab::trace_faults(json::array()).size(), 1u);
}

TEST(Profile, SaysWhereItCannotWrite) {
  lab::profile p;
  p.run("forward", [] {});
  try {
    p.write("/proc/no_such_place");
    FAIL() << "wrote into /proc";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("/proc/no_such_place"), std::string::npos) << e.what();
  }
}

TEST(Profile, NamesMayHoldAnything) {
  const directory there;
  lab::profile p;
  p.run("quo\"te 'n' \\slash\nline", [] { const lab::range here("100% \x01 $x {0}", {.flops = 1e9, .bytes = 1e9}); });
  std::ostringstream text;
  p.table(text);
  p.write(there.path);
  EXPECT_TRUE(json::accept(text_of(there.path / "profile.json")));
  EXPECT_EQ(lab::trace_faults(json::parse(text_of(there.path / "trace.json"))), std::vector<std::string>{});
}

TEST(Profile, CountsWhatTheProcessorDoesOrSaysWhyNot) {
  lab::profile p;
  p.run("forward", [] {
    const lab::range here("sum");
    volatile double x = 0;
    for (int i = 0; i < 1'000'000; ++i) x = x + i;
  });
  const auto r = row(p, "forward/sum");
  if (r.metrics.contains("instructions")) {
    EXPECT_GT(r.metrics.at("instructions"), 2e6);
  } else {
    EXPECT_FALSE(p.notes().empty());
  }
}

/// The best of several runs of a loop whose body cannot be optimized away.
template <class Body>
double nanoseconds_per(const Body& body) {
  constexpr int times = 200'000;
  double best = 1e9;
  for (int round = 0; round < 15; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) {
      body();
      asm volatile("" ::: "memory");
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / times);
  }
  return best;
}

TEST(Profile, AnUnrecordedRangeCostsALoad) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer slows everything down";
#endif
  std::atomic<int> word{0};
  const double load = nanoseconds_per([&] { (void)word.load(std::memory_order_relaxed); });
  const double range = nanoseconds_per([] { const lab::range here("quiet", {.flops = 1, .bytes = 2}); });
  std::printf("a relaxed load %.2f ns, an unrecorded range %.2f ns\n", load, range);
  EXPECT_LT(range, load + 3);
}

}  // namespace
