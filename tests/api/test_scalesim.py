"""The example of SCALE-Sim: one GEMM of each shape is simulated, and the total is that of the full list."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scalesim", reason="SCALE-Sim is not installed (pip install scalesim 'numpy<2.4')")
if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 4):
    pytest.skip("SCALE-Sim 3.0.0 needs numpy below 2.4", allow_module_level=True)

from modules import module_of

import kernelpoint as kp

DECODE = Path(__file__).parents[2] / "examples" / "hosts" / "scalesim" / "decode.py"


def test_one_gemm_of_each_shape_is_simulated_and_the_total_is_exact(tmp_path):
    decode = module_of(DECODE)
    launches, results = decode.gemms(), {}
    keys = {"version": 1, "policy": "kernelpoint", "journal": str(tmp_path / "run.kpjournal")}
    with kp.host(keys, launches, stateless=True, deterministic=True, log=lambda line: None) as run:
        for launch in run:
            results[launches[launch]["key"]] = decode.simulate(launches[launch])
            run.result(launch, **results[launches[launch]["key"]])
    assert run.summary.simulated == len(results) == len({gemm["shape"] for gemm in launches})
    assert run.summary.estimate == sum(results[gemm["key"]]["cycles"] for gemm in launches)
