#pragma once

#include <array>
#include <string>

namespace weft::data {

/// GPT-2's alphabet: bytes that print stand for themselves, the others for code points from U+0100
/// on.
const std::array<std::string, 256>& byte_signs();

}  // namespace weft::data
