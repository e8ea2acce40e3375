"""Opcodes of Ada, Hopper and Blackwell, and of none, from a trace to its embedding."""

import numpy as np
import pytest
from small_traces import EXIT, write_trace

from kernelpoint import _native
from kernelpoint.encoder.embed import embed
from kernelpoint.graphs import SCHEMA, build_graph
from kernelpoint.traces import scan_trace

ADDED = {
    "Ada": "F2IP I2FP UF2FP QMMA SUQUERY",
    "Hopper": "HGMMA IGMMA BGMMA QGMMA WARPGROUP WARPGROUPSET UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL UTMACMDFLUSH UBLKCP "
    "UBLKRED UBLKPF UCGABAR_ARV UCGABAR_WAIT ELECT SETCTAID ENDCOLLECTIVE CGAERRBAR STSM SYNCS FENCE PREEXIT REDAS REDG STAS "
    "LDGMC ACQBULK USETMAXREG UCLEA VIADD VIADDMNMX VIMNMX VIMNMX3 VHMNMX",
    "Blackwell": "FADD2 FFMA2 FMUL2 FHADD FHFMA FMNMX3 CREDUX CS2UR LDCU LDT LDTM STT STTM OMMA QADD4 QFMA4 QMUL4 UF2F UF2I "
    "UF2IP UFADD UFFMA UFHADD UFHFMA UFMNMX UFMUL UFRND UFSEL UFSET UFSETP UGETNEXTWORKID UI2F UI2FP UI2I UI2IP UIABS UIMNMX "
    "ULEPC UMEMSETS UREDGR USTGR UTCATOMSWS UTCBAR UTCCP UTCHMMA UTCIMMA UTCOMMA UTCQMMA UTCSHIFT UVIADD UVIMNMX UVIRTCOUNT",
}
OPCODES = [(architecture, opcode) for architecture, text in ADDED.items() for opcode in text.split()]


def token(opcode: str) -> int:
    """Token as a reader of the schema finds it."""
    word = SCHEMA.shared_tokens.get(opcode, opcode)
    return 1 + SCHEMA.opcodes.index(word) if word in SCHEMA.opcodes else 0


def trace_of(folder, opcodes):
    """A warp that executes each opcode once; those of GMMA have one field more."""
    lines = [f"{16 * i:04x} ffffffff 0 {o} 0 {'0 ' if 'GMMA' in o else ''}0 0 NoVal" for i, o in enumerate(opcodes)]
    bulk = {"UTMALDG", "UTMASTG", "UTMAPF", "UTMAREDG", "UBLKCP", "UBLKPF", "UBLKRED"}
    for i, opcode in enumerate(opcodes):
        if opcode in bulk:
            lines[i] = f"{16 * i:04x} 1 0 {opcode} 0 16 0x0 0 64 0 3 1 0x7f6000000000 0 NoVal"
    return write_trace(folder, [[[*lines, EXIT.rstrip() + " 0 NoVal"]]], version=6)


@pytest.mark.parametrize(("architecture", "opcode"), OPCODES)
def test_an_opcode_has_a_class_and_a_token(architecture, opcode):
    assert _native.classify_opcode(opcode)["unit"] != "other"
    assert token(opcode) > 0


@pytest.mark.parametrize("architecture", ADDED)
def test_a_trace_of_an_architectures_opcodes_makes_a_graph_without_unknown_tokens(tmp_path, architecture):
    opcodes = ADDED[architecture].split()
    path = trace_of(tmp_path, opcodes)
    graph = build_graph(path)
    executed = graph.tokens[graph.kinds == SCHEMA.node_kinds.index("instruction"), 0]
    assert executed.tolist() == [token(opcode) for opcode in [*opcodes, "EXIT"]]
    assert scan_trace(path).unknown_opcodes == {}


def test_a_shared_token_is_of_an_older_opcode_with_the_same_unit_and_memory_space():
    for opcode, older in SCHEMA.shared_tokens.items():
        assert opcode not in SCHEMA.opcodes and older in SCHEMA.opcodes
        new, old = _native.classify_opcode(opcode), _native.classify_opcode(older)
        assert (new["unit"], new["space"]) == (old["unit"], old["space"]), opcode


def test_an_unknown_opcode_is_a_token_of_its_own_counted_and_no_error(tmp_path):
    path = trace_of(tmp_path, ["FADD", "FROB", "FROB.X"])
    graph = build_graph(path)
    executed = graph.tokens[graph.kinds == SCHEMA.node_kinds.index("instruction"), 0]
    assert executed.tolist() == [token("FADD"), 0, 0, token("EXIT")]
    assert 0 not in {token(opcode) for _, opcode in OPCODES}
    assert scan_trace(path).unknown_opcodes == {"FROB": 1, "FROB.X": 1}
    assert np.isfinite(embed(path)).all()
