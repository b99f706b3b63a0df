// The drawings of the handouts, labs/NN_topic/drawings/NAME.svg, and the steps of the decks, which only the build has.
//   drawings write LABS    makes all drawings of the handouts
//   drawings check LABS    fails if a file differs from its drawing, or its page does not show it
//   drawings steps FOLDER  makes the decks' drawings, FOLDER/NAME.svg
#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "counted.hpp"
#include "drawing.hpp"
#include "lab/device_file.hpp"

namespace drawings {
namespace {

namespace fs = std::filesystem;

enum class of { handouts, decks };

drawing_list all(of what) {
  drawing_list list;
  for (const auto lab : {course, opening, first_kernel, accounting, benchmarking, coalescing, fusion, recomputation,
                         tiling, quantization, gpt2, low_precision, decode, attention, host, crashes})
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

int write(of what, const fs::path& into) {
  int failed = 0;
  for (const drawing& d : all(what)) {
    try {
      const std::string svg = d.svg();
      const fs::path file = what == of::decks ? into / (d.name + ".svg") : file_of(into, d);
      fs::create_directories(file.parent_path());
      std::ofstream(file, std::ios::binary) << svg;
    } catch (const std::exception& error) {
      fmt::print("{}\n", error.what());
      ++failed;
    }
  }
  return failed == 0 ? 0 : 1;
}

int check(const fs::path& labs) {
  int wrong = 0;
  const auto complain = [&](const std::string& words) {
    ++wrong;
    fmt::print("{}\n", words);
  };
  std::set<fs::path> files;
  std::set<std::string> names;
  for (const drawing& d : all(of::handouts)) {
    const fs::path file = file_of(labs, d);
    files.insert(file);
    if (!names.insert(d.name).second)
      complain(d.name + ": two drawings have this name, and the site has one folder for all");
    if (text_of(file) != d.svg()) complain(file.string() + " differs: cmake --build build --target drawings.write");
    const auto must_show = [&](const fs::path& on, const char* folder) {
      const std::string shown = fmt::format("![{}]({}drawings/{}.svg)", d.says, folder, d.name);
      const std::string page = one_line(text_of(on));
      const auto first = page.find(shown);
      if (first == page.npos || page.find(shown, first + 1) != page.npos)
        complain(fmt::format("{} must show this drawing once, with its description:\n\n{}\n", on.string(), shown));
    };
    must_show(labs / d.lab / d.page, "");
    if (d.lab == ".") must_show(labs.parent_path() / d.page, "labs/");  // the front page does, too
  }
  for (const auto& entry : fs::recursive_directory_iterator(labs))
    if (entry.path().extension() == ".svg" && !files.contains(entry.path()))
      complain(entry.path().string() + ": no program makes this drawing");
  fmt::print("{} drawings, {} complaints\n", files.size(), wrong);
  return wrong == 0 && files.size() > 30 ? 0 : 1;
}

}  // namespace

double device_figure(const char* device, const char* key) {
  return lab::device_file(SIM_DEVICES_DIR, device).number(key);
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
