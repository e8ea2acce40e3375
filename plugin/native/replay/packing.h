// Footprints as bytes, about two for each line: kept in memory and on disk.
#pragma once

#include <string>

#include "native/replay/footprint.h"

namespace kernelpoint::replay {

// Raised whenever equal traces would give other bytes than before.
constexpr uint32_t kFootprintVersion = 5;

std::string pack(const Footprint& footprint);
// False where the bytes are not those of a footprint.
bool unpack(const std::string& bytes, Footprint& footprint);

}  // namespace kernelpoint::replay
