#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "formats/error.h"

namespace weft::formats {

/// Keys keep their order. Key lookup is linear: iterate over large objects (vocabularies) instead.
using Json = nlohmann::ordered_json;

/// Parses strictly: UTF-8, no duplicate keys, depth at most 128. Throws Error `location: ...` with
/// line and column.
Json parse_json(std::string_view text, const std::string& location);
/// Parses a file of at most `limit` bytes like parse_json. The tree may take ten times as much
/// memory, so set a small limit for small files.
Json read_json(const std::string& path, int64_t limit = int64_t{256} << 20);

}  // namespace weft::formats
