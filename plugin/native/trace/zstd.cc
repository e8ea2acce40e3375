#include "native/trace/zstd.h"

#include <memory>
#include <stdexcept>

#include "native/trace/library.h"

namespace kernelpoint {

namespace {

void* zstd_library() {
    return load_library("libzstd.so.1", "libzstd1 (libzstd on Red Hat systems)");
}

// Functions that only writing needs.
struct ZstdWriter {
    void* (*create)();
    size_t (*destroy)(void*);
    size_t (*bound)(size_t);
    size_t (*compress)(void*, void* to, size_t capacity, const void* from, size_t size, const void* dictionary,
                       size_t dictionary_size, int level);
    size_t (*train)(void* to, size_t capacity, const void* samples, const size_t* sizes, unsigned count);
    unsigned (*training_failed)(size_t);

    static const ZstdWriter& get() {
        static const ZstdWriter library;
        return library;
    }

private:
    ZstdWriter() {
        void* library = zstd_library();
        bind_symbol(library, "ZSTD_createCCtx", create);
        bind_symbol(library, "ZSTD_freeCCtx", destroy);
        bind_symbol(library, "ZSTD_compressBound", bound);
        bind_symbol(library, "ZSTD_compress_usingDict", compress);
        bind_symbol(library, "ZDICT_trainFromBuffer", train);
        bind_symbol(library, "ZDICT_isError", training_failed);
    }
};

}  // namespace

Zstd::Zstd() {
    void* library = zstd_library();
    bind_symbol(library, "ZSTD_createDCtx", create);
    bind_symbol(library, "ZSTD_freeDCtx", destroy);
    bind_symbol(library, "ZSTD_DCtx_setParameter", set_parameter);
    bind_symbol(library, "ZSTD_DCtx_reset", reset);
    bind_symbol(library, "ZSTD_DCtx_refDDict", use_dictionary);
    bind_symbol(library, "ZSTD_createDDict", create_dictionary);
    bind_symbol(library, "ZSTD_freeDDict", destroy_dictionary);
    bind_symbol(library, "ZSTD_decompressStream", decompress);
    bind_symbol(library, "ZSTD_getFrameContentSize", content_size);
    bind_symbol(library, "ZSTD_isError", is_error);
    bind_symbol(library, "ZSTD_getErrorName", error_name);
}

const Zstd& Zstd::get() {
    static const Zstd library;
    return library;
}

std::string compress_zstd(std::string_view text, std::string_view dictionary, int level) {
    const ZstdWriter& writer = ZstdWriter::get();
    const std::unique_ptr<void, size_t (*)(void*)> context(writer.create(), writer.destroy);
    std::string frame(writer.bound(text.size()), '\0');
    const size_t size = context == nullptr ? 0
                                           : writer.compress(context.get(), frame.data(), frame.size(), text.data(),
                                                             text.size(), dictionary.data(), dictionary.size(), level);
    if (context == nullptr) throw std::runtime_error("libzstd could not be started (out of memory)");
    if (Zstd::get().is_error(size) != 0)
        throw std::runtime_error(std::string("libzstd could not compress: ") + Zstd::get().error_name(size));
    frame.resize(size);
    return frame;
}

std::string train_zstd_dictionary(const std::vector<std::string>& samples, size_t size) {
    const ZstdWriter& writer = ZstdWriter::get();
    std::string all, dictionary(size, '\0');
    std::vector<size_t> sizes;
    for (const std::string& sample : samples) {
        all += sample;
        sizes.push_back(sample.size());
    }
    const size_t trained =
        writer.train(dictionary.data(), size, all.data(), sizes.data(), static_cast<unsigned>(sizes.size()));
    dictionary.resize(writer.training_failed(trained) != 0 ? 0 : trained);
    return dictionary;
}

}  // namespace kernelpoint
