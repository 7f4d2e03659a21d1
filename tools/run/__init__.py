"""Parts of `bb-run`: compiled calls, benchmarks, the roofline."""
