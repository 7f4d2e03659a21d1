"""Importers: programs from other representations, as modules of the array dialect or of MLIR text."""
