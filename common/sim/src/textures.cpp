// Texture and surface objects: how a fetch turns coordinates into texels.
#include "textures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "heap.hpp"
#include "hooks.hpp"
#include "runtime.hpp"

namespace sim {
namespace {

/// The memory and description behind a texture or surface object.
struct view {
  cudaResourceDesc resource{};
  cudaTextureDesc description{};
  cudaChannelFormatDesc channels{};
  const char* begin = nullptr;
  std::uint64_t allocation = 0;                // the allocation's number
  long long width = 0, height = 1, depth = 1;  // in texels
  std::size_t pitch = 0;
  std::size_t bytes_per_texel = 0;
  bool cube = false;
  char* at(long long x, long long y, long long z) const {
    return const_cast<char*>(begin) +
           (static_cast<std::size_t>(z) * static_cast<std::size_t>(height) + static_cast<std::size_t>(y)) * pitch +
           static_cast<std::size_t>(x) * bytes_per_texel;
  }
};
std::vector<std::unique_ptr<view>> views;  // by object, from 1 on; null once destroyed
const view* find_view(unsigned long long object) {
  return object - 1 < views.size() ? views[object - 1].get() : nullptr;
}

/// For a kernel: stops the kernel if there is no such object.
const view& view_in_use(unsigned long long object) {
  const view* v = nullptr;
  std::string why;
  {
    const unobserved guard;
    v = find_view(object);
    const allocation* memory = v ? find_allocation(reinterpret_cast<std::uintptr_t>(v->begin)) : nullptr;
    if (!v && object - 1 < views.size())
      why =
          "this texture or surface object was destroyed before the launch; destroy it after the last kernel that "
          "uses it";
    else if (!v)
      why = "this texture or surface object was never created; check what cudaCreateTextureObject returned";
    else if (!memory || memory->number != v->allocation)
      why = fmt::format(
          "the memory of this texture or surface object, allocation {}, was freed before the launch; free it after the "
          "last kernel that uses it",
          v->allocation);
  }
  if (!why.empty()) stop_kernel(fault::trap, nullptr, why);
  return *v;
}

bool is_format(const cudaChannelFormatDesc& c) {
  const int each[] = {c.x, c.y, c.z, c.w};
  int count = 0;
  while (count < 4 && each[count] != 0) ++count;
  if (count == 0 || count == 3 || (c.x != 8 && c.x != 16 && c.x != 32)) return false;
  for (int i = 0; i < 4; ++i)
    if (each[i] != (i < count ? c.x : 0)) return false;
  return c.f < cudaChannelFormatKindNone && !(c.f == cudaChannelFormatKindFloat && c.x == 8);
}

float half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const float fraction = static_cast<float>(bits & 1023);
  const float size = exponent == 0    ? std::ldexp(fraction, -24)
                     : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -size : size;
}

texel read_texel(const view& v, const char* from) {
  texel result{};
  const bool normalized = v.description.readMode == cudaReadModeNormalizedFloat;
  const int bits = v.channels.x;
  const int count = static_cast<int>(v.bytes_per_texel) * 8 / bits;
  for (int i = 0; i < count; ++i) {
    std::uint32_t raw = 0;
    std::memcpy(&raw, from + i * bits / 8, static_cast<std::size_t>(bits / 8));
    if (v.channels.f == cudaChannelFormatKindFloat) {
      result.number[i] = bits == 16 ? half_value(static_cast<std::uint16_t>(raw)) : std::bit_cast<float>(raw);
      result.bits[i] = raw;
    } else if (v.channels.f == cudaChannelFormatKindSigned) {
      const auto value = static_cast<std::int32_t>(raw << (32 - bits)) >> (32 - bits);
      result.bits[i] = static_cast<std::uint32_t>(value);
      const float largest = static_cast<float>((std::int64_t{1} << (bits - 1)) - 1);
      result.number[i] = normalized ? std::max(static_cast<float>(value) / largest, -1.0f) : static_cast<float>(value);
    } else {
      result.bits[i] = raw;
      const float largest = static_cast<float>((std::int64_t{1} << bits) - 1);
      result.number[i] = normalized ? static_cast<float>(raw) / largest : static_cast<float>(raw);
    }
  }
  return result;
}

/// The index within 0 .. size - 1; -1 for the border's color.
long long address(long long i, long long size, cudaTextureAddressMode mode, bool normalized) {
  if (i >= 0 && i < size) return i;
  if (mode == cudaAddressModeBorder) return -1;
  if (normalized && mode == cudaAddressModeWrap) return ((i % size) + size) % size;
  if (normalized && mode == cudaAddressModeMirror) {
    const long long around = ((i % (2 * size)) + 2 * size) % (2 * size);
    return around < size ? around : 2 * size - 1 - around;
  }
  return std::clamp<long long>(i, 0, size - 1);
}

/// The one or two texels along one dimension, and the second one's weight.
struct neighbours {
  long long index[2] = {0, 0};
  float weight = 0;
};
neighbours along(float coordinate, long long size, cudaTextureAddressMode mode, const view& v) {
  const bool normalized = v.description.normalizedCoords != 0;
  // Larger coordinates are beyond any array and do not fit in an integer. NaN becomes 0.
  float x = normalized ? coordinate * static_cast<float>(size) : coordinate;
  x = std::isnan(x) ? 0 : std::clamp(x, -1e9f, 1e9f);
  neighbours n;
  if (v.description.filterMode == cudaFilterModePoint) {
    n.index[0] = n.index[1] = address(static_cast<long long>(std::floor(x)), size, mode, normalized);
    return n;
  }
  const float shifted = x - 0.5f;
  const auto first = static_cast<long long>(std::floor(shifted));
  n.weight = std::round((shifted - std::floor(shifted)) * 256) / 256;  // CUDA's fixed point: 8 bits of fraction
  n.index[0] = address(first, size, mode, normalized);
  n.index[1] = address(first + 1, size, mode, normalized);
  return n;
}

/// The face of a cube that a direction meets. Replaces the direction with that point's coordinates in 0 .. 1.
int cube_face(float& x, float& y, float z) {
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  float s = 0, t = 0, m = 1;
  int face = 0;
  if (ax >= ay && ax >= az)
    face = x >= 0 ? 0 : 1, s = x >= 0 ? -z : z, t = -y, m = ax;
  else if (ay >= az)
    face = y >= 0 ? 2 : 3, s = x, t = y >= 0 ? z : -z, m = ay;
  else
    face = z >= 0 ? 4 : 5, s = z >= 0 ? x : -x, t = -y, m = az;
  x = (s / m + 1) / 2;
  y = (t / m + 1) / 2;
  return face;
}

cudaError_t make_view(unsigned long long* object, const cudaResourceDesc* resource,
                      const cudaTextureDesc* description) {
  const std::scoped_lock lock(runtime_mutex());
  if (!object || !resource) return fail(cudaErrorInvalidValue);
  view v;
  v.resource = *resource;
  if (description) v.description = *description;
  switch (resource->resType) {
    case cudaResourceTypeArray: {
      const cudaArray_t a = resource->res.array.array;
      if (!a) return fail(cudaErrorInvalidValue);
      v.channels = a->channels;
      v.begin = a->begin;
      v.width = static_cast<long long>(a->extent.width);
      v.height = static_cast<long long>(a->rows());
      v.depth = static_cast<long long>(a->slices());
      v.pitch = a->pitch;
      v.cube = (a->flags & cudaArrayCubemap) != 0;
      break;
    }
    case cudaResourceTypeLinear: {
      const auto& linear = resource->res.linear;
      v.channels = linear.desc;
      v.begin = static_cast<const char*>(linear.devPtr);
      if (!is_format(v.channels)) return fail(cudaErrorInvalidValue);
      v.width = static_cast<long long>(linear.sizeInBytes / texel_bytes(v.channels));
      v.pitch = linear.sizeInBytes;
      break;
    }
    case cudaResourceTypePitch2D: {
      const auto& plane = resource->res.pitch2D;
      v.channels = plane.desc;
      v.begin = static_cast<const char*>(plane.devPtr);
      v.width = static_cast<long long>(plane.width);
      v.height = static_cast<long long>(plane.height);
      v.pitch = plane.pitchInBytes;
      break;
    }
    case cudaResourceTypeMipmappedArray: return fail(cudaErrorNotSupported);
    default: return fail(cudaErrorInvalidValue);
  }
  if (!is_format(v.channels) || v.width < 1 || v.height < 1) return fail(cudaErrorInvalidValue);
  v.bytes_per_texel = texel_bytes(v.channels);
  // Only floating-point texels can be filtered.
  if (description && description->filterMode == cudaFilterModeLinear && v.channels.f != cudaChannelFormatKindFloat &&
      description->readMode == cudaReadModeElementType)
    return fail(cudaErrorInvalidValue);
  const allocation* memory = find_allocation(reinterpret_cast<std::uintptr_t>(v.begin));
  if (!memory) return fail(cudaErrorInvalidValue);
  v.allocation = memory->number;
  views.push_back(std::make_unique<view>(v));
  *object = views.size();
  return sticky_error();
}
cudaError_t destroy_view(unsigned long long object) {
  const std::scoped_lock lock(runtime_mutex());
  if (find_view(object)) views[object - 1].reset();
  return sticky_error();
}

}  // namespace

