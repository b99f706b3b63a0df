// includes a file that never ends
#include "/dev/zero"
#include "coalescing.hpp"
