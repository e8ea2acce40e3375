"""The sampling configuration: one YAML file, checked before cycle 0."""

from kernelpoint.config.load import check_section as check_section
from kernelpoint.config.load import load_config as load_config
from kernelpoint.config.load import parse_config as parse_config
from kernelpoint.config.load import read_yaml as read_yaml
from kernelpoint.config.schema import Config as Config
from kernelpoint.config.schema import EncoderConfig as EncoderConfig
from kernelpoint.config.schema import ErrorBudgetConfig as ErrorBudgetConfig
from kernelpoint.config.schema import PolicyChoice as PolicyChoice
from kernelpoint.config.schema import Section as Section
from kernelpoint.typed import Range as Range
