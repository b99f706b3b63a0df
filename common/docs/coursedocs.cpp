// What the site and the decks need in addition to Doxygen and Marp.
//   coursedocs page SOURCE FILE   FILE as Doxygen wants it, on stdout: an input filter for Markdown and headers
//   coursedocs files SOURCE OUT   copies every file and drawing that a page links to and that is not a page itself;
//                                 writes the glossary for pop-ups, and adds it and all headings to the search
//   coursedocs deck SOURCE FILE STEPS  the deck with the code and figures that it quotes and descriptions of its
//                                 drawings, on stdout; fails if one is missing
//   coursedocs data RESULTS OUT   measured JSON as tables for gnuplot: OUT/throughput.tsv, counters.tsv, ceilings.tsv,
//                                 blocks.tsv, staircase.tsv
//   coursedocs links SOURCE       checks that every relative link of every Markdown file leads somewhere, and that
//                                 numbered lists begin with 1
//   coursedocs site OUT           checks the same for built HTML, with its anchors
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "coursedocs.hpp"

namespace docs {

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<link> links_in(const std::string& line) {
  std::vector<link> result;
  bool code = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '`') code = !code;
    if (code || line[i] != '[') continue;
    int depth = 0;
    std::size_t close = i;
    for (; close < line.size(); ++close) {
      depth += line[close] == '[' ? 1 : line[close] == ']' ? -1 : 0;
      if (depth == 0) break;
    }
    if (close + 1 >= line.size() || line[close + 1] != '(') continue;
    const std::size_t end = line.find(')', close);
    if (end == std::string::npos) continue;
    const bool image = i > 0 && line[i - 1] == '!';
    result.push_back({i - (image ? 1 : 0), end + 1, image, line.substr(i + 1, close - i - 1),
                      line.substr(close + 2, end - close - 2)});
    i = end;
  }
  return result;
}

namespace {

bool is_external(const std::string& target) {
  return target.find("://") != std::string::npos || target.starts_with("mailto:") || target.starts_with("data:") ||
         target.starts_with("javascript:");
}

/// Guides, handouts and worklogs, whose names are in capitals, are pages; every other file is shown unprocessed.
bool is_page(const fs::path& file) {
  const std::string stem = file.stem().string();
  return file.extension() == ".md" &&
         std::none_of(stem.begin(), stem.end(), [](unsigned char c) { return std::islower(c) != 0; });
}

/// All Markdown files of a checkout, without build folders and hidden ones.
std::vector<fs::path> markdown_in(const fs::path& source) {
  std::vector<fs::path> files;
  for (auto it = fs::recursive_directory_iterator(source); it != fs::recursive_directory_iterator(); ++it) {
    const std::string name = it->path().filename().string();
    const bool skipped = name.starts_with(".") || name.starts_with("build") || name == "node_modules";
    if (it->is_directory() && skipped) it.disable_recursion_pending();
    if (it->is_regular_file() && it->path().extension() == ".md") files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A heading's anchor, as GitHub forms it.
std::string slug_of(const std::string& heading) {
  std::string slug;
  for (const char c : heading) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) || c == '-' || c == '_' || u >= 0x80)
      slug += static_cast<char>(std::tolower(u));
    else if (c == ' ')
      slug += '-';
  }
  return slug;
}

/// A name for a page and its file on the site: labs/03_coalescing/README.md is labs_03_coalescing.
std::string page_id(const fs::path& source, const fs::path& file) {
  fs::path relative = fs::relative(file, source).replace_extension();
  if (relative.filename() == "README") relative = relative.parent_path();
  if (relative.empty()) return "index";
  std::string id = relative.string();
  for (char& c : id) c = std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::tolower(c)) : '_';
  return id;
}

std::string anchor_id(const std::string& page, const std::string& slug) {
  std::string id = page + "-";
  for (const char c : slug) id += static_cast<unsigned char>(c) < 0x80 ? c : '_';
  return id;
}

