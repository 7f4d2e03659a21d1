"""Ways to say other frameworks' operations in the array dialect, and errors that name the model's line."""
