// A class for both sides: complex numbers with operators, a matrix view with checks, and lambdas inside a kernel.
#include <cmath>
#include <cstdio>
#include <vector>

template <class T>
class Complex {
 public:
  __host__ __device__ Complex(T re = 0, T im = 0) : re_(re), im_(im) {}
  __host__ __device__ T norm() const { return re_ * re_ + im_ * im_; }
  __host__ __device__ Complex operator*(const Complex& o) const {
    return Complex(re_ * o.re_ - im_ * o.im_, re_ * o.im_ + im_ * o.re_);
  }
  __host__ __device__ friend Complex operator+(Complex a, const Complex& b) { return a += b; }
  __host__ __device__ Complex& operator+=(const Complex& o) {
    re_ += o.re_;
    im_ += o.im_;
    return *this;
  }
  static constexpr int words = 2;

 private:
  T re_, im_;
};

template <class T>
class MatrixView {
 public:
  MatrixView(T* data, int rows, int columns) : data_(data), rows_(rows), columns_(columns) {}
  __device__ T& operator()(int r, int c) const { return data_[r * columns_ + c]; }
  __host__ __device__ int rows() const { return rows_; }
  __host__ __device__ int columns() const { return columns_; }

 private:
  T* data_;
  int rows_, columns_;
};

__global__ void julia(MatrixView<int> image, Complex<float> c) {
  const auto column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  const int x = static_cast<int>(column), y = static_cast<int>(row);
  if (x >= image.columns() || y >= image.rows()) return;
  auto iterate = [c](Complex<float> z) {
    int k = 0;
    for (; k < 100 && z.norm() < 4.0f; ++k) z = z * z + c;
    return k;
  };
  const auto scaled = [](int i, int n) { return 3.0f * static_cast<float>(i) / static_cast<float>(n) - 1.5f; };
  image(y, x) = iterate(Complex<float>(scaled(x, image.columns()), scaled(y, image.rows())));
}

int main() {
  const int rows = 45, columns = 70;
  std::vector<int> image(rows * columns);
  int* d_image;
  if (cudaMalloc(&d_image, image.size() * sizeof(int)) != cudaSuccess) return 2;
  const Complex<float> c(-0.8f, 0.156f);
  const MatrixView<int> view(d_image, rows, columns);
  julia<<<dim3(5, 3), dim3(16, 16)>>>(view, c);
  if (cudaMemcpy(image.data(), d_image, image.size() * sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(d_image);
  int different = 0;
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) {
      Complex<float> z(3.0f * x / columns - 1.5f, 3.0f * y / rows - 1.5f);
      int k = 0;
      for (; k < 100 && z.norm() < 4.0f; ++k) z = z * z + c;
      different += k != image[y * columns + x];
    }
  std::printf("%d of %d points differ\n", different, rows * columns);
  return different < rows * columns / 20 ? 0 : 1;
}
