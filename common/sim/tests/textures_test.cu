// Textures and surfaces: filters, address modes, formats, layers, cubemaps, copies of arrays.
#include "device_test.hpp"

namespace {

struct Textures : testing::Test {
  void TearDown() override {
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    cudaDeviceReset();
  }
};

template <class T>
cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureFilterMode filter, cudaTextureAddressMode mode,
                               bool normalized, cudaTextureReadMode read = cudaReadModeElementType) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description{};
  description.filterMode = filter;
  for (auto& m : description.addressMode) m = mode;
  description.normalizedCoords = normalized;
  description.readMode = read;
  description.borderColor[0] = 9;
  cudaTextureObject_t texture = 0;
  EXPECT_EQ(cudaCreateTextureObject(&texture, &resource, &description, nullptr), cudaSuccess);
  return texture;
}

template <class T>
cudaArray_t line_of(const std::vector<T>& values) {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc<T>();
  EXPECT_EQ(cudaMallocArray(&array, &channels, values.size()), cudaSuccess);
  const std::size_t bytes = values.size() * sizeof(T);
  EXPECT_EQ(cudaMemcpy2DToArray(array, 0, 0, values.data(), bytes, bytes, 1, cudaMemcpyHostToDevice), cudaSuccess);
  return array;
}

__global__ void read_line(cudaTextureObject_t texture, const float* at, float* out) {
  out[threadIdx.x] = tex1D<float>(texture, at[threadIdx.x]);
}
std::vector<float> read(cudaTextureObject_t texture, const std::vector<float>& at) {
  float *places, *out;
  const std::size_t bytes = at.size() * sizeof(float);
  cudaMalloc(&places, bytes);
  cudaMalloc(&out, bytes);
  cudaMemcpy(places, at.data(), bytes, cudaMemcpyHostToDevice);
  read_line<<<1, at.size()>>>(texture, places, out);
  std::vector<float> result(at.size());
  cudaMemcpy(result.data(), out, bytes, cudaMemcpyDeviceToHost);
  cudaFree(places);
  cudaFree(out);
  return result;
}

TEST_F(Textures, AddressModes) {
  const cudaArray_t array = line_of<float>({0, 1, 2, 3});
  const std::vector<float> at = {-1.125f, -0.125f, 0.125f, 0.375f, 0.875f, 1.125f, 1.875f, 2.125f};
  const auto with = [&](cudaTextureAddressMode mode) {
    return read(texture_of<float>(array, cudaFilterModePoint, mode, true), at);
  };
  EXPECT_EQ(with(cudaAddressModeWrap), (std::vector<float>{3, 3, 0, 1, 3, 0, 3, 0}));
  EXPECT_EQ(with(cudaAddressModeMirror), (std::vector<float>{3, 0, 0, 1, 3, 3, 0, 0}));
  EXPECT_EQ(with(cudaAddressModeClamp), (std::vector<float>{0, 0, 0, 1, 3, 3, 3, 3}));
  EXPECT_EQ(with(cudaAddressModeBorder), (std::vector<float>{9, 9, 0, 1, 3, 9, 9, 9}));
  // Wrapping is for normalized coordinates only: others clamp.
  EXPECT_EQ(read(texture_of<float>(array, cudaFilterModePoint, cudaAddressModeWrap, false), {-1, 0, 1.9f, 4}),
            (std::vector<float>{0, 0, 1, 3}));
}

TEST_F(Textures, LinearFilterWeighsInEightBits) {
  const cudaArray_t array = line_of<float>({0, 256, 512, 768});
  const auto clamped = texture_of<float>(array, cudaFilterModeLinear, cudaAddressModeClamp, false);
  // Texel i lies at i + 0.5. A 512th is rounded to a 256th.
  EXPECT_EQ(read(clamped, {0, 0.5f, 1, 1.5f, 0.5f + 3.0f / 256, 0.5f + 1.0f / 1024, 9}),
            (std::vector<float>{0, 0, 128, 256, 3, 0, 768}));
  const auto wrapped = texture_of<float>(array, cudaFilterModeLinear, cudaAddressModeWrap, true);
  EXPECT_EQ(read(wrapped, {0, 1}), (std::vector<float>{384, 384}));
  const auto bordered = texture_of<float>(array, cudaFilterModeLinear, cudaAddressModeBorder, true);
  EXPECT_EQ(read(bordered, {1}), (std::vector<float>{(768 + 9) / 2.0f}));
}

