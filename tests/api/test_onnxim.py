"""The example of ONNXim: a sampled run over its GEMMs states a bound that contains the sum over one result of each shape."""

import os
from pathlib import Path

import pytest
from modules import module_of

import kernelpoint as kp

PROGRAM, CHECKOUT = os.environ.get("KERNELPOINT_ONNXIM"), os.environ.get("KERNELPOINT_ONNXIM_CHECKOUT")
pytestmark = pytest.mark.skipif(
    not (PROGRAM and CHECKOUT), reason="KERNELPOINT_ONNXIM and KERNELPOINT_ONNXIM_CHECKOUT name no ONNXim"
)
DECODE = Path(__file__).parents[2] / "examples" / "hosts" / "onnxim" / "decode.py"


def test_the_bound_of_a_sampled_run_contains_the_total_of_all_gemms(tmp_path):
    pytest.importorskip("onnx")
    decode = module_of(DECODE)
    launches, simulator = decode.gemms(), decode.OnnxIm(PROGRAM, CHECKOUT)
    cycles = {shape: simulator.simulate(shape)["cycles"] for shape in {gemm["shape"] for gemm in launches}}
    keys = {"version": 1, "policy": "kernelpoint", "journal": str(tmp_path / "run.kpjournal")}
    with kp.host(keys, launches, stateless=True, log=lambda line: None) as run:
        for launch in run:
            run.result(launch, **simulator.simulate(launches[launch]["shape"]))
    assert run.summary.simulated < 0.1 * len(launches)
    assert abs(run.summary.estimate - sum(cycles[gemm["shape"]] for gemm in launches)) <= run.summary.half_width