/// The site's name for a file that is not a page.
std::string file_on_site(const fs::path& source, const fs::path& file) {
  return "files/" + fs::relative(file, source).generic_string() + ".txt";
}

std::string drawing_on_site(const fs::path& source, const fs::path& file) {
  return "files/" + fs::relative(file, source).generic_string();
}

struct heading {
  int level = 0;
  std::string text;
};

/// Level 0 if the line is not a heading.
heading heading_in(const std::string& line) {
  const std::size_t level = line.find_first_not_of('#');
  if (level == 0 || level > 4 || level == std::string::npos || line[level] != ' ') return {};
  return {static_cast<int>(level), line.substr(level + 1)};
}

bool is_fence(const std::string& line) { return line.starts_with("```"); }

/// Visits a document's lines, each marked as code or text.
template <class Visit>
void each_line(const std::string& text, Visit visit) {
  bool code = false;
  for (const std::string& line : lines_of(text)) {
    const bool fence = is_fence(line);
    visit(line, code || fence);
    if (fence) code = !code;
  }
}

std::set<std::string> anchors_of(const fs::path& file) {
  std::set<std::string> anchors;
  std::map<std::string, int> seen;
  each_line(text_of(file), [&](const std::string& line, bool code) {
    const heading h = heading_in(line);
    if (code || h.level == 0) return;
    const std::string slug = slug_of(h.text);
    const int before = seen[slug]++;
    anchors.insert(before == 0 ? slug : fmt::format("{}-{}", slug, before));
  });
  return anchors;
}

/// The text with each paragraph's lines joined: a link may span two of them.
std::string unbroken(const std::string& text) {
  std::string out;
  bool code = false, in_link = false;
  for (const std::string& line : lines_of(text)) {
    if (is_fence(line)) code = !code;
    out += line;
    if (!code) {
      const std::size_t open = line.rfind('['), close = line.rfind("](");
      if (open != std::string::npos && (close == std::string::npos || close < open))
        in_link = line.find(']', open) == std::string::npos;
      else if (close != std::string::npos)
        in_link = false;
    }
    out += !code && in_link ? ' ' : '\n';
    if (line.empty()) in_link = false;
  }
  return out;
}

// ---- page ----------------------------------------------------------------------------------------------------------

struct page_writer {
  fs::path source, file;
  std::string id;
  std::set<std::string> children;  ///< a page has one parent: the first that claims it

  /// Whether this page is the other's parent in the site's tree.
  bool adopts(const fs::path& other) const {
    const fs::path mine = file.parent_path(), theirs = other.parent_path();
    if (other.filename() == "SEEN.md") return mine == theirs && file.filename() == "README.md";
    if (other.filename() == "WORKLOG.md") return mine == source / "solutions" && file.filename() == "README.md";
    return mine == source / "labs" && file.filename() == "README.md" && theirs.parent_path() == mine;
  }

  /// For text inside HTML, which Doxygen does not search for Markdown.
  static std::string with_code(std::string text) {
    for (std::size_t at = 0, end;
         (at = text.find('`', at)) != std::string::npos && (end = text.find('`', at + 1)) != std::string::npos;)
      text.replace(at, end + 1 - at, "<code>" + text.substr(at + 1, end - at - 1) + "</code>");
    return text;
  }

