"""Importers of models from other frameworks: graphs of PyTorch and ONNX become programs of the array dialect.

`shared` has what all of them need to write array functions, `functions` compiles these, `model` runs them.
A framework's package is imported inside the folder of its name only.
"""
