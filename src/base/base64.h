#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// Decodes base64 text (RFC 4648, section 4); nullopt if it is invalid.
std::optional<std::string> from_base64(std::string_view text);
/// Encodes bytes, with padding.
std::string to_base64(std::string_view bytes);

}  // namespace weft
