// Clusters: one worker runs a cluster's blocks in turn, so each can access the others' shared memory in place while
// they wait.
#include <algorithm>

#include "hooks.hpp"
#include "sim/bulk.h"
#include "worker.hpp"

namespace sim {

/// Runs the blocks until all have finished or none can continue; in the second case they join `waiting`. False if the
/// kernel must end.
bool worker::run_cluster(std::uint64_t number, std::deque<running_block*>& waiting) {
  const dim3 grid = grid_->what->config.grid, shape = cluster_shape();
  const dim3 clusters(grid.x / shape.x, grid.y / shape.y, grid.z / shape.z);
  auto cluster = std::make_shared<block_cluster>();
  const auto first_x = number % clusters.x * shape.x, first_y = number / clusters.x % clusters.y * shape.y,
             first_z = number / clusters.x / clusters.y * shape.z;
  for (unsigned rank = 0; rank < shape.x * shape.y * shape.z; ++rank) {
    if (spare_blocks_.empty()) spare_blocks_.push_back(std::make_unique<running_block>());
    running_block* block = spare_blocks_.back().release();
    spare_blocks_.pop_back();
    const std::uint64_t x = first_x + rank % shape.x, y = first_y + rank / shape.x % shape.y,
                        z = first_z + rank / shape.x / shape.y;
    begin_block(*block, x + grid.x * (y + grid.y * z));
    block->cluster = cluster;
    block->rank = rank;
    cluster->blocks.push_back(block);
    set_aside(*block);
  }
  for (bool progress = true; progress && !grid_->abort;) {
    progress = false;
    for (running_block* block : cluster->blocks) {
      if (block->finished) continue;
      bring_back(*block);
      const outcome end = go_on_with(*block);
      set_aside(*block);
      if (end == outcome::aborted) {
        waiting.insert(waiting.end(), cluster->blocks.begin(), cluster->blocks.end());
        return false;
      }
      grid_->finished_blocks += end == outcome::finished;
      progress |= block_progressed_ || end == outcome::finished;
    }
    grid_->progress.advance();
  }
  const bool all_finished =
      std::all_of(cluster->blocks.begin(), cluster->blocks.end(), [](const auto* b) { return b->finished; });
  for (running_block* block : cluster->blocks)
    if (all_finished)
      spare_blocks_.emplace_back(block);
    else if (block->finished)
      returned_.emplace_back(block);
    else
      waiting.push_back(block);
  return true;
}

// ---- addresses

worker::shared_place worker::place_of(std::uintptr_t address) {
  if (address - shared_begin < shared_bytes) return {block_, address};
  if (!block_->cluster) return {};
  for (running_block* other : block_->cluster->blocks)
    if (other != block_ && address - reinterpret_cast<std::uintptr_t>(other->image()) < image_bytes_)
      return {other, address - reinterpret_cast<std::uintptr_t>(other->image()) + image_begin_};
  return {};
}
std::uintptr_t worker::address_in(const running_block& block, std::uintptr_t address) {
  if (&block == block_) return address;
  return reinterpret_cast<std::uintptr_t>(const_cast<running_block&>(block).image()) + (address - image_begin_);
}
bool worker::access_in_cluster(std::uint64_t site, std::uintptr_t address) {
  const shared_place place = place_of(address);
  if (!place.block || place.block == block_) return false;
  const operation op = site_operation(site);
  bool initialised = true;
  worker* const active = sim_active_worker;
  sim_active_worker = sim_running_worker = nullptr;
  if (place.block->finished)
    report_here(fault::trap, site, space::shared, 0,
                "shared memory of a block of the cluster that has already returned (on a GPU: cluster target block not "
                "present); put a cluster barrier at the kernel's end");
  else if (!observer_.remote_access(place.block->shadow, place.address, site_bytes(site), op != operation::store,
                                    op != operation::load, &initialised))
    report_here(fault::out_of_bounds, site, space::shared, place.address - shared_begin);
  else if (!initialised)
    report_here(fault::uninitialised, site, space::shared, place.address - shared_begin);
  sim_active_worker = active;
  sim_running_worker = this;
  return true;
}

// ---- the barrier

namespace {
// Flags of block_order, which are not addresses.
constexpr std::uintptr_t arrivals = 32, departures = 33;
}  // namespace

void worker::arrive_at_cluster(std::uintptr_t frame) {
  sim_active_worker = sim_running_worker = nullptr;
  if (!block_->cluster) {  // without clusters, each block is its own cluster
    block_->cluster = std::make_shared<block_cluster>();
    block_->cluster->blocks = {block_};
  }
  current_->in_cluster_barrier = true;
  current_->cluster_phase = block_->cluster->phase;
  if (block_order* order = this->order()) {
    note_order(order->release(current_number_, arrivals), frame);
    sim_active_worker = sim_running_worker = nullptr;
  }
  enter();
}
void worker::wait_for_cluster(std::uintptr_t pc, std::uintptr_t frame) {
  sim_active_worker = sim_running_worker = nullptr;
  if (!block_->cluster || (!current_->in_cluster_barrier && current_->cluster_phase == block_->cluster->phase))
    abort_kernel(fault::trap, make_site(pc, 0, operation::load), 0,
                 "barrier.cluster.wait without barrier.cluster.arrive before it");
  const unsigned phase = current_->cluster_phase;
  while (block_->cluster->phase == phase) {
    current_->counter = &block_->cluster->phase;
    current_->phase = phase;
    spin(pc, frame);
    sim_active_worker = sim_running_worker = nullptr;
    current_->counter = nullptr;
  }
  if (block_order* order = this->order()) {
    note_order(order->acquire(current_number_, departures), frame);
    sim_active_worker = sim_running_worker = nullptr;
  }
  enter();
}

/// Threads that have returned count as having arrived.
void worker::complete_cluster_barrier() {
  block_cluster& cluster = *block_->cluster;
  for (const running_block* block : cluster.blocks)
    for (const thread_state& t : block->threads)
      if (t.now != state::done && !t.in_cluster_barrier) return;
  ++cluster.phase;
  for (running_block* block : cluster.blocks) {
    bool all_wait = true;
    for (thread_state& t : block->threads) {
      t.in_cluster_barrier = false;
      all_wait &= t.now == state::done || (t.now == state::waiting && t.counter == &cluster.phase);
    }
    if (!observing_) continue;
    if (all_wait)
      observer_.new_epoch(block->shadow);
    else
      block->shadow.order.pass_on(arrivals, departures);
  }
}

void worker::require_cluster(const dim3& shape) {
  const dim3 now = cluster_shape();
  if (now.x == shape.x && now.y == shape.y && now.z == shape.z) return;
  sim_active_worker = sim_running_worker = nullptr;
  grid_->cluster = shape;
  grid_->in_clusters = true;
  kernel_aborted_ = true;
  jump();
}

// ---- what kernels call

void require_cluster(unsigned x, unsigned y, unsigned z, const void*) {
  sim_running_worker->require_cluster(dim3(x, y, z));
}
dim3 cluster_shape() { return sim_running_worker->cluster_shape(); }
dim3 rank_in_cluster() {
  const dim3 shape = cluster_shape();
  return {blockIdx.x % shape.x, blockIdx.y % shape.y, blockIdx.z % shape.z};
}
unsigned cluster_rank() {
  const dim3 shape = cluster_shape(), at = rank_in_cluster();
  return at.x + shape.x * (at.y + shape.y * at.z);
}
unsigned cluster_blocks() {
  const dim3 shape = cluster_shape();
  return shape.x * shape.y * shape.z;
}
void* in_block(const void* shared, unsigned rank, const void* pc) {
  worker& self = *sim_running_worker;
  const unsigned blocks = cluster_blocks();
  const worker::shared_place place = self.place_of(reinterpret_cast<std::uintptr_t>(shared));
  if (rank >= blocks || !place.block) {
    sim_active_worker = sim_running_worker = nullptr;  // for std::string
    self.abort_kernel(fault::trap, make_site(reinterpret_cast<std::uintptr_t>(pc), 0, operation::load), 0,
                      rank >= blocks
                          ? "a rank that the cluster does not have: it has " + std::to_string(blocks) + " blocks"
                          : "an address that is not in shared memory, so no other block has it");
  }
  running_block& block = self.block();
  return reinterpret_cast<void*>(self.address_in(block.cluster ? *block.cluster->blocks[rank] : block, place.address));
}
unsigned rank_of(const void* shared) {
  const worker::shared_place place = sim_running_worker->place_of(reinterpret_cast<std::uintptr_t>(shared));
  return place.block ? place.block->rank : 0;
}
bool is_in_cluster(const void* address) {
  return sim_running_worker && sim_running_worker->place_of(reinterpret_cast<std::uintptr_t>(address)).block;
}
/// Another block's memory begins at a multiple of 16 MiB.
std::size_t cluster_offset(const void* address) {
  const worker::shared_place place = sim_running_worker->place_of(reinterpret_cast<std::uintptr_t>(address));
  if (!place.block) return reinterpret_cast<std::size_t>(address);
  const std::size_t offset = shared_offset(reinterpret_cast<const void*>(place.address));
  return place.block == &sim_running_worker->block() ? offset : offset | std::size_t{place.block->rank + 1} << 24;
}
void* cluster_address(std::size_t offset) {
  void* own = shared_address(offset & 0xffffff);
  if (offset >> 24 == 0) return own;
  return in_block(own, static_cast<unsigned>(offset >> 24) - 1, nullptr);
}
void arrive_at_cluster(const void*) { sim_running_worker->arrive_at_cluster(frame_here()); }
void wait_for_cluster(const void* pc) {
  sim_running_worker->wait_for_cluster(reinterpret_cast<std::uintptr_t>(pc), frame_here());
}

}  // namespace sim
