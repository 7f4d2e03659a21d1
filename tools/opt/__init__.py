"""Parts of `bb-opt`: expected diagnostics, explanations, equivalence checks."""
