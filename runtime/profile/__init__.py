"""Profiles: the time of every kernel and statement, compared with the limits of the machine."""
