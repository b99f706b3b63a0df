// Lab 13: from symptom to cause, where a bad read goes unnoticed, and three of the bugs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

constexpr const char* lab13 = "13_when_it_crashes";

drawing overflow() {
  constexpr std::int64_t size = 120, slot = (std::int64_t{1} << 31) / size, product = slot * size, element = 8;
  const auto wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(product + element));
  drawing d(lab13, "overflow", "An index that wraps",
            fmt::format("slot {} times size {} is {}, which fits an int. Element 7 is the last that does. With element "
                        "8 the int becomes {}, and the address lies two gigabytes before the cache.",
                        grouped(slot), size, grouped(product), grouped(wrapped)));
  const double y = 70, middle = width / 2;
  d.line(margin, y, width - margin, y, "pen");
  d.dot(middle, y, 3, "pen");
  d.text(middle, y - 10, "cache[0]", "", at::middle);
  d.dot(width - margin - 6, y, 5, "used");
  d.text(width - margin, y + 24, grouped(product + 7), "used-text", at::end);
  d.dot(margin + 6, y, 5, "waste");
  d.text(margin, y + 24, grouped(wrapped), "waste-text");
  d.curve({{width - margin - 6, y + 36}, {width - 70, y + 62}, {middle, y + 72}, {70, y + 62}, {margin + 6, y + 36}},
          "waste-line");
  d.text(middle, y + 92, "one more", "waste-text", at::middle);
  d.text(margin, y + 118, "Computed in 64 bits, it goes on to the right.", "mute");
  return d;
}

// ---- steps of the deck ---------------------------------------------------------------------------------------------

/// What comes after `from` in a report, up to `to`.
std::string between(const std::string& report, const std::string& from, const std::string& to) {
  const auto begin = report.find(from);
  const auto end = begin == std::string::npos ? begin : report.find(to, begin + from.size());
  if (end == std::string::npos) throw std::runtime_error("a report without " + from + " and " + to + ": " + report);
  return report.substr(begin + from.size(), end - begin - from.size());
}

/// What the simulated device says of the two texts that swapped places, part by part.
drawing report_parts() {
  const std::string report = reported_lengths();
  const std::string line = report.substr(0, report.find(": ")), kernel = between(report, ": ", ":"),
                    block = between(report, "block ", " thread"), thread = between(report, "thread ", ":"),
                    what = between(report, thread + ": ", ","), byte = between(report, ", byte ", " of"),
                    memory = between(report, "allocation ", ";");
  drawing d("report_parts", "A report: " + report);
  double y = 12;
  const auto row = [&](const char* question, const std::string& answer, const char* role) {
    d.text(margin, y + 20, question);
    d.label(margin + 116, y, slide_inner - 116, 28, role, answer, std::string_view(role) == "waste" ? "" : "on");
    y += 36;
  };
  row("which line", line, "used");
  row("which kernel", kernel, "used");
  row("which block", block, "reg");
  row("which thread", thread, "reg");
  row("what happened", what, "waste");
  row("where in memory", "byte " + byte + " of an allocation" + memory.substr(memory.find(" of ")), "shared");
  return d;
}

/// From the symptom back to the cause.
drawing story(int step) {
  drawing d(fmt::format("story_{}", step), step == 1   ? "All that the report knows: a load of what was never written."
                                           : step == 2 ? "Backwards: which value is wrong here, and who made it?"
                                                       : "The cause is in the host's code, four steps before.");
  struct place {
    const char *where, *what, *question;
  };
  const place places[] = {{"host", "texts swap", "they swapped, alone"},
                          {"host", "copied", "length 40 with text 60"},
                          {"kernel", "loop to 60", "which length?"},
                          {"kernel", "load", "which i? 40"}};
  const double w = 110, gap = 32, y = 52;
  for (int i = 0; i < 4; ++i) {
    const double x = margin + i * (w + gap);
    const bool known = step == 3 || i == 3 || (step == 2 && i == 2);
    const bool bad = i == 3 || (step == 3 && i == 0);
    d.text(x, y - 10, places[i].where, "mute");
    d.label(x, y, w, 44, known ? bad ? "waste" : "time" : "free", known ? places[i].what : "?",
            known && !bad ? "on" : "");
    if (i < 3 && (step == 3 || i == 2)) d.arrow(x + w + gap - 4, y + 22, x + w + 4, y + 22, "used-line");
  }
  d.text(slide_width - margin, y + 70, "symptom", "h waste-text", at::end);
  if (step == 3) d.text(margin, y + 70, "cause", "h waste-text");
  if (step >= 2) d.text(margin + 2 * (w + gap), y + 94, "i is 40, its limit is 60", "used-text");
  if (step == 3) d.text(margin, y + 94, "the lengths did not swap", "used-text");
  d.text(margin, y + 136,
         step == 1   ? "The load is right, if what it loads is there."
         : step == 2 ? "Its own text has 40 numbers. Who said 60?"
                     : "Before this line all is right; after it, nothing is.",
         "h");
  return d;
}

