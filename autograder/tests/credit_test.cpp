// Points from ratios; noise must neither cost points nor give any.
#include "course/credit.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "judge/paired.hpp"

namespace {

using namespace grading;

const std::vector<rung> ladder = {{0.05, 0.0}, {0.20, 0.3}, {0.40, 0.55}, {0.60, 0.8}, {0.80, 1.0}};

TEST(Credit, IsFullFromTheAllowanceOn) {
  EXPECT_EQ(credit(0.80, ladder), 1.0);
  EXPECT_EQ(credit(0.97 * 0.80, ladder), 1.0);
  EXPECT_LT(credit(0.775, ladder), 1.0);
  EXPECT_EQ(credit(5.0, ladder), 1.0);
}

TEST(Credit, IsNothingBelowTheFirstRung) {
  EXPECT_EQ(credit(0.04, ladder), 0.0);
  EXPECT_EQ(credit(0.0, ladder), 0.0);
  EXPECT_EQ(credit(-1.0, ladder), 0.0);
  EXPECT_EQ(credit(std::nan(""), ladder), 0.0);
}

TEST(Credit, GrowsWithTheLogarithmInTenths) {
  EXPECT_EQ(credit(0.97 * 0.20, ladder), 0.3);
  const double half_way = 0.97 * std::sqrt(0.2 * 0.4);  // (0.3 + 0.55) / 2 on the curve
  EXPECT_EQ(credit(half_way, ladder), 0.4);
  EXPECT_EQ(credit(1.02 * half_way, ladder), 0.4);
  EXPECT_EQ(credit(0.96 * half_way, ladder), 0.4);
}

TEST(Credit, IsMonotoneAndWithoutCliff) {
  double last = 0;
  for (int i = 100; i < 10'000; ++i) {
    const double ratio = 1e-4 * i;
    const double now = credit(ratio, ladder);
    EXPECT_GE(now, last);
    EXPECT_LT(now - last, 0.1001);
    last = now;
  }
}

TEST(Credit, KnowsTheNextStep) {
  for (int i = 0; i < 437; ++i) {
    const double ratio = 0.01 * std::pow(1.01, i);  // up to 0.97 of the last rung
    const auto next = next_step(ratio, ladder);
    ASSERT_TRUE(next) << ratio;
    EXPECT_GT(next->share, credit(ratio, ladder));
    EXPECT_NEAR(credit(next->ratio, ladder), next->share, 1e-12)
        << ratio << ", this ratio must earn the promised share";
    EXPECT_LT(credit(0.969 * next->ratio, ladder), next->share);
  }
  EXPECT_FALSE(next_step(0.78, ladder));
  EXPECT_FALSE(next_step(2.0, ladder));
  const std::vector<rung> begins_high = {{0.1, 0.2}, {1.0, 1.0}};
  EXPECT_NEAR(next_step(0.01, begins_high)->share, 0.2, 1e-12);
  EXPECT_NEAR(next_step(0.01, begins_high)->ratio, 0.1, 1e-12);
}

/// A machine on which every time is off by a factor of exp(sigma * normal) and drifts slowly, too.
struct simulated_machine {
  std::mt19937 engine;
  double sigma, ratio;
  double drift = 1.0;
  std::normal_distribution<double> normal{};

  double ceiling() {
    drift *= 1.002;  // a machine that slows down must not change a ratio
    return 1e-2 * drift * std::exp(sigma * normal(engine));
  }
  std::optional<double> call() { return 1e-2 / ratio * drift * std::exp(sigma * normal(engine)); }
  std::optional<paired_result> measured() {
    return measure([&] { return run_pairs([&] { return call(); }, [&] { return ceiling(); }); }, ladder);
  }
};

int full_credit(double sigma, double ratio, int rounds) {
  int count = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    simulated_machine m{std::mt19937(static_cast<unsigned>(seed)), sigma, ratio};
    const auto result = m.measured();
    count += result && result->decided() && credit(result->ratio, ladder) == 1.0;
  }
  return count;
}

