#include "recomputation.hpp"
#include "sigmoid.hpp"

#include <array>
#include <cstring>
#include <span>

using lab05::sigmoid_of;

template <std::size_t N>
class piece
{
public:
    void map(std::span<const float> from)
    {
        for (std::size_t i = 0; i < from.size(); i++) v[i] = sigmoid_of(from[i]);
        used = from.size();
    }
    [[nodiscard]] std::span<const float> get() const { return {v.data(), used}; }
    float operator[](std::size_t i) const { return v[i]; }

private:
    alignas(64) std::array<float, N> v;
    std::size_t used = 0;
};

static constexpr std::size_t N = 1000;  // need not be a power of two

void lab05::forward_host(float *out, float *kept, const float *in, std::size_t n)
{
    piece<N> s1, s2, s3;
    while (n > 0) {
        const auto m = n < N ? n : N;
        s1.map({in, m});
        s2.map(s1.get());
        s3.map(s2.get());
        std::memcpy(out, s3.get().data(), m * sizeof *out);
        // d/dx, one factor at a time
        for (std::size_t i = 0; i < m; i++)
            kept[i] = (s1[i] - s1[i] * s1[i]) * (s2[i] - s2[i] * s2[i]) * (s3[i] - s3[i] * s3[i]);
        in += m, out += m, kept += m, n -= m;
    }
}

void lab05::backward_host(float *d_in, const float *, const float *kept, const float *d_out, std::size_t n)
{
    for (const float *end = d_out + n; d_out != end;) *d_in++ = *d_out++ * *kept++;
}
