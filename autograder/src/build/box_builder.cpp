// Each file is compiled in its own box; another box links. This process reads a box's output as data and never runs it.
#include "build/box_builder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "build/names_check.hpp"
#include "build/object_check.hpp"
#include "sandbox/sandbox.hpp"
#include "sim/tokens.hpp"
#include "support/command.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/machine.hpp"
#include "support/text.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t largest_object = 32u << 20;

/// A temporary folder with one folder for a box to read and one to write.
struct scratch {
  scratch() {
    fs::create_directories(in);
    fs::create_directories(out);
  }
  temporary_folder folder{"build"};
  fs::path in = folder.path() / "in", out = folder.path() / "out";
};

/// The text of a regular file that a box wrote; "" if it is missing, too large, or not regular.
std::string from_box(const fs::path& file) {
  std::error_code error;
  if (fs::symlink_status(file, error).type() != fs::file_type::regular || fs::file_size(file) > largest_object)
    return {};
  return text_of(file);
}

/// Diagnostics without colours and control characters, with the folder `in` shown as `shown`.
std::string plain(const std::string& text, const std::string& in, const std::string& shown) {
  std::string out;
  for (const char c : text)
    if (c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 32) out += c;
  return replaced(out, in, shown);
}

/// An error may follow pages of "required from", so this finds the errors first and cuts afterwards.
std::string errors_in(const std::string& diagnostics, const std::string& in, const std::string& shown) {
  constexpr std::size_t enough = 2000;
  return first_errors(plain(diagnostics, in, shown)).substr(0, enough);
}

/// lab08::...; symbols outside every lab's namespace belong to libraries.
bool is_of_a_lab(const std::string& symbol) { return symbol.starts_with("_ZN5lab"); }

/// Whether a mangled name has a stream parameter, the simulated device's or CUDA's.
bool launches(const std::string& symbol) {
  return symbol.find("P10sim_stream") != std::string::npos || symbol.find("P11CUstream_st") != std::string::npos;
}

/// Accesses are counted only in code from the device's compiler, so the two kinds of files stay separate.
bool is_device_code(const std::string& name) { return name.ends_with(".cu"); }

/// Compilers mark inline assembly, wherever it comes from. nvcc's own inline assembly holds device code as numbers.
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

/// Intrinsics from immintrin.h and similar headers.
bool has_host_instructions(std::string_view preprocessed) {
  for (const std::string_view begin : machine::instructions)
    for (std::size_t at = 0; (at = preprocessed.find(begin, at)) != std::string_view::npos; at += begin.size())
      if (!preprocessed.substr(at).starts_with(machine::harmless_instruction)) return true;
  return false;
}

/// Names of symbols and sections reach the assembler unchanged: a name with a line break can smuggle in instructions,
/// which the compiler does not mark, unlike asm statements and asm with operands. The text around a word may contain
/// the next word, so malicious text could take quadratic time: text that takes too many reads counts as such a name.
bool has_assembly_in_a_name(std::string_view preprocessed) {
  constexpr std::size_t often = 16;
  std::size_t read = 0;
  const auto goes_on = [&](std::size_t characters) {
    read += characters;
    return read < often * preprocessed.size();
  };
  const auto skip_space = [&](std::size_t at) {
    while (at < preprocessed.size() && (std::isspace(static_cast<unsigned char>(preprocessed[at])) ||
                                        (preprocessed[at] == '#' && preprocessed[at - 1] == '\n'))) {
      const std::size_t next =
          preprocessed[at] == '#' ? std::min(preprocessed.find('\n', at), preprocessed.size()) : at + 1;
      if (!goes_on(next - at)) break;
      at = next;
    }
    return std::min(at, preprocessed.size() - 1);
  };
  const auto is_statement = [&](std::size_t at) {  // judges by the preceding text, ignoring preprocessor lines
    while (at > 0) {
      const std::size_t last = preprocessed.find_last_not_of(" \t\n", at - 1);
      if (last == std::string_view::npos) return true;
      const std::size_t line = preprocessed.find_last_of('\n', last) + 1;
      const bool more = goes_on(at - line);
      if (preprocessed[line] != '#') return std::string_view(";{}").find(preprocessed[last]) != std::string_view::npos;
      if (!more) break;
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
        for (++at; goes_on(1) && at < preprocessed.size() && preprocessed[at] != '"'; ++at) {
          odd = odd || !in_a_name(preprocessed[at]);
          at += preprocessed[at] == '\\';
        }
        at = skip_space(at + 1);
      }
      if (odd && preprocessed[at] == ')' && !(word == "asm" && is_statement(begin))) return true;
      if (!goes_on(1)) return true;
    }
  return !goes_on(0);
}

