// Files for submissions to read: a folder that the judge writes and its runners may only read. A case that needs a file
// creates it with its inputs, one of which is the path.
#pragma once

#include <filesystem>

namespace lab {

/// Created on first use, in memory if there is room, and removed when the program ends. Each process has its own,
/// including children.
const std::filesystem::path& exchange_folder();

/// Call it in a process that ends without running exit handlers.
void remove_exchange_folder();

/// The folder, or an empty path if it was never used.
std::filesystem::path exchange_folder_if_any();

}  // namespace lab
