#pragma once

#include <string>
#include <string_view>

namespace weft::metrics {

/// Returns the stem of a lower-case English word (Porter, "An algorithm for suffix stripping",
/// 1980), with NLTK's extensions, as in other ROUGE implementations.
std::string porter_stem(std::string_view word);

}  // namespace weft::metrics
