#pragma once

#include <array>
#include <string>

namespace weft::data {

/// GPT-2's byte alphabet: printable bytes map to themselves, the others to code points from U+0100
/// on.
const std::array<std::string, 256>& bytes_to_unicode();

}  // namespace weft::data
