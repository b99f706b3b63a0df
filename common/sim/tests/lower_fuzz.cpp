// Lowering of unexpected texts: token soups, the repository's own files with pieces moved, and random launches whose
// correct lowering is known. Always the same seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "../tools/lower.hpp"
#include "../tools/refuse.hpp"

namespace {

std::mt19937 random_bits(20'240'229);  // NOLINT(cert-msc51-cpp): the same in each run
std::size_t below(std::size_t n) { return random_bits() % n; }

/// A replacement that says #line must name the place that follows it in the source.
void check_realigned(const std::string& source, const sim::edit& e) {
  const std::size_t at = e.text.rfind("\n#line ");
  if (at == std::string::npos) return;
  const std::size_t next = e.at + e.length;
  std::size_t line = 1, column = 0;
  for (std::size_t i = source.starts_with("\xEF\xBB\xBF") ? 3 : 0; i < next; ++i) {
    ++column;
    if (source[i] == '\n') ++line, column = 0;
  }
  ASSERT_EQ(e.text.substr(at), "\n#line " + std::to_string(line) + "\n" + std::string(column, ' ')) << source;
}

/// What must hold for any text.
void check(const std::string& source) {
  const std::vector<sim::token> tokens = sim::tokens_of(source);
  std::vector<sim::edit> edits = sim::launch_edits(source, tokens);
  const std::string lowered = sim::apply(source, edits);
  // Taking the replacements back gives the source.
  std::stable_sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  std::string undone;
  std::size_t from = 0;
  for (const sim::edit& e : edits) {
    ASSERT_GE(e.at, undone.size()) << source;
    const std::size_t kept = e.at - undone.size();
    undone += lowered.substr(from, kept);
    ASSERT_EQ(lowered.compare(from + kept, e.text.size(), e.text), 0) << source;
    from += kept + e.text.size();
    const std::string removed = source.substr(e.at, e.length);
    ASSERT_TRUE(removed.empty() || removed == "<<<" || removed == ">>>" || removed == "alignas") << source;
    undone += removed;
    check_realigned(source, e);
  }
  undone += lowered.substr(from);
  ASSERT_EQ(undone, source);
  ASSERT_EQ(sim::lower_launches(lowered), lowered) << source;
  if (source.find("<<<") == std::string::npos && source.find("cudaLaunch") == std::string::npos &&
      source.find("cudaGraph") == std::string::npos && source.find("cudaGetFuncBySymbol") == std::string::npos &&
      source.find("alignas") == std::string::npos) {
    ASSERT_EQ(lowered, source);
  }
  // Refusing loses no line.
  const std::string refused = sim::apply(source, sim::refusals(source, tokens));
  ASSERT_EQ(std::count(refused.begin(), refused.end(), '\n'), std::count(source.begin(), source.end(), '\n')) << source;
}

TEST(LowerFuzz, TokenSoup) {
  const char* const pieces[] = {"k",
                                "<<<",
                                ">>>",
                                "(",
                                ")",
                                "<",
                                ">",
                                "::",
                                ".",
                                "->",
                                "[",
                                "]",
                                "{",
                                "}",
                                ";",
                                ",",
                                "\n",
                                "\"",
                                "'",
                                "//",
                                "/*",
                                "*/",
                                "R\"(",
                                ")\"",
                                "#",
                                "\\",
                                "1'",
                                "if",
                                " ",
                                "\\\n",
                                "template",
                                "int",
                                ">>",
                                "<<",
                                "asm(",
                                "\r\n",
                                "\\\r\n",
                                "\t",
                                "\n#if",
                                "\n#else",
                                "\n#endif",
                                "\n#define ",
                                "operator",
                                "__global__ ",
                                "=",
                                "\xC3",
                                "asm(\"mov.u32 %0;\")",
                                "texture<",
                                "\n#include <cufft.h>\n",
                                "\xEF\xBB\xBF",
                                "k<<<1, 2>>>(x);"};
  for (int round = 0; round < 60'000; ++round) {
    std::string text;
    for (std::size_t n = below(24); n > 0; --n) text += pieces[below(std::size(pieces))];
    ASSERT_NO_FATAL_FAILURE(check(text));
  }
}

TEST(LowerFuzz, MovedAboutSources) {
  std::vector<std::string> sources;
  for (const char* folder : {"common", "labs", "solutions"}) {
    const std::filesystem::path path = std::filesystem::path(SOURCES) / folder;
    if (!exists(path)) continue;  // a student's copy has no solutions
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.path().extension() != ".cu") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::ostringstream text;
      text << in.rdbuf();
      sources.push_back(text.str());
    }
  }
  std::sort(sources.begin(), sources.end());
  ASSERT_GT(sources.size(), 3u);
  for (const std::string& s : sources) ASSERT_NO_FATAL_FAILURE(check(s));
  for (int round = 0; round < 1500; ++round) {
    std::string text = sources[below(sources.size())];
    text = text.substr(below(text.size()), 3000);
    for (std::size_t n = 1 + below(6); n > 0 && !text.empty(); --n) {
      const std::size_t at = below(text.size()), length = 1 + below(8);
      const std::string piece = text.substr(below(text.size()), length);
      switch (below(4)) {
        case 0: text.erase(at, length); break;
        case 1: text.insert(at, piece); break;
        case 2: text.replace(at, length, piece); break;
        default: text.insert(at, "<<<"); break;
      }
    }
    ASSERT_NO_FATAL_FAILURE(check(text));
  }
}

