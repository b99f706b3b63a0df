// One box compiles one file; one box links. What leaves a box is read here as data, never run here.
#include "box_builder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "command.hpp"
#include "object_check.hpp"
#include "sandbox.hpp"
#include "sha256.hpp"
#include "toml_file.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t largest_object = 32u << 20;

/// A folder that is gone when its user is.
struct scratch {
  scratch() {
    std::string name = (fs::temp_directory_path() / "build-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw std::runtime_error("cannot make a folder in " + fs::temp_directory_path().string());
    path = name;
    fs::create_directories(path / "in");
    fs::create_directories(path / "out");
    fs::permissions(path, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  }
  ~scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  fs::path path;
};

/// A plain file that a box wrote; "" where it is missing, too large, or something else.
std::string from_box(const fs::path& file) {
  std::error_code error;
  if (fs::symlink_status(file, error).type() != fs::file_type::regular || fs::file_size(file) > largest_object)
    return {};
  return text_of(file);
}

/// Diagnostics without colours and control characters, and without the box's paths.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 32) out += c;
  for (std::size_t at; (at = out.find("/in/")) != std::string::npos;) out.erase(at, 4);
  constexpr std::size_t enough = 2000;
  return out.substr(0, enough);
}

std::string joined(const std::vector<std::string>& reasons) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, reasons.size()); ++i) text += (i ? "\n" : "") + reasons[i];
  if (reasons.size() > most) text += fmt::format("\nand {} more", reasons.size() - most);
  return text;
}

/// lab08::...; what is in no lab's namespace is the libraries'.
bool is_of_a_lab(const std::string& symbol) { return symbol.starts_with("_ZN5lab"); }

/// Accesses are counted in what the device's compiler makes, and nowhere else: the two kinds of files stay apart.
bool is_device_code(const std::string& name) { return name.ends_with(".cu"); }

/// The compiler marks inline assembly, wherever it comes from. nvcc's own is the device's code, as numbers.
bool has_inline_assembly(const std::string& assembly, bool by_nvcc) {
  static const std::regex numbers(
      R"re(\s*(\.section \.nv_fatbin, "a"|\.align \d+|fatbinData:|\.(quad|long|byte) [0-9a-fx, ]+|\.text)?)re");
  std::istringstream lines(assembly);
  bool marked = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "#NO_APP") marked = false;
    if (marked && !(by_nvcc && line.size() < 200 && std::regex_match(line, numbers))) return true;
    marked |= line == "#APP";
  }
  return false;
}

/// What immintrin.h offers. A pause is in <atomic>, too.
bool has_host_instructions(std::string_view preprocessed) {
  constexpr std::string_view begin = "__builtin_ia32_";
  for (std::size_t at = 0; (at = preprocessed.find(begin, at)) != std::string_view::npos;)
    if (!preprocessed.substr(at += begin.size()).starts_with("pause")) return true;
  return false;
}

/// Names of symbols and sections reach the assembler as they stand: one with a line break in it brings instructions
/// along, which the compiler does not mark. It marks asm with operands, and asm that is a statement.
bool has_assembly_in_a_name(std::string_view preprocessed) {
  const auto skip_space = [&](std::size_t at) {
    while (at < preprocessed.size() && (std::isspace(static_cast<unsigned char>(preprocessed[at])) ||
                                        (preprocessed[at] == '#' && preprocessed[at - 1] == '\n')))
      at = preprocessed[at] == '#' ? std::min(preprocessed.find('\n', at), preprocessed.size()) : at + 1;
    return std::min(at, preprocessed.size() - 1);
  };
  const auto is_statement = [&](std::size_t at) {  // what is before it, but for lines of the preprocessor's?
    while (at > 0) {
      at = preprocessed.find_last_not_of(" \t\n", at - 1);
      if (at == std::string_view::npos) return true;
      const std::size_t line = preprocessed.find_last_of('\n', at) + 1;
      if (preprocessed[line] != '#') return std::string_view(";{}").find(preprocessed[at]) != std::string_view::npos;
      at = line;
    }
    return true;
  };
  const auto in_a_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  for (const std::string_view word : {"asm", "section", "alias", "weakref", "ifunc", "symver"})
    for (std::size_t found = 0; (found = preprocessed.find(word, found)) != std::string_view::npos;) {
      const std::size_t begin = preprocessed.find_last_not_of('_', found - 1) + 1;
      std::size_t at = found += word.size();
      while (at < preprocessed.size() && preprocessed[at] == '_') ++at;
      if (at = skip_space(at); preprocessed[at] != '(') continue;
      at = skip_space(at + 1);
      const std::string_view literal = preprocessed.substr(at, preprocessed.substr(at, 4).find('"') + 1);
      if (literal.ends_with("R\"")) return true;
      bool odd = false;
      while (preprocessed[at] == '"') {
        for (++at; at < preprocessed.size() && preprocessed[at] != '"'; ++at) {
          odd = odd || !in_a_name(preprocessed[at]);
          at += preprocessed[at] == '\\';
        }
        at = skip_space(at + 1);
      }
      if (odd && preprocessed[at] == ')' && !(word == "asm" && is_statement(begin))) return true;
    }
  return false;
}

}  // namespace

