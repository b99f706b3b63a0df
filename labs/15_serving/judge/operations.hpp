// How cases.cpp and calls.cpp encode operations on a pager, its answers, and a workload as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "account.hpp"

namespace lab15 {

inline constexpr int most_names = 140;
inline constexpr std::int32_t absent = -9;  ///< where there is no answer

/// Impossible operations are skipped: those on a name without a sequence, or a new sequence for a name that has one.
struct operation {
  enum kind : std::int32_t { admit, fork, append, release };
  std::int32_t what = release, name = 0, other = 0;  ///< fork: from `name` to `other`
  std::int32_t witness = 0, room = 1;                ///< name whose table is also read afterwards, with this much room
  std::int32_t count = 0;
  const std::int32_t* tokens = nullptr;

  static operation read(const std::int32_t*& from) {
    const operation result{from[0], from[1], from[2], from[3], from[4], from[5], from + 6};
    from += 6 + result.count;
    return result;
  }
};

/// The result; the copy; free pages; the table (length, pages) of the operation's sequence; the witness's.
constexpr std::int64_t width_of_answer(std::int64_t pages) { return 4 + 2 * (1 + pages); }

/// Slots, tokens per page, pages, four costs, number of requests; arrival, prompt, output of each.
inline std::vector<double> numbers_of(const workload& w) {
  std::vector<double> all{static_cast<double>(w.slots),
                          static_cast<double>(w.page_tokens),
                          static_cast<double>(w.pages),
                          w.step,
                          w.step_per_sequence,
                          w.step_per_cached_token,
                          w.admitted_token,
                          static_cast<double>(w.requests.size())};
  for (const request& r : w.requests) {
    all.push_back(r.arrives);
    all.push_back(r.prompt);
    all.push_back(r.output);
  }
  return all;
}

inline workload workload_of(const double* in) {
  workload w{static_cast<int>(in[0]), static_cast<int>(in[1]), static_cast<int>(in[2]), in[3], in[4], in[5], in[6], {}};
  const double* next = in + 8;
  for (auto left = static_cast<int>(in[7]); left > 0; --left, next += 3)
    w.requests.push_back({next[0], static_cast<int>(next[1]), static_cast<int>(next[2])});
  return w;
}

}  // namespace lab15
