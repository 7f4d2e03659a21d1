"""Parts that the C++ and the CUDA C++ emitters share."""
