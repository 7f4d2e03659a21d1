"""Passes from one dialect to the next, source text of kernels, frontends and pipelines."""
