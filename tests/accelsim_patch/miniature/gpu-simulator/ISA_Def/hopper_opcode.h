// An architecture that the miniature simulator knows.
#pragma once
#define HOPPER_H100_BINART_VERSION 90
