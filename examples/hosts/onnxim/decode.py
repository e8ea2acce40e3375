"""GEMMs of the decode phase of a language model in ONNXim, sampled by KernelPoint.

    python decode.py CONFIG SIMULATOR ONNXIM [full]      with `pip install onnx` and kernelpoint

CONFIG is a kernelpoint.yaml, SIMULATOR ONNXim's program, ONNXIM its checkout. A launch is one GEMM of one layer of one token,
simulated by a process of ONNXim of its own; `full` simulates all of them and states their sum.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnx import TensorProto, helper

import kernelpoint as kp

TOKENS, LAYERS, BATCH, HIDDEN, PROMPT = 40, 2, 8, 512, 512
GPU = "configs/systolic_ws_128x128_c4_simple_noc_tpuv4.json"


def gemms() -> list[dict[str, Any]]:
    """The GEMMs of all tokens and layers in program order, M x N x K; those of attention grow by 256 positions at a time."""
    launches = []
    for token in range(TOKENS):
        context = PROMPT + 256 * (token // 10)
        layer = [
            ("qkv", (BATCH, 3 * HIDDEN, HIDDEN)),
            ("scores", (BATCH, context, HIDDEN)),
            ("values", (BATCH, HIDDEN, context)),
            ("output", (BATCH, HIDDEN, HIDDEN)),
            ("up", (BATCH, 4 * HIDDEN, HIDDEN)),
            ("down", (BATCH, HIDDEN, 4 * HIDDEN)),
        ]
        launches += [{"name": name, "shape": shape} for name, shape in layer] * LAYERS
    return launches


class OnnxIm:
    """ONNXim, one process for each GEMM."""

    def __init__(self, program: str, checkout: str) -> None:
        self._program, self._checkout = program, Path(checkout)
        self._folder = tempfile.TemporaryDirectory()
        self.home = Path(self._folder.name)  # what ONNXim takes for its own folder
        (self.home / "configs").symlink_to((self._checkout / "configs").resolve())

    def simulate(self, shape: Sequence[int]) -> dict[str, float]:
        """Cycles of one GEMM."""
        m, n, k = shape
        name = "gemm"
        (self.home / "models" / name).mkdir(parents=True, exist_ok=True)
        weight = TensorProto(name="weight", data_type=TensorProto.FLOAT16, dims=(k, n))  # ONNXim reads no values
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["input", "weight"], ["output"], name="gemm")],
            name,
            [helper.make_tensor_value_info("input", TensorProto.FLOAT16, (m, k))],
            [helper.make_tensor_value_info("output", TensorProto.FLOAT16, (m, n))],
            [weight],
        )
        (self.home / "models" / name / f"{name}.onnx").write_bytes(helper.make_model(graph).SerializeToString())
        (self.home / "list.json").write_text(json.dumps({"models": [{"name": name, "request_time": 0}]}))
        done = subprocess.run(
            [self._program, "--config", str(self._checkout / GPU), "--models_list", str(self.home / "list.json")],
            capture_output=True,
            text=True,
            env={**os.environ, "ONNXIM_HOME": str(self.home)},
            timeout=600,
        )
        found = re.search(r"Simulation Finished at (\d+) cycle", done.stdout)
        if done.returncode != 0 or found is None:
            raise RuntimeError(f"ONNXim: no result for {m} x {n} x {k}: {done.stdout[-500:]}{done.stderr[-500:]}")
        return {"cycles": float(found[1])}


def main() -> None:
    """Sample the list, or simulate all of it."""
    config, program, checkout = sys.argv[1:4]
    launches, simulator = gemms(), OnnxIm(program, checkout)
    if sys.argv[4:] == ["full"]:
        print("full run:", sum(simulator.simulate(launch["shape"])["cycles"] for launch in launches))
        return
    with kp.host(config, launches, simulator="ONNXim", gpu=GPU, stateless=True) as run:
        for launch in run:
            run.result(launch, **simulator.simulate(launches[launch]["shape"]))
    print(f"{run.summary.simulated} of {len(launches)} GEMMs simulated")


if __name__ == "__main__":
    main()
