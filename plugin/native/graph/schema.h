// The trace graph's schema: node kinds, relations, feature columns, tokens. The only place where they are defined;
// Python reads them from here (kernelpoint.graphs.graph). Any change of meaning must change kSchemaVersion: embeddings
// in caches and checkpoints are keyed by a hash over all of this.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "native/trace/opcode.h"
#include "native/trace/trace.h"

namespace kernelpoint::graph {

constexpr int kSchemaVersion = 3;  // 1: operand values of traces were left out; 2: opcodes of Blackwell had token 0

enum NodeKind : uint8_t { kInstruction, kVariable, kPseudo, kNodeKindCount };

// Kinds of edges. An edge goes from source to target, and from a lower to a higher node number.
enum Relation : uint8_t {
    kControlFlow,      // instruction -> the next instruction of the warp
    kLeftSource,       // variable -> its reader (pseudo node of a memory instruction), first listed source: an address there
    kRightSource,      // variable -> its reader, any further source
    kDestination,      // instruction -> the variable version it writes
    kMemoryReference,  // pseudo -> the instruction it is part of
    kRelationCount
};

constexpr std::array<const char*, kNodeKindCount> kNodeKindNames = {"instruction", "variable", "pseudo"};
constexpr std::array<const char*, kRelationCount> kRelationNames = {"control_flow", "left_source", "right_source",
                                                                    "destination", "memory_reference"};

constexpr int kFeatureCount = 32;

// Feature columns of instruction nodes. Model: features are of order one, logarithms have base 2. Columns beyond a
// kind's last are zero.
enum InstructionColumn : int {
    kPcFirst,                     // sin, cos of 1, 2, 4, 8 pi pc / largest pc
    kActiveLanes = kPcFirst + 8,  // active lanes / 32
    kLogRepeat,                   // log2(1 + earlier executions of this pc by the warp) / 16: which trip of a loop
    kLogWidth,                    // log2(1 + bytes per lane) / 5
    kSourceCount,                 // / 6
    kDestinationCount,            // / 2
    kIsLoad,
    kIsStore,
    kIsAtomic,
    kIsBranch,
    kIsBarrier,
    kIsExit,
    kUnitFirst,  // one column per Unit except Unit::other
    kInstructionColumnCount = kUnitFirst + static_cast<int>(Unit::other)
};

enum VariableColumn : int {
    // Model: the eight statistics of GCL-Sampler are over the lanes that executed, of scaled logarithms (graph.cc). A
    // variable that is read has the values that its first reader lists, another those that its writer lists.
    // Zero, as is kHasValues, where the trace holds none.
    kValueFirst,
    kHasValues = kValueFirst + 8,
    kIsInput,   // read before any write in this warp
    kLogReads,  // log2(1 + reads) / 8
    kVariableColumnCount
};

enum PseudoColumn : int {
    kAccessLogWidth,    // log2(1 + bytes per lane) / 5
    kAccessLanes,       // lanes with an address / 32
    kLogSectors,        // log2(1 + distinct 32-byte sectors) / 6
    kSectorEfficiency,  // bytes asked for / bytes of those sectors, at most 1
    kIsRegular,         // one stride between all neighbouring active lanes
    kStrideSign,        // -1, 0, 1; 0 where irregular
    kLogStride,         // log2(1 + |stride in bytes|) / 16; 0 where irregular
    kHasStep,           // the warp accessed memory at this pc before
    kStepSign,          // sign of the first lane's address minus that of the access before
    kLogStep,           // log2(1 + |that difference in bytes|) / 16
    kPseudoColumnCount
};

static_assert(kInstructionColumnCount <= kFeatureCount && kVariableColumnCount <= kFeatureCount);

// Tokens: row numbers in the encoder's embedding table. 0 is an opcode outside the vocabulary.
constexpr uint32_t kModifierCount = 512;  // 0: no modifiers; else 1 + FNV-1a(text after the first '.') mod 511

// An opcode that shares the token of an older one. Model: an opcode that came after the vocabulary has the token of
// the older one that works most like it, of its own unit and memory space. Its own modifiers, flags and operands stay.
// So encoders need no row that no training trace could fill.
struct SharedToken {
    std::string_view opcode, older;
};

const std::vector<std::string_view>& opcode_vocabulary();
const std::vector<SharedToken>& shared_tokens();
const std::vector<std::string>& column_names(NodeKind kind);
uint32_t token_count();

uint32_t opcode_token(const Opcode& opcode);
uint32_t modifier_token(const Opcode& opcode);
uint32_t variable_token(Register reg, bool is_input);
uint32_t pseudo_token(const Opcode& opcode);

// True for registers that always read as zero (or true): RZ, URZ, PT, UPT. They carry no data flow.
bool is_zero_register(Register reg);

}  // namespace kernelpoint::graph
