// mbarriers, and bulk copies from issue to arrival.
#include "bulk.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hooks.hpp"
#include "program.hpp"
#include "worker.hpp"

namespace sim {
namespace {

mbarrier now(const mbarrier* b) { return {__atomic_load_n(&b->word, __ATOMIC_SEQ_CST)}; }
mbarrier made_of(unsigned phase, int bytes, unsigned expected, unsigned to_come) {
  return {static_cast<unsigned long long>(phase & 1) << 63 |
          (static_cast<unsigned long long>(bytes) & ((1ull << 22) - 1)) << 40 |
          static_cast<unsigned long long>(expected) << 20 | to_come};
}
/// Threads release to the barrier's own address and acquire from this one.
const void* over_flag(const mbarrier* b) { return reinterpret_cast<const char*>(b) + 4; }

std::uintptr_t at(const void* pc) { return reinterpret_cast<std::uintptr_t>(pc); }

/// Updates the barrier for `bytes` more bytes and `count` arrivals. Returns an error, or null.
const char* change(mbarrier* b, unsigned count, unsigned dropped, int bytes, mbarrier* before) {
  for (;;) {
    const mbarrier was = now(b);
    *before = was;
    if (!was.initialised()) return "this mbarrier is not initialised; call mbarrier.init, then a barrier, first";
    if (count > was.to_come())
      return "more threads arrive at this mbarrier than its phase expects; check the count of mbarrier.init";
    const unsigned expected = was.expected() - dropped, to_come = was.to_come() - count;
    const int missing = was.bytes() + bytes;
    if (missing > static_cast<int>(mbarrier::field) || missing < -static_cast<int>(mbarrier::field))
      return "an mbarrier cannot expect more than 1048575 bytes";
    const mbarrier next = to_come == 0 && missing == 0 ? made_of(was.phase() + 1, 0, expected, expected)
                                                       : made_of(was.phase(), missing, expected, to_come);
    unsigned long long word = was.word;
    if (__atomic_compare_exchange_n(&b->word, &word, next.word, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      return nullptr;
  }
}

/// The bytes that a copy reads from shared memory, without those outside the tensor.
std::vector<bulk_access::range> existing_parts(std::uintptr_t from, const bulk_rows& rows) {
  std::vector<bulk_access::range> parts;
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    const bulk_rows::row& row = rows.rows[r];
    const std::uint32_t skip = rows.swizzle ? 0 : row.skip,
                        bytes = rows.swizzle && row.bytes ? rows.row_bytes : row.bytes;
    const std::uintptr_t begin = from + r * rows.row_bytes + skip;
    if (bytes == 0) continue;
    if (!parts.empty() && parts.back().begin + parts.back().bytes == begin)
      parts.back().bytes += bytes;
    else
      parts.push_back({begin, bytes});
  }
  return parts;
}

void note_mbarrier_access(const void* pc) {
  if (sim_active_worker) sim_active_worker->note_mbarrier_access(at(pc));
}

/// The barrier may be in another block, whose threads release to it and acquire from it.
void phase_has_ended(mbarrier* b) {
  worker* self = sim_active_worker;
  const worker::shared_place place = self ? self->place_of(at(b)) : worker::shared_place{};
  if (place.block && place.block != &self->block())
    place.block->shadow.order.pass_on(place.address, place.address + 4);
  else
    pass_on(b, over_flag(b));
}

}  // namespace

// ---- mbarriers

void init_mbarrier(mbarrier* b, unsigned count, const void* pc) {
  if (count == 0 || count > mbarrier::field) stop_kernel(fault::trap, pc, "an mbarrier expects 1 to 1048575 arrivals");
  note_mbarrier_access(pc);
  observe_store(b, sizeof *b, pc);
  __atomic_store_n(&b->word, made_of(0, 0, count, count).word, __ATOMIC_SEQ_CST);
}
void end_mbarrier(mbarrier* b, const void* pc) {
  note_mbarrier_access(pc);
  observe_store(b, sizeof *b, pc);
  __atomic_store_n(&b->word, ~0ull, __ATOMIC_SEQ_CST);
}
unsigned long long arrive_at(mbarrier* b, unsigned count, unsigned dropped, int bytes, const void* pc) {
  note_mbarrier_access(pc);
  observe_atomic(b, sizeof *b, pc);
  release(b);
  mbarrier before{};
  if (const char* what = change(b, count, dropped, bytes, &before)) stop_kernel(fault::trap, pc, what);
  if (now(b).phase() != before.phase()) phase_has_ended(b);
  return before.word;
}
bool wait_for_phase(mbarrier* b, unsigned parity, const void* pc) {
  note_mbarrier_access(pc);
  observe_atomic(b, sizeof *b, pc);
  return sim_running_worker->wait_for_phase(b, parity & 1, at(pc), frame_here());
}

bool worker::wait_for_phase(mbarrier* b, unsigned parity, std::uintptr_t pc, std::uintptr_t frame) {
  sim_active_worker = sim_running_worker = nullptr;
  if (!now(b).initialised())
    abort_kernel(fault::trap, make_site(pc, 0, operation::load), 0,
                 "this mbarrier is not initialised; call mbarrier.init, then a barrier, first");
  if (now(b).phase() == parity) {
    current_->barrier = b;
    current_->phase = parity;
    spin(pc, frame);
    sim_active_worker = sim_running_worker = nullptr;
    current_->barrier = nullptr;
  }
  const bool over = now(b).phase() != parity;
  // The last lane to arrive ends the phase; waiting lanes of its warp continue with it.
  for (unsigned lane = 0; over && lane < lanes_per_warp && warp_first() + lane < threads().size(); ++lane)
    if (thread_state& t = threads()[warp_first() + lane];
        t.now == state::waiting && t.barrier == b && t.phase == parity)
      t.now = state::ready;
  if (block_order* order = over ? this->order() : nullptr) {
    note_order(order->acquire(current_number_, at(over_flag(b)) / 4 * 4), frame);
    sim_active_worker = sim_running_worker = nullptr;
  }
  enter();
  return over;
}

/// Whether the event that the thread waits for has happened. Called when no thread of the block can continue, so the
/// copies that its barrier waits for arrive now.
bool worker::may_continue(const thread_state& t) {
  if (t.counter) {
    if (block_->cluster && t.counter == &block_->cluster->phase) complete_cluster_barrier();
    return *t.counter != t.phase;
  }
  if (now(t.barrier).phase() == t.phase) let_copies_arrive(const_cast<mbarrier*>(t.barrier));
  return now(t.barrier).phase() != t.phase;
}

void worker::let_copies_arrive(mbarrier* b) {
  std::vector<arriving_copy>& all = block_->copies.arriving;
  for (std::size_t i = 0; i < all.size();) {
    if (all[i].barrier != b) {
      ++i;
      continue;
    }
    const arriving_copy copy = std::move(all[i]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    move_in(copy);
    block_order* order = observing_ ? &block_->shadow.order : nullptr;
    if (order) {
      observer_.copy_arrived(block_->shadow, copy);
      order->release(block_->shadow.copying_agent(), at(b));
    }
    const auto report = [&](const std::string& detail) {
      observer_.report(fault::late_copy, make_site(copy.pc, 0, operation::load), space::shared,
                       {block_->number, copy.from_outside ? 0 : copy.thread}, 0, 0, detail);
    };
    mbarrier before{};
    const unsigned phase = now(b).phase();
    if (phase != copy.phase) {
      report(
          "the phase of its mbarrier ended before the copy arrived: it expected fewer bytes than the copies deliver");
      continue;
    }
    if (const char* what = change(b, 0, 0, -static_cast<int>(copy.rows->bytes()), &before)) {
      report(what);
      continue;
    }
    if (now(b).phase() != phase) {
      if (order) order->pass_on(at(b), at(over_flag(b)));
    } else if (now(b).to_come() == 0 && now(b).bytes() < 0) {
      report("its mbarrier expects " + std::to_string(-now(b).bytes()) + " bytes fewer than the copies deliver");
    }
  }
}

/// The block has returned.
void worker::finish_copies() {
  for (const leaving_copy& copy : block_->copies.leaving) move_out(copy);
  block_->copies.leaving.clear();
  for (const arriving_copy& copy : block_->copies.arriving)
    observer_.report(fault::late_copy, make_site(copy.pc, 0, operation::load), space::shared,
                     {block_->number, copy.from_outside ? 0 : copy.thread}, 0, 0,
                     "its block ended before the copy arrived: no thread has waited for its mbarrier");
  block_->copies.arriving.clear();
}

// ---- issue and wait

void worker::put_bulk(bulk_access access, std::uintptr_t pc, std::uintptr_t frame) {
  *write++ = {make_site(pc, 0, operation::bulk, last_depth()), observer_.keep(std::move(access))};
  if (write != write_end) return;
  leave(frame);
  sim_active_worker = sim_running_worker = nullptr;
}

void worker::issue_in(char* to, mbarrier* arrived, std::shared_ptr<const bulk_rows> rows, unsigned ranks,
                      std::uintptr_t pc, std::uintptr_t frame) {
  sim_active_worker = sim_running_worker = nullptr;
  const shared_place place = place_of(at(to)), barrier = place_of(at(arrived));
  const auto stop = [&](const char* what) { abort_kernel(fault::trap, make_site(pc, 0, operation::load), 0, what); };
  if (!place.block || !barrier.block) stop("the target and the mbarrier of a bulk copy must both be in shared memory");
  if (place.address % 16 != 0) stop("the target of a bulk copy is not at a multiple of 16 bytes");
  std::vector<running_block*> targets;
  if (ranks == own_rank) {
    if (place.block != barrier.block) stop("a bulk copy's target and its mbarrier are in different blocks");
    targets.push_back(place.block);
  } else {
    const std::size_t blocks = block_->cluster ? block_->cluster->blocks.size() : 1;
    if (ranks >> blocks != 0) stop("a multicast names blocks that the cluster does not have");
    for (unsigned r = 0; r < blocks; ++r)
      if (ranks >> r & 1) targets.push_back(block_->cluster ? block_->cluster->blocks[r] : block_);
  }
  bool known = true;
  if (!observer_.remote_access(block_->shadow, place.address, rows->bytes(), false, false, &known))
    abort_kernel(fault::out_of_bounds, make_site(pc, 16, operation::copy), place.address - shared_begin);
  const bool here = std::find(targets.begin(), targets.end(), block_) != targets.end();
  if (observing()) {
    bulk_access access;
    access.what = bulk_access::arrives;
    access.rows = rows;
    access.targets = static_cast<unsigned>(targets.size());
    if (here) access.shared.push_back({place.address, rows->bytes()});
    put_bulk(std::move(access), pc, frame);
  }
  for (running_block* target : targets) {
    const bool other = target != block_;
    if (other && target->finished) stop("a copy goes to a block of the cluster that has already ended");
    auto* b = reinterpret_cast<mbarrier*>(address_in(*target, barrier.address));
    target->copies.arriving.push_back({reinterpret_cast<mbarrier*>(barrier.address),
                                       reinterpret_cast<char*>(place.address), rows, pc, current_number_, other,
                                       now(b).phase()});
    if (other && observing_)
      observer_.copy_begins_outside(target->shadow, reinterpret_cast<char*>(place.address), rows->bytes(), pc);
  }
  enter();
}

void worker::issue_out(const char* from, std::shared_ptr<const bulk_rows> rows, bulk_reduction how, std::uintptr_t pc,
                       std::uintptr_t frame) {
  sim_active_worker = sim_running_worker = nullptr;
  if (at(from) - shared_begin >= shared_bytes || at(from) % 16 != 0)
    abort_kernel(fault::trap, make_site(pc, 0, operation::load), 0,
                 "the source of a bulk copy must be in the block's shared memory, at a multiple of 16 bytes");
  bool known = true;
  if (!observer_.remote_access(block_->shadow, at(from), rows->bytes(), false, false, &known))
    abort_kernel(fault::out_of_bounds, make_site(pc, 16, operation::load), at(from) - shared_begin);
  std::uintptr_t flag = 0;
  std::uint32_t clock = 0;
  if (observing()) {
    block_order& order = block_->shadow.order;
    const std::size_t number = block_->shadow.copying_agent();
    bulk_access access;
    access.what = bulk_access::leaves;
    access.rows = rows;
    access.reduces = how != bulk_reduction::none;
    access.shared = existing_parts(at(from), *rows);
    access.agent = static_cast<std::uint32_t>(number - block_->shadow.first_agent);
    access.clock = order.latest(number);
    flag = new_flag();
    order.release(number, flag);
    clock = order.latest(number);
    put_bulk(std::move(access), pc, frame);
  }
  auto& groups = block_->copies.groups;
  groups.resize(threads().size());
  block_->copies.leaving.push_back({from, std::move(rows), how, current_number_, groups[current_number_], flag, clock});
  enter();
}
void worker::commit_bulk() {
  const unobserved guard;
  auto& groups = block_->copies.groups;
  groups.resize(threads().size());
  ++groups[current_number_];
}
void worker::wait_for_bulk(unsigned groups, std::uintptr_t frame) {
  sim_active_worker = sim_running_worker = nullptr;
  std::vector<leaving_copy>& all = block_->copies.leaving;
  for (std::size_t i = 0; i < all.size();) {
    if (all[i].thread != current_number_ || all[i].group + groups >= block_->copies.groups[current_number_]) {
      ++i;
      continue;
    }
    const leaving_copy copy = std::move(all[i]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    move_out(copy);
    if (!block_->shadow.agents.empty()) {
      std::uint32_t& awaited = block_->shadow.agents.back().awaited;
      awaited = std::max(awaited, copy.clock);
    }
    if (block_order* order = copy.flag ? this->order() : nullptr) {
      note_order(order->acquire(current_number_, copy.flag), frame);
      sim_active_worker = sim_running_worker = nullptr;
    }
  }
  enter();
}

// ---- products of warpgroups

namespace {
/// Flags of block_order, which are not addresses: one for each of a warpgroup's last groups.
constexpr std::uint32_t groups_in_flight = 16;
std::uintptr_t flag_of(unsigned warpgroup, std::uint32_t group) {
  return (std::uintptr_t{1} << 40) + warpgroup * groups_in_flight + group % groups_in_flight;
}

}  // namespace

void begin_product(warpgroup_product& p, const void* pc) {
  worker& self = *sim_running_worker;
  p.warp = self.number_in_block() / lanes_per_warp;
  if ((p.warp / warps_per_warpgroup + 1) * threads_per_warpgroup > self.block().threads.size())
    stop_kernel(fault::trap, pc,
                "wgmma needs a warpgroup: four whole warps, the first with a number that is a multiple of four");
  if (self.lane_number() == 0) self.issue_product(p, at(pc), frame_here());
}
void commit_products() { sim_running_worker->commit_products(); }
void wait_for_products(unsigned groups, const void* pc) {
  sim_running_worker->wait_for_products(groups, reinterpret_cast<std::uintptr_t>(pc), frame_here());
}

void worker::issue_product(const warpgroup_product& p, std::uintptr_t pc, std::uintptr_t frame) {
  sim_active_worker = sim_running_worker = nullptr;
  std::vector<bulk_access::range> shared = read_by(p);
  for (const auto& [begin, bytes] : shared)
    if (begin - shared_begin >= shared_bytes || begin + bytes - shared_begin > shared_bytes)
      abort_kernel(fault::trap, make_site(pc, 0, operation::load), 0,
                   "a descriptor of wgmma points outside shared memory; check its offsets");
  if (observing_) {
    tensor_counts& t = counts().warpgroup_tensor[{p.a, p.sum}];
    t.operations += operations_of_warp(p);
    ++t.instructions;
    if (p.warp % warps_per_warpgroup == 0) t.shared_bytes += shared_bytes_of(p);
  }
  if (p.warp % warps_per_warpgroup != 0 || !observing()) return enter();
  block_->products.by_thread.resize(threads().size());
  block_order& order = block_->shadow.order;
  const unsigned group = current_number_ / threads_per_warpgroup;
  const std::size_t number = block_->shadow.first_agent + group;
  bulk_access access;
  access.what = bulk_access::product;
  access.shared = std::move(shared);
  access.agent = group;
  access.clock = order.latest(number);
  const std::uint32_t committed = block_->products.by_thread[current_number_];
  order.release(number, flag_of(group, committed));
  block_->products.clocks.resize(block_->shadow.agents.size() * groups_in_flight);
  block_->products.clocks[group * groups_in_flight + committed % groups_in_flight] = order.latest(number);
  put_bulk(std::move(access), pc, frame);
  enter();
}
void worker::commit_products() {
  block_products& all = block_->products;
  all.by_thread.resize(threads().size());
  all.by_warp.resize(threads().size() / lanes_per_warp + 1);
  std::uint32_t& of_warp = all.by_warp[current_number_ / lanes_per_warp];
  of_warp = std::max(of_warp, ++all.by_thread[current_number_]);
}
void worker::wait_for_products(unsigned groups, std::uintptr_t pc, std::uintptr_t frame) {
  sim_active_worker = sim_running_worker = nullptr;
  block_products& all = block_->products;
  all.by_thread.resize(threads().size());
  all.by_warp.resize(threads().size() / lanes_per_warp + 1);
  const std::uint32_t committed = all.by_thread[current_number_], done = committed - std::min(groups, committed);
  const unsigned group = current_number_ / threads_per_warpgroup;
  const auto others_are_behind = [&] {
    for (unsigned warp = group * warps_per_warpgroup; warp < (group + 1) * warps_per_warpgroup; ++warp)
      if (warp < all.by_warp.size() && all.by_warp[warp] < done) return true;
    return false;
  };
  while (others_are_behind()) {
    spin(pc, frame);
    sim_active_worker = sim_running_worker = nullptr;
  }
  if (block_order* order = done > 0 ? this->order() : nullptr) {
    if (const std::size_t at = group * groups_in_flight + (done - 1) % groups_in_flight; at < all.clocks.size()) {
      std::uint32_t& awaited = block_->shadow.agents[group].awaited;
      awaited = std::max(awaited, all.clocks[at]);
    }
    note_order(order->acquire(current_number_, flag_of(group, done - 1)), frame);
    sim_active_worker = sim_running_worker = nullptr;
  }
  enter();
}

// ---- what kernels call

namespace {

std::shared_ptr<bulk_rows> one_row(const void* global, unsigned bytes, const void* pc) {
  if (bytes % 16 != 0 || at(global) % 16 != 0)
    stop_kernel(fault::trap, pc, "a bulk copy needs an address and a size that are multiples of 16 bytes");
  const unobserved guard;
  auto rows = std::make_shared<bulk_rows>();
  rows->rows.push_back({at(global), 0, bytes});
  rows->row_bytes = bytes;
  return rows;
}
/// Without this check the copy would access host memory.
void check_global(const bulk_rows& rows, bool stores, const void* pc) {
  for (const bulk_rows::row& row : rows.rows)
    if (row.bytes > 0 && row.global - heap_base >= heap_bytes && !is_program_variable(row.global) &&
        (stores || !is_program_constant(row.global))) {
      worker* self = sim_running_worker;
      sim_active_worker = sim_running_worker = nullptr;
      self->abort_kernel(fault::illegal_address, make_site(at(pc), 16, stores ? operation::store : operation::load),
                         row.global);
    }
}

}  // namespace

void copy_bulk_in(void* to, const void* from, unsigned bytes, mbarrier* arrived, unsigned ranks, const void* pc) {
  worker* self = sim_running_worker;
  if (at(from) - self->shared_begin < self->shared_bytes) {  // to another block of the cluster
    auto rows = one_row(from, bytes, pc);
    {
      const unobserved guard;
      rows->data.assign(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
      rows->rows[0].global = at(rows->data.data());
    }
    return self->issue_in(static_cast<char*>(to), arrived, std::move(rows), ranks, at(pc), frame_here());
  }
  auto rows = one_row(from, bytes, pc);
  check_global(*rows, false, pc);
  self->issue_in(static_cast<char*>(to), arrived, std::move(rows), ranks, at(pc), frame_here());
}
void copy_bulk_out(void* to, const void* from, unsigned bytes, bulk_reduction how, number type, const void* pc) {
  auto rows = one_row(to, bytes, pc);
  rows->type = type;
  check_global(*rows, true, pc);
  sim_running_worker->issue_out(static_cast<const char*>(from), std::move(rows), how, at(pc), frame_here());
}
namespace {
std::shared_ptr<bulk_rows> box_at(const void* map, const box_begin& begin, const void* pc) {
  const char* what = nullptr;
  std::shared_ptr<bulk_rows> rows;
  {
    const unobserved guard;
    rows = rows_of_box(map, begin, &what);
  }
  if (what) stop_kernel(fault::trap, pc, what);
  return rows;
}
}  // namespace
void copy_box_in(void* to, const void* map, const box_begin& begin, mbarrier* arrived, unsigned ranks, const void* pc) {
  auto rows = box_at(map, begin, pc);
  check_global(*rows, false, pc);
  if (at(to) % 128 != 0)
    stop_kernel(fault::trap, pc, "the target of a tensor copy is not at a multiple of 128 bytes of shared memory");
  sim_running_worker->issue_in(static_cast<char*>(to), arrived, std::move(rows), ranks, at(pc), frame_here());
}
void copy_box_out(const void* map, const box_begin& begin, const void* from, bulk_reduction how, const void* pc) {
  auto rows = box_at(map, begin, pc);
  check_global(*rows, true, pc);
  if (at(from) % 128 != 0)
    stop_kernel(fault::trap, pc, "the source of a tensor copy is not at a multiple of 128 bytes of shared memory");
  sim_running_worker->issue_out(static_cast<const char*>(from), std::move(rows), how, at(pc), frame_here());
}
void commit_bulk() { sim_running_worker->commit_bulk(); }
void wait_for_bulk(unsigned groups) { sim_running_worker->wait_for_bulk(groups, frame_here()); }

}  // namespace sim