  std::string linked(const link& l) {
    if (is_external(l.target)) return {};
    const std::size_t hash = l.target.find('#');
    const std::string path = l.target.substr(0, hash);
    const std::string anchor = hash == std::string::npos ? "" : l.target.substr(hash + 1);
    const fs::path target = path.empty() ? file : (file.parent_path() / path).lexically_normal();
    if (!fs::exists(target)) return l.text;         // a student's checkout has no solutions
    if (l.image && target.extension() == ".svg") {  // Doxygen would print its alternative text below it
      std::string words = l.text;
      for (std::size_t at = 0; (at = words.find('"', at)) != std::string::npos;) words.replace(at, 1, "&quot;");
      return fmt::format("@htmlonly<img class=\"drawing\" src=\"{}\" alt=\"{}\"/>@endhtmlonly",
                         drawing_on_site(source, target), words);
    }
    if (l.image) return fmt::format("![{}]({})", l.text, target.filename().string());
    std::string plain = l.text;  // Doxygen would print the code marks of a reference
    std::erase(plain, '`');
    if (is_page(target)) {
      const std::string other = page_id(source, target);
      if (!anchor.empty()) return fmt::format("[{}](@ref {})", plain, anchor_id(other, anchor));
      if (adopts(target) && children.insert(other).second) return fmt::format("@subpage {} \"{}\"", other, plain);
      return fmt::format("[{}](@ref {})", plain, other);
    }
    if (fs::is_directory(target)) return fmt::format("[{}](files.html)", l.text);
    // A plot is represented by its script, which the build runs.
    if (target.extension() == ".gnuplot") return fmt::format("![{}]({}.svg)", l.text, target.stem().string());
    if (target.extension() == ".hpp") return fmt::format("[{}](@ref {})", plain, target.filename().string());
    return fmt::format("<a href=\"{}\">{}</a>", file_on_site(source, target), with_code(l.text));
  }

  /// Converts GitHub's formulas, $x$ and $$x$$, to Doxygen's.
  static std::string with_formulas(const std::string& line) {
    std::string out;
    bool code = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '`') code = !code;
      const bool two = line.compare(i, 2, "$$") == 0;
      const std::size_t start = i + (two ? 2 : 1);
      const std::size_t end = line.find(two ? "$$" : "$", start);
      if (code || line[i] != '$' || end == std::string::npos || start >= line.size() || line[start] == ' ') {
        out += line[i];
        continue;
      }
      out += two ? "@f[" : "@f$";
      out += line.substr(start, end - start);
      out += two ? "@f]" : "@f$";
      i = end + (two ? 1 : 0);
    }
    return out;
  }

  std::string converted(std::string line) {
    const std::vector<link> links = links_in(line);
    for (auto l = links.rbegin(); l != links.rend(); ++l) {
      const std::string replacement = linked(*l);
      if (!replacement.empty()) line.replace(l->begin, l->end - l->begin, replacement);
    }
    line = with_formulas(line);
    // Doxygen mistakes this for an address, even in code.
    for (std::size_t at = line.find("`file:line`"); at != std::string::npos; at = line.find("`file:line`"))
      line.replace(at, 11, "<code>file&#58;line</code>");
    // Doxygen does not know these elements.
    const std::string open = "<details><summary>", close = "</summary>";
    if (line.starts_with(open)) {
      const std::size_t end = line.find(close);
      const std::string title = line.substr(open.size(), end - open.size());
      const std::string rest = end == std::string::npos ? "" : line.substr(end + close.size());
      return fmt::format("@htmlonly<details><summary>{}</summary>@endhtmlonly{}", with_code(title), rest);
    }
    if (line == "</details>") return "@htmlonly</details>@endhtmlonly";
    return line;
  }

  std::string markdown() {
    std::string out;
    std::map<std::string, int> seen;
    each_line(unbroken(text_of(file)), [&](const std::string& line, bool code) {
      const heading h = heading_in(line);
      if (code || h.level == 0) {
        out += (code ? line : converted(line)) + "\n";
        return;
      }
      const std::string slug = slug_of(h.text);
      const int before = seen[slug]++;
      const std::string label = h.level == 1 ? (id == "index" ? "mainpage" : id)
                                             : anchor_id(id, before ? fmt::format("{}-{}", slug, before) : slug);
      std::string text = h.text;
      std::erase(text, '`');
      out += fmt::format("{} {} {{#{}}}\n", std::string(static_cast<std::size_t>(h.level), '#'), text, label);
      if (h.level == 1 && id != "index") out += "\n[TOC]\n";
    });
    return out;
  }
};

