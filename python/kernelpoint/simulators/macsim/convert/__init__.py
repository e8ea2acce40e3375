"""Traces of one simulator as traces of another."""

from kernelpoint.simulators.macsim.convert.conversion import Conversion as Conversion
from kernelpoint.simulators.macsim.convert.conversion import convert_to_macsim as convert_to_macsim
