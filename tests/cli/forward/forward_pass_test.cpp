#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "cli/forward/forward.h"
#include "models/config/family.h"
#include "models/config/heads.h"
#include "models/directory.h"
#include "models/every_head.h"
#include "support/tensors.h"

namespace weft::cli {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

constexpr int64_t kLength = 6;

/// Two sequences or images, without targets.
Tensors head_inputs_of(const models::ModelOptions& options) {
  if (models::reads_images(options)) {
    return {{"pixel_values", at::arange(32, at::kFloat).mul(0.7).sin().view({2, 1, 4, 4})}};
  }
  const auto ids = (at::arange(2 * kLength, at::kLong) * 7 % 15 + 4).view({2, kLength});
  ids.select(1, kLength - 1).fill_(options.eos_id);
  Tensors inputs = {{"input_ids", ids}};
  if (models::uses_token_type_ids(options)) {
    inputs["token_type_ids"] = at::arange(kLength, at::kLong).ge(3).to(at::kLong).repeat({2, 1});
  }
  if (models::head_of(options).reads_source) {
    inputs["decoder_input_ids"] = ids;
  }
  return inputs;
}

at::Tensor head_target_of(std::string_view name, const models::ModelOptions& options) {
  const auto& head = models::head_of(options);
  if (name == "bool_masked_pos") {
    return at::ones({2, 4}, at::kLong);
  }
  const bool is_per_token = name == "labels" && (head.predicts_tokens || head.has_token_logits());
  return at::ones(is_per_token ? std::vector<int64_t>{2, kLength} : std::vector<int64_t>{2},
                  at::kLong);
}

std::set<std::string> names_of_outputs(models::Model& model, const Tensors& inputs) {
  const at::NoGradGuard guard;
  std::set<std::string> names;
  for (const auto& [name, tensor] : forward_pass(model, ForwardInputs(inputs, model.options()))) {
    EXPECT_TRUE(tensor.isfinite().all().item<bool>()) << name;
    names.insert(name);
  }
  return names;
}

TEST(ForwardPass, EveryHeadHasTheOutputsAndTargetsOfItsDefinition) {
  for (const auto& options : test::every_head()) {
    SCOPED_TRACE(models::architecture_of(options));
    const auto& head = models::head_of(options);
    const auto model = models::make_model(options, 3);
    test::fill_parameters(*model);
    std::set<std::string> expected(head.outputs.begin(), head.outputs.end());
    if (models::has_pooler(options) && head.is_bare) {
      expected.insert("pooler_output");
    }
    auto inputs = head_inputs_of(options);
    EXPECT_EQ(names_of_outputs(*model, inputs), expected);
    for (std::size_t i = 0; i < head.targets.size(); ++i) {
      inputs[std::string(head.targets[i])] = head_target_of(head.targets[i], options);
      if (i + 1 == head.targets.size()) {
        expected.insert("loss");  // it needs all of them
      }
      EXPECT_EQ(names_of_outputs(*model, inputs), expected) << head.targets[i];
    }
  }
}

}  // namespace
}  // namespace weft::cli
