// Readers of Accel-Sim's two kinds of files: text (text_reader.cc) and compressed (tracez_reader.cc).
#pragma once

#include <memory>
#include <string>

#include "native/trace/trace.h"

namespace kernelpoint {

bool is_tracez(const std::string& path);  // by its name, as Accel-Sim does

// Open a trace as text, from `file` if it is open, or as .tracez. Throw TraceError.
std::unique_ptr<TraceReader> open_text(const std::string& path, bool keep_values, std::shared_ptr<RegularFile> file);
std::unique_ptr<TraceReader> open_tracez(const std::string& path, bool keep_values);

}  // namespace kernelpoint