/// Comments are not HTML: escapes their text.
std::string without_tags(const std::string& comment) {
  std::string out;
  bool code = false;
  for (std::size_t i = 0; i < comment.size(); ++i) {
    if (comment[i] == '`') code = !code;
    const bool tag = comment[i] == '<' && i + 1 < comment.size() &&
                     (std::isalpha(static_cast<unsigned char>(comment[i + 1])) || comment[i + 1] == '/');
    out += tag && !code ? "@<" : comment.substr(i, 1);
  }
  return out;
}

/// Our headers have plain comments: an overview at the top, and shapes after parameters. Doxygen needs marks.
std::string header_for_doxygen(const fs::path& file) {
  std::string out;
  bool top = true;
  for (std::string line : lines_of(text_of(file))) {
    if (top && line.starts_with("//")) {
      out += (out.empty() ? "//! @file\n//!" : "//!") + without_tags(line.substr(2)) + "\n";
      continue;
    }
    top = false;
    const std::size_t shape = line.find("// (");
    if (shape != std::string::npos && shape > 0 && line[shape - 1] == ' ' && line.find_first_not_of(' ') < shape)
      line.insert(shape + 2, "/<");
    const std::size_t comment = line.find("///");
    out += comment == std::string::npos || line.compare(comment, 4, "///<") == 0
               ? line
               : line.substr(0, comment + 3) + without_tags(line.substr(comment + 3));
    out += '\n';
  }
  return out;
}

std::string page(const fs::path& source, const fs::path& file) {
  if (file.extension() != ".md") return header_for_doxygen(file);
  return page_writer{source, file, page_id(source, file), {}}.markdown();
}

/// Writes the script for the site's pop-ups: each glossary term with its place and its sentences. Omits words that are
/// rarely meant as terms.
nlohmann::json write_glossary(const fs::path& source, const fs::path& out) {
  const std::set<std::string> everyday = {"pass", "set",      "line",  "cause",  "cold",
                                          "warm", "interval", "event", "symptom"};
  const fs::path file = source / "labs" / "GLOSSARY.md";
  nlohmann::json terms;
  std::string item, place;
  const auto end_item = [&] {
    std::string says;  // without marks
    std::vector<std::pair<std::string, std::size_t>> bold;
    for (std::size_t i = 0; i < item.size(); ++i) {
      const std::size_t end = item.compare(i, 2, "**") == 0 ? item.find("**", i + 2) : std::string::npos;
      if (end != std::string::npos) {
        bold.emplace_back(item.substr(i + 2, end - i - 2), says.size());
        says += bold.back().first;
        i = end + 1;
      } else if (item[i] != '`' && item[i] != '$') {
        says += item[i];
      }
    }
    std::size_t from = 0;  // where a term's sentences begin
    for (std::size_t b = 0; b < bold.size(); ++b) {
      const auto starts = [&](std::size_t at) { return at == 0 || (at > 1 && says.compare(at - 2, 2, ". ") == 0); };
      if (starts(bold[b].second)) from = bold[b].second;
      std::size_t to = b + 1;
      while (to < bold.size() && !starts(bold[to].second)) ++to;
      const std::string about = says.substr(from, to < bold.size() ? bold[to].second - from - 1 : std::string::npos);
      std::istringstream parts(bold[b].first);
      for (std::string term; std::getline(parts, term, ',');) {
        term.erase(0, term.find_first_not_of(' '));
        for (char& c : term) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        if (term.size() > 2 && !everyday.contains(term)) terms[term] = {place, about};
      }
    }
    item.clear();
  };
  for (const std::string& line : lines_of(text_of(file))) {
    if (const heading h = heading_in(line); h.level == 2)
      place = page_id(source, file) + ".html#" + anchor_id(page_id(source, file), slug_of(h.text));
    if (line.starts_with("- ") || !line.starts_with("  ")) end_item();
    if (line.starts_with("- **")) item = line.substr(2);
    if (line.starts_with("  ") && !item.empty() && line.find("$$") == line.npos) item += line.substr(1);
  }
  end_item();
  std::ofstream(out / "glossary.js") << "var glossary = " << terms.dump(1) << ";\n";
  return terms;
}

