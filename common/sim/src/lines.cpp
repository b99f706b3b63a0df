// Source lines from the program's debug information.
#include "lines.hpp"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace sim {
namespace {

/// Ours, in the source tree or installed: a program may have a folder sim/include, too.
bool in_our_headers(const std::string& file) {
  for (const char* folder : {"common/sim/include/", "common/sim/interface/", "lib/sim/include/", "lib/sim/interface/"})
    if (file.find(folder) != std::string::npos) return true;
  return false;
}

/// A compiler's or a library's headers, in any folder if the compiler is not the system's or is for another system.
bool in_system_headers(const std::string& file) {
  const auto has = [&](const char* folder) { return file.find(folder) != std::string::npos; };
  return has("/usr/include/") || has("/include/c++/") || (has("/usr/lib/") && has("/include/"));
}

/// `line` itself or, for a line of a device or system header, the line of the program that called the header's
/// function: GPU profilers attribute inlined instructions in the same way. Likewise for compiler-generated functions,
/// such as a struct's copy constructor, whose line would be the struct's.
source_line written_line(Dwfl* session, std::uintptr_t pc, source_line line) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_addrdie(session, pc, &bias);
  Dwarf_Attribute attribute;
  const char* directory = unit ? dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute)) : nullptr;
  if (!directory) return line;
  const auto in_header = [&] {
    const std::filesystem::path path = std::filesystem::path(directory) / line.file;
    const std::string file = path.lexically_normal().string();
    return in_our_headers(file) || in_system_headers(file);
  };
  Dwarf_Die *innermost = nullptr, *scopes = nullptr;
  if (dwarf_getscopes(unit, pc - bias, &innermost) <= 0) return line;
  const int count = dwarf_getscopes_die(innermost, &scopes);  // innermost inlined function first
  for (int i = 0; i < count; ++i) {
    if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
    if (!in_header() && !dwarf_hasattr_integrate(&scopes[i], DW_AT_artificial)) break;
    Dwarf_Word file = 0, number = 0;
    Dwarf_Files* files = nullptr;
    if (dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &file) != 0 ||
        dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &number) != 0 ||
        dwarf_getsrcfiles(unit, &files, nullptr) != 0)
      break;
    if (const char* name = dwarf_filesrc(files, file, nullptr, nullptr)) line = {name, static_cast<int>(number)};
  }
  std::free(scopes);
  std::free(innermost);
  return line;
}

}  // namespace

source_line line_of(std::uintptr_t pc) {
  static std::mutex mutex;
  static auto& known =
      *new std::unordered_map<std::uintptr_t, source_line>;  // never destroyed: the summary at the end needs it
  const std::scoped_lock lock(mutex);
  if (const auto found = known.find(pc); found != known.end()) return found->second;
  static Dwfl* session = [] {
    static char* no_path = nullptr;
    static const Dwfl_Callbacks callbacks = {dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo, nullptr, &no_path};
    Dwfl* s = dwfl_begin(&callbacks);
    if (s && dwfl_linux_proc_report(s, getpid()) == 0) dwfl_report_end(s, nullptr, nullptr);
    return s;
  }();
  source_line line{"?", 0};
  if (session)  // a return address is one past the call
    if (Dwfl_Line* found = dwfl_getsrc(session, pc - 1))
      if (const char* file = dwfl_lineinfo(found, nullptr, &line.line, nullptr, nullptr, nullptr)) {
        line.file = file;
        line = written_line(session, pc - 1, line);
      }
  return known[pc] = line;
}

const void* call_of_program() {
  const void* found = nullptr;
  const auto look = [](_Unwind_Context* at, void* to) {
    const source_line line = line_of(_Unwind_GetIP(at));
    // A compiler cache may name some of our files relative to the build folder, others relative to the root.
    const std::string_view folder = std::string_view(line.file).substr(0, line.file.rfind('/') + 1);
    const bool ours = folder.ends_with("common/sim/src/") || folder.ends_with("common/sim/libraries/");
    if (line.line == 0 || ours || in_our_headers(line.file)) return _URC_NO_REASON;
    *static_cast<const void**>(to) = reinterpret_cast<const void*>(_Unwind_GetIP(at));
    return _URC_END_OF_STACK;
  };
  _Unwind_Backtrace(look, &found);
  return found;
}

}  // namespace sim
