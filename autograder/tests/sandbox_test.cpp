// The sandbox from inside, and the object check. A machine that cannot make sandboxes skips these tests and says so.
#include "sandbox/sandbox.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "build/box_builder.hpp"
#include "build/names_check.hpp"
#include "build/object_check.hpp"
#include "sandbox/process_executor.hpp"
#include "support/command.hpp"
#include "support/files.hpp"

namespace {

using namespace grading;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

struct Sandbox : testing::Test {
  void SetUp() override {
    if (!sandbox_obstacle().empty()) GTEST_SKIP() << sandbox_obstacle();
  }
  static ran sh(const std::string& script, std::chrono::milliseconds wall = 20s, std::size_t memory = 1u << 30) {
    box what;
    what.tools = true;
    what.processes = 32;
    what.file = 1 << 20;
    what.command = {"/usr/bin/bash", "-c", script};
    return run_in(what, wall::box, wall, memory);
  }
};

TEST_F(Sandbox, HoldsNothingOfTheMachine) {
  EXPECT_EQ(sh("id -u; hostname; ls /; ls /etc /tmp | tr '\\n' ' '").output.substr(0, 10), "65534\nbox\n");
  EXPECT_EQ(sh("ls -d /root /home /work /var /etc/passwd 2>/dev/null").output, "");
  EXPECT_LE(std::stoi(sh("ls /proc | grep -c '^[0-9]'").output), 5) << "its own processes only";
  EXPECT_EQ(sh("env | sort | tr '\\n' ' '").output.find("HOME=/tmp LC_ALL=C.UTF-8"), 0u);
  EXPECT_EQ(sh("ls -l /proc/self/fd | wc -l").output, "5\n") << "0, 1, 2 and the listing's own";
}

TEST_F(Sandbox, HasNoNetworkAndNoKernelDoors) {
  EXPECT_NE(sh("exec 3<>/dev/tcp/127.0.0.1/22").exit_code, 0);
  EXPECT_NE(sh("unshare -U true").exit_code, 0);
  EXPECT_EQ(sh("grep Seccomp: /proc/self/status").output, "Seccomp:\t2\n");
  EXPECT_EQ(sh("grep CapEff /proc/self/status").output, "CapEff:\t0000000000000000\n");
}

TEST_F(Sandbox, KeepsLimits) {
  EXPECT_TRUE(sh("sleep 100", 300ms).timed_out);
  EXPECT_TRUE(sh("x=$(head -c 300M /dev/zero | tr '\\0' x)", 20s, 100u << 20).out_of_memory);
  EXPECT_NE(sh("head -c 2M /dev/zero > /tmp/x").exit_code, 0) << "largest file";
  EXPECT_LE(sh("yes", 1s).output.size(), 64u << 10) << "and the time limit ends it";
}

TEST_F(Sandbox, AForkBombStaysInside) {
  const auto start = std::chrono::steady_clock::now();
  sh(":(){ :|:& };:; sleep 1", 3s);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST_F(Sandbox, NothingOutlivesTheBox) {
  const std::string mark = "313" + std::to_string(getpid());
  sh("sleep " + mark + " & disown; setsid sleep " + mark + " & disown; exit 0");
  usleep(200'000);
  EXPECT_EQ(output_of("ps ax | grep '[s]leep " + mark + "'"), "");
}

TEST_F(Sandbox, ARunnerAnswersFromItsBoxAndIsFrozenBetween) {
  process_executor e(FAKE_RUNNER, {10s}, wall::box);
  lab::request ask;
  ask.entry = "nothing";
  EXPECT_EQ(e.run(ask).end, answer::ending::answered);
  EXPECT_EQ(e.run(ask).end, answer::ending::answered);
  ask.entry = "abort";
  EXPECT_EQ(e.run(ask).what, "the program was killed by SIGABRT (Aborted)");
  ask.entry = "files";
  EXPECT_EQ(e.run(ask).response.error, "0 1 2 3 ");
  ask.entry = "hang";
  process_executor slow(FAKE_RUNNER, {200ms}, wall::box);
  EXPECT_EQ(slow.run(ask).end, answer::ending::timed_out);
}

// Without nvcc, the folder of the missing compiler must not be the course's own.
TEST(Recipes, OpenNoWholeCourseToASubmission) {
  for (const auto& recipe : fs::directory_iterator(fs::path(LAB_BINARY_DIR) / "recipes"))
    EXPECT_EQ(text_of(recipe.path()).find("\"" LAB_SOURCE_DIR "\""), std::string::npos) << recipe.path();
}

TEST_F(Sandbox, DeviceCodeIsBuiltForAGpuAndCheckedAsForTheSimulatedDevice) {
  const fs::path recipe = fs::path(LAB_BINARY_DIR) / "recipes" / "03_coalescing.cuda.json";
  if (!fs::exists(recipe)) GTEST_SKIP() << "no nvcc when this was configured";
  const temporary_folder place("gpu_build");
  const fs::path& folder = place.path();
  fs::create_directories(folder);
  box_builder make(recipe, folder / "objects", wall::box, true, {120s, std::size_t{4} << 30});
  std::map<std::string, hand_in> sources;
  for (const char* name : {"layout.cu", "transpose.cu", "column_sums.cpp"})
    sources[name].text = text_of(fs::path(LAB_SOURCE_DIR) / "labs" / "03_coalescing" / "handin" / name);
  const build_outcome fine = make.build(sources, folder / "runner");
  EXPECT_TRUE(fine.ok) << fine.message;
  EXPECT_TRUE(fs::exists(folder / "runner"));
  const std::string good = sources["layout.cu"].text;
  const auto said_to = [&](const std::string& addition) {
    sources["layout.cu"].text = good + addition;
    return make.build(sources, folder / "runner").message;
  };
  EXPECT_EQ(said_to("int early = rand();\n"), "");
  EXPECT_EQ(said_to("#include <algorithm>\n"
                    "template <class F> __global__ void each(F f) { f(std::min<int>(threadIdx.x, 9)); }\n"
                    "void fill(float* x, cudaStream_t s) { each<<<1, 32, 0, s>>>([=] __device__(int i) { x[i] = 1; }); "
                    "}\n"),
            "");
  EXPECT_NE(said_to("void door() { asm volatile(\"syscall\"); }\n").find("inline assembly"), std::string::npos);
  EXPECT_NE(said_to("extern \"C\" int fork();\nint child() { return fork(); }\n").find("calls fork"),
            std::string::npos);
}

TEST_F(Sandbox, AHandInMayCallWhatTheLabGivesAndNoMoreOfTheStaffs) {
  const temporary_folder place("given");
  const fs::path& folder = place.path();
  fs::create_directories(folder);
  box_builder make(fs::path(LAB_BINARY_DIR) / "recipes" / "08_gpt2.sim.json", folder / "objects", wall::box, true,
                   {120s, std::size_t{4} << 30});
  std::map<std::string, hand_in> sources;
  for (const char* name : {"ranges.cpp", "tracer.cpp", "analysis.cpp", "blocks.cu"})
    sources[name].text = text_of(fs::path(LAB_SOURCE_DIR) / "labs" / "08_gpt2" / "handin" / name);
  const build_outcome fine = make.build(sources, folder / "runner");  // blocks.cu calls unfused.cu
  EXPECT_TRUE(fine.ok) << fine.message;
  sources["analysis.cpp"].text += "#include <gpt2/model.hpp>\nauto all() { return gpt2::parameters({}); }\n";
  EXPECT_NE(make.build(sources, folder / "runner").message.find("calls gpt2::parameters"), std::string::npos);
}

TEST_F(Sandbox, WhatDoesNotCompileIsLeftOut) {
  const temporary_folder place("left_out");
  const fs::path& folder = place.path();
  std::map<std::string, hand_in> good;
  for (const char* name : {"layout.cu", "transpose.cu", "column_sums.cpp"})
    good[name].text = text_of(fs::path(LAB_SOURCE_DIR) / "labs" / "03_coalescing" / "handin" / name);
  const box_builder make(fs::path(LAB_BINARY_DIR) / "recipes" / "03_coalescing.sim.json", folder, wall::box, true, {});
  const auto built_with = [&](const std::map<std::string, std::string>& additions) {
    std::map<std::string, hand_in> sources = good;
    for (const auto& [name, addition] : additions) sources[name].text += addition;
    fs::remove(folder / "runner");
    build_outcome made = make.build(sources, folder / "runner");
    EXPECT_EQ(made.ok, fs::exists(folder / "runner"));
    return made;
  };
  const auto expect_left_out = [](const build_outcome& made, const std::vector<std::string>& words) {
    EXPECT_TRUE(made.ok) << made.message;
    for (const std::string& word : words) EXPECT_NE(made.message.find(word), std::string::npos) << made.message;
    EXPECT_EQ(std::count(made.message.begin(), made.message.end(), '\n') + 1, std::ssize(words)) << made.message;
  };
  expect_left_out(built_with({{"column_sums.cpp", "}\n"}}), {"column_sums.cpp:"});
  expect_left_out(
      built_with({{"layout.cu", "}\n"}, {"column_sums.cpp", "#include <unistd.h>\nint f() { return fork(); }"}}),
      {"layout.cu:", "column_sums.cpp: calls fork"});
  expect_left_out(built_with({{"transpose.cu", "}\nfloat helper() { return 1; }\n"},
                              {"layout.cu", "float helper();\nfloat with_help() { return helper(); }\n"}}),
                  {"transpose.cu:", "layout.cu: calls helper(), which is in no file that is built"});
  expect_left_out(
      built_with({{"transpose.cu",
                   "typedef float four __attribute__((vector_size(16)));\n"
                   "float helper() { return __builtin_ia32_sqrtss(four{1})[0]; }\n"},
                  {"layout.cu", "float helper();\nfloat with_help() { return helper(); }\n"}}),
      {"transpose.cu: uses CPU instructions", "layout.cu: calls helper(), which is in no file that is built"});
  expect_left_out(built_with({{"layout.cu", "#un\\\ndef __builtin_mem\\\ncpy\n"},
                              {"transpose.cu", "%:define __builtin_memset(to, value, bytes) (to)\n"}}),
                  {"layout.cu: redefines __builtin_memcpy", "transpose.cu: redefines __builtin_memset"});
  const build_outcome nothing = built_with({{"layout.cu", "}\n"}, {"transpose.cu", "}\n"}, {"column_sums.cpp", "}\n"}});
  EXPECT_FALSE(nothing.ok);
  std::string& text = good["column_sums.cpp"].text;
  text.replace(text.find("column_sums("), 12, "sums_of_columns(");
  expect_left_out(built_with({}), {"undefined reference to lab03::column_sums("});
}

TEST(Names, ThoseOfTheCompilerAndTheDeviceAreForeignHoweverTheyAreWritten) {
  const std::set<std::string> undefined = {"__tsan_read4",
                                           "_Unwind_GetIP",
                                           "__assert_fail",
                                           "__cxa_get_exception_ptr",
                                           "_ZN3sim12library_callEv",
                                           "_ZN9__gnu_cxx13stdio_filebufEv"};
  const std::pair<const char*, const char*> foreign[] = {
      {"void f() {\n  __tsan_read4(0);\n}", "line 2: __tsan_read4"},
      {"__ts\\\nan_read4(0);", "line 1: __tsan_read4"},
      {"/* \n\n */ extern \"C\" void _ZN3sim12library_callEv();", "line 3: _ZN3sim12library_callEv"},
      {"%:define load _Unwind_GetIP", "line 1: _Unwind_GetIP"},
      {"auto x = __builtin_return(p);", "line 1: __builtin_return"},
      {"__sync_fetch_and_add(p, 1);", "line 1: __sync_fetch_and_add"},
      {"std::set_new_handler(h);", "line 1: set_new_handler"},
      {"sim::library_call();", "line 1: sim"},
      {"namespace s = sim;", "line 1: sim"},
      {"using namespace sim;", "line 1: sim"},
      {"#define S sim", "line 1: sim"},
      {"int x = SIM_UNOBSERVED;", "line 1: SIM_UNOBSERVED"},
      {"#define NDEBUG\n#define __assert_fail(...) 0", "line 2: __assert_fail"},
      {"__gnu_cxx::stdio_filebuf<char> file(3);", "line 1: __gnu_cxx"},
      {"#define J(a, b) a##b\nJ(__tsan, _read4)(0);", "__tsan_read4, put together by ##"},
      {"#define J(a, b) a%:%:b\nJ(si, m)::library_call();", "sim, put together by ##"},
      {"#define K(a) __built##a\nK(in_return)(0);", "__builtin_..., put together by ##"},
  };
  for (const auto& [source, name] : foreign) EXPECT_EQ(foreign_name(source, undefined), name) << source;
  const char* const own[] = {
      "__global__ void __launch_bounds__(256) k(const float* __restrict__ x) { __syncthreads(); }",
      "float v = __shfl_xor_sync(~0u, x, 1); __half h = __float2half(v); __nv_bfloat162 b = __floats2bfloat162_rn(v, "
      "v);",
      "__m256i four = _mm256_setzero_si256(); _mm_prefetch(p, _MM_HINT_T0); if (__builtin_expect(x, 0)) return;",
      "#ifdef __cpp_lib_format\nconst char* where = __FILE__;\n#endif",
      "template <typename _T> struct _Node { _T __value; };",
      "int sim = 3; double simulate(int simd_width); // sim::library_call, __tsan_read4",
      "puts(\"__tsan_read4\");",
      "#define CAT(a, b) a##b\nint CAT(s, 1), CAT(i, 2), CAT(m, 3), sim_lar;"  // no two of these pieces join
  };
  for (const char* source : own) EXPECT_EQ(foreign_name(source, undefined), "") << source;
}

TEST_F(Sandbox, LocallyAndOfficiallyTheSameIsRefusedInTheSameWords) {
  const temporary_folder place("words");
  const fs::path& folder = place.path();
  std::map<std::string, hand_in> sources;
  for (const char* name : {"layout.cu", "transpose.cu", "column_sums.cpp"})
    sources[name].text = text_of(fs::path(LAB_SOURCE_DIR) / "labs" / "03_coalescing" / "handin" / name);
  const std::string good = sources["column_sums.cpp"].text;
  const auto said = [&](const std::string& addition, wall behind) {
    sources["column_sums.cpp"].text = good + addition;
    const box_builder make(fs::path(LAB_BINARY_DIR) / "recipes" / "03_coalescing.sim.json",
                           folder / (behind == wall::box ? "official" : "local"), behind, true, {});
    return make.build(sources, folder / "runner").message;
  };
  replace_file(folder / "own.hpp", "inline int own() { return 1; }\n");
  const std::string own = fmt::format("#include \"{}\"\n", (folder / "own.hpp").string()),
                    own_refused = fmt::format("column_sums.cpp: includes {}, which is not available in official",
                                              (folder / "own.hpp").string());
  const struct {
    const char *addition, *says;
  } cases[] = {
      {own.c_str(), own_refused.c_str()},  // in the folder for temporary files
      {"#include <eigen3/Eigen/Core>\n",
       "column_sums.cpp: includes eigen3/Eigen/Core, which is not available in official"},
      {"#include <cuda/std/mdspan>\n",
       "column_sums.cpp: includes cuda/std/mdspan, which is not available in official grading (the simulated device "
       "has "
       "only a part of CUDA's C++ libraries)"},
      {"#include <thread>\nvoid f() { std::thread([] {}).join(); }\n", "column_sums.cpp: calls std::thread::"},
      {"#include <unistd.h>\nint child() { return fork(); }\n",
       "column_sums.cpp: calls fork, which a submission may not"},
      {"int door() { asm volatile(\"syscall\"); return 1; }\n", "column_sums.cpp: contains inline assembly"},
      {"namespace Eigen::internal { void pack() {} }\n", "column_sums.cpp: uses Eigen (Eigen::internal::pack())"},
      {"#include <iostream>\nint step = 1;\nvoid f() { std::cout << step; }\n", ""}};
  for (const auto& [addition, says] : cases) {
    const std::string official = said(addition, wall::box);
    EXPECT_EQ(official.substr(0, std::strlen(says)), says) << official;
    EXPECT_EQ(official, said(addition, wall::none)) << addition;
    EXPECT_TRUE(official.empty() || official.find("labs/README.md") != std::string::npos) << official;
  }
}

TEST_F(Sandbox, APartOfTheCourseThatIsNotBuiltIsNoFaultOfTheSubmission) {
  const temporary_folder place("unbuilt");
  const fs::path& folder = place.path();
  fs::create_directories(folder);
  auto recipe = nlohmann::json::parse(text_of(fs::path(LAB_BINARY_DIR) / "recipes" / "03_coalescing.sim.json"));
  recipe["libraries"].push_back((folder / "libmissing.a").string());
  replace_file(folder / "recipe.json", recipe.dump());
  EXPECT_THROW(box_builder(folder / "recipe.json", folder / "cache", wall::box, true, {}), input_error);
}

TEST_F(Sandbox, AnErrorAfterPagesOfTemplatesIsTold) {
  const temporary_folder place("pages");
  const fs::path& folder = place.path();
  std::map<std::string, hand_in> sources;
  for (const char* name : {"layout.cu", "transpose.cu", "column_sums.cpp"})
    sources[name].text = text_of(fs::path(LAB_SOURCE_DIR) / "labs" / "03_coalescing" / "handin" / name);
  const std::string name(300, 'x');
  sources["column_sums.cpp"].text +=
      "struct " + name +
      " {};\n"
      "template <int N, class T> int long_way(T x) { if constexpr (N == 0) return x.absent; "
      "else return long_way<N - 1>(x); }\n"
      "int begun() { return long_way<40>(" +
      name + "{}); }\n";
  const box_builder make(fs::path(LAB_BINARY_DIR) / "recipes" / "03_coalescing.sim.json", folder, wall::box, true, {});
  const std::string said = make.build(sources, folder / "runner").message;
  EXPECT_NE(said.find("column_sums.cpp:"), std::string::npos) << said;
  EXPECT_NE(said.find("has no member named"), std::string::npos) << said;
  EXPECT_LE(said.size(), 2000u);
}

// A regular expression that repeats over long text would overflow the judge's stack.
TEST_F(Sandbox, WhatIsOnlyLongIsRefusedInFewWords) {
  const temporary_folder place("long");
  const fs::path& folder = place.path();
  std::map<std::string, hand_in> good;
  for (const char* name : {"layout.cu", "transpose.cu", "column_sums.cpp"})
    good[name].text = text_of(fs::path(LAB_SOURCE_DIR) / "labs" / "03_coalescing" / "handin" / name);
  const box_builder make(fs::path(LAB_BINARY_DIR) / "recipes" / "03_coalescing.sim.json", folder, wall::box, true, {});
  const auto said = [&](const std::string& file, const std::string& addition) {
    std::map<std::string, hand_in> sources = good;
    sources[file].text += addition;
    return make.build(sources, folder / "runner").message;
  };
  const std::string longest(100'000, 'a');
  const auto call_of = [](const std::string& function) {
    return fmt::format("extern \"C\" void {0}();\nvoid call() {{ {0}(); }}\n", function);
  };
  EXPECT_NE(said("transpose.cu", call_of("__tsan_" + longest)).find("transpose.cu: line"), std::string::npos);
  const struct {
    std::string addition;
    const char* says;
  } cases[] = {{call_of("_Unwind_" + longest), "column_sums.cpp: line 18: _Unwind_aaa"},
               {call_of("_Z9cu" + longest), "column_sums.cpp: line 18: _Z9cuaaa"},
               {call_of("_Z" + std::string(30, '9') + "cuda"), "column_sums.cpp: line 18: _Z999"},
               {"#line 1 \"/absent/absent.h\"\nint there;\n#line 1 \"here\"\n#" + std::string(200'000, ' ') + "\n",
                "column_sums.cpp: includes /absent/absent.h, which is not available in official grading"},
               {"#line 1 \"/absent/absent.h\"\nint there;\n#line 1 \"here\"\n// #include <" + longest + ">\n",
                "column_sums.cpp: includes /absent/absent.h, which is not available in official grading"},
               {"#error fatal error: " + longest + "\n", "column_sums.cpp:"}};
  for (const auto& [addition, says] : cases) {
    const std::string message = said("column_sums.cpp", addition);
    EXPECT_EQ(message.substr(0, std::strlen(says)), says) << message.substr(0, 200);
    EXPECT_LE(message.size(), 2000u);
  }
}

TEST(Freeze, StopsEveryThread) {
  const fs::path program = fs::temp_directory_path() / ("freeze_" + std::to_string(getpid()));
  box what;
  what.command = {"/usr/bin/bash", "-c", "while :; do :; done"};
  const child c = start(what, wall::none);
  ASSERT_TRUE(freeze(c.process));
  const auto cpu = [&] {
    std::ifstream in("/proc/" + std::to_string(c.process) + "/schedstat");
    unsigned long long ran = 0;
    in >> ran;
    return ran;
  };
  const auto before = cpu();
  usleep(50'000);
  EXPECT_EQ(cpu(), before);
  thaw(c.process);
  usleep(50'000);
  EXPECT_GT(cpu(), before);
  kill(-c.process, SIGKILL);
}

struct Object : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("object_" + std::to_string(getpid()));
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  std::string compiled(const std::string& source) {
    std::ofstream(folder / "x.cpp") << source;
    EXPECT_EQ(run_command("c++ -std=c++20 -O2 -c -o " + (folder / "x.o").string() + " " + (folder / "x.cpp").string()),
              0);
    return text_of(folder / "x.o");
  }
  std::string refused(const std::string& source) {
    std::vector<std::string> why;
    read_object(compiled(source), why);
    return why.empty() ? "" : why.front();
  }
};

TEST_F(Object, OrdinaryCodeIsFine) {
  EXPECT_EQ(refused("#include <vector>\n#include <cmath>\nstatic const float t[] = {1, 2};\nthread_local int calls;\n"
                    "float f(int i) { static std::vector<float> v(3); ++calls; return std::exp(v.at(i)) + t[i & 1]; }"),
            "");
}

TEST_F(Object, GlobalObjectsAreFine) {
  EXPECT_EQ(refused("#include <iostream>\n#include <string>\nstd::string count = \"none\";\n"
                    "void f() { std::cout << count; }"),
            "");
  EXPECT_EQ(refused("volatile int x; __attribute__((constructor(200))) void f() { x = 1; }\n"
                    "__attribute__((destructor)) void g() { x = 2; }"),
            "");
}

TEST_F(Object, SaysWhatIsNot) {
  EXPECT_NE(refused("__attribute__((section(\".text\"))) const char code[] = {1};\nconst char* f() { return code; }")
                .find("is data in a code section"),
            std::string::npos);
  EXPECT_NE(refused("__attribute__((section(\"own\"))) int x = 1;").find("its own section 'own'"), std::string::npos);
  EXPECT_NE(refused("extern \"C\" { static void* r() { return 0; } void g() __attribute__((ifunc(\"r\"))); }\n"
                    "__attribute__((used)) static void (*keep)() = g;")
                .find("resolved when the program loads"),
            std::string::npos);
}

TEST_F(Object, ShowsNoNameThatUnpacksFar) {
  EXPECT_EQ(
      shown_name("_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE"),
      "std::thread::_M_start_thread(std::unique_ptr<std::thread::_State, std::default_delete<std::thread::_State> "
      ">, void (*)())");
  std::string twice = "_Z1f1pIiiE";  // each type is a pair of the type before it
  for (const char digit : std::string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    twice += std::string("S_IS") + digit + "_S" + digit + "_E";
  EXPECT_EQ(shown_name(twice), twice.substr(0, most_of_a_name));
  std::string packs = "_Z1fIJ" + std::string(50, 'i') + "EEvDp";  // a pack in a pack in a pack
  for (int i = 0; i < 8; ++i) packs += "1pIT_Dp";
  packs += "T_" + std::string(8, 'E');
  EXPECT_EQ(shown_name(packs), packs.substr(0, most_of_a_name));
}

TEST_F(Object, ReadsNothingBeyondADamagedFile) {
  const std::string good = compiled("int f(int x) { return x; }");
  std::vector<std::string> why;
  for (std::size_t i = 0; i < good.size(); i += 3) {
    read_object(std::string_view(good).substr(0, i), why);
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0xFF);
    read_object(bad, why);
  }
  why.clear();
  read_object("not an object", why);
  EXPECT_EQ(why, std::vector<std::string>{"the object file is malformed"});
}

TEST_F(Object, KnowsClassesThatOpenFiles) {
  EXPECT_EQ(file_class_of("_ZNSt14basic_ifstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode"), "std::ifstream");
  EXPECT_EQ(file_class_of("_ZTVSt13basic_filebufIcSt11char_traitsIcEE"), "std::filebuf");
  EXPECT_EQ(file_class_of("_ZNSt10filesystem6removeERKNS_7__cxx114pathE"), "std::filesystem");
  EXPECT_EQ(file_class_of("_ZNSi4readEPcl"), "");
  EXPECT_EQ(file_class_of("open"), "");
}

TEST_F(Object, KnowsWhatMayBeCalled) {
  const fs::path sim = fs::path(LAB_SOURCE_DIR) / "common" / "sim" / "include";
  const callable may(sim, {fs::path(LAB_BINARY_DIR) / "common" / "sim" / "libsim.a"});
  for (const char* yes : {"memcpy",
                          "__memcpy_chk",
                          "expf",
                          "j0",
                          "cexp",
                          "_Znwm",
                          "_ZSt20__throw_length_errorPKc",
                          "cudaMemcpyAsync",
                          "_ZN3sim8allocateEPPvmNS_11memory_kindEPKv",
                          "__cxa_guard_acquire",
                          "_ZNSt13runtime_errorC2EPKc",
                          "printf",
                          "__dynamic_cast",
                          "_ZSt4cout",
                          "_ZNSt8ios_base4InitC1Ev",
                          "_ZSt11__once_call",
                          "pthread_mutex_lock",
                          "__isoc99_sscanf",
                          "time",
                          "getenv",
                          "__divti3",
                          "__cpu_model",
                          "_ZNSt3pmr19new_delete_resourceEv"})
    EXPECT_TRUE(may(yes, false)) << yes;
  for (const char* no : {"fork",
                         "open",
                         "wait",
                         "sync",
                         "times",
                         "fopen",
                         "system",
                         "syscall",
                         "dlsym",
                         "pthread_create",
                         "mprotect",
                         "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
                         "write",
                         "kill",
                         "_ZN3sim10launch_logEv",
                         "signal",
                         "setitimer",
                         "_ZN7grading8read_allEv",
                         "cublasSgemm_v2",
                         "cusparseSpMM",
                         "cufftExecC2C",
                         "ncclBroadcast",
                         "cudaCreateTextureObject",
                         "cudaCreateSurfaceObject",
                         "_ZN3sim29share_device_memory_with_hostEv",
                         "__tsan_read4",
                         "_ZN3sim6launchEPKcRKNS_13configurationEPFvPvES5_m",
                         "_ZNSt10filesystem6removeERKNS_7__cxx114pathE",
                         "_ZNSt14basic_ofstreamIcSt11char_traitsIcEEC1Ev",
                         "socket",
                         "__register_frame"})
    EXPECT_FALSE(may(no, false)) << no;
  EXPECT_TRUE(may("_ZN3sim6launchEPKcRKNS_13configurationEPFvPvES5_m", true));
  for (const char* hook : {"__tsan_read4", "sim_memcpy", "sim_mempcpy", "sim_bcopy", "sim_wmemset"})
    EXPECT_TRUE(may(hook, true)) << hook;
  EXPECT_FALSE(may("_ZN3sim10launch_logEv", true));
  // In a .cu file where accesses by host code are counted.
  for (const char* seen :
       {"sim_memcpy", "expf", "_Znwm", "_ZSt20__throw_length_errorPKc", "_ZNSt13runtime_errorC1EPKc", "printf",
        "__cxa_throw", "_ZTISt9bad_alloc", "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base"})
    EXPECT_TRUE(may.in_sight(seen)) << seen;
  for (const char* unseen :
       {"cudaMemcpy", "cudaMalloc", "swab", "strncpy", "fread", "qsort", "snprintf", "canonicalizef", "setpayload",
        "frexpl", "_ZNSs6assignEPKcm", "_ZTVNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEEE",
        "_ZN3sim6launchEPKcRKNS_13configurationEPFvPvES5_m"})
    EXPECT_FALSE(may.in_sight(unseen)) << unseen;
  EXPECT_TRUE(may.is_the_devices("cudaEventElapsedTime"));
  EXPECT_FALSE(may.is_the_devices("count"));
  // A library that a lab offers its .cpp files: its callbacks run later, and must not run where anything is counted.
  const fs::path built = fs::path(LAB_BINARY_DIR) / "common" / "sim";
  const callable with_cupti(sim, {built / "libsim.a", built / "libsim_cupti.a"});
  EXPECT_TRUE(with_cupti("cuptiActivityEnable", false));
  for (const bool in_a_cu_file : {false, true}) {
    EXPECT_FALSE(may("cuptiActivityEnable", in_a_cu_file));
    EXPECT_FALSE(with_cupti("sim_add_activity", in_a_cu_file));  // the judge's own
  }
  EXPECT_FALSE(with_cupti("cuptiActivityEnable", true));
}

TEST_F(Object, KnowsTheLibrariesThatOneIsMeasuredAgainst) {
  EXPECT_EQ(rival_of("_ZN5Eigen8internal11gebp_kernelIffEE"), "Eigen");
  EXPECT_EQ(rival_of("_ZN12_GLOBAL__N_15Eigen8internal4packEv"), "Eigen");
  EXPECT_EQ(rival_of("cublasSgemm_v2"), "cuBLAS");
  for (const char* own : {"Eigen", "_ZN5Eigen5solveEv", "_ZN5lab064gemmEPfPKfS2_mmm", "boost", "cutlass"})
    EXPECT_EQ(rival_of(own), "") << own;
}

}  // namespace