TEST(Decision, NoiseCostsNoPoints) {
  for (const double sigma : {0.0, 0.01, 0.02, 0.03}) EXPECT_GE(full_credit(sigma, 0.80, 2000), 1998) << sigma;
}

TEST(Decision, NoiseGivesNoPoints) {
  for (const double sigma : {0.0, 0.01, 0.02, 0.03}) EXPECT_LE(full_credit(sigma, 0.70, 2000), 2) << sigma;
}

/// The same machine in class: one sample in twenty takes 1.5 times as long, and a run may end early once it is certain.
double full_credit_rate(double sigma, double ratio, int rounds) {
  int full = 0, decided = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    simulated_machine m{std::mt19937(static_cast<unsigned>(seed) + 77), sigma, ratio};
    std::uniform_real_distribution<double> chance;
    const auto hiccup = [&] { return chance(m.engine) < 0.05 ? 1.5 : 1.0; };
    const auto result = measure(
        [&] {
          return run_pairs([&]() -> std::optional<sample> { return *m.call() * hiccup(); },
                           [&]() -> sample { return m.ceiling() * hiccup(); },
                           {.certain_ratio = ladder.back().ratio, .narrow = 0.02});
        },
        ladder);
    decided += result->decided();
    full += result->decided() && credit(result->ratio, ladder) == 1.0;
  }
  return decided ? static_cast<double>(full) / decided : 0.0;
}

