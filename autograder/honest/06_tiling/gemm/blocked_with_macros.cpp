#include "tiling.hpp"
#include <string.h>
#define BM 32
#define BN 64
#define BK 128
#define min(x, y) ((x) < (y) ? (x) : (y))

static float Ab[BM * BK], Bb[BK * BN];
size_t calls;
static size_t step = BM;

void lab06::gemm(float *C, const float *A, const float *B, size_t M, size_t N, size_t K) {
	calls++;
	memset(C, 0, M * N * sizeof *C);
	for (size_t i0 = 0; i0 < M; i0 += step)
	for (size_t p0 = 0; p0 < K; p0 += BK)
	for (size_t j0 = 0; j0 < N; j0 += BN) {
		size_t mi = min(BM, M - i0), pi = min(BK, K - p0), ji = min(BN, N - j0);
		for (size_t i = 0; i < mi; i++) memcpy(&Ab[i*BK], &A[(i0+i)*K + p0], pi*sizeof(float));
		for (size_t p = 0; p < pi; p++) memcpy(&Bb[p*BN], &B[(p0+p)*N + j0], ji*sizeof(float));
		for (size_t i = 0; i < mi; i++)
			for (size_t p = 0; p < pi; p++) {
				float t = Ab[i*BK+p];
				for (size_t j = 0; j < ji; j++) C[(i0+i)*N + j0+j] += t * Bb[p*BN+j];
			}
	}
}