/// Doxygen's search finds titles and code. Adds the glossary's terms and the pages' headings before these.
void extend_search(const fs::path& source, const fs::path& out, const nlohmann::json& glossary) {
  struct entry {
    std::string words, link, where;
  };
  std::vector<entry> entries;
  for (const auto& [term, says] : glossary.items()) entries.push_back({term, says[0], "Glossary"});
  for (const fs::path& file : markdown_in(source)) {
    const std::string id = page_id(source, file);
    if (!is_page(file) || !fs::exists(out / (id + ".html"))) continue;
    std::string title;
    std::map<std::string, int> seen;
    each_line(unbroken(text_of(file)), [&](const std::string& line, bool code) {
      const heading h = code ? heading{} : heading_in(line);
      if (h.level == 1) title = h.text;
      if (h.level == 0) return;
      const std::string slug = slug_of(h.text);
      const int before = seen[slug]++;
      if (h.level < 2) return;
      std::string words = h.text;
      std::erase(words, '`');
      const std::string anchor = anchor_id(id, before ? fmt::format("{}-{}", slug, before) : slug);
      entries.push_back({words, id + ".html#" + anchor, title});
    });
  }
  const std::string data = text_of(out / "search" / "searchdata.js");
  if (data.find("0: \"") == std::string::npos) return;
  const std::size_t from = data.find("0: \"") + 4;
  const std::string letters = data.substr(from, data.find('"', from) - from);  // all_N.js has the entries for letter N
  std::map<std::size_t, std::string> rows;
  int number = 0;
  for (const entry& e : entries) {
    std::string name;  // encoded like a query in search.js
    for (const char c : e.words) {
      const auto u = static_cast<unsigned char>(std::tolower(static_cast<unsigned char>(c)));
      name += std::isalnum(u) || u >= 0x80 ? std::string(1, static_cast<char>(u)) : fmt::format("_{:02x}", u);
    }
    const std::size_t letter = letters.find(name[0]);
    if (letter == std::string::npos) continue;
    const auto quoted = [](const std::string& words) {
      std::string result;
      for (const char c : words)
        result += c == '\'' ? "&#39;" : c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
      return result;
    };
    rows[letter] += fmt::format("  ['{}_t{}',['{}',['../{}',1,'{}']]],\n", name, number++, quoted(e.words), e.link,
                                quoted(e.where));
  }
  for (const auto& [letter, lines] : rows) {
    const fs::path file = out / "search" / fmt::format("all_{:x}.js", letter);
    std::string text = text_of(file);
    const std::string begin = "var searchData=\n[\n";
    if (!text.starts_with(begin)) continue;  // from another version of Doxygen: keep its search
    std::ofstream(file, std::ios::binary) << text.insert(begin.size(), lines);
  }
}

int copy_linked_files(const fs::path& source, const fs::path& out) {
  extend_search(source, out, write_glossary(source, out));
  for (const fs::path& file : markdown_in(source)) {
    if (!is_page(file)) continue;
    each_line(unbroken(text_of(file)), [&](const std::string& line, bool code) {
      if (code) return;
      for (const link& l : links_in(line)) {
        const fs::path target = (file.parent_path() / l.target).lexically_normal();
        const bool drawing = l.image && target.extension() == ".svg";
        if (is_external(l.target) || l.image != drawing || !fs::is_regular_file(target) || is_page(target)) continue;
        const fs::path copy = out / (drawing ? drawing_on_site(source, target) : file_on_site(source, target));
        fs::create_directories(copy.parent_path());
        fs::copy_file(target, copy, fs::copy_options::overwrite_existing);
      }
    });
  }
  return 0;
}

// ---- links ---------------------------------------------------------------------------------------------------------

