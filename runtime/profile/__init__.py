"""Profiles: the time of every kernel and statement beside what the machine allows."""
