// All pairs of bodies, a tile of them in shared memory at a time; the total momentum stays what it was.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <vector>

#define SOFTENING 1e-3f

__device__ float3 bodyBodyInteraction(float3 ai, float4 bi, float4 bj) {
  float3 r;
  r.x = bj.x - bi.x;
  r.y = bj.y - bi.y;
  r.z = bj.z - bi.z;
  float distSqr = r.x * r.x + r.y * r.y + r.z * r.z + SOFTENING;
  float invDist = rsqrtf(distSqr);
  float s = bj.w * invDist * invDist * invDist;
  ai.x += r.x * s;
  ai.y += r.y * s;
  ai.z += r.z * s;
  return ai;
}

__global__ void integrateBodies(float4* newPos, const float4* oldPos, float4* vel, float dt, int n) {
  extern __shared__ float4 sharedPos[];
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  float4 position = oldPos[index];
  float3 acc = {0.0f, 0.0f, 0.0f};
  for (int tile = 0; tile < n / static_cast<int>(blockDim.x); ++tile) {
    sharedPos[threadIdx.x] = oldPos[tile * blockDim.x + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (unsigned int counter = 0; counter < blockDim.x; counter++)
      acc = bodyBodyInteraction(acc, position, sharedPos[counter]);
    __syncthreads();
  }
  float4 velocity = vel[index];
  velocity.x += acc.x * dt;
  velocity.y += acc.y * dt;
  velocity.z += acc.z * dt;
  position.x += velocity.x * dt;
  position.y += velocity.y * dt;
  position.z += velocity.z * dt;
  newPos[index] = position;
  vel[index] = velocity;
}

int main() {
  const int n = 512, block = 128;
  std::vector<float4> pos(n), vel(n, make_float4(0, 0, 0, 0));
  for (int i = 0; i < n; ++i)
    pos[i] = make_float4(std::sin(1.7f * i), std::cos(2.9f * i), std::sin(0.3f * i), 1.0f / n);
  float4 *d_pos[2], *d_vel;
  cudaMalloc(&d_pos[0], n * sizeof(float4));
  cudaMalloc(&d_pos[1], n * sizeof(float4));
  cudaMalloc(&d_vel, n * sizeof(float4));
  cudaMemcpy(d_pos[0], pos.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
  cudaMemcpy(d_vel, vel.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
  for (int step = 0; step < 4; ++step)
    integrateBodies<<<n / block, block, block * sizeof(float4)>>>(d_pos[1 - step % 2], d_pos[step % 2], d_vel, 0.01f,
                                                                  n);
  if (cudaMemcpy(vel.data(), d_vel, n * sizeof(float4), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  double momentum = 0, speed = 0;
  for (const float4& v : vel) {
    momentum += v.x + v.y + v.z;
    speed += std::abs(v.x);
  }
  for (float4* p : {d_pos[0], d_pos[1], d_vel}) cudaFree(p);
  std::printf("momentum %g, speed %g\n", momentum / n, speed / n);
  return speed / n > 1e-3 && std::abs(momentum) / n < 1e-5 ? 0 : 1;
}