/// Five reads, and whether the simulated device reports them.
drawing reads() {
  const std::vector<std::string> said = reported_reads();
  drawing d("five_reads", "Five reads of an allocation, and what the simulated device says of each.");
  const char* const when[] = {"before it is written", "after it is written", "past what is written",
                              "past the allocation", "after it is freed"};
  const double y = 22, row = 38;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const double top = y + static_cast<double>(i) * row;
    d.text(margin, top + 19, when[i]);
    std::string words = "no report";
    for (const char* known : {"never written", "past the end of allocation", "after cudaFree"})
      if (said[i].find(known) != std::string::npos) words = known;
    if ((words == "no report") != said[i].empty()) throw std::runtime_error("an unexpected report: " + said[i]);
    d.label(margin + 160, top, 210, 28, said[i].empty() ? "used" : "waste", words, said[i].empty() ? "on" : "");
    d.text(margin + 384, top + 19, i < 3 || i == 4 ? "a GPU: some number" : "often the same", "mute");
  }
  return d;
}

/// Two warps that use each other's numbers, without a barrier: an order that is right, and one that is not.
drawing two_warps(bool late) {
  if (reported_race().find("race in shared memory") == std::string::npos)
    throw std::runtime_error("the simulated device reports no race");
  drawing d(late ? "two_warps_2" : "two_warps_1", late ? "Warp 1 stores late: warp 0 has loaded before."
                                                       : "Both warps store, then both load: right by luck.");
  const double left = margin + 62, w = 96, top = 34;
  d.text(margin, top + 22, "warp 0");
  d.text(margin, top + 78, "warp 1");
  const double shift = late ? 2.4 * w : 0;
  d.label(left, top, w, 34, "used", "stores");
  d.label(left + w + 20, top, w, 34, late ? "waste" : "used", "loads", late ? "" : "on");
  d.label(left + shift, top + 56, w, 34, "used", "stores");
  d.label(left + shift + w + 20, top + 56, w, 34, "used", "loads");
  d.arrow(left, top + 110, slide_width - margin, top + 110);
  d.text(slide_width - margin, top + 128, "time", "mute", at::end);
  d.text(margin, top + 152,
         late ? "Warp 0 loads what warp 1 has not stored yet." : "Here warp 0 finds what warp 1 has stored.",
         late ? "h waste-text" : "h used-text");
  d.text(margin, top + 176,
         late ? "The same program. A checker asks what orders the two: nothing does."
              : "Nothing in the program says so. It has happened a thousand times.",
         "mute");
  return d;
}

/// Ten blocks, of which eight fit: the first wait for the last.
drawing places_for_blocks(bool full) {
  constexpr int blocks = 10, fit = 8;
  drawing d(full ? "places_2" : "places_1",
            full ? "Eight blocks wait in their places for two that have none." : "Ten blocks, and places for eight.");
  const double cell = slide_inner / blocks, y = 40;
  for (int b = 0; b < blocks; ++b) {
    const bool runs = full && b < fit;
    d.label(margin + b * cell, y, cell - 6, 34, full ? runs ? "waste" : "idle" : "used", std::to_string(b),
            full ? "" : "on");
    if (runs) d.text(margin + b * cell + cell / 2 - 3, y + 52, "waits", "s waste-text", at::middle);
    if (full && !runs) d.text(margin + b * cell + cell / 2 - 3, y + 52, "outside", "s mute", at::middle);
  }
  d.text(margin, 26, fmt::format("{} blocks; the device has places for {}", blocks, fit), "mute");
  d.box(margin - 2, y - 6, fit * cell - 2, full ? 70 : 46, "free", 3);
  d.text(margin, y + 96,
         full ? fmt::format("{} wait for {} that cannot start before one of them ends.", fit, blocks - fit)
              : "Each adds one to a counter, then waits until it is 10.",
         full ? "h waste-text" : "h");
  return d;
}