/// A builtin that the file defines or undefines, or "": sim/all_observed.h replaces some with versions that have hooks.
std::string redefined_builtin(const std::string& source) {
  std::string joined;  // with spliced lines joined
  for (std::size_t at = 0; at < source.size(); ++at) {
    const std::size_t end = source[at] == '\\' ? source.find_first_not_of(" \t\r\v\f", at + 1) : source.npos;
    if (end != source.npos && source[end] == '\n')
      at = end;
    else
      joined += source[at];
  }
  const std::vector<sim::token> tokens = sim::tokens_of(joined);
  const auto text = [&](std::size_t i) { return joined.substr(tokens[i].begin, tokens[i].end - tokens[i].begin); };
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i)
    if (const std::string word = text(i); word == "define" || word == "undef")
      if (std::string name = text(i + 1); name == "__builtin_memcpy" || name == "__builtin_memset") return name;
  return {};
}

constexpr const char* rules = "see \"What your files may use\" in labs/README.md";

std::string header_refused(const std::string& name, const std::string& header) {
  const bool of_cuda = header.starts_with("cuda/") || header.starts_with("cub/");
  return fmt::format("{}: includes {}, which is not available in official grading{}: {}", name,
                     header.substr(0, most_of_a_name),
                     of_cuda ? " (the simulated device has only a part of CUDA's C++ libraries)" : "", rules);
}

/// The header that the compiler did not find; "" if it found them all.
std::string missing_header(const std::string& diagnostics) {
  constexpr std::string_view begin = "fatal error: ", ends[] = {": No such file or directory", "' file not found"};
  for (std::size_t at = 0; (at = diagnostics.find(begin, at)) != std::string::npos;) {
    at += begin.size();
    std::string_view line = std::string_view(diagnostics).substr(at, diagnostics.find('\n', at) - at);
    for (const std::string_view end : ends) {
      if (!line.ends_with(end)) continue;
      line.remove_suffix(end.size());
      line.remove_prefix(line.starts_with('\'') ? 1 : 0);
      return std::string(line);
    }
  }
  return {};
}

/// A function's name without namespaces and parameters.
std::string function_name(const std::string& symbol) {
  const std::string name = demangled(symbol);
  const std::size_t end = name.find('('), colons = name.rfind("::", end);
  return name.substr(colons == name.npos ? 0 : colons + 2, end - (colons == name.npos ? 0 : colons + 2));
}

/// The path of a line marker, # 12 "/usr/include/math.h" 1 3 4; "" if it has none. clang writes \303\234 for the bytes
/// of an umlaut.
std::string path_of(std::string_view marker) {
  std::string path;
  for (std::size_t at = marker.find('"'); at != marker.npos && ++at < marker.size() && marker[at] != '"';) {
    const std::string_view digits = marker.substr(std::min(at + 1, marker.size()), 3);
    if (marker[at] != '\\') {
      path += marker[at];
    } else if (digits.size() == 3 && digits.find_first_not_of("01234567") == digits.npos) {
      path += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + digits[2] - '0');
      at += 3;
    } else if (!digits.empty()) {
      path += marker[++at];
    }
  }
  return path;
}

/// Files that the compiler read, according to the preprocessor's line markers.
std::set<std::string> included(std::string_view preprocessed) {
  std::set<std::string> files;
  for (std::size_t at = 0; at < preprocessed.size(); at = preprocessed.find('\n', at), at += at != preprocessed.npos) {
    if (!preprocessed.substr(at).starts_with("# ")) continue;
    const std::string path = path_of(preprocessed.substr(at, preprocessed.find('\n', at) - at));
    if (path.starts_with('/') && !path.ends_with('/'))  // not the folder where the compiler ran
      files.insert(fs::path(path).lexically_normal().string());
  }
  return files;
}

