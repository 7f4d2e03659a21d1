"""PyTorch models: exported programs and graphs of torch.compile. Only modules of this folder import torch."""
