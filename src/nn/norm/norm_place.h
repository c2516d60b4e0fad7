#pragma once

namespace weft::nn {

/// After the residual sum (arXiv:1706.03762), before the sub-layer (arXiv:2002.04745), before it
/// and behind it (arXiv:2105.13290), or nowhere.
enum class NormPlacement { kPost, kPre, kSandwich, kNone };

}  // namespace weft::nn
