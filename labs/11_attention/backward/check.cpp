// Checks attention_backward: gradients against float64, where all of P is kept; launches, allocations and sectors.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "backward.hpp"
#include "lab/device.hpp"
#include "lab/profiler.hpp"

namespace {

using doubles = std::vector<double>;

struct shape {
  int heads, tokens, size;
  bool causal;
};

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// One head, by definition.
struct reference {
  const double *q, *k, *v, *d_out;
  int tokens, size;
  bool causal;

  doubles lse = doubles(at(tokens)), out = doubles(at(tokens * size)), d_q = out, d_k = out, d_v = out;

  double score(int i, int j) const {
    double sum = 0;
    for (int c = 0; c < size; ++c) sum += q[i * size + c] * k[j * size + c];
    return sum / std::sqrt(size);
  }
  int seen(int i) const { return causal ? i + 1 : tokens; }

  void forward() {
    for (int i = 0; i < tokens; ++i) {
      doubles p;
      double most = -INFINITY, sum = 0;
      for (int j = 0; j < seen(i); ++j) most = std::max(most, p.emplace_back(score(i, j)));
      for (double& one : p) sum += one = std::exp(one - most);
      lse[at(i)] = most + std::log(sum);
      for (int c = 0; c < size; ++c) {
        out[at(i * size + c)] = 0;
        for (int j = 0; j < seen(i); ++j) out[at(i * size + c)] += p[at(j)] / sum * v[j * size + c];
      }
    }
  }

