// A library loaded into a runner to find where it crashes (crash_place.cpp): on a fatal signal it prints the stack as
// offsets into the program file, and lets the signal end the program.
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace {

std::uintptr_t base;

void report(int signal) {
  void* stack[32];
  const int depth = backtrace(stack, 32);
  // The first is this function. All except the one that crashed are return addresses, one past the call.
  for (int i = 1; i < depth; ++i) {
    char line[40];
    const auto at = reinterpret_cast<std::uintptr_t>(stack[i]) - base - (i > 2 ? 1 : 0);
    const int length = std::snprintf(line, sizeof line, "crashed at 0x%zx\n", static_cast<std::size_t>(at));
    if (write(STDOUT_FILENO, line, static_cast<std::size_t>(length)) < 0) break;
  }
  raise(signal);  // the handler is gone: this ends the program
}

__attribute__((constructor)) void install() {
  unsetenv("LD_PRELOAD");  // other programs that it starts are not our concern
  dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t, void*) {
        base = program->dlpi_addr;
        return 1;  // the first is the program itself
      },
      nullptr);
  void* stack[1];
  backtrace(stack, 1);  // loads its library now, not in a handler
  static char room[64 << 10];
  const stack_t other{room, 0, sizeof room};
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = report;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  for (const int fatal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(fatal, &action, nullptr);
}

}  // namespace
