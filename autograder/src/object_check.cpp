// Reading ELF (System V ABI, AMD64 supplement) with every offset checked.
#include "object_check.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace grading {
namespace {

struct damaged : std::runtime_error {
  damaged() : std::runtime_error("the object file makes no sense") {}
};

template <class T>
T at(std::string_view data, std::uint64_t offset) {
  if (offset > data.size() || sizeof(T) > data.size() - offset) throw damaged();
  T value;
  std::memcpy(&value, data.data() + offset, sizeof value);
  return value;
}

std::string name_at(std::string_view data, const Elf64_Shdr& strings, std::uint64_t offset) {
  if (strings.sh_offset > data.size() || strings.sh_size > data.size() - strings.sh_offset || offset >= strings.sh_size)
    throw damaged();
  const std::string_view text = data.substr(strings.sh_offset + offset, strings.sh_size - offset);
  return std::string(text.substr(0, text.find('\0')));
}

/// Sections that a compiler makes of functions and data.
bool is_ordinary(const std::string& name) {
  for (const char* begin :
       {".text",        ".data",     ".rodata",           ".bss",      ".tbss",           ".tdata",
        ".rela",        ".debug_",   ".gcc_except_table", ".eh_frame", ".note.GNU-stack", ".note.gnu.property",
        ".comment",     ".group",    ".symtab",           ".strtab",   ".shstrtab",       ".llvm_addrsig",
        "sim_constant", "sim_blocks"})
    if (name.starts_with(begin)) return true;
  return name.empty();
}

bool runs_before_main(const std::string& name) {
  for (const char* begin : {".init", ".fini", ".preinit", ".ctors", ".dtors"})
    if (name.starts_with(begin)) return true;
  return false;
}

/// The thread sanitizer pass adds one constructor of this priority to every object; it is cut out before linking.
bool is_instrumentation(const std::string& name) { return name == ".init_array.00099"; }

/// nvcc gives each object one constructor, which registers its kernels; no other may stand beside it.
bool is_registration(std::string_view object, const std::vector<Elf64_Shdr>& sections, const Elf64_Shdr& constructors) {
  if (constructors.sh_size != sizeof(std::uint64_t)) return false;
  const auto index = static_cast<std::uint32_t>(&constructors - sections.data());
  for (const Elf64_Shdr& relocations : sections) {
    if (relocations.sh_type != SHT_RELA || relocations.sh_info != index) continue;
    if (relocations.sh_size != sizeof(Elf64_Rela) || relocations.sh_link >= sections.size()) return false;
    const auto to = at<Elf64_Rela>(object, relocations.sh_offset);
    const Elf64_Shdr& symbols = sections[relocations.sh_link];
    if (symbols.sh_link >= sections.size()) return false;
    const auto target = at<Elf64_Sym>(object, symbols.sh_offset + ELF64_R_SYM(to.r_info) * sizeof(Elf64_Sym));
    const std::uint64_t value = target.st_value + static_cast<std::uint64_t>(to.r_addend);
    for (std::uint64_t i = 0; i < symbols.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = at<Elf64_Sym>(object, symbols.sh_offset + i * sizeof(Elf64_Sym));
      if (symbol.st_shndx == target.st_shndx && symbol.st_value == value && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
        return name_at(object, sections[symbols.sh_link], symbol.st_name) == "_ZL24__sti____cudaRegisterAllv";
    }
  }
  return false;
}

/// Where nvcc keeps the device's code.
bool is_device_code(const std::string& name) { return name == ".nv_fatbin" || name == ".nvFatBinSegment"; }

void check_sections(std::string_view object, const std::vector<Elf64_Shdr>& sections, const Elf64_Shdr& names,
                    bool by_nvcc, std::vector<std::string>& refused) {
  for (const Elf64_Shdr& section : sections) {
    std::string name = name_at(object, names, section.sh_name);
    if (by_nvcc && name == ".init_array" && is_registration(object, sections, section)) continue;
    if (by_nvcc && name == ".rela.init_array") continue;  // of the same, or the next is refused
    if (name.starts_with(".rela.")) name.erase(0, 5);
    if (is_instrumentation(name) || (by_nvcc && is_device_code(name))) continue;
    if (runs_before_main(name)) {
      refused.emplace_back(
          "runs code before main: no constructor functions, no global objects that need one, no <iostream>");
    } else if (!is_ordinary(name)) {
      refused.push_back(fmt::format("has a section '{}' of its own; leave section attributes away", name));
    } else if ((section.sh_flags & SHF_EXECINSTR) && ((section.sh_flags & SHF_WRITE) || !name.starts_with(".text"))) {
      refused.push_back(fmt::format("has code in the section '{}'", name));
    }
  }
}

}  // namespace

object_symbols read_object(std::string_view object, std::vector<std::string>& refused, bool by_nvcc) try {
  object_symbols result;
  const auto header = at<Elf64_Ehdr>(object, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != EM_X86_64 || header.e_type != ET_REL)
    throw damaged();
  std::vector<Elf64_Shdr> sections;
  for (unsigned i = 0; i < header.e_shnum; ++i)
    sections.push_back(at<Elf64_Shdr>(object, header.e_shoff + i * sizeof(Elf64_Shdr)));
  if (header.e_shstrndx >= sections.size()) throw damaged();
  check_sections(object, sections, sections[header.e_shstrndx], by_nvcc, refused);
  for (const Elf64_Shdr& table : sections) {
    if (table.sh_type != SHT_SYMTAB) continue;
    if (table.sh_link >= sections.size()) throw damaged();
    for (std::uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = at<Elf64_Sym>(object, table.sh_offset + i * sizeof(Elf64_Sym));
      const std::string name = name_at(object, sections[table.sh_link], symbol.st_name);
      const auto type = ELF64_ST_TYPE(symbol.st_info), bind = ELF64_ST_BIND(symbol.st_info);
      if (type == STT_GNU_IFUNC)
        refused.push_back(fmt::format("'{}' is chosen when the program loads", demangled(name)));
      const bool in_code = symbol.st_shndx < sections.size() && sections[symbol.st_shndx].sh_flags & SHF_EXECINSTR;
      if (type == STT_OBJECT && in_code) refused.push_back(fmt::format("'{}' is data among the code", demangled(name)));
      if (bind == STB_LOCAL || name.empty()) continue;
      const bool missing = symbol.st_shndx == SHN_UNDEF;
      (missing ? result.undefined : bind == STB_GLOBAL ? result.defined : result.weak).insert(name);
    }
  }
  std::sort(refused.begin(), refused.end());
  refused.erase(std::unique(refused.begin(), refused.end()), refused.end());
  return result;
} catch (const damaged& why) {
  refused.emplace_back(why.what());
  return {};
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? text.get() : symbol;
}

bool is_library_symbol(const std::string& symbol) { return dlsym(RTLD_DEFAULT, symbol.c_str()) != nullptr; }

callable::callable(const std::filesystem::path& device_headers, bool by_nvcc) : by_nvcc_(by_nvcc) {
  static const std::regex declared(R"(\b([A-Za-z_]\w*)\s*(\(|;|=|\[))");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(device_headers)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    const std::string header = text.str();
    for (std::sregex_iterator match(header.begin(), header.end(), declared), end; match != end; ++match)
      device_.insert((*match)[1]);
  }
}

