// For programs with -std=c++14 or older, which simcc compiles as C++17: hides C++17's std::data, std::size and
// std::empty, which would make a program's own `int* data` ambiguous after `using namespace std;`.
#pragma once

#if defined SIM_BEFORE_CXX17 && __has_include(<bits/range_access.h>)
#include <initializer_list>
#define data sim_std_data
#define size sim_std_size
#define empty sim_std_empty
#include <bits/range_access.h>
#undef data
#undef size
#undef empty
#endif
