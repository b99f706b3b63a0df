// Reads ELF (System V ABI), checking every offset.
#include "build/object_check.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "support/files.hpp"
#include "support/machine.hpp"

namespace grading {
namespace {

struct damaged : std::runtime_error {
  damaged() : std::runtime_error("the object file is malformed") {}
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

/// Whether a name begins with the pattern. std::regex uses stack for each repeated character, and a submission chooses
/// the length of its names; a pattern for the beginning alone repeats nothing.
bool begins(const std::string& name, const std::regex& pattern) {
  return std::regex_search(name, pattern, std::regex_constants::match_continuous);
}

/// Whether compilers make this section for functions and data. Global constructors and destructors are ordinary
/// functions: the runner calls the former once its box is closed, and the latter run too late to matter.
bool is_ordinary(const std::string& name) {
  static const std::regex ordinary(
      R"(\.(text|data|rodata|bss|tbss|tdata|init_array|fini_array|rela|debug_|gcc_except_table|eh_frame|comment|group|)"
      R"(symtab|strtab|shstrtab|llvm_addrsig|note\.GNU-stack|note\.gnu\.property)|sim_constant|sim_blocks|sim_(host|device)_variables)");
  return name.empty() || begins(name, ordinary);
}

/// Whether nvcc keeps device code in this section.
bool is_gpu_code(const std::string& name) { return name == ".nv_fatbin" || name == ".nvFatBinSegment"; }

void check_sections(std::string_view object, const std::vector<Elf64_Shdr>& sections, const Elf64_Shdr& names,
                    bool by_nvcc, std::vector<std::string>& refused) {
  for (const Elf64_Shdr& section : sections) {
    std::string name = name_at(object, names, section.sh_name);
    if (name.starts_with(".rela.")) name.erase(0, 5);
    if (by_nvcc && is_gpu_code(name)) continue;
    if (name == ".linker-options" && section.sh_size == 0) continue;  // clang 14, with -fsanitize=thread
    if (!is_ordinary(name)) {
      refused.push_back(fmt::format("defines its own section '{}'; remove the section attribute", shown_name(name)));
    } else if ((section.sh_flags & SHF_EXECINSTR) && ((section.sh_flags & SHF_WRITE) || !name.starts_with(".text"))) {
      refused.push_back(fmt::format("has code in the section '{}'", shown_name(name)));
    }
  }
}

}  // namespace

object_symbols read_object(std::string_view object, std::vector<std::string>& refused, bool by_nvcc) try {
  object_symbols result;
  const auto header = at<Elf64_Ehdr>(object, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != machine::elf_machine || header.e_type != ET_REL)
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
        refused.push_back(fmt::format(
            "'{}' is resolved when the program loads; remove the attribute ifunc or target_clones", shown_name(name)));
      const bool in_code = symbol.st_shndx < sections.size() && sections[symbol.st_shndx].sh_flags & SHF_EXECINSTR;
      if (type == STT_OBJECT && in_code)
        refused.push_back(fmt::format("'{}' is data in a code section", shown_name(name)));
      if (name.empty()) continue;
      if (bind == STB_LOCAL) {
        result.local.insert(name);
        continue;
      }
      const bool missing = symbol.st_shndx == SHN_UNDEF;
      // clang uses it to test whether an extern thread_local, such as extern __shared__, has an initializer; it may be
      // missing.
      if (missing && bind == STB_WEAK && name.starts_with("_ZTH")) continue;
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

namespace {

/// Whether a mangled name may demangle to more than a megabyte. A reference can repeat an earlier part, so n references
/// repeat it up to 3^(n / 3) times; a pack expansion repeats it once per letter of the name. The demangler has no limit
/// of its own.
bool unpacks_far(const std::string& symbol) {
  constexpr double most = 1 << 20;
  int references = 0, packs = 0;
  const bool has_expressions = symbol.find('X') != symbol.npos || symbol.find('D') != symbol.npos;
  for (std::size_t at = 0; at + 1 < symbol.size(); ++at) {
    if (symbol[at] == 'S' || symbol[at] == 'T') {
      std::size_t end = at + 1;
      while (end < symbol.size() && (std::isdigit(static_cast<unsigned char>(symbol[end])) ||
                                     std::isupper(static_cast<unsigned char>(symbol[end]))))
        ++end;
      references += end < symbol.size() && symbol[end] == '_' ? 1 : 0;
    }
    const std::string_view two = std::string_view(symbol).substr(at, 2);
    packs += two == "Dp" || (two == "sp" && has_expressions) ? 1 : 0;
  }
  const auto letters = static_cast<double>(symbol.size());
  return std::log(letters) * (1 + packs) + std::log(3.0) / 3 * references > std::log(most);
}

}  // namespace

std::string demangled(const std::string& symbol) {
  if (unpacks_far(symbol)) return symbol;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? text.get() : symbol;
}

std::string shown_name(const std::string& symbol) { return demangled(symbol).substr(0, most_of_a_name); }

namespace {

/// Strong global symbols of all objects in an archive (System V's ar).
std::set<std::string> defined_in(const std::filesystem::path& archive) {
  constexpr std::string_view mark = "!<arch>\n";
  constexpr std::size_t header = 60, size_at = 48, size_digits = 10;
  const std::string data = text_of(archive);
  if (!data.starts_with(mark)) throw std::runtime_error(archive.string() + " is not an archive");
  std::set<std::string> result;
  std::vector<std::string> ignored;
  for (std::size_t at = mark.size(); at + header <= data.size();) {
    const std::size_t bytes = std::strtoull(data.substr(at + size_at, size_digits).c_str(), nullptr, 10);
    const std::string_view member = std::string_view(data).substr(at + header, bytes);
    if (member.starts_with(ELFMAG)) result.merge(read_object(member, ignored).defined);
    at += header + bytes + bytes % 2;
  }
  return result;
}

/// Adds the names that a header declares, defines or calls: words before a parenthesis, an index, a value or a
/// semicolon.
void add_names(const std::filesystem::path& header, std::set<std::string>& names) {
  const std::string text = text_of(header);
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = 0; at < text.size();) {
    if (!in_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && in_word(text[end])) ++end;
    const std::size_t next = text.find_first_not_of(" \t\n", end);
    if (next != std::string::npos && std::string_view("(;=[").find(text[next]) != std::string_view::npos)
      names.insert(text.substr(at, end - at));
    at = end;
  }
}

/// The library that defines the symbol, such as "libm.so.6", among those that every C++ program uses, the judge
/// included.
std::string library_of(const std::string& symbol) {
  const auto name_of = [](const void* address) -> std::string {
    Dl_info where{};
    return dladdr(address, &where) ? std::filesystem::path(where.dli_fname).filename().string() : std::string{};
  };
  constexpr const char* libraries[] = {"libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libc.so.6"};
  for (const char* library : libraries) {
    void* loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (!loaded) continue;
    const void* found = dlsym(loaded, symbol.c_str());  // in the library or its dependencies
    dlclose(loaded);
    if (!found) continue;
    const std::string where = name_of(found);
    if (where == library || std::find(std::begin(libraries), std::end(libraries), where) == std::end(libraries))
      return library;  // it is in this library, or in no file: a thread-local variable, the kernel's clock
  }
  return {};
}

/// Whether a library's symbol is a variable. A function selected for the processor has no symbol at the address that
/// dlsym returns.
bool is_variable(const std::string& symbol) {
  void* const address = dlsym(RTLD_DEFAULT, symbol.c_str());
  Dl_info where{};
  void* entry = nullptr;
  return address && dladdr1(address, &where, &entry, RTLD_DL_SYMENT) && entry &&
         ELF64_ST_TYPE(static_cast<const Elf64_Sym*>(entry)->st_info) == STT_OBJECT;
}

/// The name without the parts that headers add for other standards and overflow checks.
std::string plain_name(std::string c_function) {
  for (const std::string_view begin : {"__isoc99_", "__isoc23_", "__"})
    if (c_function.starts_with(begin) && (begin.size() > 2 || c_function.ends_with("_chk"))) {
      c_function.erase(0, begin.size());
      break;
    }
  if (c_function.ends_with("_chk")) c_function.erase(c_function.size() - 4);
  return c_function;
}

/// Whether a C library function only computes, writes to open streams, allocates memory or reads the time.
bool computes(const std::string& c_function) {
  static const std::set<std::string> names = [] {
    std::set<std::string> all;
    std::istringstream list(
        // string.h, strings.h, wchar.h
        "memcpy memmove memset memcmp memchr memrchr memmem mempcpy bcmp bcopy bzero explicit_bzero strlen strnlen "
        "strcmp strncmp strcasecmp strncasecmp strcoll strxfrm strcpy strncpy stpcpy stpncpy strcat strncat strchr "
        "strrchr strchrnul strstr strcasestr strspn strcspn strpbrk strtok strtok_r strsep strdup strndup strerror "
        "strerror_r ffs ffsl ffsll index rindex swab wmemcpy wmemmove wmemset wmemcmp wmemchr wcslen wcsnlen wcscmp "
        "wcsncmp wcscpy wcsncpy wcscat wcsncat wcschr wcsrchr wcsstr wcstok wcscoll wcsxfrm mbrtowc wcrtomb mbtowc "
        "wctomb mbstowcs wcstombs mbsrtowcs wcsrtombs mbsnrtowcs wcsnrtombs mbrlen mblen mbsinit btowc wctob "
        "mbrtoc8 c8rtomb mbrtoc16 c16rtomb mbrtoc32 c32rtomb "
        // ctype.h, wctype.h, locale.h
        "isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower "
        "toupper __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __ctype_get_mb_cur_max iswalnum iswalpha "
        "iswdigit iswspace iswupper iswlower iswpunct iswprint iswctype wctype towlower towupper setlocale localeconv "
        "newlocale freelocale uselocale duplocale "
        // stdlib.h, search.h, malloc.h
        "malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign valloc malloc_usable_size abort "
        "exit _Exit quick_exit atexit at_quick_exit qsort qsort_r bsearch lsearch lfind rand srand rand_r random "
        "srandom random_r srandom_r initstate setstate drand48 erand48 lrand48 nrand48 mrand48 jrand48 srand48 abs "
        "labs llabs div ldiv lldiv atoi atol atoll atof strtol strtoul strtoll strtoull strtoimax strtoumax imaxabs "
        "imaxdiv strtof strtod strtold wcstol wcstoul wcstoll wcstoull wcstof wcstod wcstold getenv secure_getenv "
        // stdio.h, wchar.h
        "puts putchar putc fputc fputs putchar_unlocked putc_unlocked fputc_unlocked fputs_unlocked fwrite_unlocked "
        "putwchar putwc fputwc fputws fwrite printf fprintf vprintf vfprintf snprintf vsnprintf sprintf vsprintf "
        "asprintf vasprintf wprintf fwprintf swprintf vswprintf vfwprintf vwprintf perror fflush sscanf vsscanf "
        "swscanf vswscanf getchar getc fgetc fgets fread scanf fscanf ungetc getwchar getwc fgetwc ungetwc feof ferror "
        "clearerr fwide fmemopen open_memstream fclose setvbuf setbuf setlinebuf stdin stdout stderr overflow uflow "
        // errno.h, assert.h, setjmp.h, fenv.h, unistd.h
        "errno __errno_location __assert_fail __assert_perror_fail __assert setjmp _setjmp sigsetjmp __sigsetjmp "
        "longjmp "
        "_longjmp siglongjmp sysconf getpagesize "
        // time.h; signal.h
        "clock clock_gettime clock_getres time gettimeofday timespec_get difftime mktime timegm gmtime gmtime_r "
        "localtime localtime_r asctime asctime_r ctime ctime_r strftime wcsftime nanosleep clock_nanosleep usleep "
        "sleep sched_yield raise "
        // Locks: harmless in a single thread.
        "__libc_single_threaded pthread_self pthread_equal pthread_once pthread_key_create pthread_key_delete "
        "pthread_getspecific pthread_setspecific pthread_mutex_init pthread_mutex_destroy pthread_mutex_lock "
        "pthread_mutex_trylock pthread_mutex_timedlock pthread_mutex_clocklock pthread_mutex_unlock "
        "pthread_mutexattr_init pthread_mutexattr_settype pthread_mutexattr_destroy pthread_rwlock_init "
        "pthread_rwlock_destroy pthread_rwlock_rdlock pthread_rwlock_tryrdlock pthread_rwlock_wrlock "
        "pthread_rwlock_trywrlock pthread_rwlock_unlock pthread_cond_init pthread_cond_destroy pthread_cond_wait "
        "pthread_cond_timedwait pthread_cond_clockwait pthread_cond_signal pthread_cond_broadcast pthread_spin_init "
        "pthread_spin_destroy pthread_spin_lock pthread_spin_trylock pthread_spin_unlock "
        // Names under which headers call some of them.
        "__xpg_strerror_r __overflow __uflow __stack_chk_fail __chk_fail __fdelt_chk __memcpy_chk __cxa_atexit "
        "__cxa_finalize __cxa_thread_atexit_impl");
    for (std::string name; list >> name;) all.insert(name);
    return all;
  }();
  return names.contains(c_function) || names.contains(plain_name(c_function));
}

/// Whether a C++ library function opens no file and starts no thread.
bool stays_inside(const std::string& cpp_function) {
  return file_class_of(cpp_function).empty() && cpp_function.find("6thread15_M_start_thread") == std::string::npos;
}

/// Whether compilers themselves emit the symbol: arithmetic, exceptions, thread-local variables.
bool is_the_compilers(const std::string& symbol) {
  static const std::regex support(
      std::string(R"(DW\.ref\.|_Unwind_|()") + machine::compilers_own +
      R"(|_GLOBAL_OFFSET_TABLE_|__tls_get_addr|__dso_handle|__gxx_personality_v0|)"
      R"(__gcc_personality_v0|__stack_chk_fail|)"
      R"(__(u?div|u?mod|u?divmod|mul|neg|ash[lr]|lshr|u?cmp|popcount|parity|c[lt]z|ffs|bswap|absv|addv|subv|mulv|negv)[sdt]i[234]?|)"
      R"(__(add|sub|mul|div|neg|pow|powi|eq|ne|lt|le|gt|ge|cmp|unord|fix|fixuns|float|floatun|extend|trunc)[hbsdxtfi]{2,6}[23]?)$)");
  return begins(symbol, support);
}

/// Whether the symbol is one of simcc's hooks.
bool is_hook(const std::string& symbol) {
  static const std::regex hooks(
      "__tsan_|(sim_call|sim_jump|__sanitizer_cov_trace_pc|__ubsan_handle_(shift_)?out_of_bounds)$");
  return begins(symbol, hooks);
}

/// Whether the function moves data that no counter sees: textures and surfaces, libraries whose work the simulated
/// device does on the host, and functions that open the device's memory to the host for these libraries.
bool is_uncounted(const std::string& device_function) {
  static const std::regex functions(
      "cudaCreate(Texture|Surface)Object|cu(blas|sparse|solver|fft)|nccl|share_device_memory_with_host$");
  return begins(device_function, functions);
}

/// Whether a C or C++ library function copies nothing from one array to another.
bool copies_nothing(const std::string& symbol) {
  static const std::regex harmless(
      R"(_ZSt\d+__throw_\w+|_Z(n[wa]m|d[la]Pv)\w*|__cxa_\w+|_ZT[IVS]N10__cxxabiv1\w+|_ZSt9terminatev|_ZNKSt\w+4whatEv|)"
      R"(_Z(T[IVS]|NK?)St\d+(exception|bad_\w+|\w+_error|\w+_argument|out_of_range)\w*|)"
      R"(_ZSt4(cout|cerr|clog)|_ZNSo(ls|put|flush)\w+|_ZStls\w+|_ZSt(16__ostream_insert|4endl)\w+|_ZNSt8ios_base4Init\w+|)"
      R"(_ZSt\d+_Rb_tree_\w+|_ZNK?St8__detail\w+|_ZNSt6chrono\w+|_ZNK?St3pmr\w+|)"
      R"(malloc|calloc|aligned_alloc|posix_memalign|free|abort|__assert_fail|printf|__printf_chk|puts|putchar|fflush|)"
      R"(stdout|stderr|mem(cmp|chr)|str(cmp|len)|pthread_once|__libc_single_threaded|__errno_location)");
  constexpr std::size_t longest = 300;  // std::regex uses stack for each character
  return symbol.size() <= longest && std::regex_match(symbol, harmless);
}

}  // namespace

std::string in_place_of(const std::string& symbol) { return symbol.starts_with("sim_") ? symbol.substr(4) : ""; }

bool copies_unseen(const std::string& symbol) {
  constexpr std::size_t longest = 60;  // longer than any of these names: a regex uses stack for each character
  if (symbol.size() > longest) return false;
  static const std::regex functions(
      "swab|st[rp]n?(cpy|cat)|strn?dup|strtok(_r)?|strsep|strxfrm|qsort(_r)?|lsearch|v?sw?scanf|fread|fgets|fmemopen|"
      "open_memstream|wcsn?(cpy|cat)|wcpn?cpy|wcsdup|wcstok|wcsxfrm|mbsn?r?towcs|wcsn?r?tombs|"
      // Functions that write elsewhere, to an address from host code.
      "v?swprintf|v?asprintf|setv?buf|setlinebuf|(str|wcs)ftime|\\w+time_r|strerror_r|s?random_r|initstate(_r)?|"
      "setstate|"
      "[ejn]rand48|rand_r|mb(rtowc|towc|rtoc\\d+)|(wcr|wc|c\\d+r)tomb|wcsto\\w+|strtold|sigsetjmp|_?setjmp|"
      "pthread_\\w+_init|pthread_rwlock_try\\w+|pthread_\\w+_timedlock|pthread_\\w+_clocklock");
  // Copies without _chk in the name have hooks.
  static const std::regex checked("__w?mem(p?cpy|move)_chk");
  // Math library functions that read or write numbers by address. simcc adds hooks to calls to those that CUDA also
  // has, but not to their variants for other precisions.
  static const std::regex numbers(
      R"((canonicalize|totalorder(mag)?|[gs]etpayload|setpayloadsig)(f|l|f\d+x?)?|(frexp|modf|remquo|sincos)(l|f\d+x?))");
  return std::regex_match(plain_name(symbol), functions) || std::regex_match(symbol, checked) ||
         std::regex_match(symbol, numbers);
}

std::string file_class_of(const std::string& symbol) {
  struct file_class {
    const char *inside, *name;
  };
  for (const file_class& c : {file_class{"14basic_ifstream", "std::ifstream"},
                              {"14basic_ofstream", "std::ofstream"},
                              {"13basic_fstream", "std::fstream"},
                              {"10filesystem", "std::filesystem"},
                              {"13basic_filebuf", "std::filebuf"},
                              {"12__basic_file", "std::filebuf"},
                              {"13stdio_filebuf", "stdio_filebuf"}})
    if (symbol.starts_with("_Z") && symbol.find(c.inside) != std::string::npos) return c.name;
  return {};
}

std::string rival_of(const std::string& symbol) {
  if (symbol.starts_with("cublas")) return "cuBLAS";
  if (symbol.starts_with("cblas_")) return "BLAS";
  struct rival {
    const char *inside, *name;
  };
  // Recognized by the mangled namespaces of their code, in which each name follows its length.
  for (const rival& r : {rival{"5Eigen8internal", "Eigen"}, rival{"5boost7numeric5ublas", "Boost"},
                         rival{"4arma4glue", "Armadillo"}, rival{"7cutlass4gemm", "CUTLASS"}})
    if (symbol.starts_with("_Z") && symbol.find(r.inside) != std::string::npos) return r.name;
  return {};
}

callable::callable(const std::filesystem::path& headers, const std::vector<std::filesystem::path>& libraries,
                   bool by_nvcc, std::set<std::string> also)
    : device_(defined_in(libraries.at(0))), by_nvcc_(by_nvcc), also_(std::move(also)) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(headers))
    if (entry.is_regular_file()) add_names(entry.path(), declared_);
  for (std::size_t i = 1; i < libraries.size(); ++i)
    for (const std::string& symbol : defined_in(libraries[i]))
      if (declared_.contains(symbol)) also_.insert(symbol);
  for (const char* name : {"sim/launch.h", "sim/call.h"})
    if (std::filesystem::exists(headers / name)) add_names(headers / name, for_kernels_);
}

