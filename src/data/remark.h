#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

/// What was done with some items of the data, for the log: `12 texts longer than 128 tokens were
/// truncated`.
struct Remark {
  int64_t count;
  std::string_view noun;   // in the singular
  std::string which = {};  // describes the noun: `longer than 128 tokens`, or empty
  std::string done;        // `truncated`
};

/// Items that are too long.
struct LongItems {
  std::string_view noun;  // in the singular
  std::string which;      // `longer than 128 tokens`
  int64_t truncated;
  int64_t dropped;
};

/// Of texts that were read as UTF-8.
Remark repaired_remark(int64_t count, std::string_view noun);
/// Of text pairs.
Remark empty_side_remark(int64_t count);

/// Adds `NAME: REMARK` to the remarks, unless the count is 0.
void add_remark(std::vector<std::string>& remarks, const std::string& name, const Remark& remark);
/// The same for those truncated and those dropped.
void add_remarks(std::vector<std::string>& remarks,
                 const std::string& name,
                 const LongItems& items);

}  // namespace weft::data
