// An architecture that the miniature simulator knows.
#pragma once
#define VOLTA_BINART_VERSION 70
