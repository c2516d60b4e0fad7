#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/data_options.h"
#include "data/split_rows.h"

namespace weft::data {

enum class SplitPart { kNone, kTrain, kEvaluate, kTest };

/// Names of the parts.
inline constexpr std::pair<std::string_view, SplitPart> kSplitParts[] = {
    {"train", SplitPart::kTrain},
    {"evaluate", SplitPart::kEvaluate},
    {"test", SplitPart::kTest},
};

/// The part of each row, and remarks for the user.
struct Split {
  std::vector<SplitPart> parts;  // kNone: dropped rows
  std::vector<std::string> remarks;
};

/// Assigns rows to parts, as a function of the rows in their order and the seed. Rows with the same
/// content or group stay together. Each class is divided in the proportion of the parts, by the
/// method of the largest remainder; a class with one row is trained on. Throws data::Error if a
/// part would be empty.
Split assign_split(const std::vector<SplitRow>& rows, const SplitOptions& options, uint64_t seed);

}  // namespace weft::data
