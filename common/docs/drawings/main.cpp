// The drawings of the handouts, labs/NN_topic/drawings/NAME.svg, and the steps of the decks, which only the build has.
// A drawing of a handout without computed figures has no maker: its SVG is the source.
//   drawings write LABS    makes the drawings of the handouts, and renews the colours of the others
//   drawings check LABS    fails if a file differs from its drawing, its text does not fit or no page shows it
//   drawings steps FOLDER  makes the decks' drawings, FOLDER/NAME.svg
#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "counted.hpp"
#include "drawing.hpp"
#include "sim/device_file.hpp"

namespace drawings {
namespace {

namespace fs = std::filesystem;

enum class of { handouts, decks };

drawing_list all(of what) {
  drawing_list list;
  for (const auto lab : {course, opening, accounting, benchmarking, coalescing, fusion, recomputation, tiling,
                         quantization, gpt2, low_precision, decode, attention, host, crashes})
    lab(list);
  std::erase_if(list, [&](const drawing& d) { return d.is_step() != (what == of::decks); });
  return list;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Lines of a page are broken anywhere.
std::string one_line(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (std::isspace(static_cast<unsigned char>(c)) == 0)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  return out;
}

fs::path file_of(const fs::path& labs, const drawing& d) {
  return (labs / d.lab / "drawings" / (d.name + ".svg")).lexically_normal();
}

std::vector<fs::path> files_in(const fs::path& labs) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(labs))
    if (entry.path().extension() == ".svg") found.push_back(entry.path().lexically_normal());
  return found;
}

int failures = 0;
void complain(const std::string& words) {
  ++failures;
  fmt::print("{}\n", words);
}

/// Complains if `make` throws.
template <class Make>
void with(const std::string& whose, Make make) {
  try {
    make();
  } catch (const std::exception& error) {
    complain(whose + ": " + error.what());
  }
}

int write(of what, const fs::path& into) {
  const auto put = [](const fs::path& file, const std::string& svg) {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << svg;
  };
  for (const drawing& d : all(what))
    with(d.name, [&] { put(what == of::decks ? into / (d.name + ".svg") : file_of(into, d), d.svg()); });
  if (what == of::handouts)
    for (const fs::path& file : files_in(into)) with(file.string(), [&] { put(file, checked(text_of(file))); });
  return failures == 0 ? 0 : 1;
}

int check(const fs::path& labs) {
  const char* const how = " differs: cmake --build build --target drawings.write";
  for (const drawing& d : all(of::handouts))
    with(d.name, [&] {
      if (text_of(file_of(labs, d)) != d.svg()) complain(file_of(labs, d).string() + how);
    });
  std::set<std::string> names;
  const std::vector<fs::path> files = files_in(labs);
  for (const fs::path& file : files)
    with(file.string(), [&] {
      const std::string svg = text_of(file), name = file.stem().string();
      if (checked(svg) != svg) complain(file.string() + how);
      if (!names.insert(name).second)
        complain(name + ": two drawings have this name, and the site has one folder for all");
      const auto must_show = [&](const fs::path& folder, const std::string& pages, const char* where) {
        const std::string shown = fmt::format("![{}]({}drawings/{}.svg)", description_of(svg), where, name);
        const auto first = pages.find(shown);
        if (first == pages.npos || pages.find(shown, first + 1) != pages.npos)
          complain(fmt::format("a page in {} must show this drawing once, with its description:\n\n{}\n",
                               folder.string(), shown));
      };
      const fs::path folder = file.parent_path().parent_path(), top = labs.parent_path();
      must_show(folder, one_line(text_of(folder / "README.md") + '\n' + text_of(folder / "SEEN.md")), "");
      if (fs::equivalent(folder, labs)) must_show(top, one_line(text_of(top / "README.md")), "labs/");  // here, too
    });
  fmt::print("{} drawings, {} complaints\n", files.size(), failures);
  return failures == 0 && files.size() > 30 ? 0 : 1;
}

}  // namespace

double device_figure(const char* device, const char* key) {
  return sim::device_file(SIM_DEVICES_DIR, device).number(key);
}

}  // namespace drawings

int main(int argc, char** argv) {
  try {
    const std::string what = argc == 3 ? argv[1] : "";
    if (what == "write") return drawings::write(drawings::of::handouts, argv[2]);
    if (what == "steps") return drawings::write(drawings::of::decks, argv[2]);
    if (what == "check") return drawings::check(argv[2]);
    fmt::print(stderr, "usage: drawings write|check LABS, steps FOLDER\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return 2;
}