texel fetch(cudaTextureObject_t texture, int dimensions, float x, float y, float z, int layer, bool cube) {
  const view& v = view_in_use(texture);
  texel result{};
  long long slice = std::max(layer, 0);
  if (cube) {
    slice = slice * 6 + cube_face(x, y, z);
    dimensions = 2;
  }
  const cudaTextureAddressMode* mode = v.description.addressMode;
  neighbours along_x, along_y, along_z;
  if (cube) {  // normalized whatever the description says, and without a border
    view square = v;
    square.description.normalizedCoords = 1;
    along_x = along(x, v.width, cudaAddressModeClamp, square);
    along_y = along(y, v.height, cudaAddressModeClamp, square);
  } else {
    along_x = along(x, v.width, mode[0], v);
    if (dimensions > 1) along_y = along(y, v.height, mode[1], v);
    if (dimensions > 2) along_z = along(z, v.depth, mode[2], v);
  }
  for (int corner = 0; corner < 8; ++corner) {
    const int cx = corner & 1, cy = corner >> 1 & 1, cz = corner >> 2;
    const float weight = (cx ? along_x.weight : 1 - along_x.weight) * (cy ? along_y.weight : 1 - along_y.weight) *
                         (cz ? along_z.weight : 1 - along_z.weight);
    if (weight == 0) continue;
    const long long ix = along_x.index[cx], iy = along_y.index[cy];
    const long long iz = dimensions > 2 ? along_z.index[cz] : std::clamp<long long>(slice, 0, v.depth - 1);
    texel one{};
    if (ix >= 0 && iy >= 0 && iz >= 0)
      one = read_texel(v, v.at(ix, iy, iz));
    else
      for (int i = 0; i < 4; ++i) one.number[i] = v.description.borderColor[i];
    for (int i = 0; i < 4; ++i) {
      result.number[i] += weight * one.number[i];
      result.bits[i] = one.bits[i];
    }
  }
  return result;
}