TEST_F(Textures, IntegersBecomeNumbersBetweenMinusOneAndOne) {
  const auto bytes = line_of<unsigned char>({0, 51, 255});
  EXPECT_EQ(read(texture_of<unsigned char>(bytes, cudaFilterModePoint, cudaAddressModeClamp, false,
                                           cudaReadModeNormalizedFloat),
                 {0, 1, 2}),
            (std::vector<float>{0, 0.2f, 1}));
  const auto shorts = line_of<short>({-32768, -32767, 0, 32767});
  EXPECT_EQ(
      read(texture_of<short>(shorts, cudaFilterModePoint, cudaAddressModeClamp, false, cudaReadModeNormalizedFloat),
           {0, 1, 2, 3}),
      (std::vector<float>{-1, -1, 0, 1}));
}

__global__ void gather(cudaTextureObject_t texture, int n, int2* out) {
  if (const int i = threadIdx.x; i < n) out[i] = tex1Dfetch<int2>(texture, i - 1);
}
TEST_F(Textures, LinearMemoryByElementAndZeroOutside) {
  int2* data;
  int2* out;
  cudaMalloc(&data, 4 * sizeof(int2));
  cudaMalloc(&out, 6 * sizeof(int2));
  const int2 values[4] = {{1, -1}, {2, -2}, {3, -3}, {4, -4}};
  cudaMemcpy(data, values, sizeof values, cudaMemcpyHostToDevice);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {data, cudaCreateChannelDesc<int2>(), sizeof values};
  cudaTextureDesc description{};
  cudaTextureObject_t texture = 0;
  ASSERT_EQ(cudaCreateTextureObject(&texture, &resource, &description, nullptr), cudaSuccess);
  gather<<<1, 32>>>(texture, 6, out);
  int2 result[6];
  cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
  EXPECT_EQ(result[0].x, 0);
  EXPECT_EQ(result[1].y, -1);
  EXPECT_EQ(result[4].y, -4);
  EXPECT_EQ(result[5].x, 0);
  EXPECT_EQ(cudaDestroyTextureObject(texture), cudaSuccess);
}

