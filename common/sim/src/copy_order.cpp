#include "copy_order.hpp"

#include <algorithm>

#include "faults.hpp"
#include "grid.hpp"
#include "heap.hpp"

namespace sim {

copy_order::copy_order(cudaStream_t stream) : stream_(stream) {
  if (!several_streams()) return;
  epoch_ = begin_epoch();
  note_launch(stream, epoch_, epoch_);
}

/// Tracks the words of each sector, as for kernels; see races.cpp.
void copy_order::use(const void* pointer, std::size_t bytes, bool stores) const {
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(pointer) - heap_base, end = begin + bytes;
  if (epoch_ == 0 || begin >= heap_bytes) return;
  const epochs* const concurrent = launches_beside(stream_, false).concurrent;
  for (std::uintptr_t s = begin / sector_bytes; s * sector_bytes < end; ++s) {
    const std::uintptr_t first = std::max(begin, s * sector_bytes), last = std::min(end, (s + 1) * sector_bytes) - 1;
    const auto words = static_cast<std::uint8_t>((2u << (last % sector_bytes / word_bytes)) -
                                                 (1u << (first % sector_bytes / word_bytes)));
    sector_shadow& shadow = sim::shadow().sectors[s];
    for (const auto* cell : {&shadow.stored, &shadow.loaded}) {
      const sector_use use = cell->load(std::memory_order_relaxed);
      const bool matters = stores || cell == &shadow.stored;
      if (!matters || !concurrent || use.epoch == 0 || !concurrent->test(use.epoch) || !((use.one | use.many) & words))
        continue;
      note_copy_race(heap_base + first, use.epoch, stores, cell == &shadow.loaded);
      return;
    }
    (stores ? shadow.stored : shadow.loaded).store({epoch_, words, 0, 0}, std::memory_order_relaxed);
  }
}

}  // namespace sim
