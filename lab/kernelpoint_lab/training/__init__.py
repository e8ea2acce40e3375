"""The encoder in PyTorch: the reference of the forward pass in C++, and its training."""
