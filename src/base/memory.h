#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// Bytes of memory that this process can still allocate without evicting others: the system's
/// available memory, or less if a cgroup or an address-space limit is tighter.
int64_t available_memory();

/// Whether this many bytes can be mapped right now; the mapping is released at once.
bool can_map(int64_t bytes);

namespace detail {

/// Value of `key` in lines `key value` or `key: value kB`, in bytes; -1: missing.
int64_t parse_size(std::string_view lines, std::string_view key);

}  // namespace detail

}  // namespace weft
