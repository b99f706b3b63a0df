// Typical launches, text that only looks like a launch, and features that are refused.
#include "../tools/lower.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "../tools/assembler.hpp"
#include "../tools/refuse.hpp"
#include "../tools/variables.hpp"

namespace {

using sim::lower_launches;

/// A lowered launch in a macro, or in a macro's argument.
std::string in_line(const std::string& kernel, const std::string& configuration) {
  return "SIM_KERNEL(" + kernel + ")(::sim::configure(" + configuration + "))";
}
/// In ordinary text: `before` is what precedes it on its line.
std::string aligned(const std::string& before, const std::string& kernel, const std::string& configuration, int line) {
  const std::string back = "\n#line " + std::to_string(line) + "\n";
  std::size_t column = before.size();
  std::string text = before + " ::sim::named_kernel(\"" + kernel + "\", [=](auto... sim_arguments) SIM_OF_LAUNCH {" +
                     back + std::string(column, ' ') + kernel;
  column += kernel.size() + 3;
  text += "(sim_arguments...); }, SIM_SIGNATURE(" + kernel + "))(::sim::configure(" + back + std::string(column, ' ') +
          configuration;
  column += configuration.size() + 3;
  return text + "))" + back + std::string(column, ' ');
}

TEST(LowerLaunches, TakesTheBlanksOfVisualStudio) {
  EXPECT_EQ(lower_launches("CHECK(k << <1, f<int>(2)>> >(x));"), "CHECK(" + in_line("k ", "1, f<int>(2)") + "(x));");
  EXPECT_EQ(lower_launches("CHECK(k<int> << <1, 2>>> (x));"), "CHECK(" + in_line("k<int> ", "1, 2") + " (x));");
  EXPECT_EQ(lower_launches("CHECK(k<<<1, f<g<int>> >(x)>>>(x));"),
            "CHECK(" + in_line("k", "1, f<g<int>> >(x)") + "(x));");
  for (const char* other :
       {"s operator<< <int>(a);", "std::cout << < 3;", "k << <= 3", "std::vector<std::vector<a<b>> >(3);"})
    EXPECT_EQ(lower_launches(other).find("configure"), std::string::npos) << other;
}

TEST(LowerLaunches, FindsTheKernelsName) {
  for (const char* kernel : {"k",
                             "ns::k",
                             "::ns::k",
                             "k<int>",
                             "k<int, 4>",
                             "ns::k<float, true>",
                             "k<a<b>>",
                             "k<a<b<c>>>",
                             "k<a<b<c<d>>>>",
                             "k<(3 > 2)>",
                             "k<(N>2)>",
                             "k<N << 1>",
                             "k<1 << 2, a<b>>",
                             "k<(a >> 1)>",
                             "k<a <= b>",
                             "k<a < b>",
                             "k<'>'>",
                             "KERNEL(float)",
                             "(k)",
                             "(ns::k<int>)",
                             "ns<int>::k<4>",
                             "::ns::k<T>",
                             "k<f(1), x[2]>",
                             "k<p->q>",
                             "k<T> /* why */",
                             "k // why\n",
                             "k<int,\n  4>",
                             "k<decltype(x)>",
                             "k<T{}>",
                             "k\xc3\xa9"})
    EXPECT_EQ(lower_launches(std::string("f(") + kernel + "<<<g, b>>>(x));"), "f(" + in_line(kernel, "g, b") + "(x));");
}

TEST(LowerLaunches, FindsTheKernelExpression) {
  for (const char* kernel :
       {"object.member", "pointer->member", "table[i]", "table[i][j + 1]", "make(x)", "make<int>(x)", "(flag ? a : b)",
        "(*pointer)", "object.template k<3>", "this->k", "static_cast<f*>(p)", "ns::table[i < 3]"})
    EXPECT_EQ(lower_launches(std::string("f(") + kernel + "<<<g, b>>>(x));"),
              "f(SIM_KERNEL_VALUE(" + std::string(kernel) + ")(::sim::configure(g, b))(x));");
  EXPECT_EQ(lower_launches("t[1]<<<g>>>(x);"),
            " ::sim::kernel_value(\"t[1]\", \n#line 1\nt[1])(::sim::configure(\n#line 1\n       g))\n#line 1\n"
            "           (x);");
}

TEST(LowerLaunches, KeepsConfigurations) {
  for (const char* c : {"1, 1",
                        "dim3(a, b), dim3{c, d}",
                        "g, b, n * sizeof(float), stream",
                        "(n + 255) / 256, 256",
                        "f(a, h(b)), b",
                        "n >> 3, 1 << 5",
                        " g , b ",
                        "g, b /* why */, 0, s",
                        "f<a<b<int>>>(), 2",
                        "n < 5 ? 1 : 2, 256",
                        "grid<int, 3>(), 1",
                        "1, size<a<b>>",
                        "1, size<a>",
                        "g, // grid\n b",
                        "n > 5 ? 1 : 2, 256",
                        "a<b>::c, f<d>(e) >> 2",
                        "(f)([&] { return \">>>\"; }), 1",
                        "1, ')'",
                        "1, R\"(>>>)\"[0]",
                        "a < b, c < d, e < f"})
    EXPECT_EQ(lower_launches(std::string("f(k<<<") + c + ">>>(x));"), "f(" + in_line("k", c) + "(x));");
}

TEST(LowerLaunches, WorksAfterStatements) {
  for (const std::string before :
       {"", "if (x) ", "else ", "return ", "do ", "a, ", "{ ", "x = 1; ", "case 1:", "if constexpr (a<b>::c) ",
        "auto f = [=] { ", "(void)", "\t  ", "here:", "/* k<<< */ ", "if (a) f(b); "})
    EXPECT_EQ(lower_launches(before + "k<<<1, 2>>>(3); }"), aligned(before, "k", "1, 2", 1) + "(3); }");
  EXPECT_EQ(lower_launches("a;\n\n  k<int><<<g>>>(x);\n  b;"),
            "a;\n\n" + aligned("  ", "k<int>", "g", 3) + "(x);\n  b;");
  EXPECT_EQ(lower_launches("\xEF\xBB\xBFk<<<1>>>();"), "\xEF\xBB\xBF" + aligned("", "k", "1", 1) + "();");
  EXPECT_EQ(lower_launches("k<<<1>>>();\r\nb;\r\n"), aligned("", "k", "1", 1) + "();\r\nb;\r\n");
}

TEST(LowerLaunches, StaysOnTheLineInMacros) {
  EXPECT_EQ(lower_launches("#define GO(k) k<<<1, 2>>>(3)\nGO(f);"),
            "#define GO(k) " + in_line("k", "1, 2") + "(3)\nGO(f);");
  EXPECT_EQ(lower_launches("#define GO (k)<<<1, 2>>>(3)"), "#define GO " + in_line("(k)", "1, 2") + "(3)");
  EXPECT_EQ(
      lower_launches("#define GO(...) \\\n  do { \\\n    k<T><<<g, \\\n b>>>(__VA_ARGS__); \\\n  } while (0)\n"),
      "#define GO(...) \\\n  do { \\\n    " + in_line("k<T>", "g, \\\n b") + "(__VA_ARGS__); \\\n  } while (0)\n");
  EXPECT_EQ(lower_launches("#define GO(...) \\ \r\n k<<<1>>>(__VA_ARGS__) \\\r\n\r\n"),
            "#define GO(...) \\ \r\n " + in_line("k", "1") + "(__VA_ARGS__) \\\r\n\r\n");
  EXPECT_EQ(lower_launches("CHECK([&] { k<<<1, 2>>>(); });"), "CHECK([&] { " + in_line("k", "1, 2") + "(); });");
  EXPECT_EQ(lower_launches("k<<<1>>>(x, [&] { j<<<2>>>(); });"),
            aligned("", "k", "1", 1) + "(x, [&] { " + in_line("j", "2") + "(); });");
  // One branch does not close what the other leaves open.
  EXPECT_EQ(lower_launches("#if A\nf(\n#else\ng(\n#endif\nk<<<1>>>());"),
            "#if A\nf(\n#else\ng(\n#endif\n" + in_line("k", "1") + "());");
}

TEST(LowerLaunches, IgnoresTextThatIsNotALaunch) {
  for (const char* text : {"// k<<<1, 2>>>()\n",
                           "// \\\n k<<<1, 2>>>()\n",
                           "// \\\r\n k<<<1, 2>>>()\r\n",
                           "/* k<<<1, 2>>>() */",
                           "\"k<<<1, 2>>>()\"",
                           "R\"(k<<<1, 2>>>())\"",
                           "R\"x(a)\" k<<< )x\"",
                           "u8R\"(\" k<<<1>>>)\"",
                           "'<'",
                           "a << b >> c",
                           "x<y<z>>",
                           "1'000'000",
                           "",
                           "\\",
                           "\"unfinished",
                           "operator<<<char>(s, \"\");",
                           "std::operator<< <char>(s, 1)",
                           "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n",
                           "#error do not use k<<<1, 2>>>\n",
                           "\"a\\\nk<<<1>>>()\"",
                           "\"a\\\r\nk<<<1>>>()\"",
                           "\xEF\xBB\xBF// a mark\r\n",
                           "no newline",
                           "#include <it's>\n\"k<<<1>>>\""})
    EXPECT_EQ(lower_launches(text), text);
}

std::string refused(const std::string& source) {
  const std::string lowered = lower_launches(source);
  const std::size_t begin = lowered.find("GCC error \\\"");
  if (begin == std::string::npos) return "not refused: " + lowered;
  return "line " + std::to_string(1 + std::count(lowered.begin(), lowered.begin() + static_cast<long>(begin), '\n')) +
         ": " + lowered.substr(begin + 12, lowered.find("\\\"", begin + 12) - begin - 12);
}

TEST(LowerLaunches, ReportsErrors) {
  EXPECT_EQ(refused("\n\nk<<<1, 2(x);"), "line 3: this <<< has no >>>");
  EXPECT_EQ(refused("\n<<<1, 2>>>(x);"), "line 2: there is no kernel before this <<<");
  EXPECT_EQ(refused("; )<<<1, 1>>>(x);"), "line 1: there is no kernel before this <<<");
  EXPECT_EQ(refused("return <<<1, 1>>>(x);"), "line 1: there is no kernel before this <<<");
  EXPECT_EQ(refused("k<<<>>>(x);"), "line 1: <<<>>> needs a grid and a block");
  EXPECT_EQ(
      refused("#define ARGS(g, b) <<<g, b>>>"),
      "line 1: this macro has a <<< without its kernel, which is not simulated; write kernel<<<grid, block>>> into it");
  const std::string branches =
      ": this launch begins in one branch of an #if and ends in another; write the whole launch into each";
  EXPECT_EQ(refused("#if A\nk\n#else\nj\n#endif\n<<<1>>>();"), "line 6" + branches);
  EXPECT_EQ(refused("k<<<1,\n#if A\n2>>>();\n#else\n3>>>();\n#endif"), "line 1" + branches);
  EXPECT_EQ(lower_launches("k<<<1,\n#if A\n2\n#else\n3\n#endif\n>>>();").find("GCC"), std::string::npos);
}

TEST(LowerLaunches, KeepsTheTypesOfKernelsCastToVoid) {
  const std::string kernels =
      "__global__ void __launch_bounds__(64, 2) k(int); template <int N> __global__ void t(); cudaLaunchParams p;\n";
  const auto lowered = [&](const std::string& text) { return lower_launches(kernels + text).substr(kernels.size()); };
  EXPECT_EQ(lowered("f((void*)k, 1);"), "f((void*)::sim::kernel_address(k), 1);");
  const std::string more = "__global__ void __cluster_dims__(2, 1) __maxnreg__(64) c(int); ";
  EXPECT_EQ(lowered(more + "f((void*)c);"), more + "f((void*)::sim::kernel_address(c));");
  EXPECT_EQ(lowered("f((const void *)&ns::k);"), "f((const void *)::sim::kernel_address(&ns::k));");
  EXPECT_EQ(lowered("f((void const*)&k);"), "f((void const*)::sim::kernel_address(&k));");
  EXPECT_EQ(lowered("p.func = (void*)t<4, g<3>>;"), "p.func = (void*)::sim::kernel_address(t<4, g<3>>);");
  EXPECT_EQ(lowered("reinterpret_cast<void*>(k)"), "reinterpret_cast<void*>(::sim::kernel_address(k))");
  EXPECT_EQ(lowered("cudaLaunchKernel((void*)other, a);"), "cudaLaunchKernel((void*)::sim::kernel_address(other), a);");
  for (const char* text :
       {"f((void*)other);", "void f(void*) const;", "(void)k;", "cudaLaunchKernel((void*)&other);", "k(1);"})
    EXPECT_EQ(lowered(text), text);
  // Not C++, but kept exactly once, with an error message.
  for (const char* text :
       {"cudaLaunchKernel((void*)s<<<cale<2>, a); rest", "cudaLaunchKernel((void*)<<<&other, a); rest"}) {
    const std::string once = lowered(text);
    EXPECT_EQ(once.find("cudaLaunchKernel"), once.rfind("cudaLaunchKernel")) << once;
    EXPECT_EQ(once.find("rest"), once.rfind("rest")) << once;
    EXPECT_EQ(lowered(once), once);
  }
}

TEST(LowerLaunches, TurnsTheKeywordIntoAnAttribute) {
  EXPECT_EQ(lower_launches("static __device__ __noinline__ float f(float x);"),
            "static __device__ __attribute__((noinline)) float f(float x);");
  EXPECT_EQ(
      lower_launches("__constant__ const int a[2] = {1, 2}; static const __constant__ float* p; __constant__ int b;"),
      "             const int a[2] = {1, 2}; static const __constant__ float* p; __constant__ int b;");
  EXPECT_EQ(lower_launches("#define UNROLL #pragma unroll\nint x;"), "#define UNROLL \nint x;");
  const char* guard = "#define A_H\n#pragma once\nint x;";  // two directives, one after the other
  EXPECT_EQ(lower_launches(guard), guard);
  for (const char* attribute : {"__attribute__((__noinline__)) void f();", "[[gnu::__noinline__]] void f();",
                                "__attribute__((cold, __noinline__)) void f();", "// __noinline__"})
    EXPECT_EQ(lower_launches(attribute), attribute);
}

TEST(Lower, MarksLoopsThatAreNotToBeUnrolled) {
  const std::string mark = "::sim::rolled_loop()";
  EXPECT_EQ(lower_launches("#pragma unroll 1\nfor (int k = 0; k < n; ++k) f(k);"),
            "#pragma unroll 1\nfor (int k = 0; k < n; ++k, " + mark + ") f(k);");
  EXPECT_EQ(lower_launches("#pragma unroll(1)\nfor (;;) f();"), "#pragma unroll(1)\nfor (;;" + mark + ") f();");
  for (const std::string same :
       {"#pragma unroll\nfor (int k = 0; k < n; ++k) f(k);", "#pragma unroll 16\nfor (int k = 0; k < n; ++k) f(k);",
        "#pragma unroll 1\nfor (int x : all) f(x);", "#pragma unroll 1\nwhile (f());"})
    EXPECT_EQ(lower_launches(same), same);
  const std::string once = lower_launches("#pragma unroll 1\nfor (int k = 0; k < n; ++k) f(k);");
  EXPECT_EQ(lower_launches(once), once);
}

TEST(LowerLaunches, AlignsSharedMemory) {
  EXPECT_EQ(lower_launches("__shared__ alignas(16 * sizeof(int)) float x[4];"),
            "__shared__ __attribute__((aligned(16 * sizeof(int)))) float x[4];");
  EXPECT_EQ(lower_launches("alignas(16) __shared__ float x[4];"), "alignas(16) __shared__ float x[4];");
}

// ---- what is not simulated ------------------------------------------------------------------------------------------

/// All refusals, one per line.
std::string all_refused(const std::string& source) {
  std::string all;
  const std::vector<sim::token> tokens = sim::tokens_of(source);
  std::vector<sim::edit> edits = sim::refusals(source, tokens);
  for (const sim::edit& e : sim::assembler_edits(source, tokens)) edits.push_back(e);
  for (const sim::edit& e : edits) {
    const std::size_t begin = e.text.find("GCC error ");
    if (begin == std::string::npos) continue;
    const std::size_t quote = e.text.find('"', begin);
    const std::size_t length = e.text.find_first_of("\\\"", quote + 1) - quote - 1;
    all += std::to_string(1 + std::count(source.begin(), source.begin() + static_cast<long>(e.at), '\n')) + ": " +
           e.text.substr(quote + 1, length) + "\n";
  }
  return all;
}

std::string in_device_code(const std::string& statement) { return "__device__ void f() {\n" + statement + "\n}"; }

TEST(Refusals, OfInlinePtxNameInstructionAndReason) {
  const auto device = [](const std::string& statement) { return all_refused(in_device_code(statement)); };
  const auto one = [&](const std::string& instruction, const std::string& operands = "") {
    return device("asm volatile(\"" + instruction + "\"" + operands + ");");
  };
  const std::string address = " :: \"l\"(p), \"r\"(x)", result = " : \"=r\"(x) : \"r\"(y)";
  EXPECT_EQ(one("tcgen05.fence::before_thread_sync;"),
            "2: inline PTX (tcgen05.fence::before_thread_sync) is not simulated; use mma.sync\n");
  EXPECT_EQ(one("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0}, %1, %1, %1, 0, 1, 1, 1, 0, 0;", result),
            "2: inline PTX (wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16) is not simulated: of sparse "
            "matrices; use dense ones\n");
  EXPECT_EQ(one("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0}, %1, %1, 1, 1, 1, 0, 0;", result),
            "2: inline PTX (wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16) is not simulated: it needs 4 "
            "registers for sums, and four for A or its descriptor\n");
  EXPECT_EQ(one("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%1}], "
                "[%1];",
                " :: \"l\"(p), \"r\"(x)"),
            "2: inline PTX (cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes) is not "
            "simulated: it needs 2 coordinates\n");
  EXPECT_EQ(one("wgmma.fence.sync.aligned;") + one("cp.async.bulk.commit_group;") +
                one("barrier.cluster.arrive.release.aligned;"),
            "");
  EXPECT_EQ(one("fns.b32 %0, %1, 0, 1;", result), "2: inline PTX (fns.b32) is not simulated; rewrite it in CUDA C++\n");
  EXPECT_EQ(one("mov.u32 %0, %%gridid;", " : \"=r\"(x)"),
            "2: inline PTX (%gridid) is not simulated; rewrite it in CUDA C++\n");
  EXPECT_EQ(one("ld.param.u32 %0, [%1];", result),
            "2: inline PTX (ld.param.u32) is not simulated: .param memory is not supported\n");
  EXPECT_EQ(one("add.rz.f32 %0, %1, %1;", result),
            "2: inline PTX (add.rz.f32) is not simulated: rounding .rz is not supported; use an intrinsic such as "
            "__fadd_rz\n");
  EXPECT_EQ(one("add.foo.u32 %0, %1, %1;", result),
            "2: inline PTX (add.foo.u32) is not simulated: the modifier .foo is unknown here\n");
  EXPECT_EQ(one("add.u32 %0, %1;", result),
            "2: inline PTX (add.u32) is not simulated: it has too few or too many operands\n");
  EXPECT_EQ(one("add.b32 %0, %1, %1;", result),
            "2: inline PTX (add.b32) is not simulated: type .b32 is not supported\n");
  EXPECT_EQ(one("add.u32 %1, %0, %0;", result),
            "2: inline PTX (add.u32) is not simulated: its result needs a writable register: an output of the asm\n");
  EXPECT_EQ(one("st.global.v4.f64 [%0], {%1, %1, %1, %1};", address),
            "2: inline PTX (st.global.v4.f64) is not simulated: an access moves at most 16 bytes on an H200\n");
  EXPECT_EQ(one("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%0}, {%1}, {%1}, {%0};", result),
            "2: inline PTX (mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16) is not simulated: the shape m8n8k4 is not "
            "supported for .f16\n");
  EXPECT_EQ(
      one("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, {%1}, {%1}, {%0};", result),
      "2: inline PTX (mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32) is not simulated: it needs 4, 4, 2 and 4 "
      "registers\n");
  EXPECT_EQ(one("mov.u32 %0, %2;", result), "2: cannot parse inline PTX: there is no operand %2\n");
  EXPECT_EQ(one("mov.u32 %0, q;", result), "2: cannot parse inline PTX: 'q' is not declared\n");
  EXPECT_EQ(one("mov.u32 %0, %1", result), "2: cannot parse inline PTX: ';' is missing\n");
  EXPECT_EQ(one("{ mov.u32 %0, %1;", result), "2: cannot parse inline PTX: '}' is missing\n");
  EXPECT_EQ(one("mov.u32 %0, %[y];", " : \"=r\"(x) : [y] \"r\"(y)"),
            "2: inline PTX with named operands is not simulated; use %0, %1 and so on\n");
  EXPECT_EQ(one("mov.u32 %0, %1;", " : \"=a\"(x) : \"r\"(y)"),
            "2: inline PTX has an operand whose constraint is none of h, r, l, f, d, n\n");
  EXPECT_EQ(one("mov.u32 %0, %1;", " : \"r\"(x) : \"r\"(y)"),
            "2: inline PTX has an output without = or +, or an input with one\n");
  EXPECT_EQ(device("asm(CODE : \"=r\"(x));"),
            "2: inline PTX assembled by a macro is not simulated; write the instruction in the string\n");
  EXPECT_EQ(device("asm(\"mov.u32 %0, \"\n#if A\n\"1;\"\n#else\n\"2;\"\n#endif\n : \"=r\"(x));"),
            "2: an #if inside inline PTX is not simulated; write the whole asm statement into each branch\n");
  EXPECT_EQ(all_refused("#define F(i) asm(i : \"=r\"(x) : \"r\"(y))"),
            "1: inline PTX assembled by a macro is not simulated; write the instruction in the string\n");
  EXPECT_NE(all_refused("#define FENCE() \\\n  asm volatile(\"tcgen05.commit;\")"), "");
}

/// One asm statement of device code, translated, without the #lines.
std::string translated(const std::string& statement) {
  const std::string source = in_device_code(statement);
  std::string text = sim::apply(source, sim::assembler_edits(source, sim::tokens_of(source)));
  text = text.substr(text.find('\n') + 1);
  text.resize(text.rfind("\n}"));
  for (std::size_t at = text.find("\n#line"); at != std::string::npos; at = text.find("\n#line"))
    text.erase(at, text.find_first_not_of(' ', text.find('\n', at + 1) + 1) - at);
  return text;
}

TEST(InlinePtx, BecomesCalls) {
  EXPECT_EQ(translated("asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(x));"),
            "__extension__({ auto&& sim_to_0 = (x); auto sim_0 = ::sim::ptx::unwritten<'r'>(); "
            "{ ::sim::ptx::mov<::sim::ptx::u32>(sim_0, ::sim::ptx::laneid()); } "
            "::sim::ptx::output<'r'>(sim_to_0, sim_0); });");
}

TEST(InlinePtx, IsAssembledByMacros) {
  const auto lowered = [](const std::string& source) {
    return sim::apply(source, sim::assembler_edits(source, sim::tokens_of(source)));
  };
  const std::string strings = "#define STR(x) #x\n#define XSTR(x) STR(x)\n#define REG laneid\n";
  std::string text = lowered(strings + in_device_code("asm(\"mov.u32 %0, %%\" XSTR(REG) \";\" : \"=r\"(x));"));
  EXPECT_NE(text.find("::sim::ptx::mov<::sim::ptx::u32>(sim_0, ::sim::ptx::laneid());"), std::string::npos) << text;
  // A macro that makes functions, as moderngpu's do.
  const std::string makes =
      "#define MAKE(type, letter, op) \\\n  __device__ type op##_##type(type a) { \\\n    type r; "
      "asm(#op \".\" #type \" %0, %1, %1;\" : \"=\" #letter(r) : #letter(a)); return r; }\n";
  text = lowered("using u32 = unsigned;\n" + makes + "MAKE(u32, r, add)\nint here;\n");
  EXPECT_NE(text.find("u32 add_u32 ( u32 a )"), std::string::npos) << text;
  EXPECT_NE(text.find("::sim::ptx::add<::sim::ptx::u32>(sim_0, sim_1, sim_1);"), std::string::npos) << text;
  EXPECT_NE(text.find("\n#line 5\n"), std::string::npos) << text;
  text = lowered("#define CODE(i) asm(i : \"=r\"(x) : \"r\"(y))\n" + in_device_code("CODE(\"add.u32 %0, %1, 1;\");"));
  EXPECT_NE(text.find("::sim::ptx::add<::sim::ptx::u32>"), std::string::npos) << text;
  text = lowered(makes + "MAKE(u32, r, tcgen05)\n");
  EXPECT_NE(text.find("inline PTX (tcgen05.u32) is not simulated"), std::string::npos) << text;
}
TEST(InlinePtx, ExpandsMacrosOfTheFile) {
  const std::string macros =
      "#define TWO(i) \"+f\"(d[i]), \"+f\"(d[i + 1])\n#define ALL TWO(0), TWO(2)\n#define ADD \"add.f32 %0, %1, "
      "%3;\"\n";
  const std::string source = macros + in_device_code("asm(ADD : ALL);");
  const std::string text = sim::apply(source, sim::assembler_edits(source, sim::tokens_of(source)));
  EXPECT_NE(text.find("sim_to_3 = ( d [ 2 + 1 ] )"), std::string::npos) << text;
  EXPECT_NE(text.find("::sim::ptx::add<::sim::ptx::f32>(sim_0, sim_1, sim_3);"), std::string::npos) << text;
}

TEST(LaunchBounds, BecomeAConstantOfTheKernel) {
  const std::string kernel = "template <int N>\n__global__ void __launch_bounds__(N * 2, 1) k(int x) {";
  const std::string lowered = sim::lower_launches(kernel + " f(x); }");
  EXPECT_EQ(lowered, kernel +
                         " static constexpr unsigned sim_launch_bounds __attribute__((used)) = ::sim::launch_bounds( N "
                         "* 2 , 1 ) ; f(x); }");
  EXPECT_EQ(sim::lower_launches(lowered), lowered);
  const std::string declared = "__global__ void __launch_bounds__(32) k(int x);";
  EXPECT_EQ(sim::lower_launches(declared), declared);
}

TEST(Clusters, AreDeclaredWhereTheKernelBegins) {
  EXPECT_EQ(sim::lower_launches("template <int N>\n__global__ void __cluster_dims__(N * 2, 1, 1) k(int x) { f(x); }"),
            "template <int N>\n__global__ void __cluster_dims__(N * 2, 1, 1) k(int x) { ::sim::cluster_dims( N * 2 , 1 "
            ", 1 ) ; f(x); }");
  const std::string declared = "__global__ void __cluster_dims__(2, 1, 1) k(int x);";
  EXPECT_EQ(sim::lower_launches(declared), declared);
}

TEST(Refusals, OfTheDevicesOwnMacros) {
  const std::string advice = "leave it out";
  for (const char* text :
       {"SIM_QUIET __global__ void k() {}", "#define F(a, b) a##b\nF(SIM_, QUIET) __global__ void k() {}",
        "#define F(a, b) a %:%: b\nF(SIM, F(_QUI, ET)) __global__ void k() {}", "SIM_QU\\\nIET __global__ void k() {}"})
    EXPECT_NE(all_refused(text).find(advice), std::string::npos) << text << "\n" << all_refused(text);
  EXPECT_EQ(all_refused("#define F(a, b) a##b\nint F(SIM, x), QUIET;"), "");
}

TEST(Refusals, AcceptAssemblyThatIsNotPtx) {
  for (const char* text :
       {"__device__ void f() { asm volatile(\"\" ::: \"memory\"); }", "#define F(i) asm(i : \"=a\"(x) : \"c\"(y))",
        "__device__ void f() { asm(\" \\n\" : \"+r\"(x)); }",
        "void f() { asm volatile(\"rdtsc\" : \"=a\"(lo), \"=d\"(hi)); }", "void f() { asm(\"rep; nop\"); }",
        "void f() { asm(\".byte 0x0f\"); }", "int x asm(\"name\");", "// asm(\"mov.u32 %0, %%laneid;\")",
        "const char* s = \"asm(bar.sync)\";", "/* cudaMipmappedArray_t */", "#ifdef __cluster_dims__\n#endif",
        "struct texture {}; texture<int> t;", "object.cluster_group",
        "#include <cuda_fp16.h>\n#include \"my_cufft.h\""})
    EXPECT_EQ(all_refused(text), "") << text;
}

TEST(Refusals, OfUnsupportedFeatures) {
  EXPECT_EQ(all_refused("\n#include <cusolverSp.h>\n# include \"nvrtc.h\"\n#include <cudnn.h>"),
            "2: cuSOLVER for sparse matrices is not simulated; write the kernel yourself, or run this on a GPU\n"
            "3: NVRTC is not simulated; write the kernel yourself, or run this on a GPU\n"
            "4: cuDNN is not simulated; write the kernel yourself, or run this on a GPU\n");
  EXPECT_EQ(all_refused("cuTensorMapEncodeIm2col(&map);"),
            "1: tensor maps of images are not simulated; use cuTensorMapEncodeTiled\n");
  EXPECT_EQ(all_refused("texture<float, 2> t;\ncudaMipmappedArray_t a;"),
            "1: CUDA 12 removed texture and surface references; use texture and surface objects\n"
            "2: mipmapped textures are not simulated; use an array of one level\n");
}

/// "host names | device names"
std::string variables_in(const std::string& source) {
  sim::variables found;
  sim::add_variables(source, sim::tokens_of(source), found);
  std::string text;
  for (const std::string& name : found.host) text += name + " ";
  text += "|";
  for (const std::string& name : found.device) text += " " + name;
  return text;
}

TEST(Variables, AreTheHostsWhereNothingMarksThem) {
  EXPECT_EQ(variables_in("float tile[32 * 32];"), "tile |");
  EXPECT_EQ(variables_in("namespace a { namespace { static int n = 3, *p, q[2]{1, 2}; } }"), "n p q |");
  EXPECT_EQ(variables_in("extern \"C\" { double total; }"), "total |");
  EXPECT_EQ(variables_in("std::vector<std::pair<int, float>> all; float s::x[4];"), "all x |");
  EXPECT_EQ(variables_in("alignas(16) float tile[4];"), "tile |");
  EXPECT_EQ(variables_in("float table[] = {1, 2}; int after;"), "after table |");
  EXPECT_EQ(variables_in("struct point { float x; } origin;"), "origin |");
  EXPECT_EQ(variables_in("int main() { static float kept[4]; float own[4]; for (;;) { static int n; } }"), "kept n |");
}

TEST(Variables, AreTheDevicesWhereAMarkSaysSo) {
  EXPECT_EQ(variables_in("__device__ float tile[32], *p = tile; __managed__ int n;"), "| n p tile");
  EXPECT_EQ(variables_in("static __device__ __align__(16) float x[4];"), "| x");
  EXPECT_EQ(variables_in("struct s { static __device__ int n; };"), "| n");
  EXPECT_EQ(variables_in("__constant__ float weights[9];"), "| weights");
}

TEST(Variables, AreNobodysInDoubt) {
  for (const char* source :
       {"DEVICE float tile[4];", "#define dev __device__\ndev float tile[4];", "float f(int n);",
        "float f(int n) { return n; }", "__global__ void k() { static int n; }",
        "__host__ __device__ int f() { static int n; return n; }", "struct s { float x; };",
        "enum color { red, green };", "template <class T> T zero;", "using f = float;", "typedef float tile[4];",
        "constexpr float pi = 3;", "int main() { auto f = [] __device__(int i) { static int n; }; }",
        "void f() { run([=] __device__(int i) { static int n; }); }", "KERNEL(k) { static int n; }"})
    EXPECT_EQ(variables_in(source), "|") << source;
}

TEST(Variables, SurviveBranches) {
  EXPECT_EQ(variables_in("#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n static int n; }\nint m;"), "m n |");
}

TEST(Variables, AreFoundInTheAssembly) {
  sim::variables known;
  known.host = {"tile", "other", "both", "x"};
  known.device = {"both"};
  known.device.insert({"coefficients", "shared_by_all"});
  known.managed = {"shared_by_all"};
  const std::string tables = sim::variable_tables(
      "\t.type\t_ZN12_GLOBAL__N_14tileE, @object\n\t.size\t_ZN12_GLOBAL__N_14tileE, 256\n"
      "\t.local\t_ZL5other\n\t.comm\t_ZL5other,16,16\n"
      "\t.type\tx, @object\n\t.size\tx, 8\n"
      "\t.type\tboth, @object\n\t.size\tboth, 4\n"
      "\t.type\t_Z4tilev, @function\n\t.size\t_Z4tilev, .-_Z4tilev\n"
      "\t.type\tcoefficients, @object\n\t.size\tcoefficients, 64\n"
      "\t.type\tshared_by_all, @object\n\t.size\tshared_by_all, 4\n",
      known);
  const std::size_t of_device = tables.find("sim_device_variables");
  ASSERT_NE(of_device, std::string::npos);
  const std::string table = tables.substr(0, of_device);
  EXPECT_NE(tables.find(".long\tcoefficients - ., 64\n"), std::string::npos) << tables;
  EXPECT_GT(tables.find("coefficients"), of_device);
  EXPECT_EQ(tables.find("shared_by_all"), std::string::npos) << tables;
  EXPECT_NE(table.find(".long\t_ZN12_GLOBAL__N_14tileE - ., 256\n"), std::string::npos) << table;
  EXPECT_NE(table.find(".long\t_ZL5other - ., 16\n"), std::string::npos) << table;
  EXPECT_NE(table.find(".long\tx - ., 8\n"), std::string::npos) << table;
  EXPECT_EQ(table.find("both"), std::string::npos) << table;
  EXPECT_EQ(table.find("_Z4tilev"), std::string::npos) << table;
}

}  // namespace