int check_links(const fs::path& source) {
  int links = 0, broken = 0, files = 0;
  for (const fs::path& file : markdown_in(source)) {
    ++files;
    bool in_list = false;
    each_line(unbroken(text_of(file)), [&](const std::string& line, bool code) {
      if (code) return;
      const std::size_t digits = line.find_first_not_of("0123456789");
      const bool numbered = digits != std::string::npos && digits > 0 && line.compare(digits, 2, ". ") == 0;
      if (numbered && !in_list && !line.starts_with("1.")) {
        ++broken;
        fmt::print("{}: {}: on the site this list begins again at 1: indent what interrupts it\n",
                   fs::relative(file, source).string(), line.substr(0, 40));
      }
      in_list = numbered || (in_list && (line.empty() || line[0] == ' '));
      for (const link& l : links_in(line)) {
        if (is_external(l.target) || l.target.find(' ') != std::string::npos) continue;
        ++links;
        const std::size_t hash = l.target.find('#');
        const std::string path = l.target.substr(0, hash);
        const fs::path target = path.empty() ? file : (file.parent_path() / path).lexically_normal();
        const auto complain = [&](const char* why) {
          ++broken;
          fmt::print("{}: [{}]({}): {}\n", fs::relative(file, source).string(), l.text, l.target, why);
        };
        // The student's checkout has no solutions; the build's output exists only after it.
        const std::string top = fs::relative(target, source).begin()->string();
        if ((top == "solutions" || top == "slides") && !fs::exists(source / top)) continue;
        const bool drawn =
            l.image && fs::exists(target.parent_path() / "plots" / (target.stem().string() + ".gnuplot"));
        if (drawn || target.parent_path() == source / "slides" / "steps") continue;  // docs.decks checks the steps
        if (!fs::exists(target))
          complain("there is no such file");
        else if (hash != std::string::npos && target.extension() == ".md" &&
                 !anchors_of(target).contains(l.target.substr(hash + 1)))
          complain("there is no such heading");
      }
    });
  }
  fmt::print("{} relative links in {} files, {} broken\n", links, files, broken);
  return broken == 0 && files > 0 ? 0 : 1;
}

/// The values of an attribute in HTML.
std::vector<std::string> attributes(const std::string& html, const std::string& name) {
  std::vector<std::string> values;
  const std::string start = " " + name + "=\"";
  for (std::size_t at = html.find(start); at != std::string::npos; at = html.find(start, at + 1)) {
    const std::size_t from = at + start.size(), to = html.find('"', from);
    if (to == std::string::npos) break;
    values.push_back(html.substr(from, to - from));
  }
  return values;
}

std::string unescaped(std::string url) {
  for (std::size_t at = url.find('%'); at != std::string::npos && at + 2 < url.size(); at = url.find('%', at + 1))
    url.replace(at, 3, 1, static_cast<char>(std::stoi(url.substr(at + 1, 2), nullptr, 16)));
  return url;
}

/// Markdown marks that a page shows its reader: ` and *words*, outside code.
std::vector<std::string> unread_markdown(const std::string& html) {
  std::string text;
  for (std::size_t at = 0; at < html.size();) {
    if (html[at] != '<') {
      text += html[at++];
      continue;
    }
    std::size_t end = html.find('>', at);
    for (const std::string_view element : {"pre", "code", "tt", "script", "style", "svg", "head"})
      if (html.compare(at + 1, element.size(), element) == 0 &&
          (html[at + 1 + element.size()] == '>' || html[at + 1 + element.size()] == ' '))
        end = html.find(fmt::format("</{}>", element), at);
    if (html.compare(at, 18, "<div class=\"line\">") == 0) end = html.find("</div>", at);
    if (end != std::string::npos) end = html.find('>', end);
    if (end == std::string::npos) break;
    at = end + 1;
  }
  std::vector<std::string> found;
  const auto is_blank = [](char c) { return c == ' ' || c == '\n' || c == '(' || c == '*'; };
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::size_t end = text[at] == '`' ? at : std::string::npos;
    if (text[at] == '*' && at > 0 && is_blank(text[at - 1]) && at + 1 < text.size() && !is_blank(text[at + 1])) {
      end = text.find_first_of("*\n", at + 1);
      if (end != std::string::npos && (text[end] == '\n' || is_blank(text[end - 1]) ||
                                       std::isalnum(static_cast<unsigned char>((text + " ")[end + 1]))))
        end = std::string::npos;
    }
    if (end == std::string::npos) continue;
    std::string words = text.substr(at - std::min<std::size_t>(at, 20), end + 20 - at + std::min<std::size_t>(at, 20));
    std::replace(words.begin(), words.end(), '\n', ' ');
    found.push_back(words);
    at = end;
  }
  return found;
}