box_builder::box_builder(const fs::path& recipe, fs::path cache, wall behind, bool check, build_limits allowed)
    : cache_(std::move(cache)), behind_(behind), check_(check), allowed_(allowed) {
  if (!fs::exists(recipe))
    throw input_error(fmt::format("there is no {}; configure and build first: ./course setup", recipe.string()));
  const auto document = nlohmann::json::parse(text_of(recipe));
  for (const auto& [key, list] : document.items()) recipe_[key] = list.get<words>();
  fs::create_directories(cache_);
  std::vector<std::string> ignored;
  std::set<std::string> wanted, there;
  for (const std::string& object : recipe_.at("objects")) {
    if (!fs::exists(object))
      throw input_error(
          fmt::format("{} is not built: cmake --build {}", object, recipe.parent_path().parent_path().string()));
    const object_symbols symbols = read_object(text_of(object), ignored, by_nvcc());
    wanted.insert(symbols.undefined.begin(), symbols.undefined.end());
    there.insert(symbols.defined.begin(), symbols.defined.end());
    there.insert(symbols.weak.begin(), symbols.weak.end());
    for (const std::string& name : symbols.defined)
      if (is_of_a_lab(name)) given_.insert(name);
  }
  // What the staff calls of the lab and does not have is the contract.
  for (const std::string& name : wanted)
    if (is_of_a_lab(name) && !there.contains(name)) contract_.push_back(name);
  for (const char* key : {"cpp", "cu"}) tools_ += fmt::format("{} ", fmt::join(recipe_.at(key), " "));
  for (const std::string& path : recipe_.at("readable"))
    for (const auto& entry : fs::is_directory(path) ? std::vector<fs::path>(fs::recursive_directory_iterator(path), {})
                                                    : std::vector<fs::path>{path})
      if (fs::is_regular_file(entry)) tools_ += sha256(text_of(entry));
  tools_ += output_of(grading::quoted(recipe_.at("link").front()) + " --version 2>/dev/null");
}

bool box_builder::by_nvcc() const { return recipe_.at("cu").front().ends_with("nvcc"); }

std::vector<fs::path> box_builder::runtime() const {
  return {recipe_.at("runtime").begin(), recipe_.at("runtime").end()};
}

build_outcome box_builder::compile(const std::string& name, const std::string& text, fs::path& object) {
  const std::string key = sha256(tools_ + (check_ ? "checked" : "") + name + '\0' + text);
  object = cache_ / (key + ".o");
  if (fs::exists(object)) return {true, {}};
  const scratch place;
  replace_file(place.path / "in" / name, text);
  box what;
  what.tools = true;
  what.mounts = {{place.path / "in", "/in"}, {place.path / "out", "/out", true}};
  for (const char* list : {"readable", "toolchain"})
    for (const std::string& path : recipe_.at(list)) what.mounts.push_back({path, path});
  what.command = recipe_.at(is_device_code(name) ? "cu" : "cpp");
  const fs::path in = behind_ == wall::box ? fs::path("/in") : place.path / "in",
                 out = behind_ == wall::box ? fs::path("/out") : place.path / "out";
  for (const std::string& word :
       {(in / name).string(), std::string("-c"), std::string("-o"), (out / "hand-in.o").string()})
    what.command.push_back(word);
  what.cpu_seconds = static_cast<int>(allowed_.wall.count());
  const ran got = run_in(what, behind_, allowed_.wall, allowed_.memory);
  if (got.timed_out) return {false, fmt::format("{}: the compiler took more than {} s", name, allowed_.wall.count())};
  if (got.out_of_memory)
    return {false, fmt::format("{}: the compiler took more than {} MiB of memory", name, allowed_.memory >> 20)};
  if (got.exit_code != 0) {
    const std::string why = first_errors(plain(got.output));
    return {false,
            why.empty() ? fmt::format("{}: the compiler was stopped: it wrote or used more than it may", name) : why};
  }
  const std::string compiled = from_box(place.path / "out" / "hand-in.o");
  if (compiled.empty()) return {false, name + ": the compiler wrote no object of less than 32 MiB"};
  std::string assembly, preprocessed;
  for (const auto& file : fs::directory_iterator(place.path / "out")) {
    if (file.path().extension() == ".s" && !file.path().filename().string().ends_with(".shared.s"))
      assembly += from_box(file.path());
    if (file.path().extension() == ".ii") preprocessed += from_box(file.path());
  }
  if (check_ && (assembly.empty() || preprocessed.empty() || has_assembly_in_a_name(preprocessed) ||
                 has_inline_assembly(assembly, by_nvcc() && is_device_code(name))))
    return {false, name + ": contains inline assembly, which nobody can check; write it in C++"};
  if (check_ && is_device_code(name) && !by_nvcc() && has_host_instructions(preprocessed))
    return {false, name + ": uses instructions of the host's processor (immintrin.h), which no GPU has"};
  replace_file(object, compiled);
  return {true, {}};
}

