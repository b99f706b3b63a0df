// plain globals, named as one names them
#include "coalescing.hpp"

int count = 0;
int step = 4;
float N = 0;
int ahead = 128;
double read = 1, write = 2;
int open[4] = {1, 2, 3, 4};
const char *environ = "none", *optarg = "";
long link, stat, times, sync, wait, send, poll, signal, fork, close, brk, errno_, dup2, mmap, futex;
float* malloc_hook;
int stop __attribute__((weak)) = 1;
int old_style __attribute__((common));

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  ++count;
  N = (float)rows;
  read = write + open[count % 4] + stop + old_style;
  link = stat + times + sync + wait + send + poll + signal + fork + close + brk + errno_ + dup2 + mmap + futex;
  malloc_hook = sums;
  for (std::size_t c = 0; c < columns; c++) sums[c] = 0;
  for (std::size_t r = 0; r < rows; r++)
    for (std::size_t c = 0; c < columns; c++) sums[c] += in[r * columns + c];
  (void)ahead, (void)step, (void)environ, (void)optarg;
}
