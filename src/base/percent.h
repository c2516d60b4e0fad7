#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// `12.50 %`; four decimals below 0.1 %. 0 if `whole` is 0.
std::string format_percent(int64_t part, int64_t whole);

}  // namespace weft
