#pragma once

#include <string>
#include <string_view>

namespace weft::metrics {

/// The stem of an English word in lower case (Porter, "An algorithm for suffix stripping", 1980),
/// with the departures of NLTK, by which ROUGE is computed elsewhere.
std::string porter_stem(std::string_view word);

}  // namespace weft::metrics
