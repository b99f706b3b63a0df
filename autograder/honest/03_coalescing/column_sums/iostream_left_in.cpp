#include <iostream>
#include <iomanip>
#include "coalescing.hpp"
using namespace std;

static bool verbose = true;

void lab03::column_sums(float* sums, const float* in, size_t rows, size_t columns) {
    if (verbose) {
        cout << "rows = " << rows << ", columns = " << columns << endl;
        cerr << fixed << setprecision(3) << in[0] << "\n";
        clog << hex << columns << dec << '\n';
        verbose = false;
    }
    for (size_t c = 0; c < columns; ++c) {
        float s = 0;
        for (size_t r = 0; r < rows; ++r) s += in[r*columns + c];
        sums[c] = s;
    }
}