/// The header as the source spells it between quotes or angle brackets, if the source includes it directly.
std::string as_written(const std::string& header, std::string_view source) {
  for (std::size_t at = 0; (at = source.find_first_of("<\"", at)) != std::string_view::npos;) {
    const std::string spelled(source.substr(at + 1, source.find_first_of("<>\"\n", at + 1) - at - 1));
    if (spelled == header || (!spelled.empty() && header.ends_with("/" + spelled))) return spelled;
    ++at;
  }
  return header;
}

std::map<std::string, std::vector<std::string>> read_recipe(const fs::path& file) {
  if (!fs::exists(file))
    throw input_error(fmt::format("{} does not exist; configure and build first: ./course setup", file.string()));
  std::map<std::string, std::vector<std::string>> recipe;
  const auto document = nlohmann::json::parse(text_of(file));
  for (const auto& [key, list] : document.items()) recipe[key] = list.get<std::vector<std::string>>();
  return recipe;
}

std::string version_of(const std::string& compiler) {
  return output_of(grading::shell_word(compiler) + " --version 2>/dev/null");
}

}  // namespace

std::string commands_of(const fs::path& recipe) {
  std::string all;
  const auto read = read_recipe(recipe);
  for (const auto& [key, list] : read)
    if (key != "headers") all += fmt::format("{}: {}\n", key, fmt::join(list, " "));
  return all + version_of(read.at("link").front());
}

box_builder::box_builder(const fs::path& recipe, fs::path cache, wall behind, bool check, build_limits allowed)
    : cache_(std::move(cache)), behind_(behind), check_(check), allowed_(allowed) {
  recipe_ = read_recipe(recipe);
  fs::create_directories(cache_);
  constexpr auto kept = std::chrono::hours(72);
  std::error_code taken_by_another;
  for (const auto& object : fs::directory_iterator(cache_))
    if (fs::file_time_type::clock::now() - object.last_write_time(taken_by_another) > kept)
      fs::remove(object, taken_by_another);
  for (const char* key :
       {"objects", "libraries"})  // otherwise linking would fail and the submission would get the blame
    for (const std::string& word : recipe_.at(key))
      if (word.starts_with("/") && !fs::exists(word))
        throw input_error(
            fmt::format("{} is not built; run cmake --build {}", word, recipe.parent_path().parent_path().string()));
  std::vector<std::string> ignored;
  std::set<std::string> wanted, there;
  for (const std::string& object : recipe_.at("objects")) {
    const object_symbols symbols = read_object(text_of(object), ignored, by_nvcc());
    wanted.insert(symbols.undefined.begin(), symbols.undefined.end());
    there.insert(symbols.defined.begin(), symbols.defined.end());
    there.insert(symbols.weak.begin(), symbols.weak.end());
    for (const std::string& name : symbols.defined)
      if (is_of_a_lab(name)) given_.insert(name);
  }
  // The contract: functions of the lab that the staff's code calls but does not define.
  for (const std::string& name : wanted)
    if (is_of_a_lab(name) && !there.contains(name)) contract_.push_back(name);
  apart_ = !recipe_.at("apart").empty();
  const words& counted = recipe_.at("counted");
  for (const std::string& name : contract_)
    if (std::find(counted.begin(), counted.end(), function_name(name)) != counted.end()) counted_.insert(name);
  for (const char* key : {"cpp", "cu", "headers", "calls"})
    tools_ += fmt::format("{} ", fmt::join(recipe_.at(key), " "));
  for (const std::string& path : recipe_.at("readable"))
    for (const auto& entry : fs::is_directory(path) ? std::vector<fs::path>(fs::recursive_directory_iterator(path), {})
                                                    : std::vector<fs::path>{path})
      if (fs::is_regular_file(entry)) tools_ += sha256(text_of(entry));
  tools_ += version_of(recipe_.at("link").front());
}

