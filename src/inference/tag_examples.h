#pragma once

#include <optional>
#include <vector>

#include "data/batch.h"
#include "inference/predict_tags.h"

namespace weft::inference {

struct TaggedExample {
  std::vector<WordTag> tags;              // of its targets, in order
  std::optional<AttentionMap> attention;  // if `attention_layers` are asked for
};

/// The most likely tag of each target of the examples, which do not affect each other; examples
/// without tokens are left out. The results are in their order.
std::vector<TaggedExample> tag_examples(models::Model& model,
                                        const std::vector<data::Example>& examples,
                                        const TagPredictOptions& options);

}  // namespace weft::inference
