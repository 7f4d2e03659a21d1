#include <bb/cuda_emulator/language.hpp>
