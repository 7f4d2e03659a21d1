"""Operators of ONNX as operations of the array dialect, a module for each family; `table` has all of them."""
