"""The parts of `block-stabilize`."""
