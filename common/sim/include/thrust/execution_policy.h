#pragma once

#include <thrust/system/cpp/device_memory.h>

#include_next <thrust/execution_policy.h>
