// Files in memory for fuzz targets: the readers under test open, read and write paths below /memory/ without a system
// call. The program is linked with --wrap for each function that memory_files.cc defines; other paths go to the system.
#pragma once

#include <string>

namespace fuzz {

void put_file(const std::string& path, std::string bytes);
void remove_files();

}  // namespace fuzz
