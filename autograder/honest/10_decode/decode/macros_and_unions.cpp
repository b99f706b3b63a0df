#include <string.h>
#include "decode.hpp"

#define I64(x) ((std::int64_t)(x))
#define HEADS(s) (I64((s).heads) * (s).size)
#define KV(s) (I64((s).kv_heads) * (s).size)
#define MATRICES(s) ((HEADS(s) + 2 * KV(s)) * (s).width + (s).width * HEADS(s) + 3 * I64((s).hidden) * (s).width)

static float widen(std::uint16_t h)
{
	std::uint32_t bits = (std::uint32_t)h << 16;
	float f;
	memcpy(&f, &bits, sizeof f);
	return f;
}

std::int64_t lab10::weight_bytes(const shape& s)
{
	return 2 * ((I64(s.vocabulary) + 1) * s.width + s.layers * (MATRICES(s) + 2 * s.width));
}

std::int64_t lab10::cache_bytes(const shape& s, std::int64_t tokens)
{
	return tokens <= 0 ? 0 : 4 * tokens * s.layers * KV(s);
}

std::int64_t lab10::token_bytes(const shape& s, std::int64_t position)
{
	std::int64_t bytes = weight_bytes(s);
	bytes += cache_bytes(s, position); /* read */
	bytes += cache_bytes(s, 1);        /* written */
	return bytes;
}

double lab10::intensity(const shape& s, std::int64_t position)
{
	double ops = 0;
	int l;
	for (l = 0; l < s.layers; l++) {
		ops += 2. * MATRICES(s);
		ops += 2. * HEADS(s) * (position + 1); /* q k */
		ops += 2. * HEADS(s) * (position + 1); /* w v */
	}
	ops += 2. * s.vocabulary * s.width;
	return ops / token_bytes(s, position);
}

double lab10::least_seconds(const shape& s, std::int64_t position, double bytes_per_second)
{
	return token_bytes(s, position) / bytes_per_second;
}

void lab10::matvec_host(float* y, const std::uint16_t* w, const float* x, std::size_t rows, std::size_t columns)
{
	std::size_t r = 0, c;
	double sum;
	if (!rows) return;
again:
	sum = 0.;
	for (c = 0; c < columns; c++)
		sum += (double)widen(*w++) * x[c];
	y[r] = (float)sum;
	if (++r < rows) goto again;
}
