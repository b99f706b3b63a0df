// Includes a file with a launch, by a name that is right only from here.
#pragma once
#include "scale_kernel.inl"
constexpr int scale_line = __LINE__;
