// Lab 13: from symptom to cause, where a bad read goes unnoticed, and three of the bugs.
#include <fmt/format.h>

#include <cstdint>

#include "drawing.hpp"

namespace drawings {
namespace {

constexpr const char* lab13 = "13_when_it_crashes";

drawing chain() {
  drawing d(
      lab13, "README.md", "chain", "From symptom to cause",
      "From cause to symptom: the cause is a line of the host, which forgets to swap two lengths. They are copied "
      "to the device, and a kernel loops up to one. The symptom is a load in that kernel. Tools name the symptom; "
      "you go back to the cause.");
  const double w = 168, h = 28, x = margin, gap = 22;
  double y = 46;
  const auto row = [&](const char* words, const char* role, const char* note, bool last = false) {
    d.label(x, y, w, h, role, words, std::string_view(role) == "waste" ? "waste-text" : "on");
    d.text(x + w + 14, y + 18, note, "mute");
    if (!last) d.arrow(x + w / 2, y + h + 2, x + w / 2, y + h + gap - 2);
    y += h + gap;
  };
  row("two rows swap places", "used", "right");
  row("their lengths do not", "waste", "the cause: host code");
  row("lengths go to the device", "time", "no tool complains");
  row("a kernel loops up to one", "time", "no tool complains");
  row("load of unwritten data", "waste", "the symptom: reported", true);
  d.text(x, y + 4, "Tools name the last. You go back to the second.", "mute");
  return d;
}

drawing page() {
  constexpr int keys = 409, room = 1024;
  drawing d(lab13, "README.md", "page", "Who notices a read past the end",
            fmt::format("An array of {} keys ends inside a page of 2 MiB. A GPU faults only past the page; "
                        "compute-sanitizer checks against the allocation, and the simulated device also against what "
                        "was written.",
                        keys));
  const double y = 56, whole = inner, per_room = 220, written = per_room * keys / room;
  d.box(margin, y, whole, 30, "idle");
  d.box(margin, y, per_room, 30, "time");
  d.box(margin, y, written, 30, "used");
  const auto mark = [&](double x, double low, const char* who, const char* style) {
    d.line(x, y - 6, x, low - 12, style);
    d.text(margin, low, who, "");
    d.line(margin, low + 6, x, low + 6, style);
  };
  mark(margin + written, y + 60, "simulated device, initcheck", "used-line");
  mark(margin + per_room, y + 92, "compute-sanitizer (memcheck)", "time-line");
  mark(margin + whole, y + 124, "GPU alone", "pen");
  d.legend(y + 146, {{"used", "written"}, {"time", "allocated"}, {"idle", "same page"}});
  return d;
}

drawing overflow() {
  constexpr std::int64_t size = 120, slot = (std::int64_t{1} << 31) / size, product = slot * size, element = 8;
  const auto wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(product + element));
  drawing d(lab13, "SEEN.md", "overflow", "An index that wraps",
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

drawing late_wait() {
  drawing d(
      lab13, "SEEN.md", "late_wait", "Waiting for an event that is not recorded",
      "Two streams. The wait for the event comes before its record, so it waits for nothing, and join begins while "
      "square still writes. After the swap, join begins when square has ended.");
  const auto lanes = [&](double y, const char* words, const char* style, bool right) {
    d.text(margin, y, words, style);
    d.text(margin, y + 28, "stream");
    d.text(margin, y + 62, "side");
    const double x = margin + 60;
    d.label(x, y + 12, 60, 24, "used", "halve");
    d.label(x + 20, y + 46, 130, 24, "used", "square");
    const double at_join = right ? x + 160 : x + 70;
    d.label(at_join, y + 12, 60, 24, right ? "used" : "waste", "join", right ? "on" : "waste-text");
    if (right) d.arrow(x + 152, y + 58, at_join + 8, y + 38);
  };
  lanes(50, "wait, then record", "waste-text", false);
  lanes(150, "record, then wait", "used-text", true);
  d.text(margin, 246, "An event that was never recorded counts as done.", "mute");
  return d;
}

drawing returned() {
  constexpr int blocks = 5, busy = 3;
  drawing d(lab13, "SEEN.md", "returned", "A block waits for blocks that have returned",
            fmt::format("A head with keys for {} of its {} blocks. The other {} return at once and never arrive, and "
                        "block 0 waits for {} arrivals: it sees {}.",
                        busy, blocks, blocks - busy, blocks, busy));
  const double w = 58, y = 50;
  for (int b = 0; b < blocks; ++b) {
    const double x = margin + b * (w + 8);
    d.label(x, y, w, 28, b < busy ? "used" : "idle", fmt::format("block {}", b), b < busy ? "on" : "");
    d.text(x + w / 2, y + 46, b < busy ? "arrives" : "returned", b < busy ? "used-text" : "mute", at::middle);
  }
  d.label(margin, y + 66, 170, 26, "waste", fmt::format("block 0: {} of {} arrived", busy, blocks), "waste-text");
  d.text(margin + 182, y + 83, "and waits", "waste-text");
  return d;
}

}  // namespace

void crashes(drawing_list& to) {
  for (const auto make : {chain, page, overflow, late_wait, returned}) to.push_back(make());
}

}  // namespace drawings
