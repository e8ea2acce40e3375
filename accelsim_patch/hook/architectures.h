// The architectures whose code this simulator knows, from its own tables of opcodes: it ends with exit code 0, and no
// result, at a trace of any other. The plugin refuses such a list before the first cycle.
#ifndef KERNELPOINT_ACCELSIM_ARCHITECTURES_H
#define KERNELPOINT_ACCELSIM_ARCHITECTURES_H

#include <stdint.h>

#include <vector>

#ifdef __has_include
#if __has_include("../ISA_Def/kepler_opcode.h")
#include "../ISA_Def/kepler_opcode.h"
#endif
#if __has_include("../ISA_Def/pascal_opcode.h")
#include "../ISA_Def/pascal_opcode.h"
#endif
#if __has_include("../ISA_Def/volta_opcode.h")
#include "../ISA_Def/volta_opcode.h"
#endif
#if __has_include("../ISA_Def/turing_opcode.h")
#include "../ISA_Def/turing_opcode.h"
#endif
#if __has_include("../ISA_Def/ampere_opcode.h")
#include "../ISA_Def/ampere_opcode.h"
#endif
#if __has_include("../ISA_Def/hopper_opcode.h")
#include "../ISA_Def/hopper_opcode.h"
#endif
#endif

namespace kernelpoint {

// Architectures of code that this simulator has opcode tables for, for kp_host.architectures; empty if the tables are
// not found.
inline std::vector<uint32_t> known_architectures() {
    static const uint32_t versions[] = {
#ifdef KEPLER_BINART_VERSION
        KEPLER_BINART_VERSION,
#endif
#ifdef PASCAL_P100_BINART_VERSION
        PASCAL_P100_BINART_VERSION,
#endif
#ifdef PASCAL_TITANX_BINART_VERSION
        PASCAL_TITANX_BINART_VERSION,
#endif
#ifdef VOLTA_BINART_VERSION
        VOLTA_BINART_VERSION,
#endif
#ifdef TURING_BINART_VERSION
        TURING_BINART_VERSION,
#endif
#ifdef AMPERE_A100_BINART_VERSION
        AMPERE_A100_BINART_VERSION,
#endif
#ifdef AMPERE_RTX_BINART_VERSION
        AMPERE_RTX_BINART_VERSION,
#endif
#ifdef HOPPER_H100_BINART_VERSION
        HOPPER_H100_BINART_VERSION,
#endif
        0};
    return std::vector<uint32_t>(versions, versions + sizeof(versions) / sizeof(versions[0]) - 1);
}

}  // namespace kernelpoint
#endif
