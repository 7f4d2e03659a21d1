// parts.hpp: a source in parts. Compiled with -DBB_PART=n it is part n alone, so that a program waits only for the
// parts that it calls, which are compiled side by side; without, it is whole. runtime/cpu/micro_kernels.py says which
// part has what.
#pragma once

#if defined(BB_PART)
#define BB_HAS_PART(n) (BB_PART == (n))
#else
#define BB_HAS_PART(n) 1
#endif
