"""Traces of one simulator as traces of another."""

from kernelpoint.simulators.macsim.convert.conversion import Conversion, convert_to_macsim
from kernelpoint.simulators.macsim.convert.manifest import remove_conversion

__all__ = ["Conversion", "convert_to_macsim", "remove_conversion"]
