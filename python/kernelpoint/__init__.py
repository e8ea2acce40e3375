"""KernelPoint: simulate only the kernel launches that matter, within a stated error bound.

The library's names, each imported when it is first used: Run, Plan, Engine, TraceEncoder, cluster, compare,
compare_runs, embed, host, load_policy, simulate. TraceEncoder needs the extra `train`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from kernelpoint.api import Plan as Plan
    from kernelpoint.api import Run as Run
    from kernelpoint.api import cluster as cluster
    from kernelpoint.api import compare as compare
    from kernelpoint.api import compare_runs as compare_runs
    from kernelpoint.api import simulate as simulate
    from kernelpoint.encoder.embed import embed as embed
    from kernelpoint.estimation import Engine as Engine
    from kernelpoint.policies.registry import load_policy as load_policy
    from kernelpoint.python_host import host as host
    from kernelpoint_lab.training.model import TraceEncoder as TraceEncoder

_MODULES = {
    "Engine": "kernelpoint.estimation",
    "Plan": "kernelpoint.api",
    "Run": "kernelpoint.api",
    "TraceEncoder": "kernelpoint_lab.training.model",
    "cluster": "kernelpoint.api",
    "compare": "kernelpoint.api",
    "compare_runs": "kernelpoint.api",
    "embed": "kernelpoint.encoder.embed",
    "host": "kernelpoint.python_host",
    "load_policy": "kernelpoint.policies.registry",
    "simulate": "kernelpoint.api",
}
__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    """Import a public name of the library at its first use."""
    if name not in _MODULES:
        raise AttributeError(f"module 'kernelpoint' has no attribute {name!r}")
    from kernelpoint.extras import needs_extra

    with needs_extra(f"kernelpoint.{name}"):
        return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """Public names of the library, for completion in an interpreter."""
    return sorted([*__all__, "__version__"])
