#pragma once

namespace weft::nn {

/// After the residual sum (arXiv:1706.03762), or before the sub-layer (arXiv:2002.04745).
enum class NormPlacement { kPost, kPre };

}  // namespace weft::nn
