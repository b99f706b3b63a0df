// Items of each kind, assessed on a submission with canned answers.
#include "judge/assess.hpp"
#include "judge/changes.hpp"
#include "judge/local.hpp"
#include "lab/ceilings.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "in_process/in_process_executor.hpp"

namespace {

using namespace grading;

/// Doubles its input, returns canned counters, or fails on request.
struct scripted : executor {
  std::map<std::string, double> metrics;
  std::vector<std::string> notes;
  bool right = true;
  std::chrono::milliseconds takes{0};
  int calls = 0;
  std::vector<std::string> asked;
  std::vector<double> call_seconds, ceiling_seconds;

  answer run(const lab::request& what, const buffer_access& buffers, const std::function<void()>&,
             const std::function<void(std::span<std::byte>)>&) override {
    const double start = lab::raw_seconds();
    ++calls;
    asked = what.metrics;
    const layout where = layout_of(what);
    std::vector<std::byte> memory(where.bytes);
    buffers.give(memory);
    const auto* in = reinterpret_cast<const float*>(memory.data() + where.inputs[0]);
    auto* out = reinterpret_cast<float*>(memory.data() + where.outputs[0]);
    for (std::size_t i = 0; right && i < what.input_specs[0].bytes() / sizeof(float); ++i) out[i] = 2 * in[i];
    buffers.take(memory);
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
  grading_session session;
  scripted* sim = nullptr;
  scripted* cuda = nullptr;

  void SetUp() override {
    session.rules = &rules;
    session.without_cuda = "no GPU on this machine";
    session.predictions =
        std::filesystem::temp_directory_path() / ("predictions_" + std::to_string(getpid()) + ".toml");
    sim = add(backend::sim);
  }
  void TearDown() override { std::filesystem::remove(session.predictions); }
  scripted* add(backend where) {
    auto made = std::make_unique<scripted>();
    scripted* raw = made.get();
    session.subjects.push_back(std::make_unique<subject>(where, std::move(made), 1));
    return raw;
  }
  void predict(const std::string& text) { std::ofstream(session.predictions) << text; }
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
  prediction asked(const char* key, const lab::test_case& about, grading::metric m, double right) {
    prediction p;
    p.key = key;
    p.about = &about;
    p.metric = std::move(m);
    p.right = right;
    return p;
  }
  item predictions() {
    item i = base(item_kind::predictions);
    i.predict = {asked("s.one", device_case, {"a", "b"}, 4), asked("s.two", other_case, {"c", ""}, 3)};
    return i;
  }
  item_result assessed(const item& i) {
    rules.items = {i};
    session.checked.clear();
    session.wrong.clear();
    return assess(rules.items[0], session);
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
  EXPECT_EQ(r.message, "2 of 2 cases fail; the smallest: f/1: left its output 0 unchanged");
}

TEST_F(Assess, ShowsTheSmallestFailureAndWhatAllHaveInCommon) {
  rules.names = contract_of("void f(float* out, const float* in, int n, cudaStream_t stream);");
  std::vector<lab::test_case> all;
  for (const std::int64_t n : {33, 5, 8, 64, 7}) {
    all.push_back(doubling("f/" + std::to_string(n), lab::part::device, n));
    all.back().parameters = {n};
    all.back().check = [n](auto, auto) { return n % 4 ? std::string("wrong") : std::string(); };
  }
  item i = base(item_kind::correctness);
  i.cases.clear();
  for (const lab::test_case& c : all) i.cases.push_back(&c);
  EXPECT_EQ(assessed(i).message,
            "3 of 5 cases fail; the smallest: f/5 (n = 5): wrong\n"
            "Only ragged sizes fail: every `n` that is not a multiple of 8.");
  for (lab::test_case& c : all)
    c.check = [n = c.parameters[0]](auto, auto) { return n > 7 ? std::string("wrong") : std::string(); };
  EXPECT_EQ(assessed(i).message,
            "3 of 5 cases fail; the smallest: f/8 (n = 8): wrong\nOnly large sizes fail: every `n` above 7.");
  all[0].check = [](auto, auto) { return std::string(); };
  EXPECT_EQ(assessed(i).message, "2 of 5 cases fail; the smallest: f/8 (n = 8): wrong") << "nothing in common";
  for (std::size_t k = 0; k < all.size(); ++k) {
    const std::int64_t n = std::vector<std::int64_t>{1, 32, 33, 128, 4127}[k];
    all[k].parameters = {n};
    all[k].check = [n](auto, auto) { return n % 32 ? std::string("wrong") : std::string(); };
  }
  EXPECT_NE(assessed(i).message.find("every `n` that is not a multiple of 32."), std::string::npos);
}

TEST_F(Assess, CorrectnessCountsOnEveryDevice) {
  cuda = add(backend::cuda);
  cuda->right = false;
  const item_result r = assessed(base(item_kind::correctness));
  EXPECT_EQ(r.verdict, verdict::wrong);
  EXPECT_EQ(r.message, "1 of 2 cases fails: on cuda, f/1: left its output 0 unchanged");
}

TEST_F(Assess, HostCasesRunOnceOnly) {
  cuda = add(backend::cuda);
  item i = base(item_kind::correctness);
  i.cases = {&host_case};
  EXPECT_EQ(assessed(i).backends, std::vector{backend::host});
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
  session.subjects.clear();
  sim = add(backend::sim);
  sim->metrics = {{"a", 64}, {"b", 2}, {"c", 0}};
  r = assessed(counters());
  EXPECT_EQ(r.verdict, verdict::wasteful);
  EXPECT_EQ(r.points, 6);
  EXPECT_EQ(r.message, "f/1: 32 sectors, must be 4");
  EXPECT_EQ(r.figure, 32);
  EXPECT_EQ(r.threshold, 4);
}

TEST_F(Assess, AConditionElsewhereCountsWithThatOfTheItemsCase) {
  item i = counters();
  i.require.push_back({"sectors", {"a", "b"}, {}, 3.0});
  i.require.back().elsewhere = &other_case;
  sim->metrics = {{"a", 8}, {"b", 2}, {"c", 0}};
  item_result r = assessed(i);
  EXPECT_EQ(r.verdict, verdict::wasteful);
  EXPECT_EQ(r.points, 6) << "half: the sectors of one case alone earn nothing";
  EXPECT_EQ(r.message, "f/2: 4 sectors, at most 3");
  EXPECT_EQ(r.conditions.back().what, "sectors in f/2");
  i.require.back().max = 4;
  EXPECT_EQ(assessed(i).points, 12);
  other_case.check = [](std::span<const lab::buffer>, std::span<const lab::buffer>) { return "wrong"; };
  i.require.back().max = 3;
  session.subjects.clear();
  sim = add(backend::sim);
  sim->metrics = {{"a", 8}, {"b", 2}, {"c", 0}};
  EXPECT_EQ(assessed(i).points, 12) << "the correctness item covers that case";
}

TEST_F(Assess, BoundsAreSentences) {
  item i = base(item_kind::counters);
  sim->metrics = {{"a", 4194304}, {"b", 3}, {"c", 12.5}};
  i.require = {{"bytes loaded", {"a", ""}, 1048576.0, 1069547.0},
               {"launches", {"b", ""}, {}, 1.0, "1 is enough"},
               {"bytes used of each sector, %", {"c", ""}, 100.0, {}}};
  EXPECT_EQ(assessed(i).message,
            "f/1: 4,194,304 bytes loaded, at most 1,069,547 (3.9 times as many); 3 launches, at most 1 (1 is enough); "
            "bytes used of each sector: 12.5 %, at least 100 %");
}

TEST_F(Assess, BarsWaitForThePredictions) {
  item i = counters();
  i.predict = predictions().predict;
  sim->metrics = {{"a", 64}, {"b", 2}, {"c", 0}};
  predict("s = { one = 4 }\n");
  const item_result r = assessed(i);
  EXPECT_EQ(r.points, 6);
  EXPECT_EQ(r.message, "f/1: 32 sectors, too many; the bar is shown once all of your predictions are made");
  EXPECT_FALSE(r.figure || r.threshold);
  EXPECT_TRUE(r.conditions.empty());
  predict("s = { one = 4, two = 3 }\n");
  EXPECT_EQ(assessed(i).message, "f/1: 32 sectors, must be 4");
}

TEST_F(Assess, NoMessageAnswersAPredictionThatIsStillToBeMade) {
  lab::test_case small = doubling("g/2", lab::part::host);
  item i = base(item_kind::correctness);
  i.cases = {&host_case};
  i.predict = {asked("s.one", host_case, {"output[0]", ""}, 4)};
  sim->right = false;
  session.subjects.clear();
  add(backend::host)->right = false;
  EXPECT_EQ(assessed(i).message,
            "1 of 1 cases fails: g/1: wrong; what is right is shown once all of your predictions are made");
  i.cases = {&small, &host_case};
  EXPECT_EQ(assessed(i).message, "2 of 2 cases fail; the smallest: g/2: left its output 0 unchanged");
  predict("s = { one = 3 }\n");
  i.cases = {&host_case};
  EXPECT_EQ(assessed(i).message, "1 of 1 cases fails: g/1: left its output 0 unchanged");
}

TEST_F(Assess, WithoutANeededConditionAnItemEarnsNothing) {
  sim->metrics = {{"a", 8}, {"b", 2}, {"c", 5}};
  item i = counters();
  EXPECT_EQ(assessed(i).points, 6);
  i.require.back().needed = true;
  EXPECT_EQ(assessed(i).points, 0);
}

TEST_F(Assess, LessThanTheTasksWorkEarnsNothingAndTheWorkItselfNothingMore) {
  sim->metrics = {{"a", 8}, {"b", 2}, {"c", 0}, {"kernels", 24}};
  item i = counters();
  i.require.push_back({"kernels launched", {"kernels", ""}, 24.0, {}});
  i.require.back().work = true;
  const auto another_counts = [&](double conflicts, double kernels) {
    session.subjects.clear();  // the counters are known already
    sim = add(backend::sim);
    sim->metrics = {{"a", 8}, {"b", 2}, {"c", conflicts}, {"kernels", kernels}};
  };
  EXPECT_EQ(assessed(i).verdict, verdict::pass);
  another_counts(5, 24);
  EXPECT_EQ(assessed(i).points, 6) << "half, the same as without the condition on work";
  another_counts(0, 0);
  const item_result without = assessed(i);
  EXPECT_EQ(without.verdict, verdict::wasteful);
  EXPECT_EQ(without.points, 0);
  EXPECT_EQ(without.message, "f/1: 0 kernels launched, at least 24");
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
  cuda = add(backend::cuda);
  cuda->notes = {"no permission to read counters"};
  EXPECT_EQ(assessed(counters()).verdict, verdict::pass);
  session.subjects.erase(session.subjects.begin());
  const item_result r = assessed(counters());
  EXPECT_EQ(r.verdict, verdict::not_assessed);
  EXPECT_EQ(r.message, "no permission to read counters");
}

TEST_F(Assess, TheSimulatedDeviceHasNoExcuseForMissingCounters) {  // otherwise the item would drop out of the total
  sim->notes = {"no permission to read counters"};
  const item_result r = assessed(counters());
  EXPECT_EQ(r.verdict, verdict::wasteful);
  EXPECT_EQ(r.points, 0);
}

TEST_F(Assess, ACounterThatTheGpuLacksIsLeftToTheSimulatedDevice) {
  sim->metrics = {{"a", 8}, {"b", 2}, {"c", 0}};
  cuda = add(backend::cuda);
  cuda->metrics = {{"a", 8}, {"b", 2}};
  EXPECT_EQ(assessed(counters()).verdict, verdict::pass);
  session.subjects.clear();
  sim = add(backend::sim);
  cuda = add(backend::cuda);
  sim->metrics = {{"a", 8}, {"b", 2}};
  cuda->metrics = {{"a", 64}, {"b", 2}};
  const item_result r = assessed(counters());
  EXPECT_EQ(r.points, 0);
  EXPECT_EQ(r.message, "f/1: on sim, conflicts: no such access was made; on cuda, 32 sectors, must be 4");
}

TEST_F(Assess, ACaseIsProfiledOnce) {
  sim->metrics = {{"a", 8}, {"b", 2}, {"c", 0}};
  rules.items = {counters(), counters(), predictions()};
  predict("s = { one = 4, two = 3 }\n");
  for (const item& i : rules.items) assess(i, session);
  EXPECT_EQ(sim->calls, 2) << "f/1 and f/2, once each";
}

TEST_F(Assess, PredictionsShareThePoints) {
  predict("[s]\none = 4.005\ntwo = 7\n");
  const item_result r = assessed(predictions());
  EXPECT_EQ(r.verdict, verdict::wrong);
  EXPECT_EQ(r.points, 6);
  EXPECT_EQ(r.predictions[0].state, prediction_state::first_try);
  EXPECT_EQ(r.predictions[1].state, prediction_state::wrong);
  EXPECT_EQ(r.predictions[1].text(), "s.two: predicted 7, right is 3");
  EXPECT_EQ(r.message, "first try 1 of 2, 1 wrong");
  predict("s = { one = 4, two = 3 }\n");
  EXPECT_EQ(assessed(predictions()).points, 12);
  EXPECT_EQ(assessed(predictions()).verdict, verdict::pass);
}

TEST_F(Assess, PredictionsAreComparedWithARightSolutionNotWithTheStudentsOwnCode) {
  sim->metrics = {{"a", 100}, {"b", 1}, {"c", 100}};  // wasteful
  predict("s = { one = 4, two = 3 }\n");
  item_result r = assessed(predictions());
  EXPECT_EQ(r.points, 12);
  EXPECT_EQ(r.predictions[1].seen, 100) << "shown, not graded";
  predict("s = { one = 100, two = 100 }\n");
  r = assessed(predictions());
  EXPECT_EQ(r.points, 0) << "changing the kernel cannot correct a prediction about it";
  EXPECT_EQ(r.verdict, verdict::wrong);
}

TEST_F(Assess, ALaterCorrectionEarnsHalf) {
  session.locked = {"2026-11-22T10:00:00Z", {{"s.one", 4}, {"s.two", 7}}};
  predict("s = { one = 9, two = 3 }\n");  // the first was right and stays right
  const item_result r = assessed(predictions());
  EXPECT_EQ(r.points, 9);
  EXPECT_EQ(r.verdict, verdict::pass) << "nothing remains to be done";
  EXPECT_EQ(r.predictions[0].state, prediction_state::first_try);
  EXPECT_EQ(r.predictions[1].state, prediction_state::corrected);
  EXPECT_EQ(r.figure, 1);
  EXPECT_EQ(r.message, "first try 1 of 2, 1 corrected (half the points) (locked 2026-11-22)");
}

TEST_F(Assess, AnUnlockedSetThatIsNotCompleteIsNotCompared) {
  sim->metrics = {{"a", 8}, {"b", 2}, {"c", 3}};
  for (const char* text : {"", "s = 3\n", "[s]\none = nan\ntwo = 3\n", "[s]\none = 4\n"}) {
    predict(text);
    const item_result r = assessed(predictions());
    EXPECT_EQ(r.verdict, verdict::not_answered) << text;
    for (const prediction_result& p : r.predictions) {
      EXPECT_FALSE(p.right || p.seen) << "no answer is revealed";
      EXPECT_EQ(p.state, prediction_state::not_compared);
    }
    EXPECT_EQ(r.points, 0);
  }
  EXPECT_EQ(assessed(predictions()).message,
            "1 of 2 predictions are not filled in yet (s.two); nothing is compared until they are");
  session.locked = {"2026-11-22T10:00:00Z", {{"s.one", 4}}};  // from before the rubric asked for s.two
  EXPECT_EQ(assessed(predictions()).verdict, verdict::not_answered);
  EXPECT_EQ(sim->calls, 0) << "nothing needs to run";
  predict("[s]\none = 9\ntwo = 3\n");
  EXPECT_EQ(assessed(predictions()).predictions[0].first, 4) << "a locked answer stays when the rubric asks for more";
}

TEST_F(Assess, ASittingIsComparedOnceItsOwnPredictionsAreMade) {
  rules.items = {predictions(), predictions()};
  rules.items[1].sitting = 2;
  rules.items[1].predict.resize(1);
  rules.items[1].predict[0].key = "t.one";
  const auto verdicts = [&] {
    return std::pair(assess(rules.items[0], session).verdict, assess(rules.items[1], session).verdict);
  };
  predict("s = { one = 4, two = 3 }\n");
  EXPECT_EQ(verdicts(), (std::pair{verdict::pass, verdict::not_answered}));
  predict("s = { one = 4 }\nt = { one = 4 }\n");
  EXPECT_EQ(verdicts(), (std::pair{verdict::not_answered, verdict::pass}));
}

TEST_F(Assess, APredictionAboutOnesOwnFunctionWaitsForIt) {
  item i = predictions();
  i.predict[1].own = true;
  predict("s = { one = 4, two = 3 }\n");
  sim->right = false;
  item_result r = assessed(i);
  EXPECT_EQ(r.verdict, verdict::pending);
  EXPECT_EQ(r.points, 6);
  EXPECT_EQ(r.predictions[1].state, prediction_state::pending);
  EXPECT_FALSE(r.predictions[1].right);
  EXPECT_EQ(r.message, "first try 1 of 2; 1 pending: f does not pass yet");
  session.subjects.clear();
  sim = add(backend::sim);
  r = assessed(i);
  EXPECT_EQ(r.verdict, verdict::pass);
  EXPECT_EQ(r.points, 12);
}

TEST_F(Assess, WhatThisMachineDoesIsMeasured) {
  item i = predictions();
  i.predict[1].measured = true;
  i.predict[1].right.reset();
  sim->metrics = {{"c", 5}};
  predict("s = { one = 4, two = 5 }\n");
  EXPECT_EQ(assessed(i).points, 12);
}

TEST_F(Assess, PredictionsThatAreNotTomlCostOnlyThemselves) {
  predict("[s]\none = = 3\n");
  const item_result r = assessed(predictions());
  EXPECT_EQ(r.verdict, verdict::wrong);
  EXPECT_EQ(r.message.rfind("predictions.toml:2:", 0), 0u) << r.message;
  for (const char* answer : {"inf", "\"12\"", "true", "[12]"}) {
    predict(std::string("[s]\none = ") + answer + "\ntwo = 5\n");
    const item_result not_a_number = assessed(predictions());
    EXPECT_EQ(not_a_number.verdict, verdict::wrong) << answer;
    EXPECT_EQ(not_a_number.message.rfind("predictions.toml:2: s.one is not a finite number", 0), 0u)
        << not_a_number.message;
  }
  std::string tower = "\na";
  for (int i = 0; i < 100'000; ++i) tower += ".a";
  predict(tower + " = 1\n");
  EXPECT_EQ(assessed(predictions()).message.rfind("predictions.toml:2: more than 64 dots", 0), 0u);
}

TEST_F(Assess, HostThroughputIsARatioToReading) {
  item i = base(item_kind::throughput);
  i.cases = {&host_case};
  i.ceiling = lab::find_ceiling("read");
  i.rungs = {{1e-6, 0.0}, {1e-5, 1.0}};
  item_result r = assessed(i);
  ASSERT_NE(r.verdict, verdict::wrong) << r.message;
  EXPECT_GE(r.samples.size(), 6u);
  EXPECT_GT(*r.figure, 0.0);
  if (r.verdict != verdict::inconclusive) {  // on a busy machine
    EXPECT_EQ(r.points, 12);
  }
  i.rungs = {{100.0, 0.0}, {1000.0, 1.0}};
  r = assessed(i);
  if (r.verdict != verdict::inconclusive) {
    EXPECT_EQ(r.verdict, verdict::too_slow);
    EXPECT_EQ(r.points, 0);
    EXPECT_NE(r.message.find("the next step, 126, earns 1.2 of 12 points"), std::string::npos) << r.message;
  }
  sim->right = false;
  EXPECT_EQ(assessed(i).verdict, verdict::wrong);
}

TEST_F(Assess, OnlyRightFunctionsAreTimed) {
  lab::test_case small = doubling("g/1", lab::part::host, 1);
  item timed = base(item_kind::throughput), correct = base(item_kind::correctness);
  timed.cases = {&host_case};
  timed.ceiling = lab::find_ceiling("read");
  timed.rungs = {{1e-6, 0.0}, {1e-5, 1.0}};
  correct.id = "correct";
  correct.cases = {&small};
  rules.items = {timed, correct};  // in any order, and if only one of them is graded
  small.check = [](auto, auto) { return std::string("wrong"); };
  const item_result r = assess(rules.items[0], session);
  EXPECT_EQ(r.verdict, verdict::wrong);
  EXPECT_EQ(r.points, 0);
  EXPECT_TRUE(r.samples.empty());
  EXPECT_EQ(r.message, "not timed: g must first be right in every case; it fails in g/1");
  const int calls = sim->calls;
  EXPECT_EQ(assess(rules.items[1], session).verdict, verdict::wrong);
  EXPECT_EQ(sim->calls, calls) << "its cases do not run again";
}

TEST_F(Assess, ARatioThatCannotBeIsAnErrorOfTheMeasurement) {
  item i = base(item_kind::throughput);
  i.ceiling = lab::find_ceiling("copy");
  i.rungs = {{0.1, 0.0}, {0.5, 0.5}, {0.9, 1.0}};
  cuda = add(backend::cuda);
  cuda->call_seconds.assign(21, 1e-3);
  cuda->ceiling_seconds.assign(21, 1.4e-3);
  item_result r = assessed(i);
  EXPECT_EQ(r.verdict, verdict::inconclusive);
  EXPECT_EQ(r.points, 0);
  EXPECT_EQ(r.most_points, 12);
  EXPECT_EQ(r.message.rfind("1.4 of copy bandwidth: this machine cannot be that fast", 0), 0u) << r.message;
  cuda->ceiling_seconds.assign(21, 1.25e-3);
  EXPECT_EQ(assessed(i).verdict, verdict::pass);
  i.most = 2;  // when the ceiling is a rival, not a roof
  cuda->ceiling_seconds.assign(21, 1.4e-3);
  EXPECT_EQ(assessed(i).verdict, verdict::pass);
}

TEST_F(Assess, NoiseLeavesTheLeastAndTheMostThatItCanBe) {
  item i = base(item_kind::throughput);
  i.ceiling = lab::find_ceiling("copy");
  i.rungs = {{0.1, 0.0}, {0.5, 0.5}, {0.9, 1.0}};
  cuda = add(backend::cuda);
  for (int k = 0; k < 21; ++k) {
    cuda->call_seconds.push_back(2e-3);
    cuda->ceiling_seconds.push_back(k % 2 ? 0.7e-3 : 1.4e-3);
  }
  const item_result r = assessed(i);
  EXPECT_EQ(r.verdict, verdict::inconclusive);
  EXPECT_LT(r.points, *r.most_points);
  EXPECT_LT(*r.most_points, 12) << "the interval ends at 0.7 of a copy";
  EXPECT_EQ(r.message.rfind("between ", 0), 0u) << r.message;
}

TEST_F(Assess, DeviceThroughputNeedsAGpu) {
  item i = base(item_kind::throughput);
  i.ceiling = lab::find_ceiling("copy");
  i.rungs = {{0.1, 0.0}, {0.5, 0.5}, {0.9, 1.0}};
  item_result r = assessed(i);
  EXPECT_EQ(r.verdict, verdict::not_assessed);
  EXPECT_EQ(r.message, "no GPU on this machine");
  cuda = add(backend::cuda);
  cuda->call_seconds.assign(21, 2e-3);
  cuda->ceiling_seconds.assign(21, 1e-3);
  r = assessed(i);
  EXPECT_EQ(r.verdict, verdict::too_slow);
  EXPECT_NEAR(*r.figure, 0.5, 1e-12);
  EXPECT_GE(r.points, 6);
  cuda->call_seconds.clear();
  EXPECT_EQ(assessed(i).verdict, verdict::wrong);
}

TEST(ChangedNames, AreAlsoThoseThatCallWhatChanged) {
  using files = std::map<std::string, std::string>;
  using names = std::set<std::string>;
  const files then = {
      {"a.cu", "float f() { return helper(2); }\nfloat other() { return 1; }"},
      {"b.cu", "namespace lab { float helper(float x) noexcept { return x; } }"},
      {"d.cpp", "float g() { return lab::f(); }"},
      {"e.cpp", "constexpr int n = 4;\nvoid g(int);\nstruct pair { int a, b; };\nvoid alone() { if (true) { } }"},
      {"predictions.toml", ""}};
  const auto after = [&](const std::string& name, const std::string& text) {
    files now = then;
    now[name] = text;
    return changed_names(then, now);
  };
  const names all = {""};
  EXPECT_EQ(changed_names(then, then), names{});
  EXPECT_EQ(after("predictions.toml", "a = 1"), names{});
  EXPECT_EQ(after("a.cu", "// quick\nfloat f() { return  helper(2); }\nfloat other() { return 1; }"), names{});
  EXPECT_EQ(after("a.cu", "float f() { return helper(2); }\nfloat other() { return 2; }"), names{"other"});
  EXPECT_EQ(after("b.cu", "namespace lab { float helper(float x) noexcept { return 3 * x; } }"),
            (names{"helper", "f", "g"}));
  // A change outside functions affects every function of the file, and their callers.
  EXPECT_EQ(after("b.cu", "namespace lab { double helper(float x) noexcept { return x; } }"),
            (names{"f", "g", "helper"}));
  EXPECT_EQ(after("b.cu", ""), (names{"f", "g", "helper"}));
  EXPECT_EQ(
      after("e.cpp", "constexpr int n = 5;\nvoid g(int);\nstruct pair { int a, b; };\nvoid alone() { if (true) { } }"),
      names{"alone"});
  EXPECT_EQ(after("a.cu", "float f() { return helper(2); }\nint new_one() { return 3; }\nfloat other() { return 1; }"),
            (names{"f", "g", "new_one", "other"}));
  EXPECT_EQ(after("d.cpp", "float g( { ((("), names{"g"});
  // So does a file that was not built; and a header affects everything.
  EXPECT_EQ(changed_names(then, then, {"a.cu"}), (names{"f", "g", "other"}));
  EXPECT_EQ(changed_names({{"x.hpp", "int n;"}}, {{"x.hpp", "long n;"}}), all);
  // Text that cannot be parsed, or that concerns other files.
  EXPECT_EQ(after("b.cu", "auto helper(float x) -> float { return x; }"), all);
  EXPECT_EQ(after("b.cu", "namespace lab { float helper(float x) noexcept { return x; "), all);
  EXPECT_EQ(after("b.cu", "namespace lab { float helper(float x) noexcept { return x; } } extern const float pi;"),
            all);
  // Each file has its own functions in unnamed namespaces, even if their names are equal, but types may be shared.
  const files own = {
      {"a.cu",
       "namespace {\nint twice() { return 1; }\nstruct s { int once() { return 1; } };\n}\nint a() { return twice(); "
       "}"},
      {"b.cu",
       "namespace {\nint twice() { return 2; }\n}\nint b() { return twice(); }\nint c() { return one().once(); }"}};
  const auto in_a = [&](const std::string& from, const std::string& to) {
    files now = own;
    now["a.cu"].replace(now["a.cu"].find(from), from.size(), to);
    return changed_names(own, now);
  };
  EXPECT_EQ(in_a("twice() { return 1", "twice() { return 3"), names{"a"});
  EXPECT_EQ(in_a("once() { return 1", "once() { return 3"), (names{"once", "c"}));
  const auto from_to = [](const std::string& before, const std::string& now) {
    return changed_names({{"x.cu", before}}, {{"x.cu", now}});
  };
  EXPECT_EQ(from_to("int sum() { return 1; }\nvoid a() { int sum = 0; sum += 1; }\nvoid b() { int x = sum(); }\nvoid "
                    "c() { d(&sum); }",
                    "int sum() { return 2; }\nvoid a() { int sum = 0; sum += 1; }\nvoid b() { int x = sum(); }\nvoid "
                    "c() { d(&sum); }"),
            (names{"b", "c", "sum"}))
      << "a variable of the same name";
  // Functions share variables, macros and constructors, which callers do not name.
  EXPECT_EQ(from_to("static int calls;\nvoid a() { calls = 1; }\nvoid b() { }",
                    "static int calls;\nvoid a() { calls = 2; }\nvoid b() { }"),
            (names{"a", "b"}));
  EXPECT_EQ(from_to("static std::vector<float> w(4);\nvoid a() { }\nvoid b() { }",
                    "static std::vector<float> w(4);\nvoid a() { ; }\nvoid b() { }"),
            (names{"a", "b"}));
  EXPECT_EQ(from_to("namespace n {\n__device__ float x[4];\nvoid a() { }\nvoid b() { } }",
                    "namespace n {\n__device__ float x[4];\nvoid a() { ; }\nvoid b() { } }"),
            (names{"a", "b"}));
  EXPECT_EQ(
      from_to("int next() { static int n; return n++; }\nvoid a() { next(); }\nvoid b() { next(); }\nvoid c() { }",
              "int next() { static int n; return n++; }\nvoid a() { }\nvoid b() { next(); }\nvoid c() { }"),
      (names{"a", "b", "next"}));
  // Any file may declare a variable of another: a function that calls into a file with variables affects them all.
  const files two = {{"x.cu", "int calls;\nvoid a() { calls = 1; }\nvoid b() { }"},
                     {"y.cu", "void far() { }\nvoid near() { a(); }"},
                     {"z.cu", "extern int calls;\nvoid z() { }"}};
  const auto in_y = [&](const std::string& text) {
    files now = two;
    now["y.cu"] = text;
    return changed_names(two, now);
  };
  EXPECT_EQ(
      changed_names(
          {{"x.cu", "float w[4];"}, {"y.cu", "extern float w[4];\nvoid y() { }"}, {"z.cu", "void z() { }"}},
          {{"x.cu", "float w[4] = {1};"}, {"y.cu", "extern float w[4];\nvoid y() { }"}, {"z.cu", "void z() { }"}}),
      names{"y"});
  EXPECT_EQ(in_y("void far() { ; }\nvoid near() { a(); }"), names{"far"});
  EXPECT_EQ(in_y("void far() { }\nvoid near() { }"), (names{"a", "b", "near", "z"}));
  EXPECT_EQ(from_to("struct s { s(int n) : a(n), b(n) { go(1); } int a, b; };",
                    "struct s { s(int n) : a(n), b(n) { go(2); } int a, b; };"),
            all);
  EXPECT_EQ(from_to("#define K(n) void n()\nK(f) { return; }", "#define K(n) void n()\nK(f) { }"), all);
  EXPECT_EQ(from_to("void a() {\n#if X\nb();\n#endif\n}", "void a() {\n#if X b();\n#endif\n}"), names{"a"});
}

TEST(ChangedNames, ReachEntriesThroughTheTable) {
  using names = std::set<std::string>;
  const std::string calls = R"(
namespace {
void run_step(const lab::call& c) { lab05::choose(c.input(0)); lab05::train(c); }
template <auto f> void matrix(const lab::call& c) { f(c.output(0)); }
constexpr lab::entry table[] = {
    {"choose", lab::part::host, [](const lab::call& c) { lab05::choose(c.input(0)); }},
    {"train_step", lab::part::host, run_step},
    {"transpose", lab::part::device, matrix<&lab05::transpose>},
    {"digits", lab::part::device, [](const lab::call& c) { lab05::backward(c); }},
    FORMULA(flops, 3, lab05::flops_of(in[0])),
};
})";
  const auto beside = [&](const names& changed, const std::vector<std::string>& helpers = {}) {
    return entries_beside(changed, calls, helpers);
  };
  EXPECT_EQ(beside({}), (names{"choose", "train_step", "transpose", "digits", "flops"}));
  EXPECT_EQ(beside({"backward"}), (names{"choose", "train_step", "transpose", "flops"}));
  EXPECT_EQ(beside({"choose"}), (names{"transpose", "digits", "flops"}));
  EXPECT_EQ(beside({"transpose"}), (names{"choose", "train_step", "digits", "flops"}));
  EXPECT_EQ(beside({"flops_of"}), (names{"choose", "train_step", "transpose", "digits"}));
  EXPECT_EQ(beside({"lab05"}), beside({})) << "a namespace, not a function";
  EXPECT_EQ(beside({""}), names{});
  EXPECT_EQ(entries_beside({"choose"}, "auto* all[] = {lab05::choose};\n" + calls, {}), names{});
  // Through the staff's other files.
  EXPECT_EQ(beside({"update"}, {"inline void train(call c) { step(c); }", "void step(call c) { lab05::update(); }"}),
            (names{"choose", "transpose", "digits", "flops"}));
}

}  // namespace
