#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// Bytes of memory that this process may still take without pushing others out: what the system
/// tells, or less where a control group or a limit on the address space allows less.
int64_t available_memory();

/// Whether so many bytes can be mapped at this moment. They are given back at once.
bool can_map(int64_t bytes);

namespace detail {

/// `key` of a file whose lines are `key value`, or `key: value kB`, in bytes; -1: not there.
int64_t bytes_of(std::string_view lines, std::string_view key);

}  // namespace detail

}  // namespace weft
