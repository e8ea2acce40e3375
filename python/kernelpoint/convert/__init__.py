"""Traces of one simulator as traces of another."""

from kernelpoint.convert.macsim import Conversion, convert_to_macsim
from kernelpoint.convert.manifest import remove_conversion

__all__ = ["Conversion", "convert_to_macsim", "remove_conversion"]
