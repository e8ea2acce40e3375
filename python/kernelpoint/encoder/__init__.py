"""Encoder: computes the embedding of a launch from the graph of its trace."""

from kernelpoint.encoder.checkpoint import BUILTIN as BUILTIN
from kernelpoint.encoder.checkpoint import Checkpoint as Checkpoint
from kernelpoint.encoder.checkpoint import checkpoint_hash as checkpoint_hash
from kernelpoint.encoder.checkpoint import read_checkpoint as read_checkpoint
from kernelpoint.encoder.embed import embed_streams as embed_streams
