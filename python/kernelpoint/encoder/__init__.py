"""From trace graphs to embeddings."""

from kernelpoint.encoder.checkpoint import BUILTIN, Checkpoint, checkpoint_hash, read_checkpoint
from kernelpoint.encoder.embed import embed_streams

__all__ = ["BUILTIN", "Checkpoint", "checkpoint_hash", "embed_streams", "read_checkpoint"]
