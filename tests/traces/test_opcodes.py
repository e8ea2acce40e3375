"""Classes of SASS opcodes from Volta to Blackwell."""

import pytest

from kernelpoint import _native

EXPECTED = {
    "IMAD.WIDE.U32": {"unit": "integer", "space": "none"},
    "ULOP3.LUT": {"unit": "integer"},
    "HFMA2.MMA": {"unit": "single_precision"},
    "DFMA": {"unit": "double_precision"},
    "MUFU.EX2": {"unit": "special_function"},
    "HMMA.16816.F32.BF16": {"unit": "tensor"},
    "HGMMA.64x256x16.F32": {"unit": "tensor"},
    "S2R": {"unit": "move"},
    "BRA.U": {"unit": "control", "is_branch": True},
    "EXIT": {"unit": "control", "is_exit": True, "is_branch": False},
    "BAR.SYNC.DEFER_BLOCKING": {"unit": "barrier", "is_barrier": True},
    "LDG.E.128.SYS": {"unit": "memory", "space": "global", "is_load": True, "is_store": False, "is_atomic": False},
    "LDGSTS.E.BYPASS.128": {"unit": "memory", "space": "global", "is_load": True},
    "STS.64": {"unit": "memory", "space": "shared", "is_store": True, "is_load": False},
    "LDSM.16.M88.4": {"space": "shared", "is_load": True},
    "STL": {"space": "local", "is_store": True},
    "LD.E": {"space": "generic", "is_load": True},
    "ULDC.64": {"space": "constant", "is_load": True},
    "ATOMG.E.ADD.STRONG.GPU": {"space": "global", "is_atomic": True, "is_load": True, "is_store": True},
    "RED.E.ADD.F32.FTZ.RN": {"space": "generic", "is_atomic": True, "is_store": True, "is_load": False},
    "TEX.SCR.LL": {"space": "texture", "is_load": True},
    "UTMALDG.2D": {"space": "global", "is_load": True, "is_bulk_copy": True},
    "UTMASTG.3D": {"space": "global", "is_load": False, "is_store": True, "is_bulk_copy": True},
    "UTMAREDG.2D.ADD": {"space": "global", "is_atomic": True, "is_store": True, "is_bulk_copy": True},
    "UBLKCP.S.G": {"space": "global", "is_load": True, "is_store": False, "is_bulk_copy": True},
    "UBLKCP.G.S": {"space": "global", "is_load": False, "is_store": True, "is_bulk_copy": True},
    "UTMACMDFLUSH": {"unit": "barrier", "is_bulk_copy": False},
    "SYNCS.PHASECHK.TRANS64.TRYWAIT": {"unit": "barrier", "space": "shared"},
    "UCGABAR_WAIT": {"unit": "barrier", "is_barrier": True},
    "QGMMA.64x64x32.F32.E4M3.E4M3": {"unit": "tensor"},
    "UTCHMMA": {"unit": "tensor"},
    "UTCBAR.MULTICAST": {"unit": "barrier", "space": "shared"},
    "LDTM.x32": {"unit": "memory", "space": "shared", "is_load": True},
    "QMMA.16832.F32.E4M3.E4M3": {"unit": "tensor"},
    "LDCU.64": {"unit": "memory", "space": "constant", "is_load": True},
    "FFMA2": {"unit": "single_precision"},
    "NO_SUCH_OPCODE.X": {"unit": "other", "space": "none", "is_load": False},
}


@pytest.mark.parametrize("text", EXPECTED)
def test_an_opcode_has_its_unit_and_space(text):
    found = _native.classify_opcode(text)
    assert {key: found[key] for key in EXPECTED[text]} == EXPECTED[text]
