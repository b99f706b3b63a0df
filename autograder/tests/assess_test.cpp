// Items of each kind against a submission whose answers are written here.
#include "assess.hpp"
#include "lab/ceilings.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "in_process_executor.hpp"

namespace {

using namespace grading;

/// Doubles its input, answers with canned counters, or fails as told.
struct scripted : executor {
  std::map<std::string, double> metrics;
  std::vector<std::string> notes;
  bool right = true;
  std::chrono::milliseconds takes{0};
  int calls = 0;
  std::vector<std::string> asked;
  std::vector<double> call_seconds, ceiling_seconds;
  std::vector<std::byte> bytes;

  std::span<std::byte> memory(std::size_t size) override {
    if (bytes.size() < size + page) bytes.resize(size + page);
    const auto start = reinterpret_cast<std::uintptr_t>(bytes.data()) % page;
    return std::span(bytes).subspan(start ? page - start : 0, size);
  }
  answer run(const lab::request& what, const std::function<void()>&) override {
    const double start = lab::raw_seconds();
    ++calls;
    asked = what.metrics;
    const auto* in = reinterpret_cast<const float*>(what.inputs[0].data());
    auto* out = reinterpret_cast<float*>(what.outputs[0].data());
    for (std::size_t i = 0; right && i < what.inputs[0].size() / sizeof(float); ++i) out[i] = 2 * in[i];
    std::this_thread::sleep_for(takes);
    answer got;
    if (what.what == lab::action::profile) got.response.metrics = metrics;
    if (what.what == lab::action::profile) got.response.notes = notes;
    if (what.what == lab::action::time) got.response.call_seconds = call_seconds;
    if (what.what == lab::action::time) got.response.ceiling_seconds = ceiling_seconds;
    got.seconds = lab::raw_seconds() - start;
    return got;
  }
};

lab::test_case doubling(std::string id, lab::part where, std::int64_t n = 100) {
  lab::test_case c;
  c.entry = id.substr(0, id.find('/'));
  c.id = std::move(id);
  c.where = where;
  c.outputs = {{lab::dtype::f32, n}};
  c.work.bytes = 8.0 * static_cast<double>(n);
  c.inputs = [n](std::uint64_t seed) {
    return std::vector{lab::buffer::of(lab::random_floats(static_cast<std::size_t>(n), seed))};
  };
  c.check = [](std::span<const lab::buffer> before, std::span<const lab::buffer> outputs) {
    return outputs[0].as<float>()[0] == 2 * before[0].as<float>()[0] ? std::string() : std::string("wrong");
  };
  return c;
}

struct Assess : testing::Test {
  lab::test_case device_case = doubling("f/1", lab::part::device), other_case = doubling("f/2", lab::part::device);
  lab::test_case host_case = doubling("g/1", lab::part::host, 4 << 20);
  rubric rules;
  bench on;
  scripted* sim = nullptr;
  scripted* cuda = nullptr;

