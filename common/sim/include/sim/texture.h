// Arrays, texture objects and surface objects. Fetches filter and address as described in the CUDA Programming Guide's
// appendix on texture fetching, with 8-bit weights. They are not counted: on a GPU, textures have their own counters.
#pragma once

#include <cstddef>
#include <type_traits>

#include "sim/api.h"
#include "sim/call.h"
#include "sim/types.h"

enum cudaChannelFormatKind {
  cudaChannelFormatKindSigned = 0,
  cudaChannelFormatKindUnsigned = 1,
  cudaChannelFormatKindFloat = 2,
  cudaChannelFormatKindNone = 3,
};
/// The bits of each component.
struct cudaChannelFormatDesc {
  int x, y, z, w;
  cudaChannelFormatKind f;
};
enum cudaResourceType {
  cudaResourceTypeArray = 0,
  cudaResourceTypeMipmappedArray = 1,
  cudaResourceTypeLinear = 2,
  cudaResourceTypePitch2D = 3,
};
struct cudaResourceDesc {
  cudaResourceType resType;
  union {
    struct {
      cudaArray_t array;
    } array;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      std::size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      std::size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};
struct cudaResourceViewDesc;
enum cudaTextureAddressMode {
  cudaAddressModeWrap = 0,
  cudaAddressModeClamp = 1,
  cudaAddressModeMirror = 2,
  cudaAddressModeBorder = 3,
};
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
struct cudaTextureDesc {
  cudaTextureAddressMode addressMode[3];
  cudaTextureFilterMode filterMode;
  cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
};
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2 };
using cudaArray_const_t = const struct cudaArray*;
using cudaTextureObject_t = unsigned long long;
using cudaSurfaceObject_t = unsigned long long;
constexpr unsigned cudaArrayDefault = 0, cudaArrayLayered = 1, cudaArraySurfaceLoadStore = 2, cudaArrayCubemap = 4,
                   cudaArrayTextureGather = 8;

extern "C" {
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, cudaExtent extent,
                              unsigned flags = 0);
/// `height` is 0 for a one-dimensional array.
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, std::size_t width,
                            std::size_t height = 0, unsigned flags = 0);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* channels, cudaExtent* extent, unsigned* flags, cudaArray_t array);
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* channels, cudaArray_const_t array);
/// Offsets and widths are in bytes.
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                std::size_t width, std::size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                     std::size_t width, std::size_t height, cudaMemcpyKind kind,
                                     cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x, std::size_t y,
                                  std::size_t width, std::size_t height, cudaMemcpyKind kind);
/// Copies whole rows, one after the other.
cudaError_t cudaMemcpyToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                              cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, std::size_t x, std::size_t y, std::size_t bytes,
                                cudaMemcpyKind kind);
/// Returns cudaErrorNotSupported for mipmapped arrays and resource views.
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* description, const cudaResourceViewDesc* view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t texture);
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* description, cudaTextureObject_t texture);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface);
}

inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

namespace sim {

/// A texel's components: a number and its type, or up to four in a vector.
template <class T, class = void>
struct components_of {
  using type = T;
  static constexpr int count = 1;
};
template <class T>
struct components_of<T, std::void_t<decltype(T::x)>> {
  using type = decltype(T::x);
  static constexpr int count = sizeof(T) / sizeof(type);
};

struct texel {
  float number[4];   ///< normalized and filtered as the texture says
  unsigned bits[4];  ///< as stored, integers extended to 32 bits
};
/// `dimensions`: how many of x, y and z are coordinates; with `cube` they are a direction. `layer`: -1 for none.
texel fetch(cudaTextureObject_t texture, int dimensions, float x, float y, float z, int layer, bool cube);
texel fetch_element(cudaTextureObject_t texture, int x);
/// The address of a surface's element, null outside. `x` is in bytes. May stop the kernel.
void* surface_element(cudaSurfaceObject_t surface, int x, int y, int z, std::size_t bytes, cudaSurfaceBoundaryMode mode,
                      const void* pc);

template <class T>
SIM_QUIET T from_texel(const texel& found) {
  static_assert(std::is_arithmetic_v<T> || is_vector<T>, "a texel is a number or a CUDA vector");
  using component = typename components_of<T>::type;
  T result{};
  component each[components_of<T>::count];
  for (int i = 0; i < components_of<T>::count; ++i) {
    if constexpr (std::is_floating_point_v<component>)
      each[i] = static_cast<component>(found.number[i]);
    else
      each[i] = static_cast<component>(found.bits[i]);
  }
  if constexpr (components_of<T>::count == 1 && std::is_arithmetic_v<T>) {
    result = each[0];
  } else {
    result.x = each[0];
    if constexpr (components_of<T>::count > 1) result.y = each[1];
    if constexpr (components_of<T>::count > 2) result.z = each[2];
    if constexpr (components_of<T>::count > 3) result.w = each[3];
  }
  return result;
}

}  // namespace sim