bool box_builder::by_nvcc() const { return recipe_.at("cu").front().ends_with("nvcc"); }

std::vector<fs::path> box_builder::runtime() const {
  return {recipe_.at("runtime").begin(), recipe_.at("runtime").end()};
}

build_outcome box_builder::compile(const std::string& name, const hand_in& source, fs::path& object) const {
  const std::string key =
      sha256(tools_ + (check_ ? "checked" : "") + source.folder.string() + name + '\0' + source.text);
  object = cache_ / (key + ".o");
  if (fs::exists(object)) {
    std::error_code ignored;
    fs::last_write_time(object, fs::file_time_type::clock::now(), ignored);
    return {true, {}};
  }
  const scratch place;
  replace_file(place.in / name, source.text);
  box what;
  what.tools = true;
  what.mounts = {{place.in, "/in"}, {place.out, "/out", true}};
  for (const char* list : {"readable", "headers", "toolchain"})
    for (const std::string& path : recipe_.at(list)) what.mounts.push_back({path, path});
  const bool device = is_device_code(name);
  what.command = recipe_.at(device ? "cu" : "cpp");
  const fs::path in = behind_ == wall::box ? fs::path("/in") : place.in,
                 out = behind_ == wall::box ? fs::path("/out") : place.out;
  for (const std::string& word :
       {(in / name).string(), std::string("-c"), std::string("-o"), (out / "hand-in.o").string()})
    what.command.push_back(word);
  const std::string shown = source.folder.empty() ? "" : source.folder.string() + "/";
  // Reports name a file by the path where it is edited or, if it came from outside, by handed_in_at.
  what.command.push_back(fmt::format("{}-ffile-prefix-map={}/={}", by_nvcc() && device ? "-Xcompiler=" : "",
                                     in.string(), shown.empty() ? handed_in_at : shown));
  what.cpu_seconds = static_cast<int>(allowed_.wall.count());
  const ran got = run_in(what, behind_, allowed_.wall, allowed_.memory);
  if (got.timed_out) return {false, fmt::format("{}: the compiler took more than {} s", name, allowed_.wall.count())};
  if (got.out_of_memory)
    return {false, fmt::format("{}: the compiler took more than {} MiB of memory", name, allowed_.memory >> 20)};
  if (got.exit_code != 0) {
    const std::string why = errors_in(got.output, in.string() + "/", shown);
    if (const std::string header = missing_header(got.output); !header.empty())
      return {false, header_refused(shown + name, header)};
    return {false, why.empty()
                       ? fmt::format("{}: the compiler was stopped: it exceeded its limits on files or memory", name)
                       : why};
  }
  const std::string compiled = from_box(place.out / "hand-in.o");
  if (compiled.empty()) return {false, name + ": the compiler wrote no object file under 32 MiB"};
  std::string assembly, preprocessed;
  for (const auto& file : fs::directory_iterator(place.out)) {
    if (file.path().extension() == ".s" && !file.path().filename().string().ends_with(".shared.s"))
      assembly += from_box(file.path());
    if (file.path().extension() == ".ii") preprocessed += from_box(file.path());
  }
  if (check_)
    if (const std::string why = refusal(name, source, preprocessed, assembly, {in, out}); !why.empty())
      return {false, why};
  replace_file(object, compiled);
  return {true, {}};
}

std::string box_builder::refusal(const std::string& name, const hand_in& source, const std::string& preprocessed,
                                 const std::string& assembly, const std::set<fs::path>& own) const {
  const bool device = is_device_code(name);
  const auto is_offered = [&](const std::string& file) {
    for (const char* list : {"readable", "headers", "toolchain"})
      for (const std::string& path : recipe_.at(list))
        if (file == path || file.starts_with(path + "/")) return true;
    // Compilers' temporary files. Other files in that folder are the student's; a box has no such files.
    const fs::path temporary = fs::temp_directory_path();
    return file.starts_with("/usr/lib/") || own.contains(fs::path(file).parent_path()) ||
           file.starts_with((temporary / "simcc-").string()) || file.starts_with((temporary / "tmpxft_").string());
  };
  if (assembly.empty() || preprocessed.empty() || has_assembly_in_a_name(preprocessed) ||
      has_inline_assembly(assembly, by_nvcc() && device))
    return fmt::format("{}: contains inline assembly, which cannot be checked; write it in C++: {}", name, rules);
  if (device && !by_nvcc() && has_host_instructions(preprocessed))
    return fmt::format("{}: uses CPU instructions ({}), which no GPU has", name, machine::instructions_header);
  if (const std::string builtin = device ? redefined_builtin(source.text) : ""; !builtin.empty())
    return fmt::format("{}: redefines {}, whose accesses to memory are counted; leave it as it is: {}", name,
                       builtin.substr(0, most_of_a_name), rules);
  for (const std::string& file : included(preprocessed))
    if (!is_offered(file)) return header_refused(name, as_written(file, source.text));
  return {};
}

