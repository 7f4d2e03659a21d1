"""Traffic of programs: bytes and operations as polynomials in the extents."""
