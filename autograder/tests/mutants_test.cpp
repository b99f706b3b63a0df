// The mutants made from each kind of line.
#include "staff/mutants.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace grading {
namespace {

/// The line after each of its mutations, "" for a dropped statement.
std::vector<std::string> lines_of(const std::string& line, const std::string& what = "") {
  const std::string source = "void f() {\n" + line + "\n}\n";
  std::vector<std::string> result;
  for (const mutant& m : mutants_of("f.cpp", source)) {
    if (m.lazy && m.line == 1) continue;  // a mutant of the function itself
    EXPECT_EQ(m.line, 2);
    if (m.what.find(what) == std::string::npos) continue;
    const std::string text = mutated(source, m);
    result.push_back(text.substr(11, text.size() - 14));
  }
  return result;
}

bool makes(const std::string& line, const std::string& mutant) {
  const auto all = lines_of(line);
  return std::find(all.begin(), all.end(), mutant) != all.end();
}

TEST(Mutants, ChangeOperatorsBoundsAndConstants) {
  EXPECT_TRUE(makes("  if (i < n) return;", "  if (i <= n) return;"));
  EXPECT_TRUE(makes("  return a + b * 2;", "  return a - b * 2;"));
  EXPECT_TRUE(makes("  return a + b * 2;", "  return a + b * 3;"));
  EXPECT_TRUE(makes("  return a + b * 2;", "  return a * 2;") || makes("  return a + b * 2;", "  return a;") ||
              makes("  return a + b * 2;", "  return a + b;"));
  EXPECT_TRUE(makes("  x += 0.5f;", "  x += (1.01f * 0.5f);"));
  EXPECT_TRUE(makes("  if (a && b) c();", "  if (a || b) c();"));
  EXPECT_TRUE(makes("  if (a(1) < 2) c();", "  if (false) c();"));
}

TEST(Mutants, DropStatementsAndExchangeThem) {
  EXPECT_TRUE(makes("  __syncthreads();", "  ;"));
  EXPECT_TRUE(makes("  sum[i] += x;", "  ;"));
  EXPECT_EQ(lines_of("  const int x = f(a);", "dropped"), std::vector<std::string>{});
  EXPECT_EQ(lines_of("  float x = f(a);", "statement dropped"), std::vector<std::string>{});
  const std::string two = "void f() {\n  store(a);\n  wait();\n}\n";
  bool exchanged = false;
  for (const mutant& m : mutants_of("f.cpp", two))
    exchanged |= mutated(two, m) == "void f() {\n  wait();\n  store(a);\n}\n";
  EXPECT_TRUE(exchanged);
}

TEST(Mutants, NarrowTypesAndLeaveTheStream) {
  EXPECT_TRUE(makes("  std::int64_t n = a;", "  std::int32_t n = a;"));
  EXPECT_TRUE(makes("  k<<<1, 32, 0, stream>>>(a);", "  k<<<1, 32, 0, nullptr>>>(a);"));
  EXPECT_TRUE(makes("  gemm(a, stream);", "  gemm(a, nullptr);"));
}

TEST(Mutants, AreLazy) {
  EXPECT_TRUE(makes("  for (int i = 0; i < n; ++i) f(i);", "  for (int i = 0; i < n && i < 1000; ++i) f(i);"));
  const auto ends = [](const std::string& bound) {
    const std::string source = "void f() {\n  for (int i = 0; i < " + bound + "; ++i) g(i);\n}\n";
    const auto all = mutants_of("f.cpp", source, {"rows"});
    return std::any_of(all.begin(), all.end(), [](const mutant& m) { return m.what == "i ends at 1000"; });
  };
  EXPECT_TRUE(ends("rows / 4"));
  EXPECT_FALSE(ends("tile::rows_of_one"));
  EXPECT_TRUE(makes("  k<<<1, 32, 0, stream>>>(a);", "  k<<<1, 32, 0, stream>>>(a); k<<<1, 32, 0, stream>>>(a);"));
  EXPECT_TRUE(makes("  float most = -INFINITY;", "  float most = -500.0f;"));
  EXPECT_TRUE(
      makes("  const float a = f(b, c);", "  const float a = static_cast<float>(static_cast<_Float16>(f(b, c)));"));
  EXPECT_EQ(lines_of("  float a = b, c = d;", "fp16"), std::vector<std::string>{});
  int left = 0;
  for (const char* file : {"f.cu", "f.cpp"})
    for (const mutant& m : mutants_of(file, "void f(int n) {\n  if (n > 0) {\n  }\n}\n__global__ void k() {\n}\n"))
      left += m.what.ends_with(" left") ? 1 : 0;
  EXPECT_EQ(left, 2) << "one in the host function of each file";
}

TEST(Mutants, LeaveErrorChecksAndDynamicSharedMemoryAlone) {
  EXPECT_EQ(lines_of("  LAB_CUDA_CHECK(cudaGetLastError());"), std::vector<std::string>{});
  EXPECT_FALSE(makes("  k<<<n, 32, 0, stream>>>(a);", "  k<<<n, 32, 1, stream>>>(a);"));
  EXPECT_TRUE(makes("  k<<<n, 32, 0, stream>>>(a);", "  k<<<n, 33, 0, stream>>>(a);"));
}

TEST(Mutants, LeaveCommentsStringsAndDirectivesAlone) {
  EXPECT_EQ(lines_of("  // a + b < 3"), std::vector<std::string>{});
  EXPECT_EQ(lines_of("#define N 3"), std::vector<std::string>{});
  EXPECT_EQ(lines_of("  \"a + 1\""), std::vector<std::string>{});
  EXPECT_EQ(lines_of("  std::vector<int> x;"), std::vector<std::string>{});
}

TEST(Mutants, LeaveMainFunctionsAlone) {
  for (const mutant& m : mutants_of("f.cu", "void f() {\n  a += 2;\n}\n[[gnu::weak]] int main() {\n  a += 3;\n}\n"))
    EXPECT_LE(m.line, 2);
}

}  // namespace
}  // namespace grading
