"""This process and its processor: settings, threads, control groups, clocks."""
