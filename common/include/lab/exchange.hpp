// Files for submissions that read some: a folder that the judge writes and its runners may only read. A case makes its
// file there when it makes its inputs, one of which is the path.
#pragma once

#include <filesystem>

namespace lab {

/// Made when first asked for, in memory where there is room, and removed when the program ends. Each process has its
/// own, children too.
const std::filesystem::path& exchange_folder();

/// For a process that ends without the end of the program.
void remove_exchange_folder();

/// The same, or an empty path if nothing was ever put there.
std::filesystem::path exchange_folder_if_any();

}  // namespace lab