template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
  using component = typename sim::components_of<T>::type;
  constexpr int bits = 8 * sizeof(component), count = sim::components_of<T>::count;
  return {bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0,
          !std::is_integral_v<component> ? cudaChannelFormatKindFloat
          : std::is_signed_v<component>  ? cudaChannelFormatKindSigned
                                         : cudaChannelFormatKindUnsigned};
}

// Each fetch has two forms: one returns the texel, one stores it through a pointer.
#define SIM_TEXTURE_FETCH(name, parameters, ...) \
  template <class T>                             \
  SIM_QUIET T name parameters {                  \
    return sim::from_texel<T>(__VA_ARGS__);      \
  }
SIM_TEXTURE_FETCH(tex1Dfetch, (cudaTextureObject_t t, int x), sim::fetch_element(t, x))
SIM_TEXTURE_FETCH(tex1D, (cudaTextureObject_t t, float x), sim::fetch(t, 1, x, 0, 0, -1, false))
SIM_TEXTURE_FETCH(tex2D, (cudaTextureObject_t t, float x, float y), sim::fetch(t, 2, x, y, 0, -1, false))
SIM_TEXTURE_FETCH(tex3D, (cudaTextureObject_t t, float x, float y, float z), sim::fetch(t, 3, x, y, z, -1, false))
SIM_TEXTURE_FETCH(tex1DLayered, (cudaTextureObject_t t, float x, int layer), sim::fetch(t, 1, x, 0, 0, layer, false))
SIM_TEXTURE_FETCH(tex2DLayered, (cudaTextureObject_t t, float x, float y, int layer),
                  sim::fetch(t, 2, x, y, 0, layer, false))
SIM_TEXTURE_FETCH(texCubemap, (cudaTextureObject_t t, float x, float y, float z), sim::fetch(t, 3, x, y, z, -1, true))
SIM_TEXTURE_FETCH(texCubemapLayered, (cudaTextureObject_t t, float x, float y, float z, int layer),
                  sim::fetch(t, 3, x, y, z, layer, true))
#undef SIM_TEXTURE_FETCH

template <class T>
SIM_QUIET void tex1Dfetch(T* value, cudaTextureObject_t t, int x) {
  *value = tex1Dfetch<T>(t, x);
}
template <class T>
SIM_QUIET void tex1D(T* value, cudaTextureObject_t t, float x) {
  *value = tex1D<T>(t, x);
}
template <class T>
SIM_QUIET void tex2D(T* value, cudaTextureObject_t t, float x, float y) {
  *value = tex2D<T>(t, x, y);
}
template <class T>
SIM_QUIET void tex3D(T* value, cudaTextureObject_t t, float x, float y, float z) {
  *value = tex3D<T>(t, x, y, z);
}

// `x` is in bytes, as in CUDA; a layer or a cubemap's face is the third coordinate.
#define SIM_SURFACE(name, coordinates, x, y, z)                                                  \
  template <class T>                                                                             \
  SIM_CALLED_HERE T surf##name##read(cudaSurfaceObject_t s, SIM_UNPACK coordinates,              \
                                     cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {      \
    const void* element = sim::surface_element(s, x, y, z, sizeof(T), mode, SIM_CALLER);         \
    return element ? *static_cast<const T*>(element) : T{};                                      \
  }                                                                                              \
  template <class T>                                                                             \
  SIM_CALLED_HERE void surf##name##read(T* value, cudaSurfaceObject_t s, SIM_UNPACK coordinates, \
                                        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {   \
    const void* element = sim::surface_element(s, x, y, z, sizeof(T), mode, SIM_CALLER);         \
    *value = element ? *static_cast<const T*>(element) : T{};                                    \
  }                                                                                              \
  template <class T>                                                                             \
  SIM_CALLED_HERE void surf##name##write(T value, cudaSurfaceObject_t s, SIM_UNPACK coordinates, \
                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {  \
    if (void* element = sim::surface_element(s, x, y, z, sizeof(T), mode, SIM_CALLER))           \
      *static_cast<T*>(element) = value;                                                         \
  }
#define SIM_UNPACK(...) __VA_ARGS__
SIM_SURFACE(1D, (int x), x, 0, 0)
SIM_SURFACE(2D, (int x, int y), x, y, 0)
SIM_SURFACE(3D, (int x, int y, int z), x, y, z)
SIM_SURFACE(1DLayered, (int x, int layer), x, 0, layer)
SIM_SURFACE(2DLayered, (int x, int y, int layer), x, y, layer)
SIM_SURFACE(Cubemap, (int x, int y, int face), x, y, face)
#undef SIM_SURFACE
#undef SIM_UNPACK