  void backward() {
    for (int i = 0; i < tokens; ++i) {
      doubles p, d_p;
      double delta = 0;
      for (int j = 0; j < seen(i); ++j) {
        p.push_back(std::exp(score(i, j) - lse[at(i)]));
        d_p.push_back(0);
        for (int c = 0; c < size; ++c) d_p.back() += d_out[i * size + c] * v[j * size + c];
        delta += p.back() * d_p.back();
      }
      for (int j = 0; j < seen(i); ++j)
        for (int c = 0; c < size; ++c) {
          const double d_s = p[at(j)] * (d_p[at(j)] - delta) / std::sqrt(size);
          d_v[at(j * size + c)] += p[at(j)] * d_out[i * size + c];
          d_q[at(i * size + c)] += d_s * k[j * size + c];
          d_k[at(j * size + c)] += d_s * q[i * size + c];
        }
    }
  }
};

/// Inputs: values of floats, stored as doubles.
struct problem {
  problem(const shape& of, double spread) : s(of) {
    std::mt19937 random(11);  // NOLINT(cert-msc51-cpp): the same in each run
    const auto draw = [&](double by) {
      doubles x;
      for (int i = 0; i < s.heads * s.tokens * s.size; ++i)
        x.push_back(static_cast<double>(static_cast<float>(by * (static_cast<double>(random()) / 2147483648.0 - 1))));
      return x;
    };
    q = draw(1.75 * spread), k = draw(1.75), v = draw(1), d_out = draw(1);
  }
  reference head(int h) const {
    const auto from = static_cast<std::ptrdiff_t>(h * s.tokens * s.size);
    return {q.data() + from, k.data() + from, v.data() + from, d_out.data() + from, s.tokens, s.size, s.causal};
  }
  shape s;
  doubles q, k, v, d_out;
};

lab::device_buffer<float> on_device(const doubles& from) {
  const std::vector<float> narrow(from.begin(), from.end());
  lab::device_buffer<float> to(narrow.size());
  LAB_CUDA_CHECK(cudaMemcpy(to.data(), narrow.data(), to.bytes(), cudaMemcpyHostToDevice));
  return to;
}

struct on_gpu {
  explicit on_gpu(const problem& of)
      : s(of.s), q(on_device(of.q)), k(on_device(of.k)), v(on_device(of.v)), d_out(on_device(of.d_out)) {
    doubles all_out, all_lse;
    for (int h = 0; h < s.heads; ++h) {
      reference r = of.head(h);
      r.forward();
      all_out.insert(all_out.end(), r.out.begin(), r.out.end());
      all_lse.insert(all_lse.end(), r.lse.begin(), r.lse.end());
    }
    out = on_device(all_out), lse = on_device(all_lse);
  }
  void run() {
    lab11::attention_backward(d_q.data(), d_k.data(), d_v.data(), delta.data(), q.data(), k.data(), v.data(),
                              out.data(), lse.data(), d_out.data(), s.heads, s.tokens, s.size, s.causal, stream.get());
  }
  shape s;
  lab::stream stream;
  lab::device_buffer<float> q, k, v, d_out, out{1}, lse{1};
  lab::device_buffer<float> d_q{q.size()}, d_k{q.size()}, d_v{q.size()}, delta{at(s.heads * s.tokens)};
};

/// The largest difference, relative to the largest gradient or to 0.01: with one token the gradients of q and k are 0.
double off(const lab::device_buffer<float>& got, const std::function<doubles(reference&)>& of, const problem& p) {
  std::vector<float> read(got.size());
  LAB_CUDA_CHECK(cudaMemcpy(read.data(), got.data(), got.bytes(), cudaMemcpyDeviceToHost));
  EXPECT_TRUE(got.intact()) << "written past an end";
  double worst = 0, largest = 0.01;
  std::size_t i = 0;
  for (int h = 0; h < p.s.heads; ++h) {
    reference r = p.head(h);
    r.forward();
    r.backward();
    for (const double want : of(r)) {
      const double e = std::abs(static_cast<double>(read[i++]) - want);
      worst = std::isnan(e) ? INFINITY : std::max(worst, e);
      largest = std::max(largest, std::abs(want));
    }
  }
  return worst / largest;
}

void expect_gradients(const shape& s, double spread = 1) {
  SCOPED_TRACE(testing::Message() << s.heads << " x " << s.tokens << " x " << s.size << (s.causal ? ", causal" : "")
                                  << ", spread " << spread);
  const problem p(s, spread);
  on_gpu device(p);
  device.run();
  LAB_CUDA_CHECK(cudaGetLastError());
  device.stream.synchronize();
  // Scores are rounded to 2^-24 of the sum of their terms, and an exponential turns that into a relative error.
  const double allowed = 1e-5 * spread;
  EXPECT_LE(off(
                device.d_v, [](reference& r) { return r.d_v; }, p),
            allowed);
  EXPECT_LE(off(
                device.d_q, [](reference& r) { return r.d_q; }, p),
            allowed);
  EXPECT_LE(off(
                device.d_k, [](reference& r) { return r.d_k; }, p),
            allowed);
}

TEST(Reference, HasTheGradientsOfFiniteDifferences) {
  problem p({1, 5, 64, true}, 1);
  reference r = p.head(0);
  r.forward();
  r.backward();
  const auto loss = [&] {
    reference now = p.head(0);
    now.forward();
    double sum = 0;
    for (std::size_t i = 0; i < now.out.size(); ++i) sum += now.out[i] * p.d_out[i];
    return sum;
  };
  for (const auto& [x, gradient] : {std::pair{&p.q, &r.d_q}, {&p.k, &r.d_k}, {&p.v, &r.d_v}})
    for (std::size_t i = 0; i < x->size(); i += 37) {
      const double before = (*x)[i], step = 1e-5;
      (*x)[i] = before + step;
      const double above = loss();
      (*x)[i] = before - step;
      const double below = loss();
      (*x)[i] = before;
      EXPECT_NEAR((above - below) / (2 * step), (*gradient)[i], 1e-8);
    }
}

TEST(Gradients, OfOneTile) { expect_gradients({1, 64, 64, false}); }
TEST(Gradients, OfRaggedTiles) {
  for (const auto& [tokens, size] : {std::pair{1, 64}, {2, 128}, {31, 64}, {65, 128}, {130, 64}})
    expect_gradients({1, tokens, size, false});
}
TEST(Gradients, OfHeads) { expect_gradients({3, 33, 64, false}); }
TEST(Gradients, BehindTheMask) {
  for (const auto& [tokens, size] : {std::pair{1, 128}, {33, 64}, {64, 64}, {129, 64}, {70, 128}})
    expect_gradients({2, tokens, size, true});
}
TEST(Gradients, OfLargeScores) { expect_gradients({1, 70, 64, true}, 96); }

TEST(Traffic, HasNoMatrixOfScores) {
  const problem p({1, 256, 64, false}, 1);
  on_gpu device(p);
  const std::string loaded = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                    stored = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
  auto counted = lab::profiler({"launches", loaded, stored}).collect([&] { device.run(); }, device.stream.get());
  EXPECT_LE(counted.metrics["launches"], 3);
  EXPECT_GE(counted.metrics["launches"], 1);
  EXPECT_TRUE(counted.reports.empty()) << counted.reports.front();
  EXPECT_EQ(counted.metrics["allocations"], 0) << "counted on the simulated device alone";
  // An array has 2,048 sectors; the three gradients are stored once; delta takes at most one per row. Scores would take
  // 8,192.
  EXPECT_LE(counted.metrics[stored], 3 * 2048 + 256);
  EXPECT_GE(counted.metrics[stored], 3 * 2048);
  // A block of 64 rows loads its own part of two arrays once, and all of the other two.
  EXPECT_LE(counted.metrics[loaded], 2 * (2 + 4 * 2) * 2048 + 2 * 2048 + 2048);
}

TEST(Traffic, IsLessBehindTheMask) {
  const std::string loaded = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
  const problem p({1, 256, 64, true}, 1);
  on_gpu device(p);
  auto counted = lab::profiler({loaded}).collect([&] { device.run(); }, device.stream.get());
  EXPECT_GT(counted.metrics[loaded], 0);
  // 1, 2, 3 and 4 quarters of a block's other loads.
  EXPECT_LE(counted.metrics[loaded], 2 * (2 * 4 + 2 * 10) * 512 + 2 * 2048 + 2048);
}

}  // namespace
