// cuFFT on Eigen's FFT: a multidimensional transform runs along each dimension in turn.
#include "cufftXt.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <unsupported/Eigen/FFT>
#include <vector>

#include "library.hpp"

namespace sim {
namespace {

/// The memory layout of one side of a transform. Strides and distances are in elements of its type.
struct placement {
  std::vector<std::size_t> extent;  ///< of the storage
  std::size_t stride = 1, distance = 0;
};
struct callback {
  void *function = nullptr, *caller = nullptr;
};
struct plan {
  std::vector<std::size_t> n;
  placement in, out;
  cufftType type = CUFFT_C2C;
  std::size_t batches = 0;     ///< 0: not created
  bool in_place_rows = false;  ///< packed real data, whose row length differs for transforms in place
  cudaStream_t stream = nullptr;
  callback load, store;
};

std::mutex mutex;
std::map<cufftHandle, plan> plans;
cufftHandle next_plan = 1;

plan* find(cufftHandle handle) {
  const auto found = plans.find(handle);
  return found == plans.end() ? nullptr : &found->second;
}

std::size_t product(const std::vector<std::size_t>& n) {
  return std::accumulate(n.begin(), n.end(), std::size_t{1}, std::multiplies<>());
}

/// Calls `visit(number, place)` for each element of an `n` grid: its row-major number and its place in memory.
template <class Visit>
void for_each_element(const std::vector<std::size_t>& n, const placement& where, const Visit& visit) {
  std::vector<std::size_t> index(n.size());
  for (std::size_t i = 0, count = product(n); i < count; ++i) {
    std::size_t place = 0;
    for (std::size_t d = 0; d < n.size(); ++d) place = place * where.extent[d] + index[d];
    visit(i, place * where.stride);
    for (std::size_t d = n.size(); d-- > 0;) {
      if (++index[d] < n[d]) break;
      index[d] = 0;
    }
  }
}

/// Transforms packed data along dimension `d`.
template <class T>
void transform_along(std::vector<std::complex<T>>& data, const std::vector<std::size_t>& n, std::size_t d,
                     bool forward) {
  Eigen::FFT<T> fft;
  fft.SetFlag(Eigen::FFT<T>::Unscaled);
  const std::size_t length = n[d];
  if (length == 1) return;
  const std::size_t step =
      std::accumulate(n.begin() + static_cast<std::ptrdiff_t>(d) + 1, n.end(), std::size_t{1}, std::multiplies<>());
  std::vector<std::complex<T>> line(length), result(length);
  for (std::size_t first = 0; first < data.size(); ++first) {
    if (first / step % length != 0) continue;
    for (std::size_t i = 0; i < length; ++i) line[i] = data[first + i * step];
    forward ? fft.fwd(result.data(), line.data(), static_cast<Eigen::Index>(length))
            : fft.inv(result.data(), line.data(), static_cast<Eigen::Index>(length));
    for (std::size_t i = 0; i < length; ++i) data[first + i * step] = result[i];
  }
}
template <class T>
void transform(std::vector<std::complex<T>>& data, const std::vector<std::size_t>& n, bool forward) {
  for (std::size_t d = 0; d < n.size(); ++d) transform_along(data, n, d, forward);
}

/// Real data's half spectrum has indices up to n[last] / 2 in the last dimension; the other half is its conjugate.
std::vector<std::size_t> half_of(std::vector<std::size_t> n) {
  n.back() = n.back() / 2 + 1;
  return n;
}

/// An element in the form that callbacks use.
template <class T>
struct as_passed {
  using type = T;
};
template <>
struct as_passed<std::complex<float>> {
  using type = cufftComplex;
};
template <>
struct as_passed<std::complex<double>> {
  using type = cufftDoubleComplex;
};

template <class T, class In, class Out>
struct job {
  plan p;
  const In* in;
  Out* out;
  bool forward;

