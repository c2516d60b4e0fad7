#pragma once

#include <cstdint>

/// How an image stands among a batch's tokens: `ids` say for each token which patch it is, or that
/// it is one of the model's own; the patches' pixels follow one another in the same order, without
/// rows for the model's own tokens. `types`, where there are some, are 1 for hidden patches.
namespace weft::formats {

inline constexpr int64_t kClassToken = -1;
inline constexpr int64_t kDistillationToken = -2;

/// A place of the grid of patches, as one number.
constexpr int64_t patch_id(int64_t row, int64_t column) { return (row << 16) | column; }
constexpr int64_t patch_row(int64_t id) { return id >> 16; }
constexpr int64_t patch_column(int64_t id) { return id & 0xffff; }

}  // namespace weft::formats