box_builder::clean box_builder::take_out_unclean(const std::map<std::string, hand_in>& sources,
                                                 std::map<std::string, fs::path>& objects,
                                                 std::string complaints) const {
  clean result;
  const words& also = recipe_.at("calls");
  const words& offered = recipe_.at("device");
  const callable may_call(offered.front(), {offered.begin() + 1, offered.end()}, by_nvcc(), {also.begin(), also.end()});
  std::map<std::string, object_symbols> symbols;
  std::map<std::string, std::vector<std::string>> refused;  // by file
  for (const auto& [name, object] : objects)
    symbols[name] = read_object(text_of(object), refused[name], by_nvcc() && is_device_code(name));
  for (const auto& [name, own] : symbols) {
    // Present only if some assertion can fail, whatever macros say.
    if (own.undefined.contains("__assert_fail")) result.asserting.insert(name);
    if (const std::string found = foreign_name(sources.at(name).text, own.undefined); !found.empty())
      refused[name].push_back(
          fmt::format("{}: programs may not use this name; use what C++ and CUDA offer: {}", found, rules));
  }
  const auto is_defined = [&](bool by_device_code, const std::string& symbol) {
    return std::any_of(symbols.begin(), symbols.end(), [&](const auto& one) {
      return is_device_code(one.first) == by_device_code &&
             (one.second.defined.contains(symbol) || one.second.weak.contains(symbol));
    });
  };
  const bool all_compile = complaints.empty();
  constexpr const char* of_its_own = "each of these files is a separate program";
  std::vector<std::string> all;
  // A removed file may have defined functions that the others call.
  for (bool more = check_; more;) {
    more = false;
    const bool complete = all_compile && all.empty();
    for (const auto& [name, own] : symbols) {
      const bool device = is_device_code(name);
      std::vector<std::string>& why = refused[name];
      const auto defines = [&own = own](const std::string& s) {
        return own.defined.contains(s) || own.weak.contains(s);
      };
      const bool counted = device && !by_nvcc() && std::any_of(counted_.begin(), counted_.end(), defines);
      for (const auto* list : {&own.defined, &own.weak, &own.local, &own.undefined})
        for (const std::string& symbol : *list)
          if (const std::string rival = rival_of(symbol); !rival.empty()) {
            why.push_back(
                fmt::format("uses {} ({}), the library that your code is measured against; write it yourself: {}",
                            rival, shown_name(symbol), rules));
            break;
          }
      for (const auto* list : {&own.defined, &own.weak})
        for (const std::string& symbol : *list)
          if (device && may_call.is_the_devices(symbol))
            why.push_back(
                fmt::format("defines {}, a name that the simulated device uses; choose another", shown_name(symbol)));
      for (const std::string& symbol : contract_)
        if (!device && (launches(symbol) || counted_.contains(symbol)) && defines(symbol))
          why.push_back(fmt::format("defines {}, which is for a .cu file, where its accesses are seen: {}",
                                    shown_name(symbol), rules));
      for (const std::string& symbol : own.defined)
        if (apart_ && symbol != "main" && std::any_of(symbols.begin(), symbols.end(), [&](const auto& other) {
              return other.second.weak.contains(symbol);
            }))
          why.push_back(fmt::format("defines {}, which another file defines too; {}", shown_name(symbol), of_its_own));
      std::set<std::string> file_classes;  // one line for all functions of a class
      for (const std::string& symbol : own.undefined) {
        if (given_.contains(symbol) || !rival_of(symbol).empty()) continue;
        if (const std::string c = file_class_of(symbol);
            !c.empty() && !is_defined(false, symbol) && !is_defined(true, symbol)) {
          file_classes.insert(c);
          continue;
        }
        const std::string plain = in_place_of(symbol);
        const std::string what = "calls " + shown_name(plain.empty() ? symbol : plain);
        const bool is_there = is_defined(device, symbol);
        if (is_there && apart_) {
          why.push_back(fmt::format("{}, which is in another file; {}", what, of_its_own));
          continue;
        }
        if (is_there || may_call(symbol, device)) {
          if (counted ? is_there || !may_call.in_sight(symbol) : device && !is_there && copies_unseen(symbol))
            why.push_back(what + fmt::format(", whose accesses to memory are not counted; {}write a loop, or use a "
                                             "container or an algorithm of C++",
                                             counted ? name + " is plain C++: " : ""));
          continue;
        }
        if (is_defined(!device, symbol))
          why.push_back(what + fmt::format(", which is in a {} file; .cu and .cpp files cannot call each other's "
                                           "functions: {}",
                                           device ? ".cpp" : ".cu", rules));
        else if (std::find(contract_.begin(), contract_.end(), symbol) == contract_.end())
          why.push_back(what +
                        fmt::format(", {}: {}",
                                    complete ? "which a submission may not call" : "which is in no file that is built",
                                    rules));
      }
      if (file_classes.size() > 1) file_classes.erase("std::filebuf");  // part of the streams
      const bool may_open = !device && std::find(also.begin(), also.end(), "open") != also.end();
      if (!file_classes.empty())
        why.push_back(fmt::format("uses {}, which a submission may not use{}: {}", fmt::join(file_classes, " and "),
                                  may_open ? "; use open, read and close of <fcntl.h> and <unistd.h>" : "", rules));
    }
    for (const auto& [name, why] : refused) {
      for (const std::string& one : why) all.push_back(fmt::format("{}: {}", name, one));
      if (why.empty()) continue;
      objects.erase(name);
      symbols.erase(name);
      more = true;
    }
    refused.clear();
  }
  for (const std::string& function : contract_)
    if (!is_defined(false, function) && !is_defined(true, function)) result.missing.push_back(function);
  if (all_compile && all.empty())
    for (const std::string& function : result.missing) all.push_back("undefined reference to " + shown_name(function));
  if (!all.empty()) add_to_list(complaints, "\n", shortened_list(all, 5, "\n", "\n"));
  result.complaints = complaints;
  for (const auto& [name, own] : symbols)
    if (is_device_code(name) && !by_nvcc())
      for (const std::string& symbol : own.undefined)
        if (callable::is_the_hosts(symbol)) result.of_host.insert(symbol);
  return result;
}

