#pragma once

#include <string>
#include <vector>

#include "report/page/page.h"

namespace weft::report {

/// The words of `text`, with those that `reference` does not have inserted and those that only
/// `reference` has deleted, by a longest common subsequence of words.
std::vector<TextSpan> word_differences(const std::string& reference, const std::string& text);

}  // namespace weft::report
