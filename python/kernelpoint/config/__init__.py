"""The sampling configuration: one YAML file, checked before cycle 0."""

from kernelpoint.config.load import load_config, parse_config
from kernelpoint.config.schema import Config, EncoderConfig, ErrorBudgetConfig, WarmupConfig

__all__ = ["Config", "EncoderConfig", "ErrorBudgetConfig", "WarmupConfig", "load_config", "parse_config"]