/// One NaN in eight numbers, after each kind of operation; computed.
drawing spread() {
  constexpr int n = 8;
  using vector = std::array<float, n>;
  vector x{};
  x.fill(1.0f);
  x[3] = std::nanf("");
  const auto shown = [](const vector& v) { return std::count_if(v.begin(), v.end(), [](float f) { return f != f; }); };
  vector gelu = x, running{}, product{};
  for (float& f : gelu) f = f * 0.5f * (1.0f + std::tanh(f));
  float sum = 0;
  for (std::size_t i = 0; i < n; ++i) running[i] = sum += x[i];
  for (float& f : product)
    for (const float g : x) f += 0.0f * g;
  drawing d("spread", "One NaN: still one after an elementwise step, all after a product, even with zeros.");
  double y = 14;
  for (const auto& [words, v] : {std::pair<const char*, vector>{"x", x},
                                 {"gelu(x)", gelu},
                                 {"running sum", running},
                                 {"0 · x, a product", product}}) {
    d.text(margin, y + 22, words);
    for (std::size_t i = 0; i < n; ++i) {
      const bool bad = v[i] != v[i];
      d.label(margin + 124 + static_cast<double>(i) * 46, y, 42, 32, bad ? "waste" : "used",
              bad ? "NaN" : fmt::format("{:.2g}", v[i]), bad ? "" : "on");
    }
    d.text(slide_width - margin, y + 22, std::to_string(shown(v)), "h waste-text", at::end);
    y += 48;
  }
  d.text(margin, y + 12, "x > NaN, x < NaN and x == NaN are all false", "h");
  return d;
}

/// The first of 16 layers with a NaN, found by halves.
drawing halves() {
  constexpr int layers = 16, bad = 5;
  drawing d("halves", "A search by halves: four looks find the first of 16 layers that is wrong.");
  const double cell = slide_inner / layers;
  double y = 14;
  int low = 0, high = layers - 1, looks = 0;
  while (low < high) {
    const int middle = (low + high) / 2;
    for (int l = 0; l < layers; ++l)
      d.label(margin + l * cell, y, cell - 4, 28,
              l == middle           ? middle >= bad ? "waste" : "used"
              : l < low || l > high ? "idle"
                                    : "free",
              std::to_string(l), l == middle && middle < bad ? "on" : "");
    (middle >= bad ? high : low) = middle >= bad ? middle : middle + 1;
    ++looks;
    y += 40;
  }
  d.legend(y + 12, {{"used", "fine after this layer"}, {"waste", "NaN after it"}, {"free", "still possible"}});
  d.text(margin, y + 40, fmt::format("{} looks: layer {} is the first", looks, low), "h");
  return d;
}

/// Copies in flight where row_sums waits: tiles of a row, the wait allows one group.
drawing in_flight_at_the_wait() {
  constexpr int tiles = 4, allowed = 1;
  drawing d("groups_at_wait", "At each wait one copy may be in flight. At the last one that is the tile itself.");
  const double w = 118, y = 34;
  for (int t = 0; t < tiles; ++t) {
    const double x = margin + t * (w + 20);
    const int committed = t + 1 < tiles ? t + 2 : tiles, arrived = committed - allowed;
    const bool fine = arrived > t;
    d.text(x, y - 8, fmt::format("wait for tile {}", t), "mute");
    for (int g = 0; g < committed; ++g)
      d.label(x, y + g * 34, w, 28, g >= arrived ? g == t ? "waste" : "time" : "used",
              fmt::format("{} {}", g, g >= arrived ? "in flight" : "is there"), g >= arrived && g == t ? "" : "on");
    d.text(x, y + 4 * 34 + 18, fine ? fmt::format("uses {}: there", t) : fmt::format("uses {}: not there", t),
           fine ? "used-text" : "waste-text");
  }
  d.text(margin, y + 4 * 34 + 50,
         "wait_prior(1): the newest copy may be in flight. The last step fetches no newer one.", "mute");
  return d;
}

}  // namespace

void crashes(drawing_list& to) {
  for (const auto make : {overflow, report_parts, reads, spread, halves, in_flight_at_the_wait}) to.push_back(make());
  for (const int step : {1, 2, 3}) to.push_back(story(step));
  for (const bool second : {false, true})
    for (const auto make : {two_warps, places_for_blocks}) to.push_back(make(second));
}

}  // namespace drawings
