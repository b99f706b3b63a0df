// The warp view's page: its three files in common/sim/see, and the data that they draw, as JSON. The JSON holds the
// summary's data (launches, counters, counts by source line) and the steps that recording.cpp has kept; view.js reads
// it and documents each part.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "embedded.hpp"
#include "faults.hpp"
#include "grid.hpp"
#include "heap.hpp"
#include "launches.hpp"
#include "lines.hpp"
#include "metrics.hpp"
#include "model.hpp"
#include "program.hpp"
#include "recording.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "sim/counters.hpp"

namespace sim {
namespace {

constexpr std::size_t max_listed_launches = 256, max_listed_faults = 20;
constexpr int max_lines_of_file = 3000, lines_around = 100;

/// The length in bytes of the UTF-8 character at the front of `text`; 0 if there is none.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  const std::size_t n = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) || (first == 0xf0 && byte(1) < 0x90) ||
      (first == 0xf4 && byte(1) >= 0x90))
    return 0;
  return n;
}

/// A JSON string that is safe in a script element: no text from the program can close the element.
std::string json_string(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t n = character_bytes(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (n == 0)
      result += "\\ufffd";
    else if (n > 1)
      result += text.substr(0, n);
    else if (c < 0x20 || c == 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&')
      result += fmt::format("\\u{:04x}", c);
    else
      result += static_cast<char>(c);
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return result + "\"";
}

template <class Range, class Text>
std::string list(const Range& range, Text text) {
  std::string result = "[";
  for (const auto& element : range) {
    if (result.size() > 1) result += ",";
    result += text(element);
  }
  return result + "]";
}

std::string json_dimensions(const dim3& d) { return fmt::format("[{},{},{}]", d.x, d.y, d.z); }

const char* name_of(operation op) {
  switch (op) {
    case operation::load: return "load";
    case operation::store: return "store";
    case operation::atomic: return "atomic";
    case operation::copy: return "copy";
    case operation::copied: return "copied";
    case operation::block: return "block";
    default: return "sync";
  }
}

bool shown(operation op) { return op < operation::local || op == operation::block || op == operation::sync; }

/// The page's JSON. Sites, files and allocations are numbered in order of appearance.
class page_data {
 public:
  std::string text() {
    std::string launches;
    const std::vector<launched>& log = launch_log();
    for (std::size_t i = 0; i < std::min(log.size(), max_listed_launches); ++i)
      launches += (i > 0 ? ",\n" : "") + launch(log[i]);
    const device_description& d = described_device();
    std::string labels, compared;
    for (const counter& c : counters) {
      const std::string name = json_string(std::string(c.name));
      if (!c.name.empty() && !c.label.empty())
        labels += fmt::format("{}{}:{}", labels.empty() ? "" : ",", name, json_string(std::string(c.label)));
      if (c.uses & counter::compared) compared += (compared.empty() ? "" : ",") + name;
    }
    const char* name = setting("SIM_SEE_NAME");
    const std::string of_allocations = allocations(), of_files = files();  // files last: the other parts name them
    std::string text = fmt::format(
        "{{\"program\":{},\n\"device\":{{\"name\":{},\"multiprocessors\":{},\"bytes_per_second\":{},"
        "\"flop_per_second\":{{\"FP32\":{},\"bf16\":{},\"TF32\":{}}}}},\n\"sampling\":{},\"launches_in_all\":{},"
        "\"labels\":{{{}}},\"compared\":[{}],\n",
        json_string(name ? name : program_invocation_short_name), json_string(d.name), d.multiprocessors,
        d.copy_bytes_per_second, d.fp32_flops_per_second, d.bf16_tensor_flops_per_second,
        d.tf32_tensor_flops_per_second, sampling(), log.size(), labels, compared);
    text += fmt::format("\"limits\":{{\"launches\":{},\"steps\":{},\"further\":{},\"phases\":{}}},\n",
                        max_recorded_launches, max_steps, max_further_steps, max_phases);
    return text + fmt::format("\"launches\":[{}],\n\"sites\":[{}],\n\"allocations\":{},\n\"files\":{}}}", launches,
                              sites_text_, of_allocations, of_files);
  }

 private:
  using site_key = std::pair<space, std::uint64_t>;

  int place(std::uintptr_t pc, int& line) {
    const source_line at = line_of(pc);
    line = at.line;
    const auto [known, fresh] = files_.try_emplace(at.file, static_cast<int>(files_.size()));
    if (fresh) lines_.emplace_back();
    lines_[static_cast<std::size_t>(known->second)].insert(at.line);
    return known->second;
  }

  std::size_t site(const site_key& key, const launched& what) {
    const auto [known, fresh] = sites_.try_emplace(key, sites_.size());
    if (fresh) {
      const std::uintptr_t pc = site_pc(key.second);
      int line = 0;
      const int file = place(pc, line);
      sites_text_ += fmt::format(
          "{}{{\"file\":{},\"line\":{},\"space\":\"{}\",\"op\":\"{}\",\"bytes\":{},\"matrix\":{}}}",
          known->second > 0 ? ",\n" : "", file, line,
          key.first == space::global   ? "global"
          : key.first == space::shared ? "shared"
                                       : "none",
          name_of(site_operation(key.second)), site_bytes(key.second), what.counts.matrix_accesses.contains(pc));
    }
    return known->second;
  }

  /// The kernel's own name, if known: from the launch, otherwise from its first warp's first step. Of that step's
  /// functions, takes the one that the launch names: the first may copy an argument.
  static std::string function_of(const launched& what) {
    if (what.function != 0) return function_name(what.function);
    const std::string named = what.kernel.substr(0, what.kernel.find('<'));
    std::string first;
    std::uintptr_t last = 0;
    if (what.recording)
      for (const recorded_step& s : what.recording->blocks[0].warps[0].steps)
        if (const std::uintptr_t code = function_at(site_pc(s.site)); code != 0 && code != last) {
          last = code;
          const std::string name = function_name(code);
          for (std::size_t at = name.find(named); at != std::string::npos; at = name.find(named, at + 1)) {
            const char before = at > 0 ? name[at - 1] : ' ', after = (name + ' ')[at + named.size()];
            if (!std::isalnum(static_cast<unsigned char>(before)) && before != '_' && (after == '<' || after == '('))
              return name;
          }
          if (first.empty()) first = name;
        }
    return first.find("{lambda") == std::string::npos ? first : "";
  }

  std::string launch(const launched& what) {
    std::string counts, metrics, faults;
    for (const auto& [key, of_site] : what.counts.sites) {
      const site_counts c = of_site.as_joined();
      if (!shown(site_operation(key.second)) || c.requests == 0) continue;
      counts += fmt::format("{}[{},{},{},{},{},{},{},{},{:.4g}]", counts.empty() ? "" : ",", site(key, what),
                            c.requests, c.lanes, c.bytes, c.sectors, c.ideal_sectors, c.wavefronts, c.ideal_wavefronts,
                            key.first == space::none ? 0 : site_seconds(what, key.first, key.second, c));
    }
    for (const auto& [name, value] : metrics_of(what))
      if (value != 0) metrics += fmt::format("{}{}:{}", metrics.empty() ? "" : ",", json_string(name), value);
    std::size_t listed = 0;
    for (const auto& [key, fault] : what.counts.faults)
      if (listed++ < max_listed_faults) faults += (faults.empty() ? "" : ",") + json_string(describe(what, fault));
    return fmt::format(
        "{{\"kernel\":{},\"function\":{},\"grid\":{},\"block\":{},\"dynamic_shared\":{},\"static_shared\":{},"
        "\"seconds\":{:.6g},"
        "\"counts\":[{}],\"metrics\":{{{}}},\"faults\":[{}],\"blocks\":{}}}",
        json_string(what.kernel), json_string(function_of(what)), json_dimensions(what.config.grid),
        json_dimensions(what.config.block), what.config.dynamic_shared_bytes, what.static_shared_bytes,
        what.modelled_seconds, counts, metrics, faults,
        what.recording ? list(what.recording->blocks, [&](const recorded_block& b) { return block(b, what); })
                       : "null");
  }

  std::string block(const recorded_block& b, const launched& what) {
    const auto phase = [this](const warp_phase& p) {
      int line = 0;
      const int file = p.waits_at != 0 ? place(p.waits_at, line) : -1;
      return fmt::format("[{},{},{},{}]", p.instructions, p.loads, file, line);
    };
    return fmt::format("{{\"number\":{},\"phases\":{},\"phases_passed\":{},\"arrays\":{},\"warps\":{}}}", b.number,
                       list(b.phases, [&](const auto& warps) { return list(warps, phase); }), b.phases_passed,
                       arrays(b, what), list(b.warps, [&](const recorded_warp& w) {
                         return fmt::format("{{\"warp\":{},\"taken\":{},\"steps\":{}}}",
                                            w.first_thread / lanes_per_warp, w.steps_taken,
                                            list(w.steps, [&](const recorded_step& s) { return step(s, what); }));
                       }));
  }

  /// Encodes addresses as the first one and a constant step, or as a list of distances from the first.
  std::string step(const recorded_step& s, const launched& what) {
    const std::string head =
        fmt::format("[{},{},{},{}", s.number, site({s.where, s.site}, what), s.lanes, s.instructions);
    if (s.addresses.empty()) return head + "]";
    const std::vector<std::uintptr_t>& a = s.addresses;
    const auto distance = [](std::uintptr_t from, std::uintptr_t to) {
      return static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from);
    };
    const std::int64_t stride = a.size() > 1 ? distance(a[0], a[1]) : 0;
    bool even = true;
    for (std::size_t i = 1; i < a.size(); ++i) even &= distance(a[i - 1], a[i]) == stride;
    if (s.where == space::global)
      for (const std::uintptr_t x : a) note_allocation(x);
    return fmt::format(
        "{},{},{},{},{},{},{}]", head, s.lanes_per_phase, s.cost.sectors + s.cost.wavefronts,
        s.cost.ideal_sectors + s.cost.ideal_wavefronts, s.cost.bytes, a[0],
        even ? std::to_string(stride) : list(a, [&](std::uintptr_t x) { return std::to_string(distance(a[0], x)); }));
  }

  /// The shared arrays that the block accessed: name, start, and the words that no thread touched.
  static std::string arrays(const recorded_block& b, const launched& what) {
    std::string result;
    for (const shared_array& array : shared_arrays()) {
      if (array.guard) continue;
      const auto begin = static_cast<std::size_t>(array.offset - thread_storage_offset());
      const std::size_t bytes = array.dynamic ? what.config.dynamic_shared_bytes : array.bytes;
      const std::size_t first = begin / word_bytes,
                        end = std::min((begin + bytes + word_bytes - 1) / word_bytes, b.touched.size());
      std::string touched;  // from, to, from, to ...
      for (std::size_t w = first; w < end; ++w) {
        const bool before = w > first && b.touched[w - 1], after = w + 1 < end && b.touched[w + 1];
        if (b.touched[w] && !before) touched += fmt::format("{}{}", touched.empty() ? "" : ",", w - first);
        if (b.touched[w] && !after) touched += fmt::format(",{}", w + 1 - first);
      }
      if (touched.empty()) continue;
      result += fmt::format("{}{{\"name\":{},\"begin\":{},\"bytes\":{},\"touched\":[{}]}}", result.empty() ? "" : ",",
                            json_string(array.dynamic ? "dynamic shared memory" : array.name), begin, bytes, touched);
    }
    return "[" + result + "]";
  }

  void note_allocation(std::uintptr_t address) {
    bool freed = false;
    if (address - heap_base >= heap_bytes) return;
    const allocation* home = nearest_allocation(address, &freed);
    if (home && address < home->end) allocations_.emplace(home->begin, *home);
  }

  std::string allocations() {
    return list(allocations_, [this](const auto& entry) {
      const allocation& a = entry.second;
      int line = 0;
      const int file = place(a.pc, line);
      return fmt::format("{{\"begin\":{},\"end\":{},\"number\":{},\"name\":{},\"file\":{},\"line\":{}}}", a.begin,
                         a.end, a.number, json_string(a.name), file, line);
    });
  }

  /// Whole files; of a very long one, the lines around those that other parts name.
  std::string files() {
    std::vector<std::string> texts(files_.size());
    for (const auto& [path, number] : files_) {
      std::ifstream in(path);
      std::vector<std::string> all;
      for (std::string line; in && std::getline(in, line);) all.push_back(line);
      const std::set<int>& named = lines_[static_cast<std::size_t>(number)];
      int first = 1, last = static_cast<int>(all.size());
      if (last > max_lines_of_file) {
        first = std::max(1, *named.begin() - lines_around);
        last = std::min({last, *named.rbegin() + lines_around, first + max_lines_of_file});
      }
      std::string lines;
      for (int i = first; i <= last; ++i)
        lines += (i > first ? "," : "") + json_string(all[static_cast<std::size_t>(i - 1)]);
      texts[static_cast<std::size_t>(number)] =
          fmt::format("{{\"path\":{},\"first\":{},\"lines\":[{}]}}", json_string(path), first, lines);
    }
    return list(texts, [](const std::string& t) { return t; });
  }

  std::map<site_key, std::size_t> sites_;
  std::string sites_text_;
  std::map<std::string, int> files_;
  std::vector<std::set<int>> lines_;  // by file: the named lines
  std::map<std::uintptr_t, allocation> allocations_;
};

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::string data_begin = "<script type=\"application/json\" id=\"data\">\n", data_end = "\n</script>";

/// An earlier page's data, under another id; "" if the file does not exist or is not such a page.
std::string data_of_earlier(const char* path) {
  if (!path || !*path) return {};
  const std::string page = file_text(path);
  const std::size_t begin = page.find(data_begin), end = page.find(data_end, begin);
  if (begin == std::string::npos || end == std::string::npos) {
    fmt::print(stderr, "simulated device: {} is not a page of the warp view, so nothing is compared\n", path);
    return {};
  }
  const std::size_t text = begin + data_begin.size();
  return "<script type=\"application/json\" id=\"before\">\n" + page.substr(text, end - text) + data_end;
}

}  // namespace

void write_page(const std::string& path) {
  std::string page = std::string(embedded("see/page.html"));
  for (const auto& [mark, text] :
       {std::pair{"<!--style-->", "<style>\n" + std::string(embedded("see/style.css")) + "</style>"},
        {"<!--data-->", data_begin + page_data().text() + data_end},
        {"<!--before-->", data_of_earlier(setting("SIM_SEE_BEFORE"))},
        {"<!--script-->", "<script>\n" + std::string(embedded("see/view.js")) + "</script>"}}) {
    const std::size_t at = page.find(mark);
    if (at == std::string::npos) {
      fmt::print(stderr, "simulated device: see/page.html has no {}\n", mark);
      return;
    }
    page.replace(at, std::char_traits<char>::length(mark), text);
  }
  std::FILE* out = std::fopen(path.c_str(), "w");
  if (!out || std::fwrite(page.data(), 1, page.size(), out) != page.size() || std::fclose(out) != 0)
    fmt::print(stderr, "simulated device: cannot write {}: set SIM_SEE to a file in an existing folder\n", path);
  else
    fmt::print(stderr, "\nthe warp view: {}\n", path);
}

}  // namespace sim
