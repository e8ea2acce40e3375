// Footprints by SM, for simulators whose L1s keep their lines between launches.
#pragma once

#include "native/replay/footprint.h"
#include "simulators/macsim/cores/warp_code.h"

namespace kernelpoint::replay::macsim {

// Model: a CTA runs on the SM that its number says modulo the number of SMs. Within an SM as read_footprint says. A
// warp fetches from where it begins and from where a branch has led it.
Footprint footprint_of(const LaunchCode& code, const Residency& residency);

// CTAs with `warps` warps each that an SM holds at once, at least 1.
uint64_t ctas_at_once(const Residency& residency, uint64_t warps);

}  // namespace kernelpoint::replay::macsim
