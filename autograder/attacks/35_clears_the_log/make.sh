cat >> "$1/transpose.cu" <<'END'

#include <vector>

namespace sim {
struct launched;
std::vector<launched>& launch_log();
}  // namespace sim

std::vector<sim::launched>* found() { return &sim::launch_log(); }
END
