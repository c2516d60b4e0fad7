#include "nn/output/output_layer.h"

#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "decoding/expect_decoding.h"
#include "every_head.h"
#include "models/config/config_json.h"
#include "models/config/family.h"
#include "models/config/layer_types.h"
#include "models/directory.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

struct OutputCase {
  const char* family;
  Head head;
  const char* type;
  const char* yaml;
};

void PrintTo(const OutputCase& value, std::ostream* out) {
  *out << value.family << " " << value.type;
}

std::vector<OutputCase> output_cases() {
  std::vector<OutputCase> cases;
  for (const auto& [family, head] :
       {std::pair{"gpt2", Head::kCausalLm}, std::pair{"bert", Head::kMaskedLm},
        std::pair{"t5", Head::kConditional}, std::pair{"bart", Head::kConditional},
        std::pair{"feed_forward_lm", Head::kCausalLm}}) {
    for (const auto& [type, yaml] :
         {std::pair{"hierarchical", "{}"}, std::pair{"class_based", "{}"},
          std::pair{"adaptive", "{cutoffs: [4, 9], factor: 2}"},
          std::pair{"sampled", "{samples: 8}"}}) {
      cases.push_back({family, head, type, yaml});
    }
    if (head == Head::kCausalLm) {
      cases.push_back({family, head, "shortlist", "{shortlist: 6}"});
    }
  }
  return cases;
}

/// A directory with an n-gram model of these tokens, all of which it predicts.
std::string ngram_directory(int64_t vocabulary) {
  static const test::Folder folder;
  auto options = family_defaults(family_named("ngram"));
  options.head = Head::kCausalLm;
  options.vocabulary = vocabulary;
  options.ngram.smoothing = "witten_bell";
  const auto model = make_model(options, 3);
  const auto visit = [&](const auto& visitor) {
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < 4 * vocabulary; ++i) {
      ids.push_back(i * i % vocabulary);
    }
    visitor({.ids = ids});
  };
  model->fit({.visit = visit, .directory = folder.path()});
  save_model(folder.path(), *model, formats::DType::kF32);
  return folder.path();
}

class OutputLayers : public testing::TestWithParam<OutputCase> {
 protected:
  static ModelOptions options() {
    auto result = test::smallest_options(family_named(GetParam().family), GetParam().head);
    result.decoder.width = result.width;  // as T5 has it
    const auto& definition = output_types().at(GetParam().type);
    std::vector<std::string> overrides;
    if (definition.needs_histories) {
      overrides.push_back("ngram=" + ngram_directory(result.vocabulary));
    }
    auto section = config::Document::parse(GetParam().yaml, "output", overrides).root();
    result.layer_types.output = nn::read_component(section, definition);
    return result;
  }

  /// With counts of which no two are the same.
  static std::shared_ptr<Model> fitted_model() {
    const auto made = options();
    auto model = make_model(made, 3);
    const auto visit_all = [&](const auto& visit) {
      for (int64_t token = 0; token < made.vocabulary; ++token) {
        const std::vector<int64_t> targets(static_cast<std::size_t>((token * 7) % 20), token);
        visit({.ids = targets, .targets = targets});
      }
    };
    model->fit({.visit = visit_all, .directory = ""});
    test::fill_parameters(*model);
    return model;
  }
};

INSTANTIATE_TEST_SUITE_P(Models, OutputLayers, testing::ValuesIn(output_cases()));

TEST_P(OutputLayers, AreStoredWithTheModel) {
  const auto model = fitted_model();
  const test::Folder folder;
  save_model(folder.path(), *model, formats::DType::kF32);
  auto options = read_model_config(folder.path());
  EXPECT_EQ(options.layer_types, model->options().layer_types);
  const auto loaded = load_model(folder.path(), options, 9);
  EXPECT_TRUE(loaded.missing_keys.empty());
  EXPECT_TRUE(loaded.unexpected_keys.empty());
  const auto logits = model->lm_logits(test::states_of_two_sequences(*model));
  EXPECT_TRUE(
      at::equal(loaded.model->lm_logits(test::states_of_two_sequences(*loaded.model)), logits));
  const auto fresh = make_model(options, 3);
  test::fill_parameters(*fresh);
  const bool is_by_count = std::string(GetParam().type) != "sampled";
  EXPECT_EQ(at::equal(fresh->lm_logits(test::states_of_two_sequences(*fresh)), logits),
            !is_by_count);
}

TEST_P(OutputLayers, HaveTheirOwnWeightsOrTheOutputMatrix) {
  const auto model = fitted_model();
  const auto plain = [&] {
    auto options = model->options();
    options.layer_types.output.reset();
    return make_model(options, 3);
  }();
  const auto vocabulary = model->options().vocabulary;
  const auto tables_of = [&](const Model& of) {
    int64_t count = 0;
    for (const auto& parameter : of.named_parameters()) {
      count += parameter.key().starts_with("output_layer.") ? 0 : 1;
    }
    return count;
  };
  const bool uses_matrix = output_types().at(GetParam().type).uses_output_matrix;
  EXPECT_EQ(model->output_weight().defined(), uses_matrix);
  if (uses_matrix) {
    EXPECT_EQ(model->output_weight().size(0), vocabulary);
    EXPECT_EQ(tables_of(*model), tables_of(*plain));
  } else {
    EXPECT_LE(tables_of(*model), tables_of(*plain));
  }
}

TEST_P(OutputLayers, SmoothedLossSpreadsProbabilityOverAllTokens) {
  const auto model = fitted_model();
  auto states = test::states_of_two_sequences(*model);
  states.states = states.states.detach();
  const auto targets = at::arange(states.states.size(0));
  const auto context = test::TwoSequences(model->options()).context;
  const auto log_p = at::log_softmax(model->lm_logits(states), 1);
  const auto sharp = model->lm_loss(states, targets, context);
  const auto smooth = model->lm_loss(states, targets, context, 0.1);
  EXPECT_TRUE(test::near(smooth, 0.9 * sharp - 0.1 * log_p.mean(1).sum(), 1e-4));
  if (std::string(GetParam().type) != "sampled") {
    EXPECT_TRUE(test::near(sharp, -log_p.gather(1, targets.unsqueeze(1)).sum(), 1e-4));
  }
}

TEST_P(OutputLayers, PredictTheSameInDecoding) {
  const auto model = fitted_model();
  if (generates(model->options())) {
    test::expect_decoded_as_read(*model);
  }
}

}  // namespace
}  // namespace weft::models
