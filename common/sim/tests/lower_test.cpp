// Launches as people write them, and text that only looks like one.
#include "../tools/lower.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace {

using sim::lower_launches;

std::string launch(const std::string& kernel, const std::string& configuration) {
  return "SIM_KERNEL(" + kernel + ")(::sim::configure(" + configuration + "))";
}

TEST(LowerLaunches, FindsTheKernelExpression) {
  for (const char* kernel : {"k", "ns::k", "::ns::k", "k<int>", "k<int, 4>", "ns::k<float, true>", "k<a<b>>",
                             "k<(3 > 2)>", "object.member", "pointer->member", "table[i]", "table[i][j + 1]", "make(x)",
                             "(flag ? a : b)", "ns<int>::k<4>", "object.template k<3>", "this->k", "k<f(1), x[2]>"})
    EXPECT_EQ(lower_launches(std::string("{ ") + kernel + "<<<g, b>>>(x); }"),
              "{ " + launch(kernel, "g, b") + "(x); }");
}

TEST(LowerLaunches, KeepsConfigurations) {
  for (const char* c : {"1, 1", "dim3(a, b), dim3{c, d}", "g, b, n * sizeof(float), stream", "(n + 255) / 256, 256",
                        "f(a, h(b)), b", "n >> 3, 1 << 5", " g , b ", "g, b /* why */, 0, s"})
    EXPECT_EQ(lower_launches(std::string("k<<<") + c + ">>>(x);"), launch("k", c) + "(x);");
}

TEST(LowerLaunches, WorksBehindStatementsAndInMacros) {
  EXPECT_EQ(lower_launches("if (x) k<<<1, 2>>>();"), "if (x) " + launch("k", "1, 2") + "();");
  EXPECT_EQ(lower_launches("else k<<<1, 2>>>();"), "else " + launch("k", "1, 2") + "();");
  EXPECT_EQ(lower_launches("return k<<<1, 2>>>();"), "return " + launch("k", "1, 2") + "();");
  EXPECT_EQ(lower_launches("#define GO(k) k<<<1, 2>>>(3)\nGO(f);"),
            "#define GO(k) " + launch("k", "1, 2") + "(3)\nGO(f);");
  EXPECT_EQ(lower_launches("auto f = [=] { k<<<1, 2>>>(); };"), "auto f = [=] { " + launch("k", "1, 2") + "(); };");
}

TEST(LowerLaunches, LeavesAloneWhatIsNoLaunch) {
  for (const char* text :
       {"// k<<<1, 2>>>()\n", "/* k<<<1, 2>>>() */", "\"k<<<1, 2>>>()\"", "R\"(k<<<1, 2>>>())\"", "R\"x(a)\" k<<< )x\"",
        "'<'", "a << b >> c", "x<y<z>>", "1'000'000", "", "\\", "\"unfinished"})
    EXPECT_EQ(lower_launches(text), text);
}

TEST(LowerLaunches, KeepsTheTypesOfKernelsCastToVoid) {
  const std::string kernels =
      "__global__ void __launch_bounds__(64, 2) k(int); template <int N> __global__ void t();\n";
  const auto lowered = [&](const std::string& text) { return lower_launches(kernels + text).substr(kernels.size()); };
  EXPECT_EQ(lowered("f((void*)k, 1);"), "f((void*)::sim::kernel_address(k), 1);");
  EXPECT_EQ(lowered("f((const void *)&ns::k);"), "f((const void *)::sim::kernel_address(&ns::k));");
  EXPECT_EQ(lowered("p.func = (void*)t<4, g<3>>;"), "p.func = (void*)::sim::kernel_address(t<4, g<3>>);");
  EXPECT_EQ(lowered("reinterpret_cast<void*>(k)"), "reinterpret_cast<void*>(::sim::kernel_address(k))");
  EXPECT_EQ(lowered("cudaLaunchKernel((void*)other, a);"), "cudaLaunchKernel((void*)::sim::kernel_address(other), a);");
  for (const char* text :
       {"f((void*)other);", "void f(void*) const;", "(void)k;", "cudaLaunchKernel((void*)&other);", "k(1);"})
    EXPECT_EQ(lowered(text), text);
}

TEST(LowerLaunches, AlignsSharedMemory) {
  EXPECT_EQ(lower_launches("__shared__ alignas(16 * sizeof(int)) float x[4];"),
            "__shared__ __attribute__((aligned(16 * sizeof(int)))) float x[4];");
  EXPECT_EQ(lower_launches("alignas(16) __shared__ float x[4];"), "alignas(16) __shared__ float x[4];");
}

TEST(LowerLaunches, KeepsEveryLine) {
  const std::string source = "a;\nk<int,\n  4>\n<<<grid,\n block /* two\nlines */,\n 0>>>(x,\n y);\n";
  const std::string lowered = lower_launches(source);
  EXPECT_EQ(std::count(lowered.begin(), lowered.end(), '\n'), std::count(source.begin(), source.end(), '\n'));
  EXPECT_NE(lowered.find("SIM_KERNEL(k<int,\n  4>\n)"), std::string::npos);
}

TEST(LowerLaunches, SaysWhatIsWrong) {
  const auto message = [](const std::string& source) -> std::string {
    try {
      return lower_launches(source);
    } catch (const sim::lowering_error& e) {
      return "line " + std::to_string(e.line) + ": " + e.what();
    }
  };
  EXPECT_EQ(message("\n\nk<<<1, 2(x);"), "line 3: this <<< has no >>>");
  EXPECT_EQ(message("\n<<<1, 2>>>(x);"), "line 2: there is no kernel before this <<<");
  EXPECT_EQ(message("k<<<>>>(x);"), "line 1: <<<>>> needs a grid and a block");
  EXPECT_EQ(message("; )<<<1, 1>>>(x);"), "line 1: cannot find what this <<< launches: unbalanced brackets before it");
}

// Whatever the text, the answer is a text of as many lines or a lowering_error; never a crash or an endless loop.
TEST(LowerLaunches, SurvivesAnyText) {
  const char* const pieces[] = {
      "k",        "<<<", ">>>",  "(",   ")",        "<",       ">",          "::", ".",          "->",
      "[",        "]",   "{",    "}",   ";",        ",",       "\n",         "\"", "'",          "//",
      "/*",       "*/",  "R\"(", ")\"", "#",        "\\",      "1'",         "if", " ",          "\\\n",
      "template", "int", ">>",   "<<",  "operator", "(void*)", "__global__", "&",  "__shared__", "alignas"};
  std::mt19937 random(7);
  for (int round = 0; round < 50'000; ++round) {
    std::string text;
    for (unsigned n = random() % 24; n > 0; --n) text += pieces[random() % std::size(pieces)];
    try {
      const std::string lowered = lower_launches(text);
      ASSERT_EQ(std::count(lowered.begin(), lowered.end(), '\n'), std::count(text.begin(), text.end(), '\n')) << text;
    } catch (const sim::lowering_error&) {
    }
  }
}

}  // namespace
