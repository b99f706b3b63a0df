#include "headers.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "lower.hpp"
#include "refuse.hpp"

namespace sim {
namespace {

namespace fs = std::filesystem;

struct include {
  std::size_t at, length;  // of "name" or <name> in the text
  fs::path found;
  bool beside;  // relative to the including file
};

struct file {
  std::string text;
  std::vector<edit> edits;
  bool refused = false;
  std::vector<include> includes;
  fs::path written;  // the file that replaces it, if any
};

std::string in_quotes(const fs::path& path) {
  std::string result = "\"";
  for (const char c : path.string()) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

class program {
 public:
  program(const fs::path& source, const std::vector<std::string>& flags) : source_(fs::canonical(source)) {
    quote_folders_.push_back(source.parent_path());
    for (std::size_t i = 0; i < flags.size(); ++i)
      for (const std::string option : {"-iquote", "-I"}) {
        if (!flags[i].starts_with(option)) continue;
        auto& folders = option == "-I" ? folders_ : quote_folders_;
        if (flags[i].size() > option.size())
          folders.emplace_back(flags[i].substr(option.size()));
        else if (i + 1 < flags.size())
          folders.emplace_back(flags[i + 1]);
      }
    visit(source_);
  }

  lowered_file write_to(const fs::path& lowered, const fs::path& name) {
    files_.at(source_).written = lowered;
    for (bool more = true; more;) {  // repeat for the files that include replaced ones
      more = false;
      for (auto& [path, f] : files_) {
        bool must = !f.edits.empty();
        for (const include& i : f.includes) must |= !files_.at(i.found).written.empty();
        if (!must || !f.written.empty()) continue;
        f.written = fs::absolute(lowered).string() + "." + std::to_string(++written_) + "." + path.filename().string();
        more = true;
      }
    }
    lowered_file result;
    result.known = known_;
    const bool ptx = std::any_of(files_.begin(), files_.end(), [](const auto& f) { return uses_ptx(f.second.edits); });
    for (const auto& [path, f] : files_) {
      if (f.written.empty()) continue;
      const fs::path original = path == source_ ? name : path;
      // Before the program's own macros, such as N.
      write_file(f.written, (ptx && path == source_ ? "#include \"sim/ptx.h\"\n" : "") +
                                ("#line 1 " + in_quotes(original)) + "\n" + text_of(path, f));
      result.refused |= f.refused;
      result.originals.emplace_back(f.written.string(), original.string());
    }
    return result;
  }

 private:
  void visit(const fs::path& path) {
    if (!files_.emplace(path, file{}).second) return;
    file f;
    f.text = read_file(path);
    const std::vector<token> tokens = tokens_of(f.text);
    find_includes(path, f, tokens);
    for (const include& i : f.includes) visit(i.found);  // first, because their macros may be used here
    f.edits = all_edits(f.text, tokens, &macros_, &kernels_);
    add_variables(f.text, tokens, known_);
    for (const edit& e : f.edits) f.refused |= e.text.find("GCC error") != std::string::npos;
    files_.at(path) = std::move(f);
  }

  void find_includes(const fs::path& path, file& f, const std::vector<token>& tokens) const {
    const token_view all(f.text, tokens);
    for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
      if (tokens[i].directive == 0 || tokens[i + 2].directive != tokens[i].directive) continue;
      const bool includes = all.text(i) == "#" && all.text(i + 1) == "include";
      const bool asks = all.text(i) == "__has_include" && all.text(i + 1) == "(";
      if (!includes && !asks) continue;
      const std::size_t begin = tokens[i + 2].begin;
      const char close = f.text[begin] == '"' ? '"' : f.text[begin] == '<' ? '>' : '\0';
      const std::size_t end = close ? f.text.find_first_of(std::string("\n") + close, begin + 1) : std::string::npos;
      if (end == std::string::npos || f.text[end] == '\n') continue;
      const std::string name = f.text.substr(begin + 1, end - begin - 1);
      const include found = find(path, name, close == '"');
      if (found.found.empty() && name.starts_with("thrust/") && !fs::exists("/usr/include/thrust/version.h"))
        throw std::runtime_error(
            path.string() + ":" +
            std::to_string(1 + std::count(f.text.begin(), f.text.begin() + static_cast<std::ptrdiff_t>(begin), '\n')) +
            ": fatal error: " + name + ": No such file or directory; it is Thrust's: apt-get install libthrust-dev");
      if (!found.found.empty()) f.includes.push_back({begin, end + 1 - begin, found.found, found.beside});
    }
  }

  include find(const fs::path& from, const std::string& name, bool quotes) const {
    std::vector<fs::path> candidates;
    if (quotes) candidates.push_back(from.parent_path() / name);
    if (quotes)
      for (const fs::path& folder : quote_folders_) candidates.push_back(folder / name);
    for (const fs::path& folder : folders_) candidates.push_back(folder / name);
    std::error_code ignored;
    for (const fs::path& candidate : candidates)
      if (fs::is_regular_file(candidate, ignored))
        return {0, 0, fs::canonical(candidate), quotes && &candidate == &candidates.front()};
    return {0, 0, {}, false};
  }

  std::string text_of(const fs::path& path, const file& f) const {
    std::vector<edit> edits = f.edits;
    for (const include& i : f.includes) {
      const fs::path& stand_in = files_.at(i.found).written;
      if (!stand_in.empty() && i.found != source_)
        edits.push_back({i.at, i.length, in_quotes(stand_in)});
      else if (i.beside && path != source_)  // only the original's folder contains it
        edits.push_back({i.at, i.length, in_quotes(i.found)});
    }
    std::string text = apply(f.text, std::move(edits));
    return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;  // the text no longer starts a file
  }

  fs::path source_;
  std::vector<fs::path> quote_folders_, folders_;
  std::map<fs::path, file> files_;
  variables known_;
  macro_table macros_;
  std::set<std::string> kernels_;
  int written_ = 0;
};

}  // namespace

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::vector<edit> all_edits(const std::string& source, const std::vector<token>& tokens, macro_table* known,
                            std::set<std::string>* kernels) {
  std::vector<edit> edits = assembler_edits(source, tokens, known);
  add_beside(edits, launch_edits(source, tokens, kernels));
  add_beside(edits, refusals(source, tokens));
  return edits;
}

lowered_file lower_with_headers(const fs::path& source, const fs::path& lowered,
                                const std::vector<std::string>& flags) {
  return program(source, flags).write_to(lowered, source);
}

void lowered_file::name_originals(const fs::path& dependencies) const {
  std::string text = read_file(dependencies);
  for (const auto& [file, original] : originals)
    for (std::size_t at = text.find(file); at != std::string::npos; at = text.find(file, at + original.size())) {
      if (at + file.size() < text.size() && text[at + file.size()] == '.') {
        ++at;
        continue;
      }
      text.replace(at, file.size(), original);
    }
  write_file(dependencies, text);
}

}  // namespace sim
