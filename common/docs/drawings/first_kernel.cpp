// Lab 00: which thread has which element.
#include <fmt/format.h>

#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

constexpr const char* lab00 = "00_first_kernel";

drawing two_walks() {
  const auto panel = [](drawing& d, double y, const std::string& words, int step) {
    warp_offsets offsets{};
    for (int lane = 0; lane < 32; ++lane) offsets[static_cast<std::size_t>(lane)] = 4 * step * lane;
    const int sectors = counted_sectors(offsets, 4);
    d.text(margin, y, words);
    d.text(width - margin, y, fmt::format("{} sectors", sectors), step == 1 ? "used-text" : "waste-text", at::end);
    const double unit = inner / 64;
    for (int s = 0; s < 64; ++s) {
      const bool touched = step == 1 ? s < sectors : s % (step / 8) == 0;
      d.box(margin + s * unit, y + 8, unit - 1, 16, !touched ? "idle" : step == 1 ? "used" : "waste", 0.5);
    }
  };
  drawing d(lab00, "two_walks", "The same elements, another order",
            "One load of a warp. In a grid-stride loop 32 threads read 32 neighbours, 4 sectors. With chunks of 16 "
            "they touch 32 sectors and use an eighth of each.");
  panel(d, 44, "grid-stride loop: x[i]", 1);
  panel(d, 100, "chunks of 16: x[16 i]", 16);
  d.text(margin, 148, "a box is a sector of 8 floats; the row is 2 KiB of x", "mute");
  return d;
}

}  // namespace

void first_kernel(drawing_list& to) { to.push_back(two_walks()); }

}  // namespace drawings
