import importlib.util
import sys
from pathlib import Path

_spec = importlib.util.spec_from_file_location("gpu", Path(__file__).with_name("gpu.py"))
assert _spec is not None and _spec.loader is not None
gpu = importlib.util.module_from_spec(_spec)
sys.modules["gpu"] = gpu
_spec.loader.exec_module(gpu)
