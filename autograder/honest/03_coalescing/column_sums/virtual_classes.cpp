#include <memory>
#include <stdexcept>
#include <typeinfo>

#include "coalescing.hpp"

namespace {
class Summer {
public:
    virtual ~Summer() = default;
    virtual void add(const float* row) = 0;
    virtual const char* name() const { return typeid(*this).name(); }
};
class Plain : public Summer {
public:
    Plain(float* s, std::size_t n) : sums_(s), n_(n) { for (std::size_t i = 0; i < n; ++i) s[i] = 0.f; }
    void add(const float* row) override { for (std::size_t i = 0; i < n_; ++i) sums_[i] += row[i]; }
protected:
    float* sums_;
    std::size_t n_;
};
class Unrolled final : public Plain {
public:
    using Plain::Plain;
    void add(const float* row) override {
        std::size_t i = 0;
        for (; i + 4 <= n_; i += 4) {
            sums_[i] += row[i]; sums_[i + 1] += row[i + 1];
            sums_[i + 2] += row[i + 2]; sums_[i + 3] += row[i + 3];
        }
        for (; i < n_; ++i) sums_[i] += row[i];
    }
};
std::shared_ptr<Summer> make(float* s, std::size_t n) {
    if (n >= 4) return std::make_shared<Unrolled>(s, n);
    return std::make_shared<Plain>(s, n);
}
}  // namespace

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
    auto s = make(sums, columns);
    if (columns >= 4 && !dynamic_cast<Unrolled*>(s.get())) throw std::logic_error(s->name());
    for (std::size_t r = 0; r < rows; ++r) s->add(in + r * columns);
}
