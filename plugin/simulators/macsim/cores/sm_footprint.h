// Footprints by SM, for simulators whose L1s keep their lines between launches.
#pragma once

#include "native/replay/footprint.h"
#include "simulators/macsim/cores/warp_code.h"

namespace kernelpoint::replay::macsim {

// Reads the footprint of a launch. Model: a CTA runs on the SM with its number modulo the number of SMs. Within an SM
// accesses are ordered as in read_footprint. A warp fetches instructions from its start and from branch targets.
Footprint footprint_of(const LaunchCode& code, const Residency& residency);

// Number of CTAs with `warps` warps each that an SM runs at once, at least 1.
uint64_t ctas_at_once(const Residency& residency, uint64_t warps);

}  // namespace kernelpoint::replay::macsim
