// For programs compiled with -std=c++14 or older, which simcc compiles as C++17: without C++17's std::data, std::size
// and std::empty. With `using namespace std;` they would make a program's own `int* data` ambiguous.
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
