#include "native/trace/zlib.h"

#include "native/trace/library.h"

namespace kernelpoint {

Zlib::Zlib() {
    void* library = load_library("libz.so.1", "zlib1g (zlib on Red Hat systems)");
    bind_symbol(library, "inflateInit2_", inflate_init);
    bind_symbol(library, "inflate", inflate);
    bind_symbol(library, "inflateReset", inflate_reset);
    bind_symbol(library, "inflateEnd", inflate_end);
    bind_symbol(library, "deflateInit2_", deflate_init);
    bind_symbol(library, "deflate", deflate);
    bind_symbol(library, "deflateReset", deflate_reset);
    bind_symbol(library, "deflateEnd", deflate_end);
}

const Zlib& Zlib::get() {
    static const Zlib library;
    return library;
}

}  // namespace kernelpoint
