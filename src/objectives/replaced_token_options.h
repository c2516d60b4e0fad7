#pragma once

#include <cstdint>
#include <optional>

namespace weft::objectives {

/// The shape of ELECTRA's generator (arXiv:2003.10555, section 3.2). A size that is not given is
/// the share of the discriminator's; the layers are as many.
struct GeneratorOptions {
  std::optional<double> share = {};  // nothing: as published for that width (appendix A)
  std::optional<int64_t> dim = {};
  std::optional<int64_t> heads = {};
  std::optional<int64_t> width = {};
  std::optional<int64_t> layers = {};
};

struct ReplacedTokenOptions {
  double weight = 50;  // of the discriminator's loss beside the generator's
  GeneratorOptions generator = {};
};

}  // namespace weft::objectives
