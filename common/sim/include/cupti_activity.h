#pragma once

#include "cupti.h"
