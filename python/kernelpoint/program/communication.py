"""Kernels of communication: they wait for other GPUs, so their times say little about themselves."""

from __future__ import annotations

import re
from functools import lru_cache

# Library -> what the names of its kernels contain, mangled or not, in small letters. The first that fits counts.
FAMILIES = {
    "NCCL": r"nccl|rccl",
    "NVSHMEM": r"nvshmem|rocshmem",
    "DeepEP": r"deep_ep|low_latency_(dispatch|combine)",
    "vLLM all-reduce": r"cross_device_reduce|quick_?reduce|custom_?all_?reduce",
    "TensorRT-LLM": r"tensorrt_llm.*(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|userbuffers)"
    r"|(one|two)_?shot_?all_?reduce|lamport|mnnvl|moe_?(all_?to_?all|a2a)",
    "FlashInfer": r"flashinfer.*(all_?reduce|all_?gather|all_?to_?all)",
    "MSCCL++": r"msccl",
    "PyTorch symmetric memory": r"multimem|symm_?mem",
    "Transformer Engine": r"userbuffers",
    "other libraries": r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|pplx|iris_ccl|mori::|4mori|uccl",
}


@lru_cache(maxsize=65536)
def communication(name: str) -> str:
    """Name of the communication library (such as NCCL) that a kernel belongs to; empty text for other kernels.

    >>> communication("ncclDevKernel_AllReduce_Sum_bf16"), communication("_Z5gemm_i")
    ('NCCL', '')
    >>> communication("void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(...)")
    'vLLM all-reduce'
    """
    small = name.lower()
    return next((family for family, pattern in FAMILIES.items() if re.search(pattern, small)), "")
