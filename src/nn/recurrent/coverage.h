#pragma once

namespace weft::nn {

/// Whether a decoder knows how much it has attended to each source token (arXiv:1601.04811):
/// `kSum`, the sum of the attention weights so far; `kFertility`, divided by the predicted number
/// of target tokens that the source token explains (section 3.1).
enum class Coverage { kNone, kSum, kFertility };

}  // namespace weft::nn
