"""The sampling configuration: one YAML file, checked before cycle 0."""

from kernelpoint.config.load import check_section, load_config, parse_config, read_yaml
from kernelpoint.config.schema import Config, EncoderConfig, ErrorBudgetConfig, PolicyChoice, Section, current_names

__all__ = [
    "Config",
    "EncoderConfig",
    "ErrorBudgetConfig",
    "PolicyChoice",
    "Section",
    "check_section",
    "current_names",
    "load_config",
    "parse_config",
    "read_yaml",
]
