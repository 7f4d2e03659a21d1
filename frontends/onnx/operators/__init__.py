"""Operators of ONNX as operations of the array dialect: a table for each family, and all of them in `TABLE`."""
