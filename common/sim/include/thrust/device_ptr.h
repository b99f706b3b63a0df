#pragma once

#include <thrust/system/cpp/device_memory.h>

#include_next <thrust/device_ptr.h>
