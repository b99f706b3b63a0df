#pragma once

#include "sim/async.h"
