// Whose line an access belongs to, where it lies in a device header's function that the compiler inlined: to the line
// that called it, as a GPU's profiler has it for an instruction.
#include <dwarf.h>

#include <cstdlib>
#include <filesystem>

#include "inlined.hpp"

namespace sim {

source_line outside_headers(Dwfl* session, std::uintptr_t pc, source_line line) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_addrdie(session, pc, &bias);
  Dwarf_Attribute attribute;
  const char* directory = unit ? dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute)) : nullptr;
  if (!directory) return line;
  const auto in_header = [&] {
    const std::filesystem::path path = std::filesystem::path(directory) / line.file;
    return path.lexically_normal().string().starts_with(SIM_INCLUDE "/");
  };
  if (!in_header()) return line;
  Dwarf_Die *innermost = nullptr, *scopes = nullptr;
  if (dwarf_getscopes(unit, pc - bias, &innermost) <= 0) return line;
  const int count = dwarf_getscopes_die(innermost, &scopes);  // as inlined, the innermost first
  for (int i = 0; i < count && in_header(); ++i) {
    if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
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

}  // namespace sim