int check_site(const fs::path& out) {
  std::map<std::string, std::set<std::string>> anchors;  // of each page
  std::map<std::string, std::string> pages;
  for (const auto& entry : fs::recursive_directory_iterator(out)) {
    const std::string name = fs::relative(entry.path(), out).generic_string();
    if (entry.path().extension() != ".html" || name.starts_with("mathjax/")) continue;
    std::string& html = pages[name] = text_of(entry.path());
    for (const char* attribute : {"id", "name"})
      for (const std::string& value : attributes(html, attribute)) anchors[name].insert(value);
  }
  int links = 0;
  std::set<std::string> broken;
  for (const auto& [name, html] : pages)
    for (const char* attribute : {"href", "src"})
      for (const std::string& url : attributes(html, attribute)) {
        // Doxygen's own summary names a section that it omits for nested classes.
        if (is_external(url) || url.empty() || url == "#" || url == "#nested-classes") continue;
        ++links;
        const std::size_t hash = url.find('#');
        const std::string path = unescaped(url.substr(0, url.find_first_of("#?")));
        const std::string target =
            path.empty() ? name : (fs::path(name).parent_path() / path).lexically_normal().generic_string();
        if (!fs::exists(out / target))
          broken.insert(fmt::format("{}: {}: there is no such file", name, url));
        else if (hash != std::string::npos && hash + 1 < url.size() && pages.contains(target) &&
                 !anchors[target].contains(unescaped(url.substr(hash + 1))))
          broken.insert(fmt::format("{}: {}: there is no such place on that page", name, url));
      }
  const auto planted = unread_markdown("<p>A *word* and `code`, but 2 * 3, a *pointer and <code>`*x*`</code></p>");
  if (planted.size() != 3) broken.insert(fmt::format("found {} of the 3 planted Markdown marks", planted.size()));
  for (const auto& [name, html] : pages)
    if (!name.ends_with("_source.html"))
      for (const std::string& words : unread_markdown(html))
        broken.insert(fmt::format("{}: Markdown: {}", name, words));
  for (const std::string& line : broken) fmt::print("{}\n", line);
  fmt::print("{} links in {} pages, {} faults\n", links, pages.size(), broken.size());
  return broken.empty() && !pages.empty() ? 0 : 1;
}

}  // namespace
}  // namespace docs

int main(int argc, char** argv) {
  using namespace docs;
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto is = [&](const char* command, std::size_t arguments) {
    return words.size() == arguments + 1 && words[0] == command;
  };
  try {
    const fs::path source = words.size() > 1 ? fs::canonical(words[1]) : fs::path{};
    if (is("page", 2)) return std::cout << page(source, fs::canonical(words[2])), 0;
    if (is("files", 2)) return copy_linked_files(source, words[2]);
    if (is("deck", 3)) return std::cout << deck(source, fs::canonical(words[2]), words[3]), 0;
    if (is("data", 2)) return write_data(source, words[2]);
    if (is("links", 1)) return check_links(source);
    if (is("site", 1)) return check_site(source);
    fmt::print(
        stderr,
        "usage: coursedocs page SOURCE FILE, deck SOURCE FILE STEPS, files SOURCE OUT, data RESULTS OUT, links SOURCE, "
        "site OUT\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return 2;
}
