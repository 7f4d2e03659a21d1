"""From C++ source to a shared object in the user's cache."""
