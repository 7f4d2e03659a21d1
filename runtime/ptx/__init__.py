"""PTX, as NVRTC makes it, executed on the CPU: parsed, and translated to C++ on the emulator's runtime."""
