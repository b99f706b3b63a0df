// Does not compile; the messages say why (CMakeLists.txt looks for them).
#include <cuda_runtime.h>

struct pair {
  int a, b;
};

__global__ void wrong(short* s, pair* p) {
  atomicAdd(s, 1);
  *p = __ldg(p);
  *p = __shfl_sync(0xffffffffu, *p, 0);
}
