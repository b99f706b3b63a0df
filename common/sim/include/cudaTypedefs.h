// Types of the driver's functions that programs ask for by name (cudaGetDriverEntryPoint).
#pragma once

#include "cuda.h"

using PFN_cuTensorMapEncodeTiled_v12000 = decltype(&cuTensorMapEncodeTiled);
using PFN_cuTensorMapEncodeTiled = PFN_cuTensorMapEncodeTiled_v12000;
using PFN_cuTensorMapReplaceAddress_v12000 = decltype(&cuTensorMapReplaceAddress);
using PFN_cuTensorMapReplaceAddress = PFN_cuTensorMapReplaceAddress_v12000;
