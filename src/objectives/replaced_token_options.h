#pragma once

#include <cstdint>
#include <optional>

namespace weft::objectives {

/// Size of ELECTRA's generator (arXiv:2003.10555, section 3.2). Sizes that are not given are
/// size_ratio times the discriminator's; the number of layers is the same.
struct GeneratorOptions {
  std::optional<double> size_ratio = {};  // nullopt: as published for that width (appendix A)
  std::optional<int64_t> dim = {};
  std::optional<int64_t> heads = {};
  std::optional<int64_t> width = {};
  std::optional<int64_t> layers = {};
};

struct ReplacedTokenOptions {
  double weight = 50;  // of the discriminator's loss, relative to the generator's
  GeneratorOptions generator = {};
};

}  // namespace weft::objectives
