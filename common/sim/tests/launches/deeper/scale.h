// Includes what includes a launch, by a name that is only right from here.
#pragma once
#include "scale_kernel.inl"
constexpr int scale_line = __LINE__;
