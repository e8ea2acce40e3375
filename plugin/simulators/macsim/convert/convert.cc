#include "simulators/macsim/convert/convert.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "kernelpoint/descriptors.h"
#include "native/trace/interruption.h"
#include "native/trace/zlib.h"
#include "simulators/macsim/convert/records.h"

namespace kernelpoint::macsim {

namespace {

struct WarpEntry {
    uint32_t id;
    uint64_t records;
    bool operator<(const WarpEntry& other) const { return id < other.id; }
};

void check_header(const std::string& trace, const LaunchHeader& header) {
    if (header.grid.count() > most_ctas)
        throw TraceError(trace, 0,
                         "expected a grid of at most 32768 CTAs (MacSim numbers a launch's warps in 31 bits), found " +
                             std::to_string(header.grid.count()));
}

void check_code(const std::string& trace, const Cta& cta) {
    for (const Instruction& instruction : cta.instructions)
        if (instruction.pc >= code_size)
            throw TraceError(trace, 0,
                             "expected a kernel of at most 16 MiB of code, found an instruction at PC " +
                                 std::to_string(instruction.pc));
}

// Calls `take(id, records)` for every warp of a trace, in the order of the file.
template <typename Take>
void for_each_warp(TraceReader& reader, const std::string& trace, Recorder& recorder, const std::atomic<bool>& stop,
                   Take take) {
    const Interruption interruption([&] {
        if (stop) throw Stopped();
    });
    check_header(trace, reader.header());
    std::set<uint32_t> seen;
    Cta cta;
    while (reader.next(cta)) {
        interruption_point();
        if (!seen.insert(recorder.id(cta, {})).second)
            throw TraceError(trace, 0, "expected every CTA once, found one twice: MacSim knows warps by number");
        check_code(trace, cta);
        if (cta.warps.empty()) take(recorder.id(cta, {}), recorder.nothing());
        for (const Warp& warp : cta.warps) take(recorder.id(cta, warp), recorder.warp(cta, warp, reader.opcodes()));
    }
}

void hash_launch(StreamHasher& hasher, const LaunchHeader& header) {
    hasher.add(header.grid.x, uint64_t{header.grid.y} << 32 | header.grid.z);
    hasher.add(header.block.x, uint64_t{header.block.y} << 32 | header.block.z);
    hasher.add(header.registers, header.shared_memory);
}

class CodeTable {
public:
    void add(const Record& record) {
        const size_t slot = record.pc >> 3;
        if (slot < seen_.size() && seen_[slot]) return;
        if (slot >= seen_.size()) seen_.resize(std::max(slot + 1, 2 * seen_.size()));
        seen_[slot] = true;
        Record decoded = record;  // what MacSim keeps of the first record it meets at a PC
        decoded.active_mask = 0;
        decoded.target = decoded.address = 0;
        decoded.access_size = 0;
        decoded.barrier_threads = 0;  // the block's, which may differ between launches
        uint64_t words[8];
        std::memcpy(words, &decoded, sizeof words);
        StreamHasher hasher;
        for (int i = 0; i < 8; i += 2) hasher.add(words[i], words[i + 1]);
        instructions_.push_back({record.pc, hasher.finish().low});
    }
    std::vector<StaticInstruction> finish() {
        std::sort(instructions_.begin(), instructions_.end(),
                  [](const StaticInstruction& a, const StaticInstruction& b) { return a.pc < b.pc; });
        return std::move(instructions_);
    }

private:
    std::vector<bool> seen_;
    std::vector<StaticInstruction> instructions_;
};

[[noreturn]] void fail_writing(const std::string& path) {
    throw TraceError(path, 0, std::string("cannot be written: ") + std::strerror(errno));
}

void write_file(const std::string& path, const uint8_t* bytes, size_t size) {
    const int file = kp_above_streams(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file < 0) fail_writing(path);
    for (size_t done = 0; done < size;) {
        const ssize_t written = ::write(file, bytes + done, size - done);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            const int reason = errno;
            close(file);
            errno = reason;
            fail_writing(path);
        }
        done += static_cast<size_t>(written);
    }
    if (close(file) != 0) fail_writing(path);
}

void write_file(const std::string& path, const std::string& text) {
    write_file(path, reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

// Bytes as one gzip member, always the same for the same bytes and level.
class Gzip {
public:
    explicit Gzip(int level) : zlib_(loaded<Zlib>()) {
        if (zlib_.deflate_init(&stream_, level, Zlib::deflated, Zlib::window + Zlib::gzip, 8, 0, Zlib::version,
                               sizeof stream_) != Zlib::ok)
            throw std::runtime_error("zlib could not be started (out of memory)");
    }
    ~Gzip() { zlib_.deflate_end(&stream_); }
    Gzip(const Gzip&) = delete;
    Gzip& operator=(const Gzip&) = delete;

    const std::vector<uint8_t>& pack(const uint8_t* bytes, size_t size) {
        constexpr size_t piece = 1 << 30;
        zlib_.deflate_reset(&stream_);
        packed_.resize(std::max<size_t>(packed_.size(), 4096));
        size_t filled = 0;
        for (int status = Zlib::ok; status != Zlib::stream_end;) {
            if (stream_.avail_in == 0) {
                stream_.next_in = bytes;
                stream_.avail_in = static_cast<unsigned>(std::min(size, piece));
                bytes += stream_.avail_in;
                size -= stream_.avail_in;
            }
            if (filled == packed_.size()) packed_.resize(2 * filled);
            stream_.next_out = packed_.data() + filled;
            stream_.avail_out = static_cast<unsigned>(std::min(packed_.size() - filled, piece));
            const unsigned room = stream_.avail_out;
            status = zlib_.deflate(&stream_, size == 0 ? Zlib::finish : Zlib::no_flush);
            filled += room - stream_.avail_out;
        }
        size_ = filled;
        return packed_;
    }
    size_t size() const { return size_; }

private:
    const Zlib& zlib_;
    ZlibStream stream_;
    std::vector<uint8_t> packed_;
    size_t size_ = 0;
};

Gzip start_gzip(const std::string& folder, int level) {
    try {
        return Gzip(level);
    } catch (const std::runtime_error& error) {
        throw TraceError(folder, 0, error.what());
    }
}

// Model: CTAs that fit an SM of Volta by threads (2,048), CTAs (32), registers (65,536) and shared memory (96 KiB).
// The tracer asks the GPU it runs on; MacSim reads the number and does not use it.
uint64_t ctas_per_core(const LaunchHeader& header) {
    const uint64_t threads = (header.block.count() + 31) / 32 * 32;
    uint64_t ctas = std::min<uint64_t>(32, 2048 / threads);
    if (header.registers > 0) ctas = std::min(ctas, 65536 / (threads * header.registers));
    if (header.shared_memory > 0) ctas = std::min<uint64_t>(ctas, 98304 / header.shared_memory);
    return std::max<uint64_t>(ctas, 1);
}

void write_lists(const std::string& folder, const LaunchHeader& header, std::vector<WarpEntry>& warps) {
    std::sort(warps.begin(), warps.end());  // MacSim counts the warps of a CTA by those of CTA 0 at the beginning
    std::string list =
        "nvbit\n14\n" + std::to_string(ctas_per_core(header)) + "\n" + std::to_string(warps.size()) + "\n";
    std::string info;
    for (const WarpEntry& warp : warps) {
        const std::string id = std::to_string(warp.id);
        list += id + " 0\n";
        info += id + " " + std::to_string(warp.records) + "\n";
    }
    write_file(folder + "/trace_info.txt", info);
    write_file(folder + "/trace.txt", list);
}

}  // namespace

Digest digest(const std::string& trace, const std::atomic<bool>& stop) {
    const auto reader = open_trace(trace);
    Recorder recorder(reader->header(), 0);
    Digest result;
    StreamHasher hasher;
    CodeTable code;
    hash_launch(hasher, reader->header());
    for_each_warp(*reader, trace, recorder, stop, [&](uint32_t id, const std::vector<Record>& records) {
        ++result.warps;
        result.records += records.size();
        hasher.add(id, records.size());
        for (const Record& record : records) {
            uint64_t words[8];
            std::memcpy(words, &record, sizeof words);
            for (int i = 0; i < 8; i += 2) hasher.add(words[i], words[i + 1]);
            code.add(record);
        }
    });
    result.header = reader->header();
    result.ctas_per_core = ctas_per_core(result.header);
    result.content = hasher.finish();
    result.without_lanes = recorder.without_lanes();
    for (const Recorder::OpcodeFacts& facts : recorder.facts())
        if (!facts.exact) result.approximated[facts.base] += facts.count;
    result.instructions = code.finish();
    return result;
}

uint64_t write(const std::string& trace, const std::string& folder, uint64_t code_base, int level,
               const std::atomic<bool>& stop) {
    const auto reader = open_trace(trace);
    Recorder recorder(reader->header(), code_base);
    Gzip gzip = start_gzip(folder, level);
    std::vector<WarpEntry> warps;
    uint64_t bytes = 0;
    for_each_warp(*reader, trace, recorder, stop, [&](uint32_t id, const std::vector<Record>& records) {
        const auto& packed =
            gzip.pack(reinterpret_cast<const uint8_t*>(records.data()), records.size() * sizeof(Record));
        write_file(folder + "/trace_" + std::to_string(id) + ".raw", packed.data(), gzip.size());
        warps.push_back({id, records.size()});
        bytes += gzip.size();
    });
    write_lists(folder, reader->header(), warps);
    return bytes;
}

}  // namespace kernelpoint::macsim