  void SetUp() override {
    on.rules = &rules;
    on.without_cuda = "no GPU on this machine";
    on.predictions = std::filesystem::temp_directory_path() / ("predictions_" + std::to_string(getpid()) + ".toml");
    sim = add("sim");
  }
  void TearDown() override { std::filesystem::remove(on.predictions); }
  scripted* add(const char* backend) {
    auto made = std::make_unique<scripted>();
    scripted* raw = made.get();
    on.subjects.push_back(std::make_unique<subject>(backend, std::move(made), 1));
    return raw;
  }
  void predict(const std::string& text) { std::ofstream(on.predictions) << text; }
  item base(item_kind kind) {
    item i;
    i.id = "x";
    i.kind = kind;
    i.points = 12;
    i.cases = {&device_case};
    return i;
  }
  item counters() {
    item i = base(item_kind::counters);
    i.require = {{"sectors", {"a", "b"}, 4.0, 4.0}, {"conflicts", {"c", ""}, {}, 0.0}};
    return i;
  }
  item predictions() {
    item i = base(item_kind::predictions);
    i.predict = {{"s.one", &device_case, {"a", "b"}, 0.01}, {"s.two", &other_case, {"c", ""}, 0.01}};
    return i;
  }
  item_result assessed(const item& i) {
    rules.items = {i};
    return assess(rules.items[0], on);
  }
};

TEST_F(Assess, CorrectnessIsAllOrNothing) {
  item i = base(item_kind::correctness);
  i.cases = {&device_case, &other_case};
  item_result r = assessed(i);
  EXPECT_EQ(r.verdict, verdict::pass);
  EXPECT_EQ(r.points, 12);
  EXPECT_EQ(r.figure, 2);
  sim->right = false;
  r = assessed(i);
  EXPECT_EQ(r.verdict, verdict::wrong);
  EXPECT_EQ(r.points, 0);
  EXPECT_EQ(r.message, "2 of 2 cases failed; first f/1: wrote nothing to its output 0");
}

TEST_F(Assess, CorrectnessCountsOnEveryDevice) {
  cuda = add("cuda");
  cuda->right = false;
  const item_result r = assessed(base(item_kind::correctness));
  EXPECT_EQ(r.verdict, verdict::wrong);
  EXPECT_EQ(r.message, "1 of 2 cases failed; first on cuda, f/1: wrote nothing to its output 0");
}

TEST_F(Assess, HostCasesRunOnceOnly) {
  cuda = add("cuda");
  item i = base(item_kind::correctness);
  i.cases = {&host_case};
  EXPECT_EQ(assessed(i).backend, "host");
  EXPECT_EQ(sim->calls, 1);
  EXPECT_EQ(cuda->calls, 0);
}

TEST_F(Assess, CountersShareThePoints) {
  sim->metrics = {{"a", 8}, {"b", 2}, {"c", 0}};
  item_result r = assessed(counters());
  EXPECT_EQ(r.verdict, verdict::pass);
  EXPECT_EQ(r.points, 12);
  EXPECT_EQ(r.figure, 4);
  EXPECT_EQ(sim->asked, (std::vector<std::string>{"a", "b", "c"}));
  on.subjects.clear();
  sim = add("sim");
  sim->metrics = {{"a", 64}, {"b", 2}, {"c", 0}};
  r = assessed(counters());
  EXPECT_EQ(r.verdict, verdict::wasteful);
  EXPECT_EQ(r.points, 6);
  EXPECT_EQ(r.message, "f/1: sectors: 32, must be 4");
  EXPECT_EQ(r.figure, 32);
  EXPECT_EQ(r.threshold, 4);
}

TEST_F(Assess, NothingDividedByNothingIsNoPass) {
  sim->metrics = {{"a", 0}, {"b", 0}, {"c", 0}};
  const item_result r = assessed(counters());
  EXPECT_EQ(r.verdict, verdict::wasteful);
  EXPECT_EQ(r.message, "f/1: sectors: no such access was made");
}

TEST_F(Assess, CountersOfAWrongResultEarnNothing) {
  sim->metrics = {{"a", 8}, {"b", 2}, {"c", 0}};
  sim->right = false;
  const item_result r = assessed(counters());
  EXPECT_EQ(r.verdict, verdict::wrong);
  EXPECT_EQ(r.points, 0);
}

TEST_F(Assess, CountersThatMayNotBeReadOnTheGpuAreLeftToTheSimulatedDevice) {
  sim->metrics = {{"a", 8}, {"b", 2}, {"c", 0}};
  cuda = add("cuda");
  cuda->notes = {"no permission to read counters"};
  EXPECT_EQ(assessed(counters()).verdict, verdict::pass);
  on.subjects.erase(on.subjects.begin());
  const item_result r = assessed(counters());
  EXPECT_EQ(r.verdict, verdict::not_assessed);
  EXPECT_EQ(r.message, "no permission to read counters");
}

TEST_F(Assess, ACaseIsProfiledOnce) {
  sim->metrics = {{"a", 8}, {"b", 2}, {"c", 0}};
  rules.items = {counters(), counters(), predictions()};
  for (const item& i : rules.items) assess(i, on);
  EXPECT_EQ(sim->calls, 2) << "f/1 and f/2, once each";
}

TEST_F(Assess, PredictionsShareThePoints) {
  sim->metrics = {{"a", 8}, {"b", 2}, {"c", 3}};
  predict("[s]\none = 4.005\ntwo = 7\n");
  item_result r = assessed(predictions());
  EXPECT_EQ(r.verdict, verdict::wrong);
  EXPECT_EQ(r.points, 6);
  EXPECT_TRUE(r.predictions[0].ok);
  EXPECT_EQ(r.predictions[1].predicted, 7);
  EXPECT_EQ(r.predictions[1].seen, 3);
  predict("s = { one = 4, two = 3 }\n");
  EXPECT_EQ(assessed(predictions()).points, 12);
}

TEST_F(Assess, PredictionsNotMadeAreNotAnswered) {
  sim->metrics = {{"a", 8}, {"b", 2}, {"c", 3}};
  for (const char* text : {"", "s = 3\n", "[s]\none = nan\ntwo = \"3\"\n"}) {
    predict(text);
    const item_result r = assessed(predictions());
    EXPECT_EQ(r.verdict, verdict::not_answered) << text;
    EXPECT_FALSE(r.predictions[0].seen) << "what was not predicted is not given away";
    EXPECT_EQ(r.points, 0);
  }
}

TEST_F(Assess, PredictionsThatAreNotTomlCostOnlyThemselves) {
  predict("[s]\none = = 3\n");
  const item_result r = assessed(predictions());
  EXPECT_EQ(r.verdict, verdict::wrong);
  EXPECT_EQ(r.message.rfind("predictions.toml:2:", 0), 0u) << r.message;
  std::string tower = "\na";
  for (int i = 0; i < 100'000; ++i) tower += ".a";
  predict(tower + " = 1\n");
  EXPECT_EQ(assessed(predictions()).message.rfind("predictions.toml:2: more than 64 points", 0), 0u);
}

TEST_F(Assess, HostThroughputIsARatioToReading) {
  item i = base(item_kind::throughput);
  i.cases = {&host_case};
  i.ceiling = "read";
  i.rungs = {{1e-6, 0.0}, {1e-5, 1.0}};
  item_result r = assessed(i);
  ASSERT_NE(r.verdict, verdict::wrong) << r.message;
  EXPECT_GE(r.samples.size(), 11u);
  EXPECT_GT(*r.figure, 0.0);
  if (is_assessed(r.verdict)) {
    EXPECT_EQ(r.points, 12);
  }
  i.rungs = {{100.0, 0.0}, {1000.0, 1.0}};
  r = assessed(i);
  if (is_assessed(r.verdict)) {
    EXPECT_EQ(r.verdict, verdict::too_slow);
    EXPECT_EQ(r.points, 0);
    EXPECT_NE(r.message.find("the next step, 126, earns 1.2 of 12 points"), std::string::npos) << r.message;
  }
  sim->right = false;
  EXPECT_EQ(assessed(i).verdict, verdict::wrong);
}

TEST_F(Assess, DeviceThroughputNeedsAGpu) {
  item i = base(item_kind::throughput);
  i.ceiling = "copy";
  i.rungs = {{0.1, 0.0}, {0.5, 0.5}, {0.9, 1.0}};
  item_result r = assessed(i);
  EXPECT_EQ(r.verdict, verdict::not_assessed);
  EXPECT_EQ(r.message, "no GPU on this machine");
  cuda = add("cuda");
  cuda->call_seconds.assign(21, 2e-3);
  cuda->ceiling_seconds.assign(21, 1e-3);
  r = assessed(i);
  EXPECT_EQ(r.verdict, verdict::too_slow);
  EXPECT_NEAR(*r.figure, 0.5, 1e-12);
  EXPECT_GE(r.points, 6);
  cuda->call_seconds.clear();
  EXPECT_EQ(assessed(i).verdict, verdict::wrong);
}

}  // namespace