build_outcome box_builder::expect_clean(const std::map<std::string, fs::path>& objects) const {
  const callable may_call(recipe_.at("device").front(), by_nvcc());
  std::map<std::string, object_symbols> symbols;
  std::set<std::string> defined[2];  // by host and device code
  std::vector<std::string> complaints;
  for (const auto& [name, object] : objects) {
    std::vector<std::string> refused;
    symbols[name] = read_object(text_of(object), refused, by_nvcc() && is_device_code(name));
    for (const std::string& why : refused) complaints.push_back(fmt::format("{}: {}", name, why));
    for (const auto* list : {&symbols[name].defined, &symbols[name].weak})
      defined[is_device_code(name)].insert(list->begin(), list->end());
  }
  for (const auto& [name, own] : symbols) {
    for (const std::string& symbol : own.defined)
      if (is_library_symbol(symbol) || may_call(symbol))
        complaints.push_back(
            fmt::format("{}: defines {}, which belongs to the system's libraries", name, demangled(symbol)));
    for (const std::string& symbol : own.undefined) {
      const bool device = is_device_code(name);
      if (defined[device].contains(symbol) || may_call(symbol) || given_.contains(symbol)) continue;
      const char* why = defined[!device].contains(symbol)
                            ? "which is in a file of the other kind; .cu and .cpp files share no functions of their own"
                            : "which a submission may not; the lab's own header, the C and C++ libraries' computing "
                              "functions and the CUDA runtime are there";
      complaints.push_back(fmt::format("{}: calls {}, {}", name, demangled(symbol), why));
    }
  }
  for (const std::string& function : contract_)
    if (!defined[0].contains(function) && !defined[1].contains(function))
      complaints.push_back("undefined reference to " + demangled(function));
  return {complaints.empty(), joined(complaints)};
}

build_outcome box_builder::build(const std::map<std::string, std::string>& sources, const fs::path& program) {
  std::map<std::string, fs::path> objects;
  std::string failures;
  for (const auto& [name, text] : sources) {
    const build_outcome one = compile(name, text, objects[name]);
    if (!one.ok) failures += (failures.empty() ? "" : "\n") + one.message;
  }
  if (!failures.empty()) return {false, failures};
  if (check_)
    if (build_outcome clean = expect_clean(objects); !clean.ok) return clean;

  const scratch place;
  std::string names[2], keep;
  for (const auto& [name, object] : objects) {
    fs::copy_file(object, place.path / "in" / (name + ".o"));
    names[is_device_code(name)] +=
        " " +
        grading::quoted(behind_ == wall::box ? "/in/" + name + ".o" : (place.path / "in" / (name + ".o")).string());
  }
  for (const std::string& function : contract_) keep += function + "\n";
  replace_file(place.path / "in" / "contract", keep);
  const std::string in = behind_ == wall::box ? "/in" : (place.path / "in").string(),
                    out = behind_ == wall::box ? "/out" : (place.path / "out").string();
  box what;
  what.tools = true;
  what.mounts = {{place.path / "in", "/in"}, {place.path / "out", "/out", true}};
  for (const std::string& path : recipe_.at("toolchain")) what.mounts.push_back({path, path});
  std::string staff;
  for (const char* key : {"objects", "libraries"})
    for (const std::string& word : recipe_.at(key)) {
      staff += " " + grading::quoted(word);
      if (word.starts_with("/") && !word.starts_with("/usr/")) what.mounts.push_back({word, word});  // tools have /usr
    }
  // One object of each kind, of which only the contract's functions are to be seen, without the code that would run
  // before main.
  std::string script, sealed;
  for (const bool device : {false, true}) {
    if (names[device].empty()) continue;
    const std::string kind = out + (device ? "/device" : "/host");
    script += fmt::format(
        "ld -r --force-group-allocation -o {0}.o{1}\n"
        "objcopy --keep-global-symbols={2}/contract --remove-section=.init_array.00099 "
        "--remove-section=.rela.init_array.00099 {0}.o {0}.sealed.o\n",
        kind, names[device], in);
    sealed += " " + kind + ".sealed.o";
  }
  what.command = {"/usr/bin/sh", "-ec",
                  script + fmt::format("{} -o {}/runner{}{}", fmt::join(recipe_.at("link"), " "), out, sealed, staff)};
  const ran got = run_in(what, behind_, allowed_.wall, allowed_.memory);
  const std::string linked = got.exit_code == 0 ? from_box(place.path / "out" / "runner") : std::string{};
  if (linked.empty()) return {false, "linking failed: " + first_errors(plain(got.output))};
  replace_file(program, linked);
  fs::permissions(program, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                               fs::perms::others_read | fs::perms::others_exec);
  return {true, {}};
}

}  // namespace grading