__global__ void double_each(cudaSurfaceObject_t surface, int width, int height) {
  const int x = threadIdx.x, y = threadIdx.y;
  if (x >= width || y >= height) return;
  surf2Dwrite(2 * surf2Dread<float>(surface, x * 4, y), surface, x * 4, y);
  surf2Dwrite(-1.0f, surface, width * 4, y, cudaBoundaryModeZero);  // outside: nothing happens
}
__global__ void read_plane(cudaTextureObject_t texture, float* out) {
  out[threadIdx.y * blockDim.x + threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.5f, threadIdx.y + 0.5f);
}
cudaSurfaceObject_t surface_of(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface = 0;
  EXPECT_EQ(cudaCreateSurfaceObject(&surface, &resource), cudaSuccess);
  return surface;
}
TEST_F(Textures, SurfacesWriteWhatTexturesRead) {
  std::vector<float> values(12), result(12);
  std::iota(values.begin(), values.end(), 0.0f);
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaArray_t array = nullptr;
  ASSERT_EQ(cudaMallocArray(&array, &channels, 4, 3, cudaArraySurfaceLoadStore), cudaSuccess);
  ASSERT_EQ(cudaMemcpyToArray(array, 0, 0, values.data(), 48, cudaMemcpyHostToDevice), cudaSuccess);
  double_each<<<1, dim3(8, 4)>>>(surface_of(array), 4, 3);
  float* out;
  cudaMalloc(&out, 48);
  read_plane<<<1, dim3(4, 3)>>>(texture_of<float>(array, cudaFilterModeLinear, cudaAddressModeClamp, false), out);
  cudaMemcpy(result.data(), out, 48, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(result[i], 2 * values[i]);
  EXPECT_EQ(cudaMemcpyFromArray(result.data(), array, 0, 1, 16, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(result[0], 8);
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
}

__global__ void beyond(cudaSurfaceObject_t surface) { surf2Dwrite(1.0f, surface, 16, 0); }
TEST_F(Textures, AWriteBeyondASurfaceStopsTheKernel) {
  const cudaArray_t array = line_of<float>({0, 1, 2, 3});
  beyond<<<1, 1>>>(surface_of(array));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  cudaGetLastError();
  cudaDeviceReset();
  cudaGetLastError();
}

/// The only report of a fetch in `launch`, which stops the kernel.
std::string why_it_stopped(const std::function<void()>& launch) {
  const std::string report = only_report(observe(launch));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  cudaDeviceReset();
  return report;
}
TEST_F(Textures, ObjectsAndMemoryThatAreGone) {
  const auto fetch = [](cudaTextureObject_t texture) { read(texture, {0}); };
  const auto whole = [] { return line_of<float>({0, 1, 2, 3}); };
  const auto texture = [](cudaArray_t array) {
    return texture_of<float>(array, cudaFilterModePoint, cudaAddressModeClamp, false);
  };
  const auto has = [](const std::string& report, const std::string& part) {
    EXPECT_NE(report.find(part), std::string::npos) << report;
    EXPECT_NE(report.find("textures_test.cu:"), std::string::npos) << report;
    EXPECT_NE(report.find(": read_line: block (0,0,0) thread (0,0,0): "), std::string::npos) << report;
  };
  cudaTextureObject_t one = texture(whole());
  EXPECT_EQ(cudaDestroyTextureObject(one), cudaSuccess);
  has(why_it_stopped([&] { fetch(one); }), "object was destroyed before the launch");
  has(why_it_stopped([&] { fetch(0); }), "object was never created");
  cudaArray_t array = whole();
  one = texture(array);
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
  has(why_it_stopped([&] { fetch(one); }), "was freed before the launch");
  array = whole();
  one = texture(array);
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
  whole();  // perhaps in the same place
  has(why_it_stopped([&] { fetch(one); }), "was freed before the launch");
}

__global__ void read_layers(cudaTextureObject_t texture, float* out) {
  out[threadIdx.x] = tex2DLayered<float>(texture, 1.5f, 0.5f, threadIdx.x);
}
__global__ void read_cube(cudaTextureObject_t texture, const float3* direction, float* out) {
  const float3 d = direction[threadIdx.x];
  out[threadIdx.x] = texCubemap<float>(texture, d.x, d.y, d.z);
}
cudaArray_t slices(std::size_t side, std::size_t depth, unsigned flags) {
  std::vector<float> values(side * side * depth);
  std::iota(values.begin(), values.end(), 0.0f);
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  EXPECT_EQ(cudaMalloc3DArray(&array, &channels, make_cudaExtent(side, side, depth), flags), cudaSuccess);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(values.data(), side * sizeof(float), side, side);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(side, side, depth);
  copy.kind = cudaMemcpyHostToDevice;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  return array;
}
TEST_F(Textures, LayersAndCubemaps) {
  float* out;
  cudaMalloc(&out, 6 * sizeof(float));
  float result[6];
  read_layers<<<1, 3>>>(
      texture_of<float>(slices(4, 3, cudaArrayLayered), cudaFilterModeLinear, cudaAddressModeClamp, false), out);
  cudaMemcpy(result, out, 3 * sizeof(float), cudaMemcpyDeviceToHost);
  EXPECT_EQ(result[0], 1);
  EXPECT_EQ(result[2], 33);
  // The middle of each face, in the order +x, -x, +y, -y, +z, -z.
  const float3 directions[6] = {{1, 0, 0}, {-1, 0, 0}, {0, 2, 0}, {0, -2, 0}, {0, 0, 3}, {0, 0, -3}};
  float3* there;
  cudaMalloc(&there, sizeof directions);
  cudaMemcpy(there, directions, sizeof directions, cudaMemcpyHostToDevice);
  read_cube<<<1, 6>>>(texture_of<float>(slices(1, 6, cudaArrayCubemap), cudaFilterModePoint, cudaAddressModeWrap, true),
                      there, out);
  cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
  for (int face = 0; face < 6; ++face) EXPECT_EQ(result[face], face);
}

TEST_F(Textures, WrongDescriptionsAreErrors) {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc three = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindUnsigned);
  EXPECT_EQ(cudaMallocArray(&array, &three, 4), cudaErrorInvalidValue);
  const cudaArray_t bytes = line_of<unsigned char>({1, 2});
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = bytes;
  cudaTextureDesc linear{};
  linear.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t texture = 0;
  EXPECT_EQ(cudaCreateTextureObject(&texture, &resource, &linear, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DToArray(bytes, 0, 0, "abc", 3, 3, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  cudaGetLastError();
}

}  // namespace
