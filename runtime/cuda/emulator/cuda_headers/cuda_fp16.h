#include <bb/cuda_emulator/half.hpp>
