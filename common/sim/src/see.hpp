// The warp view: a page that draws what was recorded (./course see).
#pragma once

#include <string>

namespace sim {

/// Writes the page, self-contained HTML, to a file; says on stderr where it is or why it cannot be written.
void write_page(const std::string& path);

}  // namespace sim
