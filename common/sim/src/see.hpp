// The warp view: a page that draws the recorded steps (./course see).
#pragma once

#include <string>

namespace sim {

/// Writes the page, self-contained HTML, to a file; prints its path on stderr, or why it cannot be written.
void write_page(const std::string& path);

}  // namespace sim
