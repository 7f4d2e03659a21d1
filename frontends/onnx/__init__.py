"""ONNX models as programs: `import_onnx` gives the program, `from_onnx` a model that can be called."""