TEST(Decision, FewerThanOneInAThousandIsDecidedWrongly) {
  const double bar = ladder.back().ratio;
  for (const double sigma : {0.01, 0.02, 0.03}) {
    const double wrongly_failed = 1.0 - full_credit_rate(sigma, bar, 10'000);
    const double wrongly_passed = full_credit_rate(sigma, bar * (1 - 0.03 - 0.06), 10'000);
    fmt::print("sigma {:.0f} %: {:.3f} % of those at the bar fail, {:.3f} % of those 9 % below it pass\n", 100 * sigma,
               100 * wrongly_failed, 100 * wrongly_passed);
    EXPECT_LT(wrongly_failed, 0.001) << sigma;
    EXPECT_LT(wrongly_passed, 0.001) << sigma;
  }
}

TEST(Pairs, ADisturbedPairIsMeasuredAgain) {
  int calls = 0;
  const auto call = [&]() -> std::optional<sample> { return sample(1.0, ++calls % 3 == 0); };
  const auto run = run_pairs(call, [] { return sample(1.0); }, {.budget_seconds = 1000});
  EXPECT_EQ(run->pairs.size(), 21u);
  EXPECT_EQ(run->disturbed, 10);
  EXPECT_EQ(run_pairs([] { return std::optional(sample(1.0, true)); }, [] { return sample(1.0); },
                      {.most_disturbed = 5, .budget_seconds = 1000})
                ->pairs.size(),
            21u)
      << "in the end it keeps disturbed pairs";
}

int runs_on_a_noisy_machine(double slower, bool& noisy) {
  int runs = 0;
  std::mt19937 engine(3);
  std::normal_distribution<double> normal;
  const auto ceiling = [&] { return 1e-2 * std::exp(0.5 * normal(engine)); };
  const auto call = [&]() -> std::optional<double> { return slower * ceiling(); };
  const auto result = measure(
      [&] {
        ++runs;
        return run_pairs(call, ceiling);
      },
      ladder);
  noisy = !result->decided();
  return runs;
}

TEST(Decision, ANoisyMachineIsInconclusiveAfterOneMoreTry) {
  bool noisy = false;
  EXPECT_EQ(runs_on_a_noisy_machine(2.0, noisy), 2);
  EXPECT_TRUE(noisy);
}

TEST(Decision, NoiseThatCannotChangeThePointsIsNoMatter) {
  bool noisy = true;
  EXPECT_EQ(runs_on_a_noisy_machine(1000.0, noisy), 1);
  EXPECT_FALSE(noisy);
}

TEST(Decision, IsMadeByTheInterval) {
  const lab::interval below{0.02, 0.04}, across{0.3, 0.5}, above{0.81, 0.9};
  const auto shares = [](double ratio, const lab::interval& ci, double noise) {
    const lab::interval share = share_of(ratio, ci, noise, ladder);
    return std::pair(share.low, share.high);
  };
  EXPECT_EQ(shares(0.03, below, 0.3), std::pair(0.0, 0.0)) << "entirely below the first rung, however noisy";
  EXPECT_EQ(shares(0.85, above, 0.3), std::pair(1.0, 1.0)) << "entirely above the last";
  EXPECT_EQ(shares(0.4, across, 0.3), std::pair(credit(0.3, ladder), credit(0.5, ladder)));
  EXPECT_EQ(shares(0.4, across, 0.05), std::pair(credit(0.4, ladder), credit(0.4, ladder))) << "a quiet machine";
}

TEST(Decision, NoNoiseHoweverLargeGivesAPass) {
  const lab::interval above{0.81, 0.9}, below{0.02, 0.04};
  EXPECT_EQ(share_of(0.85, above, 0.6, ladder).low, 0.0);
  EXPECT_EQ(share_of(0.85, above, 0.6, ladder).high, 1.0);
  EXPECT_EQ(share_of(0.03, below, 0.6, ladder).high, 0.0) << "a noisy run can fail a call";
  bool noisy = false;
  runs_on_a_noisy_machine(0.1, noisy);
  EXPECT_TRUE(noisy);
}

TEST(Pairs, AlternateAndEndWithTheBudget) {
  std::string order;
  const auto call = [&]() -> std::optional<double> {
    order += 'b';
    return 1.0;
  };
  const auto ceiling = [&] {
    order += 'a';
    return 1.0;
  };
  EXPECT_EQ(run_pairs(call, ceiling, {.pairs = 4, .least_pairs = 1, .budget_seconds = 100})->pairs.size(), 4u);
  EXPECT_EQ(order, "abbaabba");
  EXPECT_EQ(run_pairs(call, ceiling, {.budget_seconds = 1})->pairs.size(), 11u);
  EXPECT_EQ(run_pairs(call, ceiling)->pairs.size(), 11u) << "11 pairs of 2 s are over the budget of 10 s";
  EXPECT_EQ(run_pairs(call, ceiling, {.budget_seconds = 1000})->self_ratios.size(), 10u);
  EXPECT_EQ(run_pairs(call, ceiling, {.budget_seconds = 1000, .hopeless_ratio = 2.0})->pairs.size(), 6u)
      << "all below a ratio of 2";
  EXPECT_EQ(run_pairs(call, ceiling, {.budget_seconds = 1000, .hopeless_ratio = 10.0})->pairs.size(), 3u)
      << "all below an eighth of 10";
  const auto starves_itself = [] { return std::optional(sample{1.0, true}); };
  EXPECT_EQ(run_pairs(starves_itself, ceiling, {.budget_seconds = 1000, .hopeless_ratio = 10.0})->disturbed, 0)
      << "only its own threads can make a call this slow";
  EXPECT_EQ(run_pairs(starves_itself, ceiling, {.budget_seconds = 1000, .hopeless_ratio = 2.0})->disturbed, 21);
  EXPECT_EQ(run_pairs(call, ceiling, {.budget_seconds = 1000, .narrow = 0.02})->pairs.size(), 11u);
  double seconds = 1.0;
  const auto unsteady = [&] { return seconds = 2.1 - seconds; };  // alternates 1.0 and 1.1
  EXPECT_EQ(run_pairs(call, unsteady, {.budget_seconds = 1000, .narrow = 0.02})->pairs.size(), 21u);
  EXPECT_FALSE(run_pairs([]() -> std::optional<double> { return {}; }, ceiling));
}

}  // namespace
