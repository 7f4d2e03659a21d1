"""What `block-stabilize` is made of."""
