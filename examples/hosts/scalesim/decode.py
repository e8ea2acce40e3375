"""The decode phase of a language model in SCALE-Sim v3, sampled by KernelPoint.

    python decode.py CONFIG [TOKENS]      with `pip install scalesim` and kernelpoint
    python decode.py full [TOKENS]        all GEMMs, and the sum of their cycles

CONFIG is a kernelpoint.yaml, TOKENS the number of tokens (30). A launch is one GEMM of one layer of one token. SCALE-Sim
simulates each by itself.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Mapping
from typing import Any

import kernelpoint as kp

TOKENS, LAYERS, BATCH, HIDDEN, HEAD, PROMPT = 30, 8, 8, 256, 32, 64


def gemms(tokens: int = TOKENS) -> list[dict[str, Any]]:
    """The GEMMs of all tokens and layers in program order, M x N x K; those of attention grow with the context."""
    launches = []
    for token in range(tokens):
        context = PROMPT + token
        rows = BATCH * (HIDDEN // HEAD)
        layer = [
            ("qkv", (BATCH, 3 * HIDDEN, HIDDEN)),
            ("scores", (rows, context, HEAD)),
            ("values", (rows, HEAD, context)),
            ("output", (BATCH, HIDDEN, HIDDEN)),
            ("up", (BATCH, 4 * HIDDEN, HIDDEN)),
            ("down", (BATCH, HIDDEN, 4 * HIDDEN)),
        ]
        launches += [{"name": name, "shape": shape} for name, shape in layer] * LAYERS
    shapes = {launch["shape"]: key for key, launch in enumerate(launches, start=1)}
    return [launch | {"key": shapes[launch["shape"]]} for launch in launches]


def simulate(gemm: Mapping[str, Any]) -> dict[str, float]:
    """Counters of one GEMM in SCALE-Sim on a 32 x 32 array."""
    from scalesim.scale_config import scale_config
    from scalesim.single_layer_sim import single_layer_sim
    from scalesim.topology_utils import topologies

    m, n, k = gemm["shape"]
    config = scale_config()
    config.array_rows = config.array_cols = 32
    config.valid_conf_flag = True
    topology = topologies()
    topology.load_layer_params_from_list(gemm["name"], [gemm["name"], m, k, 1, k, 1, n, 1, 1, 1, 1])
    layer = single_layer_sim()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        layer.set_params(config_obj=config, topology_obj=topology, verbose=False)
        layer.run()
        layer.calc_report_data()
    return {"cycles": layer.total_cycles, "stall_cycles": layer.stall_cycles, "sram_reads": layer.ifmap_sram_reads}


def main() -> None:
    """Sample the list, or simulate all of it."""
    launches = gemms(*map(int, sys.argv[2:]))
    if sys.argv[1] == "full":
        print("full run:", sum(simulate(launch)["cycles"] for launch in launches))
        return
    with kp.host(sys.argv[1], launches, simulator="SCALE-Sim v3", gpu="32 x 32", stateless=True, deterministic=True) as run:
        for launch in run:
            run.result(launch, **simulate(launches[launch]))
    print(f"{run.summary.simulated} of {len(launches)} GEMMs simulated")


if __name__ == "__main__":
    main()
