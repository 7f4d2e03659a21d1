"""Settings for every Python test."""

import os

from hypothesis import settings

# The same examples in every run of the suite; 'make fuzz' looks for new ones.
settings.register_profile("suite", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("fuzz", deadline=None, max_examples=5000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))
