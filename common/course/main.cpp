// ./course run, see, debug and profile: their options. What they do is in programs.cpp.
#include <cstdio>
#include <memory>

#include "command_help.hpp"
#include "programs.hpp"

namespace {

using namespace course;

/// The options that run, see and debug share.
void add_run_options(CLI::App& command, run_request& r) {
  command.allow_extras();  // files, and options of nvcc
  command.add_option("--backend", r.backend, "sim, or cuda: nvcc and a GPU")->capture_default_str();
  command.add_option("--device", r.device, "GPU to simulate")->capture_default_str();
  command
      .add_option("--devices", r.devices,
                  "simulate 1 to 8 devices with links between them, for programs that use several, also through NCCL")
      ->capture_default_str();
  command.add_option("--sample", r.sample, "observe one block in this many: faster, but the counts are estimates")
      ->capture_default_str();
}

bool is_lab(const words& given) {
  return !given.empty() && !given[0].empty() && given[0].find_first_not_of("0123456789") == std::string::npos;
}

int parsed_and_done(words given) {
  folders here;
  run_request r;
  profile_request p;
  fs::path dump;
  CLI::App app(
      "Compiles and runs any CUDA program: on the simulated device, on a GPU, in the debugger, or to profile it.");
  app.formatter(std::make_shared<command_formatter>());
  app.set_help_flag("--help", "print this help");
  app.name("./course")->require_subcommand(1);
  app.add_option("--source", here.source)->group("");
  app.add_option("--build", here.build)->group("");

  CLI::App& run_command = *app.add_subcommand(
      "run",
      R"help(Compiles any CUDA program and runs it in the current directory, on the simulated device or with nvcc on a GPU. On the
simulated device it then prints launches, counters, source lines and what the checkers found; it fails if they found
anything. If Ctrl-C or a time limit stops it, it prints the counts so far.
Several files (.cu, .cpp, .c, .o) and nvcc's options work as with nvcc: -I, -D, -std, -l, -Xcompiler ...
A file in a folder of a lab, such as labs/13_when_it_crashes/crashed, finds the lab's headers.
To run a program that its own Makefile builds with simcc: make NVCC="$(./course simcc)", then ./course run ./main)help");
  add_run_options(run_command, r);
  run_command.add_option(
      "--budget", r.budget,
      "end a program with sizes made for a GPU in about this many seconds: only some blocks of a long\n"
      "launch run, and the results in memory are incomplete. The summary says which counts are still\n"
      "exact");
  run_command.add_option("--schedule", r.schedule,
                         "run blocks, warps and lanes in another order, drawn with this number: some bugs show in one\n"
                         "order only. The same number gives the same order");
  run_command
      .add_option("--csv", r.csv,
                  "print the launches as `ncu --csv --page raw --print-units base` does, or write them to this file")
      ->type_name("[FILE]");

  CLI::App& see_command = *app.add_subcommand(
      "see",
      R"help(Runs a CUDA program as ./course run does, on the simulated device, and writes one page: the source with counts for each line;
for a line, what the 32 lanes of a warp ask of global or shared memory, step by step; divergence, barriers, the grid on the
device, the roofline. The page needs no server and no network. It draws a few warps of the first launches; the counts include
everything. With the number of a lab, ./course see NN [ITEM] draws your own kernels as the items about counters call them, or as
ITEM does; the first is the tab Warp view of the lab's report (build/report/see).)help");
  add_run_options(see_command, r);
  see_command.add_option("--output", r.page, "page to write [build/see/NAME.html]");
  see_command.add_option("--before", r.before, "compare each launch with one of this page, written earlier");

  CLI::App& debug_command = *app.add_subcommand(
      "debug", R"help(Starts gdb on a CUDA program, compiled with -G for the simulated device, or on your own files of a
lab as ITEM calls them: ./course debug NN ITEM. The commands are cuda-gdb's: break FILE.cu:12 if
threadIdx.x == 17, cuda thread (5,0,0), info cuda threads; and also lanes EXPRESSION and shared. It stops where a checker finds
something. Guide: common/docs/DEBUGGER.md)help");
  add_run_options(debug_command, r);
  debug_command.add_option("--commands", r.commands, "run the commands of this script, and end");
  debug_command.add_flag("--build", r.only_build,
                         "only compile, into build/debug, for an editor that starts gdb itself");
  debug_command.add_option("--dump", dump, "open this dump, which generate-core-file FILE writes in the debugger");

  CLI::App& profile_command = *app.add_subcommand(
      "profile",
      R"help(Runs a program and prints where its time goes, by its ranges (lab::range or NVTX), and what each range did: launches, bytes,
FLOP and its share of the roof. Writes profile.json, trace.json (for ui.perfetto.dev) and roofline.svg. PROGRAM is one of the
course's programs, such as gpt2, or a file: a FILE.cu is compiled first, and its main runs several times. It runs on a GPU if
there is one (cuda), otherwise on the simulated device with modelled times (sim); a FILE.cpp runs on the CPU (cpu). Options that
profile does not know go to the program, as does what follows --: gpt2 --prompt TEXT continues a text.)help");
  profile_command.prefix_command();
  profile_command.add_option("PROGRAM", p.name, "a program of the course, FILE.cu or FILE.cpp")->required();
  profile_command.add_option("--backend", p.backend, "cpu, sim or cuda");
  profile_command.add_option("--output", p.output, "folder to write to [build/profile/PROGRAM]");
  profile_command.add_flag(
      "--flame", p.flame,
      "also write flame.folded, a flame graph of CPU and kernel lines, for www.speedscope.app; guide:\n"
      "common/cuda/README.md");

  // What follows -- goes to the program; in profile, so do an unknown option and what follows it.
  const words commands = {"run", "see", "debug", "profile"}, known = options_of(profile_command);
  const auto named = std::find_first_of(given.begin(), given.end(), commands.begin(), commands.end());
  const bool profiles = named != given.end() && *named == "profile";
  const auto end = std::find_if(named, given.end(), [&](const std::string& word) {
    return word == "--" || (profiles && word.starts_with("-") &&
                            std::count(known.begin(), known.end(), word.substr(0, word.find('='))) == 0);
  });
  const words arguments(end != given.end() && *end == "--" ? end + 1 : end, given.end());
  given.erase(end, given.end());
  // --csv takes the next word only if that is not a file to compile.
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i] == "--csv" && (i + 1 == given.size() || given[i + 1].starts_with("-") || is_source(given[i + 1])))
      given[i] = "--csv=-";
  std::reverse(given.begin(), given.end());  // CLI11 takes vectors in reverse order
  try {
    app.parse(given);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    throw usage_error(explained(app, error));
  }
  const CLI::App& command = *app.get_subcommands().back();
  const words rest = command.remaining();
  if (command.get_name() == "profile") {
    if (!rest.empty()) throw usage_error("one program at a time; put its arguments after --");
    p.arguments = arguments;
    return profile(here, p);
  }
  if (!dump.empty()) return debug_dump(here, dump, r.commands);
  if (command.get_name() == "debug" && is_lab(rest))
    return debug_item(here, rest[0], rest.size() == 2 ? rest[1] : "", r.commands);
  r.given = rest;
  r.arguments = arguments;
  r.see = command.get_name() == "see";
  r.debug = command.get_name() == "debug";
  const int status = run(here, r);
  // An option that the compiler does not know may be one of ours.
  for (const std::string& word : rest)
    if (const std::string text = no_such("option", word, options_of(command));
        word.starts_with("--") && status != 0 && text.ends_with("?"))
      std::fprintf(stderr, "course: %s\n", text.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return parsed_and_done(words(argv + 1, argv + argc));
  } catch (const usage_error& error) {
    std::fprintf(stderr, "course: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "course: %s\n", error.what());
    return 1;
  }
}
