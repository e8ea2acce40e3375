// The C ABI, whose functions the plugin exports: the first declaration of a function says whether it is hidden.
#pragma once

#pragma GCC visibility push(default)
#include "kernelpoint/abi.h"
#pragma GCC visibility pop
