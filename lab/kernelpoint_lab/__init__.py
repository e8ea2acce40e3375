"""Tools beside the product: synthesised workloads and training of the encoder; a run imports nothing of them."""
