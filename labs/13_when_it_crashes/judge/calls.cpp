// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp.
#include <lab/call.hpp>
#include <lab/execute.hpp>
#include <lab/host_accesses.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "cache.hpp"
#include "when_it_crashes.hpp"

namespace {

/// Calls f, which must free everything that it allocates and destroy everything that it creates.
template <class F>
void without_leaks(const F& f) {
  const sim_objects before = lab::objects_now();
  f();
  if (const std::string left = lab::new_objects(before); !left.empty())
    throw std::runtime_error("the function never frees or destroys " + left +
                             "; free what it allocates in `stream`, and destroy what it creates");
}

/// While it exists, counts the live allocations at each store by this thread's host code in a .cu file.
struct allocation_watcher : lab::host_watcher {
  void see(std::uintptr_t, std::size_t, bool store) override {
    if (!store || std::exchange(busy, true)) return;  // counting may use a submission's instrumented copy of a template
    most = std::max(most, lab::objects_now().allocations);
    busy = false;
  }
  bool busy = false;
  std::size_t most = 0;
};

/// Calls page_rows, which must free a page's old memory when the page moves: until then a table of old addresses still
/// points to the right rows.
void call_page_rows(const lab::call& c) {
  const std::size_t before = lab::objects_now().allocations, pages = static_cast<std::size_t>(c.parameter(0));
  allocation_watcher seen;
  lab13::page_rows(c.output<float>(0), c.input<float>(0), c.parameter(0), c.parameter(1), c.parameter(2),
                   c.parameter(3), c.parameter(4), c.stream);
  const std::size_t needed = pages + 3;  // the table, the new memory of a page that moves, and one to spare
  if (seen.most > before + needed)
    throw std::runtime_error("page_rows had " + std::to_string(seen.most - before) + " allocations at a time for " +
                             std::to_string(pages) + " pages; free a page's old memory when the page moves, and let " +
                             "no table keep its address");
}

/// Calls row_norms, whose launch must fail for this reason: row_norms must return the error and leave none behind.
void expect_its_error(const lab::call& c, cudaStream_t stream, const std::string& why) {
  const cudaError_t error =
      lab13::row_norms(c.output<float>(0), c.input<float>(0), c.parameter(0), c.parameter(1), stream);
  const cudaError_t behind = cudaGetLastError();  // which error depends on CUDA's version
  if (error == cudaSuccess)
    throw lab::broken_contract("row_norms returned cudaSuccess, and the contract wants the launch's error: " + why);
  if (behind != cudaSuccess)
    throw lab::broken_contract(std::string("row_norms left an error behind: ") + cudaGetErrorName(behind) +
                               "; the contract forbids that, even if a launch fails");
}

void call_head_sums(const lab::call& c) {
  without_leaks([&] {
    lab13::head_sums(c.output<float>(0), c.input<float>(0), c.input<int>(1), c.parameter(0), c.parameter(1), c.stream);
  });
}

constexpr lab::entry table[] = {
    {"kv_scores", lab::part::device,
     [](const lab::call& c) {
       lab13::kv_scores(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.parameter(1),
                        c.stream);
     }},
    {"page_rows", lab::part::device, [](const lab::call& c) { without_leaks([&] { call_page_rows(c); }); }},
    {"row_sums", lab::part::device,
     [](const lab::call& c) {
       lab13::row_sums(c.output<float>(0), c.input<float>(0), c.input<int>(1), c.parameter(0), c.stream);
     }},
    {"head_sums", lab::part::device, call_head_sums},
    {"head_sums_last_block_first", lab::part::device,
     [](const lab::call& c) {
       if (sim_begin_with_last_block) sim_begin_with_last_block(true);
       call_head_sums(c);
       if (sim_begin_with_last_block) sim_begin_with_last_block(false);
     }},
    {"head_sums_first_blocks_first", lab::part::device,
     [](const lab::call& c) {
       constexpr int keys_of_a_block = 64;
       if (sim_begin_with_every_block) sim_begin_with_every_block(std::max(c.parameter(1) / keys_of_a_block, 1));
       call_head_sums(c);
       if (sim_begin_with_every_block) sim_begin_with_every_block(1);
     }},
    {"pad_rows", lab::part::device,
     [](const lab::call& c) {
       lab13::pad_rows(c.output<float>(0), c.input<float>(0), c.input<int>(1), c.parameter(0), c.parameter(1),
                       c.stream);
     }},
    // Parameter 2: the number of rows in the cache.
    {"slot_rows", lab::part::device,
     [](const lab::call& c) {
       const int count = c.parameter(0), size = c.parameter(1);
       const auto bytes = static_cast<std::size_t>(c.parameter(2)) * static_cast<std::size_t>(size);
       void* cache = nullptr;
       if (cudaMallocAsync(&cache, bytes, c.stream) != cudaSuccess)
         throw std::runtime_error("no " + std::to_string(bytes) + " bytes for the cache on this device");
       lab13::put_rows(static_cast<std::int8_t*>(cache), c.input<std::int8_t>(0), c.input<int>(1), count, size,
                       c.stream);
       lab13::slot_rows(c.output<float>(0), static_cast<std::int8_t*>(cache), c.input<int>(1), 0.125f, count, size,
                        c.stream);
       cudaFreeAsync(cache, c.stream);
     }},
    {"pick_expert", lab::part::device,
     [](const lab::call& c) {
       lab13::pick_expert(c.output<int>(0), c.output<float>(1), c.input<float>(0), c.input<unsigned>(1), c.parameter(0),
                          c.parameter(1), c.stream);
     }},
    {"two_streams", lab::part::device,
     [](const lab::call& c) {
       without_leaks([&] {
         lab13::two_streams(c.output<float>(0), c.input<float>(0), c.parameter(0), c.parameter(1), c.stream);
       });
     }},
    {"row_norms", lab::part::device,
     [](const lab::call& c) {
       const int rows = c.parameter(0);
       if (rows == 0) return expect_its_error(c, c.stream, "no grid has 0 blocks");
       const cudaError_t error =
           lab13::row_norms(c.output<float>(0), c.input<float>(0), rows, c.parameter(1), c.stream);
       if (error != cudaSuccess)
         throw std::runtime_error(std::string("row_norms returned ") + cudaGetErrorName(error) +
                                  ", and its launch should succeed");
     }},
    {"row_norms_without_stream", lab::part::device,
     [](const lab::call& c) {
       if (lab::backend_name() != "sim") {  // a GPU's driver may crash
         lab13::row_norms(c.output<float>(0), c.input<float>(0), c.parameter(0), c.parameter(1), c.stream);
         return;
       }
       cudaStream_t stream = nullptr;
       cudaStreamCreate(&stream);
       cudaStreamDestroy(stream);
       expect_its_error(c, stream, "the stream was destroyed");
     }},
    {"tree_sums", lab::part::device,
     [](const lab::call& c) {
       lab13::tree_sums(c.output<float>(0), c.input<float>(0), c.input<int>(1), c.input<int>(2), c.parameter(0),
                        c.parameter(1), c.stream);
     }},
    {"group_scales", lab::part::device,
     [](const lab::call& c) {
       without_leaks([&] { lab13::group_scales(c.output<float>(0), c.input<float>(0), c.parameter(0), c.stream); });
     }},
    {"group_scales_in_turn", lab::part::device,
     [](const lab::call& c) {
       without_leaks([&] {
         const int n = c.parameter(0);
         lab13::group_scales(c.output<float>(0), c.input<float>(0), n, c.stream);
         lab13::group_scales(c.output<float>(0) + n, c.input<float>(0) + n, c.parameter(1), c.stream);
       });
     }},
    {"long_rows", lab::part::device,
     [](const lab::call& c) {
       without_leaks([&] {
         lab13::long_rows(c.output<float>(0), c.input<float>(0), c.input<int>(1), c.parameter(0), c.parameter(1),
                          c.stream);
       });
     }},
    {"prefix_hits", lab::part::host,
     [](const lab::call& c) {
       lab13::prefix_hits(c.output<int>(0), c.input<int>(0), c.input<int>(1), c.parameter(0));
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