  void operator()() const {
    placement from = p.in, to = p.out;
    constexpr bool real_in = !std::is_same_v<In, std::complex<T>>, real_out = !std::is_same_v<Out, std::complex<T>>;
    if (p.in_place_rows && static_cast<const void*>(in) == static_cast<const void*>(out)) {
      const std::size_t row = 2 * (p.n.back() / 2 + 1);  // room for the spectrum
      placement& real = real_in ? from : to;
      real.distance = real.distance / real.extent.back() * row;
      real.extent.back() = row;
    }
    const std::vector<std::size_t> half = half_of(p.n);
    for (std::size_t b = 0; b < p.batches; ++b) {
      std::vector<std::complex<T>> data(product(p.n));
      const auto source = [&](std::size_t place) { return get(b * from.distance + place); };
      if constexpr (!real_in && real_out) {
        std::vector<std::complex<T>> given(product(half));
        for_each_element(half, from, [&](std::size_t i, std::size_t place) { given[i] = source(place); });
        fill_from_half(given, half, data);
      } else {
        for_each_element(p.n, from, [&](std::size_t i, std::size_t place) { data[i] = source(place); });
      }
      transform(data, p.n, forward);
      const std::size_t target = b * to.distance;
      if constexpr (real_in) {
        const std::size_t row = p.n.back(), kept = half.back();
        for_each_element(
            half, to, [&](std::size_t i, std::size_t place) { put(target + place, data[i / kept * row + i % kept]); });
      } else {
        for_each_element(p.n, to, [&](std::size_t i, std::size_t place) { put(target + place, data[i]); });
      }
    }
  }

  /// X[-k] is the conjugate of X[k].
  void fill_from_half(const std::vector<std::complex<T>>& given, const std::vector<std::size_t>& half,
                      std::vector<std::complex<T>>& data) const {
    std::vector<std::size_t> index(p.n.size());
    for (std::size_t number = 0; number < data.size(); ++number) {
      const bool other = index.back() >= half.back();
      std::size_t at = 0;
      for (std::size_t d = 0; d < p.n.size(); ++d)
        at = at * half[d] + (other ? (p.n[d] - index[d]) % p.n[d] : index[d]);
      data[number] = other ? std::conj(given[at]) : given[at];
      for (std::size_t d = p.n.size(); d-- > 0;) {
        if (++index[d] < p.n[d]) break;
        index[d] = 0;
      }
    }
  }
  In get(std::size_t place) const {
    if (!p.load.function) return in[place];
    using passed = typename as_passed<In>::type;
    const auto load = reinterpret_cast<passed (*)(void*, std::size_t, void*, void*)>(p.load.function);
    return __builtin_bit_cast(In, load(const_cast<In*>(in), place, p.load.caller, nullptr));
  }
  void put(std::size_t place, const std::complex<T>& value) const {
    Out result;
    if constexpr (real_result)
      result = value.real();
    else
      result = value;
    if (p.store.function) {
      using passed = typename as_passed<Out>::type;
      const auto store = reinterpret_cast<void (*)(void*, std::size_t, passed, void*, void*)>(p.store.function);
      store(out, place, __builtin_bit_cast(passed, result), p.store.caller, nullptr);
    } else {
      out[place] = result;
    }
    host_wrote(out + place, sizeof(Out));
  }
  static constexpr bool real_result = !std::is_same_v<Out, std::complex<T>>;
};

template <class T, class In, class Out>
cufftResult execute(cufftHandle handle, cufftType type, const void* in, void* out, bool forward) {
  plan p;
  {
    const std::scoped_lock lock(mutex);
    const plan* found = find(handle);
    if (!found || found->batches == 0) return CUFFT_INVALID_PLAN;
    p = *found;
  }
  if (p.type != type) return CUFFT_INVALID_TYPE;
  if (!in || !out) return CUFFT_INVALID_VALUE;
  const double elements = static_cast<double>(product(p.n) * p.batches);
  const double flops = 5 * elements * std::log2(static_cast<double>(std::max<std::size_t>(product(p.n), 2)));
  return library_call("cufft", p.stream, flops, elements * (sizeof(In) + sizeof(Out)),
                      job<T, In, Out>{p, static_cast<const In*>(in), static_cast<Out*>(out), forward}) == cudaSuccess
             ? CUFFT_SUCCESS
             : CUFFT_EXEC_FAILED;
}

cufftResult make(cufftHandle handle, const std::vector<int>& n, const int* inembed, int istride, int idist,
                 const int* onembed, int ostride, int odist, cufftType type, int batch, std::size_t* work_bytes) {
  const std::scoped_lock lock(mutex);
  plan* p = find(handle);
  if (!p || p->batches != 0) return CUFFT_INVALID_PLAN;
  if (n.empty() || n.size() > 3 || batch < 1 || std::any_of(n.begin(), n.end(), [](int i) { return i < 1; }))
    return CUFFT_INVALID_SIZE;
  const bool real_in = type == CUFFT_R2C || type == CUFFT_D2Z, real_out = type == CUFFT_C2R || type == CUFFT_Z2D;
  if (!real_in && !real_out && type != CUFFT_C2C && type != CUFFT_Z2Z) return CUFFT_INVALID_TYPE;
  p->n.assign(n.begin(), n.end());
  p->type = type;
  const bool packed = !inembed || !onembed;  // then strides and distances are ignored
  const std::vector<std::size_t> half = half_of(p->n);
  const auto place = [&](const int* extent, int stride, int distance, bool is_half) {
    placement where{is_half ? half : p->n, 1, product(is_half ? half : p->n)};
    if (packed) return where;
    where.extent.assign(extent, extent + n.size());
    where.stride = static_cast<std::size_t>(stride);
    where.distance = static_cast<std::size_t>(distance);
    return where;
  };
  if (!packed && (istride < 1 || ostride < 1 || idist < 0 || odist < 0)) return CUFFT_INVALID_VALUE;
  p->in = place(inembed, istride, idist, real_out);
  p->out = place(onembed, ostride, odist, real_in);
  p->in_place_rows = packed && (real_in || real_out);
  p->batches = static_cast<std::size_t>(batch);
  if (work_bytes) *work_bytes = 0;
  return CUFFT_SUCCESS;
}

template <class Make>
cufftResult create_and(cufftHandle* handle, const Make& with) {
  if (const cufftResult created = cufftCreate(handle)) return created;
  const cufftResult made = with(*handle);
  if (made != CUFFT_SUCCESS) cufftDestroy(*handle);
  return made;
}

}  // namespace
}  // namespace sim

