"""The fusion driver: normalise, explore extensions, prove termination, record a trace."""