texel fetch_element(cudaTextureObject_t texture, int x) {
  const view& v = view_in_use(texture);
  return x >= 0 && x < v.width ? read_texel(v, v.at(x, 0, 0)) : texel{};
}

void* surface_element(cudaSurfaceObject_t surface, int x, int y, int z, std::size_t bytes, cudaSurfaceBoundaryMode mode,
                      const void* pc) {
  const view& v = view_in_use(surface);
  const auto size = static_cast<int>(bytes);
  const auto row = static_cast<int>(static_cast<std::size_t>(v.width) * v.bytes_per_texel);
  const auto height = static_cast<int>(v.height), depth = static_cast<int>(v.depth);
  if (x < 0 || x > row - size || y < 0 || y >= height || z < 0 || z >= depth) {
    if (mode == cudaBoundaryModeZero) return nullptr;
    if (mode == cudaBoundaryModeTrap) stop_kernel(fault::trap, pc, "surface access out of bounds; x counts bytes");
    x = std::clamp(x, 0, row - size);
    y = std::clamp(y, 0, height - 1);
    z = std::clamp(z, 0, depth - 1);
  }
  return v.at(0, y, z) + x;
}

}  // namespace sim

using namespace sim;

extern "C" {

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, cudaExtent extent,
                              unsigned flags) {
  if (!array || !channels || !is_format(*channels) || extent.width == 0) return fail(cudaErrorInvalidValue);
  if ((flags & cudaArrayCubemap) && (extent.width != extent.height || extent.depth % 6 != 0 || extent.depth == 0))
    return fail(cudaErrorInvalidValue);
  auto made = cudaArray{nullptr, *channels, extent, flags, extent.width * texel_bytes(*channels)};
  void* begin = nullptr;
  const std::size_t bytes = made.pitch * made.rows() * made.slices();
  if (const cudaError_t error = allocate(&begin, bytes, memory_kind::device, __builtin_return_address(0))) return error;
  const std::scoped_lock lock(runtime_mutex());
  mark_valid(reinterpret_cast<std::uintptr_t>(begin), bytes);  // surface writes are not observed
  made.begin = static_cast<char*>(begin);
  *array = new cudaArray(made);
  return cudaSuccess;
}
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, std::size_t width,
                            std::size_t height, unsigned flags) {
  return cudaMalloc3DArray(array, channels, {width, height, 0}, flags);
}
cudaError_t cudaFreeArray(cudaArray_t array) {
  if (!array) return cudaSuccess;
  const cudaError_t error = cudaFree(array->begin);
  delete array;
  return error;
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* channels, cudaExtent* extent, unsigned* flags, cudaArray_t array) {
  if (!array) return fail(cudaErrorInvalidValue);
  if (channels) *channels = array->channels;
  if (extent) *extent = array->extent;
  if (flags) *flags = array->flags;
  return sticky_error();
}
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* channels, cudaArray_const_t array) {
  return channels && array ? (*channels = array->channels, sticky_error()) : fail(cudaErrorInvalidValue);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                     std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  if (!to || x + width > to->pitch || y + height > to->rows()) return fail(cudaErrorInvalidValue);
  return cudaMemcpy2DAsync(to->begin + y * to->pitch + x, to->pitch, from, pitch, width, height, kind, stream);
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  if (!to || x + width > to->pitch || y + height > to->rows()) return fail(cudaErrorInvalidValue);
  return cudaMemcpy2D(to->begin + y * to->pitch + x, to->pitch, from, pitch, width, height, kind);
}
cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x, std::size_t y,
                                  std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  if (!from || x + width > from->pitch || y + height > from->rows()) return fail(cudaErrorInvalidValue);
  return cudaMemcpy2D(to, pitch, from->begin + y * from->pitch + x, from->pitch, width, height, kind);
}
cudaError_t cudaMemcpyToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                              cudaMemcpyKind kind) {
  if (!to || y * to->pitch + x + bytes > to->pitch * to->rows()) return fail(cudaErrorInvalidValue);
  return cudaMemcpy(to->begin + y * to->pitch + x, from, bytes, kind);
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, std::size_t x, std::size_t y, std::size_t bytes,
                                cudaMemcpyKind kind) {
  if (!from || y * from->pitch + x + bytes > from->pitch * from->rows()) return fail(cudaErrorInvalidValue);
  return cudaMemcpy(to, from->begin + y * from->pitch + x, bytes, kind);
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* description, const cudaResourceViewDesc* view) {
  if (!description) return fail(cudaErrorInvalidValue);
  if (view) return fail(cudaErrorNotSupported);
  return make_view(texture, resource, description);
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) { return destroy_view(texture); }
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t texture) {
  const view* v = find_view(texture);
  return resource && v ? (*resource = v->resource, sticky_error()) : fail(cudaErrorInvalidValue);
}
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* description, cudaTextureObject_t texture) {
  const view* v = find_view(texture);
  return description && v ? (*description = v->description, sticky_error()) : fail(cudaErrorInvalidValue);
}
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource) {
  if (!resource || resource->resType != cudaResourceTypeArray) return fail(cudaErrorInvalidValue);
  return make_view(surface, resource, nullptr);
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) { return destroy_view(surface); }

}  // extern "C"
