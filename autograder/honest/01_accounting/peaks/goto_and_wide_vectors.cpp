#include "accounting.hpp"
namespace lab01 {
void triad(float* a, const float* b, const float* c, float scale, std::size_t n)
{
	float *end = a + n;
	while (a != end) *a++ = *b++ + scale * *c++;
}
#define STEP(j) x##j = x##j*x##j + c##j
#define LOAD(j) v8 x##j, c##j; __builtin_memcpy(&x##j, in+i+16*j, 64); __builtin_memcpy(&c##j, c+i+16*j, 64)
#define STORE(j) __builtin_memcpy(out+i+16*j, &x##j, 64)
typedef float v8 __attribute__((vector_size(64)));
void fma_chains(float* out, const float* in, const float* c, std::size_t n, std::int64_t rounds)
{
	std::size_t i; std::int64_t k;
	for (i = 0; i + 160 <= n; i += 160) {
		LOAD(0); LOAD(1); LOAD(2); LOAD(3); LOAD(4); LOAD(5); LOAD(6); LOAD(7); LOAD(8); LOAD(9);
		k = rounds;
again:
		if (k-- > 0) {
			STEP(0); STEP(1); STEP(2); STEP(3); STEP(4); STEP(5); STEP(6); STEP(7); STEP(8); STEP(9);
			goto again;
		}
		STORE(0); STORE(1); STORE(2); STORE(3); STORE(4); STORE(5); STORE(6); STORE(7); STORE(8); STORE(9);
	}
	for (; i < n; i++) {
		float x = in[i];
		for (k = 0; k < rounds; k++) x = x*x + c[i];
		out[i] = x;
	}
}
}
