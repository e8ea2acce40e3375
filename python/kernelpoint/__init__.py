"""KernelPoint: simulate only the kernel launches that matter, within a stated error bound."""

__version__ = "0.2.0"