using namespace sim;

extern "C" {

cufftResult cufftCreate(cufftHandle* handle) {
  if (!handle) return CUFFT_INVALID_VALUE;
  const std::scoped_lock lock(mutex);
  *handle = next_plan++;
  plans[*handle];
  return CUFFT_SUCCESS;
}
cufftResult cufftDestroy(cufftHandle handle) {
  const std::scoped_lock lock(mutex);
  return plans.erase(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  const std::scoped_lock lock(mutex);
  plan* p = find(handle);
  if (!p) return CUFFT_INVALID_PLAN;
  p->stream = stream;
  return CUFFT_SUCCESS;
}
cufftResult cufftGetVersion(int* version) { return version ? (*version = 12000, CUFFT_SUCCESS) : CUFFT_INVALID_VALUE; }

cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                              int ostride, int odist, cufftType type, int batch, std::size_t* work_bytes) {
  if (!n || rank < 1 || rank > 3) return CUFFT_INVALID_VALUE;
  return make(plan, std::vector<int>(n, n + rank), inembed, istride, idist, onembed, ostride, odist, type, batch,
              work_bytes);
}
cufftResult cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch, std::size_t* work_bytes) {
  return make(plan, {nx}, nullptr, 1, 0, nullptr, 1, 0, type, batch, work_bytes);
}
cufftResult cufftMakePlan2d(cufftHandle plan, int nx, int ny, cufftType type, std::size_t* work_bytes) {
  return make(plan, {nx, ny}, nullptr, 1, 0, nullptr, 1, 0, type, 1, work_bytes);
}
cufftResult cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, std::size_t* work_bytes) {
  return make(plan, {nx, ny, nz}, nullptr, 1, 0, nullptr, 1, 0, type, 1, work_bytes);
}
cufftResult cufftPlan1d(cufftHandle* plan, int nx, cufftType type, int batch) {
  return create_and(plan, [&](cufftHandle p) { return cufftMakePlan1d(p, nx, type, batch, nullptr); });
}
cufftResult cufftPlan2d(cufftHandle* plan, int nx, int ny, cufftType type) {
  return create_and(plan, [&](cufftHandle p) { return cufftMakePlan2d(p, nx, ny, type, nullptr); });
}
cufftResult cufftPlan3d(cufftHandle* plan, int nx, int ny, int nz, cufftType type) {
  return create_and(plan, [&](cufftHandle p) { return cufftMakePlan3d(p, nx, ny, nz, type, nullptr); });
}
cufftResult cufftPlanMany(cufftHandle* plan, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                          int ostride, int odist, cufftType type, int batch) {
  return create_and(plan, [&](cufftHandle p) {
    return cufftMakePlanMany(p, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, nullptr);
  });
}
cufftResult cufftGetSize(cufftHandle handle, std::size_t* work_bytes) {
  const std::scoped_lock lock(mutex);
  if (!find(handle)) return CUFFT_INVALID_PLAN;
  return work_bytes ? (*work_bytes = 0, CUFFT_SUCCESS) : CUFFT_INVALID_VALUE;
}
cufftResult cufftSetAutoAllocation(cufftHandle handle, int) {
  const std::scoped_lock lock(mutex);
  return find(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
cufftResult cufftSetWorkArea(cufftHandle handle, void*) { return cufftSetAutoAllocation(handle, 0); }

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* in, cufftComplex* out, int direction) {
  using complex = std::complex<float>;
  return execute<float, complex, complex>(plan, CUFFT_C2C, in, out, direction == CUFFT_FORWARD);
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleComplex* out, int direction) {
  using complex = std::complex<double>;
  return execute<double, complex, complex>(plan, CUFFT_Z2Z, in, out, direction == CUFFT_FORWARD);
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* in, cufftComplex* out) {
  return execute<float, float, std::complex<float>>(plan, CUFFT_R2C, in, out, true);
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* in, cufftDoubleComplex* out) {
  return execute<double, double, std::complex<double>>(plan, CUFFT_D2Z, in, out, true);
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* in, cufftReal* out) {
  return execute<float, std::complex<float>, float>(plan, CUFFT_C2R, in, out, false);
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleReal* out) {
  return execute<double, std::complex<double>, double>(plan, CUFFT_Z2D, in, out, false);
}

// ---- cufftXt.h

cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long* n, long long* inembed, long long istride,
                                long long idist, cudaDataType in, long long* onembed, long long ostride,
                                long long odist, cudaDataType out, long long batch, std::size_t* work_bytes,
                                cudaDataType compute) {
  if (!n || rank < 1 || rank > 3) return CUFFT_INVALID_VALUE;
  const bool wide = compute == CUDA_C_64F;
  const cudaDataType complex = wide ? CUDA_C_64F : CUDA_C_32F, real = wide ? CUDA_R_64F : CUDA_R_32F;
  if (compute != complex) return CUFFT_NOT_SUPPORTED;
  cufftType type = wide ? CUFFT_Z2Z : CUFFT_C2C;
  if (in == real && out == complex)
    type = wide ? CUFFT_D2Z : CUFFT_R2C;
  else if (in == complex && out == real)
    type = wide ? CUFFT_Z2D : CUFFT_C2R;
  else if (in != complex || out != complex)
    return CUFFT_INVALID_TYPE;
  std::vector<int> size(n, n + rank), in_storage, out_storage;
  if (inembed) in_storage.assign(inembed, inembed + rank);
  if (onembed) out_storage.assign(onembed, onembed + rank);
  return make(plan, size, inembed ? in_storage.data() : nullptr, static_cast<int>(istride), static_cast<int>(idist),
              onembed ? out_storage.data() : nullptr, static_cast<int>(ostride), static_cast<int>(odist), type,
              static_cast<int>(batch), work_bytes);
}
cufftResult cufftXtExec(cufftHandle handle, void* in, void* out, int direction) {
  cufftType type{};
  {
    const std::scoped_lock lock(mutex);
    const plan* found = find(handle);
    if (!found) return CUFFT_INVALID_PLAN;
    type = found->type;
  }
  switch (type) {
    case CUFFT_C2C:
      return cufftExecC2C(handle, static_cast<cufftComplex*>(in), static_cast<cufftComplex*>(out), direction);
    case CUFFT_Z2Z:
      return cufftExecZ2Z(handle, static_cast<cufftDoubleComplex*>(in), static_cast<cufftDoubleComplex*>(out),
                          direction);
    case CUFFT_R2C: return cufftExecR2C(handle, static_cast<cufftReal*>(in), static_cast<cufftComplex*>(out));
    case CUFFT_D2Z:
      return cufftExecD2Z(handle, static_cast<cufftDoubleReal*>(in), static_cast<cufftDoubleComplex*>(out));
    case CUFFT_C2R: return cufftExecC2R(handle, static_cast<cufftComplex*>(in), static_cast<cufftReal*>(out));
    case CUFFT_Z2D:
      return cufftExecZ2D(handle, static_cast<cufftDoubleComplex*>(in), static_cast<cufftDoubleReal*>(out));
  }
  return CUFFT_INVALID_TYPE;
}
cufftResult cufftXtSetCallback(cufftHandle handle, void** callbacks, cufftXtCallbackType type, void** callers) {
  const std::scoped_lock lock(mutex);
  plan* p = find(handle);
  if (!p || p->batches == 0) return CUFFT_INVALID_PLAN;
  if (!callbacks) return CUFFT_INVALID_VALUE;
  const auto takes = [&](std::initializer_list<cufftType> types) {
    return std::find(types.begin(), types.end(), p->type) != types.end();
  };
  const bool fits = type == CUFFT_CB_LD_COMPLEX          ? takes({CUFFT_C2C, CUFFT_C2R})
                    : type == CUFFT_CB_LD_COMPLEX_DOUBLE ? takes({CUFFT_Z2Z, CUFFT_Z2D})
                    : type == CUFFT_CB_LD_REAL           ? takes({CUFFT_R2C})
                    : type == CUFFT_CB_LD_REAL_DOUBLE    ? takes({CUFFT_D2Z})
                    : type == CUFFT_CB_ST_COMPLEX        ? takes({CUFFT_C2C, CUFFT_R2C})
                    : type == CUFFT_CB_ST_COMPLEX_DOUBLE ? takes({CUFFT_Z2Z, CUFFT_D2Z})
                    : type == CUFFT_CB_ST_REAL           ? takes({CUFFT_C2R})
                                                         : takes({CUFFT_Z2D});
  if (!fits) return CUFFT_INVALID_TYPE;
  (type < CUFFT_CB_ST_COMPLEX ? p->load : p->store) = {callbacks[0], callers ? callers[0] : nullptr};
  return CUFFT_SUCCESS;
}
cufftResult cufftXtClearCallback(cufftHandle handle, cufftXtCallbackType type) {
  const std::scoped_lock lock(mutex);
  plan* p = find(handle);
  if (!p) return CUFFT_INVALID_PLAN;
  (type < CUFFT_CB_ST_COMPLEX ? p->load : p->store) = {};
  return CUFFT_SUCCESS;
}
cufftResult cufftXtSetGPUs(cufftHandle, int, int*) { return CUFFT_INVALID_DEVICE; }
cufftResult cufftXtMalloc(cufftHandle, cudaLibXtDesc**, cufftXtSubFormat) { return CUFFT_INVALID_PLAN; }
cufftResult cufftXtFree(cudaLibXtDesc*) { return CUFFT_INVALID_VALUE; }
cufftResult cufftXtMemcpy(cufftHandle, void*, void*, cufftXtCopyType) { return CUFFT_INVALID_PLAN; }
cufftResult cufftXtExecDescriptorC2C(cufftHandle, cudaLibXtDesc*, cudaLibXtDesc*, int) { return CUFFT_INVALID_PLAN; }
cufftResult cufftXtExecDescriptorZ2Z(cufftHandle, cudaLibXtDesc*, cudaLibXtDesc*, int) { return CUFFT_INVALID_PLAN; }
cufftResult cufftXtExecDescriptorR2C(cufftHandle, cudaLibXtDesc*, cudaLibXtDesc*) { return CUFFT_INVALID_PLAN; }
cufftResult cufftXtExecDescriptorC2R(cufftHandle, cudaLibXtDesc*, cudaLibXtDesc*) { return CUFFT_INVALID_PLAN; }

}  // extern "C"