bool callable::operator()(const std::string& symbol, bool by_device_code) const {
  if (is_the_compilers(symbol)) return true;
  if (by_device_code && is_hook(symbol)) return true;
  if (!by_device_code && also_.contains(symbol)) return true;
  // The CUDA runtime: functions that the device's headers declare and its library defines, also under C++ names, and
  // sim::name(...), which those headers call. Kernels and launches belong in .cu files, where they are counted.
  std::smatch name;
  static const std::regex in_cpp(R"(_Z(?:N3sim(\d{1,4})|(\d{1,4})(?=cu)))"), cuda("(cuda|nvtx)[A-Z]");
  if (std::regex_search(symbol, name, in_cpp, std::regex_constants::match_continuous)) {
    const std::string rest = name.suffix();
    const std::size_t length = std::stoul(name[1].matched ? name[1] : name[2]);
    const std::string plain = rest.substr(0, std::min(length, rest.size()));
    return device_.contains(symbol) && declared_.contains(plain) && !is_uncounted(plain) &&
           (by_device_code || !for_kernels_.contains(plain));
  }
  if (is_uncounted(symbol)) return false;
  if (by_nvcc_) {
    static const std::regex around_kernels("__cuda(Register|Unregister|Push|Pop|Launch|Get|Init)|cudaLaunchKernel");
    if (begins(symbol, around_kernels)) return true;
    if (begins(symbol, cuda) && declared_.contains(symbol)) return true;
  }
  if (device_.contains(symbol) && declared_.contains(symbol)) return true;
  if (by_device_code && device_.contains(symbol))
    if (const std::string own = in_place_of(symbol); !own.empty()) return (*this)(own, by_device_code);
  const std::string library = library_of(symbol);
  if (library == "libm.so.6") return true;
  if (library == "libstdc++.so.6") return stays_inside(symbol);
  // atexit is not in the shared library: each program contains its own copy of that part of libc.
  return (library == "libc.so.6" || symbol == "atexit") && computes(symbol);
}

bool callable::is_the_hosts(const std::string& symbol) {
  // Functions that CUDA offers in kernels, also under the names that compilers use, functions that end a program, and
  // thread-local variables.
  static const std::regex of_kernels(
      R"((v?printf|__printf_chk|puts|putchar|abort|__assert_fail|_ZSt9terminatev)$|_ZSt\d{1,2}__throw_|_ZSt\d{1,2}__once_call)");
  if (is_the_compilers(symbol) || begins(symbol, of_kernels)) return false;
  const std::string library = library_of(symbol);
  return !library.empty() && library != "libm.so.6" && !is_variable(symbol);
}

bool callable::in_sight(const std::string& symbol) const {
  static const std::regex reads_texts("sim_(realloc|v?sn?printf|strto)");
  return is_the_compilers(symbol) || is_hook(symbol) ||
         (!in_place_of(symbol).empty() && !begins(symbol, reads_texts)) || copies_nothing(symbol) ||
         (library_of(symbol) == "libm.so.6" && !copies_unseen(symbol));
}

}  // namespace grading
