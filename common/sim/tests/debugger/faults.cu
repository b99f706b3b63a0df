// One mistake for each way in which the debugger stops by itself; the argument says which.
#include <cstdlib>

__global__ void past_the_end(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = 1;
}

__global__ void neighbours(float* data) {
  __shared__ float tile[64];
  tile[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void some_return(float* data) {
  if (threadIdx.x < 40) {
    data[threadIdx.x] = 2;
    __syncthreads();
  } else {
    data[threadIdx.x] = 3;
    __syncthreads();
  }
}

__global__ void null_pointer(float* data) {
  float* none = nullptr;
  data[threadIdx.x] = 1;
  none[threadIdx.x] = 2;
}

int main(int argc, char** argv) {
  const int n = 100;
  float* data;
  cudaMalloc(&data, n * sizeof(float));
  cudaMemset(data, 0, n * sizeof(float));
  switch (argc > 1 ? std::atoi(argv[1]) : 0) {
    case 0: past_the_end<<<2, 64>>>(data, n); break;
    case 1: neighbours<<<1, 64>>>(data); break;
    case 2: some_return<<<1, 64>>>(data); break;
    case 3: null_pointer<<<1, 64>>>(data); break;
  }
  cudaDeviceSynchronize();
  cudaFree(data);
}