// ---- launches that are right

std::string pick(std::initializer_list<std::string> choices) { return choices.begin()[below(choices.size())]; }

std::string blank() { return below(4) ? "" : pick({" ", "\n", "/* <<< */", " // >>>\n", "\t"}); }

std::string type(int depth) {
  std::string t = pick({"int", "float4", "ns::t", "unsigned long"});
  if (depth > 0 && below(2)) {
    t = pick({"vec", "std::array", "a::b"}) + "<" + type(depth - 1) + blank();
    if (below(3) == 0) t += ", " + pick({"4", "(a > b)", "1 << 3", "(x >> 2)", "sizeof(int)", "'>'", "f(1, 2)"});
    t += ">";
  }
  return t;
}

std::string name() {
  std::string n = pick({"", "::", "ns::", "a::b::"}) + pick({"k", "kernel_2", "K"});
  if (below(2)) n += blank() + "<" + type(3) + (below(2) ? "," + type(2) : "") + ">";
  return n;
}

std::string value(int depth) {
  switch (below(depth > 0 ? 9 : 4)) {
    case 0: return pick({"1", "256", "g", "1'024", "0x10", "p->q", "o.f"});
    case 1: return pick({"n >> 3", "1 << 5", "n / 4", "a > b", "x <= y", "n < 4 ? 1 : 2"});
    case 2: return pick({"\">>>(\"", "R\"(>>>)\"", "'>'", "sizeof \"<<<\""}) + std::string("[0]");
    case 3: return pick({"dim3{1, 2}", "t[i]", "*p"});
    case 4: return "f(" + value(depth - 1) + ", " + value(depth - 1) + ")";
    case 5: return "s<" + type(3) + ">" + pick({"()", "::value", "{}"});
    case 6: return "(" + value(depth - 1) + blank() + ")";
    case 7: return "[&] { return " + value(depth - 1) + "; }()";
    default: return "t[" + value(depth - 1) + "]";
  }
}

TEST(LowerFuzz, ValidLaunches) {
  for (int round = 0; round < 30'000; ++round) {
    const std::string kernel = name(), trivia = blank();
    std::string configuration = value(3);
    for (std::size_t n = 1 + below(3); n > 0; --n) configuration += "," + blank() + value(2);
    const std::string before = pick({"", "x = 1; ", "if (a) ", "} ", "\n", "# define M(k) "});
    const std::string after = pick({"(x);", " (a, b<c>(d));", "\n(y);", "(x), 0;"});
    const bool inside = below(2);
    const std::string open = inside ? "f(" : "", close = inside ? ")" : "";
    std::string text = before + open + kernel + trivia + "<<<" + configuration + ">>>" + after + close;
    if (before[0] == '#' && (text.find('\n') != std::string::npos)) continue;  // a macro ends with its line
    const std::string lowered = sim::lower_launches(text);
    ASSERT_EQ(lowered.find("GCC error"), std::string::npos) << text;
    if (inside || before[0] == '#') {
      ASSERT_EQ(lowered, before + open + "SIM_KERNEL(" + kernel + trivia + ")(::sim::configure(" + configuration +
                             "))" + after + close)
          << text;
    }
    ASSERT_NO_FATAL_FAILURE(check(text));
  }
}

}  // namespace
