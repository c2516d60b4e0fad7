#pragma once

#include <cstdint>

/// Layout of an image in a batch: `ids` gives for each token its patch, or a special token of the
/// model. Patch pixels are stored in the same order, without rows for special tokens. `types`, if
/// present, is 1 for masked patches.
namespace weft::formats {

inline constexpr int64_t kClassToken = -1;
inline constexpr int64_t kDistillationToken = -2;

/// Position in the patch grid, packed into one number.
constexpr int64_t patch_id(int64_t row, int64_t column) { return (row << 16) | column; }
constexpr int64_t patch_row(int64_t id) { return id >> 16; }
constexpr int64_t patch_column(int64_t id) { return id & 0xffff; }

}  // namespace weft::formats
