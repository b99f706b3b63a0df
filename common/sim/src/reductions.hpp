// Elements of NCCL's types, in the bytes of messages.
#pragma once

#include <cstddef>
#include <vector>

#include "nccl.h"

namespace sim {

std::size_t bytes_of(ncclDataType_t type);  ///< 0: there is no such type
/// Adds the elements of `other` to those of `sums`, or multiplies them, or takes the larger or the smaller.
void add(std::vector<char>& sums, const std::vector<char>& other, ncclDataType_t type, ncclRedOp_t op);
void scale(std::vector<char>& all, ncclDataType_t type, double factor, bool divides);
double element_at(const void* place, ncclDataType_t type);

}  // namespace sim