bool callable::operator()(const std::string& symbol) const {
  // The C++ library's own functions, less those that reach files, processes and threads.
  static const std::regex forbidden(
      "_ZNK?St(6thread|10filesystem|3pmr|12__basic_file|13basic_filebuf|14basic_ofstream|14basic_ifstream|13basic_"
      "fstream|13random_device|12__shared_ptr|7__cxx1114basic_).*|_ZNSt10filesystem.*");
  static const std::regex library(
      "_ZN?K?(St|So|Si|Ss).*|_ZT[ISV](N10__cxxabiv1|St|N?St|[a-z]).*|_Zn[wa]m.*|_Zd[la]P.*|_ZdlPvm|__cxa_.*|_Unwind_.*|"
      "__gxx_personality_v0|DW\\.ref\\.__gxx_personality_v0|_GLOBAL_OFFSET_TABLE_|__tls_get_addr|__dso_handle|"
      "__stack_chk_fail|__assert_fail|__tsan_.*|__sanitizer_cov_trace_pc|__ubsan_handle_out_of_bounds|"
      "sim_mem(cpy|move|set)|__popcountdi2|__(u?div|u?mod|mul)[td]i3|__tls_.*|__sim_.*");
  static const std::set<std::string> c = [] {
    std::set<std::string> names;
    std::istringstream list(
        "memcpy memmove memset memcmp memchr strlen strcmp strncmp strcpy strncpy strcat strchr strrchr strstr malloc "
        "calloc realloc free aligned_alloc posix_memalign abort exit _Exit qsort bsearch rand srand rand_r abs labs "
        "llabs atoi atol atof strtol strtoul strtoll strtoull strtod strtof puts putchar putc fputc fputs fputwc "
        "fwrite "
        "printf fprintf vprintf vfprintf snprintf vsnprintf sprintf fflush stdout stderr errno __errno_location "
        "clock clock_gettime time gettimeofday nanosleep usleep sleep sched_yield raise "
        "__printf_chk __fprintf_chk __snprintf_chk __vsnprintf_chk __memcpy_chk __memset_chk __memmove_chk");
    for (std::string name; list >> name;) names.insert(name);
    for (const char* base :
         {"sin",       "cos",   "tan",       "asin", "acos",      "atan",   "atan2",    "sinh",   "cosh",   "tanh",
          "asinh",     "acosh", "atanh",     "exp",  "exp2",      "exp10",  "expm1",    "log",    "log2",   "log10",
          "log1p",     "pow",   "sqrt",      "cbrt", "hypot",     "erf",    "erfc",     "tgamma", "lgamma", "floor",
          "ceil",      "trunc", "round",     "rint", "nearbyint", "lround", "llround",  "lrint",  "llrint", "fmod",
          "remainder", "fma",   "fmin",      "fmax", "fabs",      "fdim",   "copysign", "frexp",  "ldexp",  "scalbn",
          "scalbln",   "modf",  "nextafter", "logb", "ilogb",     "sincos", "nan"})
      for (const char* suffix : {"", "f", "l"}) {
        names.insert(std::string(base) + suffix);
        names.insert("__" + std::string(base) + suffix + "_finite");
      }
    return names;
  }();
  // What nvcc's own code around kernels calls.
  static const std::regex nvcc("__cuda(Register|Unregister|Push|Pop|Launch|Get|Init)\\w*|cudaLaunchKernel\\w*|atexit");
  if (by_nvcc_ && std::regex_match(symbol, nvcc)) return true;
  if (c.contains(symbol)) return true;
  if (std::regex_match(symbol, forbidden)) return false;
  if (std::regex_match(symbol, library)) return true;
  // sim::name(...) and C names, as far as the device's headers declare them.
  std::smatch name;
  static const std::regex in_sim(R"(_ZN3sim(\d+)(\w+))");
  if (std::regex_match(symbol, name, in_sim)) {
    const std::string rest = name[2];
    return device_.contains(rest.substr(0, std::min<std::size_t>(std::stoul(name[1]), rest.size())));
  }
  return !symbol.starts_with("_Z") && device_.contains(symbol);
}

}  // namespace grading