build_outcome box_builder::build(const std::map<std::string, hand_in>& sources, const fs::path& program) const {
  std::map<std::string, fs::path> objects;
  std::map<std::string, std::future<build_outcome>> compiling;
  for (const auto& [name, source] : sources)
    compiling[name] = std::async(std::launch::async, [&, &name = name, &source = source, &object = objects[name]] {
      return compile(name, source, object);
    });
  std::string left_out;
  for (auto& [name, outcome] : compiling)
    if (const build_outcome one = outcome.get(); !one.ok) {
      add_to_list(left_out, "\n", one.message);
      objects.erase(name);
    }
  const clean kept = take_out_unclean(sources, objects, left_out);
  left_out = kept.complaints;
  if (objects.empty()) return {false, left_out};

  const scratch place;
  std::string names[2], keep;
  for (const auto& [name, object] : objects) {
    fs::copy_file(object, place.in / (name + ".o"));
    names[is_device_code(name)] +=
        " " + grading::shell_word(behind_ == wall::box ? "/in/" + name + ".o" : (place.in / (name + ".o")).string());
  }
  for (const std::string& function : contract_) keep += function + "\n";
  replace_file(place.in / "contract", keep);
  const std::string in = behind_ == wall::box ? "/in" : (place.in).string(),
                    out = behind_ == wall::box ? "/out" : (place.out).string();
  box what;
  what.tools = true;
  what.mounts = {{place.in, "/in"}, {place.out, "/out", true}};
  for (const std::string& path : recipe_.at("toolchain")) what.mounts.push_back({path, path});
  std::string staff;
  for (const char* key : {"objects", "libraries"})
    for (const std::string& word : recipe_.at(key)) {
      staff += " " + grading::shell_word(word);
      if (word.starts_with("/") && !word.starts_with("/usr/lib"))
        what.mounts.push_back({word, word});  // a box with tools has /usr/lib
    }
  // One object of each kind, exporting only the contract's functions. Constructors must not run before main: the runner
  // finds them in their own section (runner.cpp). Drops the thread sanitizer's constructor, which each object of device
  // code has.
  const std::string constructors =
      "_constructors : { KEEP(*(SORT_BY_INIT_PRIORITY(.init_array.*))) KEEP(*(.init_array)) } }\n";
  replace_file(place.in / "host.ld", "SECTIONS { host" + constructors);
  // Sections in which the simulated device recognizes code and variables of .cu files (common/sim/src/guard.hpp).
  const std::string own =
      "hand_in_code : { *(.text .text.*) }\n"
      "hand_in_data : { *(.data .data.rel .data.rel.local .data.rel.local.* .data.[!r]* .data._*) }\n"
      "hand_in_zeros : { *(.bss .bss.* COMMON) }\n";
  replace_file(place.in / "device.ld",
               "SECTIONS { /DISCARD/ : { *(.init_array.00099) }\n" + (by_nvcc() ? "" : own) + "device" + constructors);
  // On the simulated device, kernels may not call host functions.
  std::string renamed, keep_out = ".section hand_in_code,\"ax\",@progbits\n";
  for (const std::string& symbol : kept.of_host) {
    renamed += fmt::format("{0} sim_the_hosts_{0}\n", symbol);
    keep_out += replaced(replaced(std::string(machine::for_the_host), "NAME", symbol), "TEXT", shown_name(symbol));
  }
  replace_file(place.in / "renamed", renamed);
  replace_file(place.in / "keep_out.s", keep_out + ".section .note.GNU-stack,\"\"\n");
  std::string script, sealed;
  for (const bool device : {false, true}) {
    if (names[device].empty()) continue;
    const std::string kind = device ? "device" : "host";
    script += fmt::format(
        "ld -r -d --force-group-allocation -T {2}/{0}.ld -o {1}/{0}.o{3}\n"
        "objcopy --keep-global-symbols={2}/contract{4} {1}/{0}.o {1}/{0}.sealed.o\n",
        kind, out, in, names[device], device ? fmt::format(" --redefine-syms={}/renamed", in) : "");
    sealed += fmt::format(" {}/{}.sealed.o", out, kind);
  }
  if (!kept.of_host.empty()) {
    script += fmt::format("as -o {0}/keep_out.o {1}/keep_out.s\n", out, in);
    sealed += fmt::format(" {}/keep_out.o", out);
  }
  for (const std::string& function : kept.missing)
    sealed += fmt::format(" -Wl,--defsym={}=hand_in_not_built", function);
  what.command = {"/usr/bin/sh", "-ec",
                  script + fmt::format("{} -o {}/runner{}{}", fmt::join(recipe_.at("link"), " "), out, sealed, staff)};
  const ran got = run_in(what, behind_, allowed_.wall, allowed_.memory);
  const std::string linked = got.exit_code == 0 ? from_box(place.out / "runner") : std::string{};
  if (linked.empty()) {
    add_to_list(left_out, "\n", "linking failed: " + errors_in(got.output, in + "/", ""));
    return {false, left_out};
  }
  replace_file(program, linked);
  fs::permissions(program, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                               fs::perms::others_read | fs::perms::others_exec);
  std::set<std::string> without;
  for (const auto& [name, source] : sources)
    if (!objects.contains(name)) without.insert(name);
  return {true, left_out, kept.asserting, without};
}

}  // namespace grading
