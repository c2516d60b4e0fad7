#include "nn/norm/norm.h"

#include "nn/norm/layer_norm.h"
#include "nn/norm/rms_norm.h"

namespace weft::nn {

std::shared_ptr<Norm> make_norm(const NormOptions& options) {
  switch (options.type) {
    case NormType::kLayer:
      return std::make_shared<LayerNorm>(options);
    case NormType::kRms:
      return std::make_shared<RmsNorm>(options);
  }
  TORCH_CHECK(false, "unknown norm type");
}

const config::Choices<NormType>& norm_types() {
  static const config::Choices<NormType> kTypes = {{"layer", NormType::kLayer},
                                                   {"rms", NormType::kRms}};
  return kTypes;
}

}  // namespace weft::nn
