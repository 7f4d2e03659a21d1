"""Compilation of C++ source to shared objects in the user's cache."""
