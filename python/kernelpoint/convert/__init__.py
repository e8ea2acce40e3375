"""Traces of one simulator as traces of another."""

from kernelpoint.convert.macsim import Conversion, convert_to_macsim

__all__ = ["Conversion", "convert_to_macsim"]
