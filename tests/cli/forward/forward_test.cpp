#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "cli/commands.h"
#include "formats/safetensors.h"
#include "models/weights/tensors.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensor_file.h"
#include "support/tensors.h"

namespace weft::cli {
namespace {

using test::Tensors;

const std::string kForwardReference = std::string(WEFT_SOURCE_DIR) + "/tests/reference/models/";

/// Runs the command on a reference model; the inputs may be changed first.
struct Case {
  explicit Case(std::string model)
      : name(std::move(model)),
        inputs(test::read_tensors(kForwardReference + name + "/inputs.safetensors")) {}

  Tensors outputs(bool has_gradients) const {
    test::write_tensors(folder.path("in.safetensors"), inputs);
    std::vector<std::string> arguments = {kForwardReference + name, "--input",
                                          folder.path("in.safetensors"), "--output",
                                          folder.path("out.safetensors")};
    if (has_gradients) {
      arguments.emplace_back("--gradients");
    }
    EXPECT_EQ(run_forward(arguments), 0);
    return test::read_tensors(folder.path("out.safetensors"));
  }

  std::string error(bool has_gradients = false) const {
    const auto message = test::message_of<UserError>([&] { outputs(has_gradients); });
    EXPECT_FALSE(std::filesystem::exists(folder.path("out.safetensors")));
    return message;
  }

  std::string name;
  Tensors inputs;
  test::Folder folder;
};

class Forward : public testing::TestWithParam<std::string> {};

// Written by scripts/make_model_reference.py.
TEST_P(Forward, EqualsTransformers) {
  const Case run(GetParam());
  const auto expected = test::read_tensors(kForwardReference + GetParam() + "/outputs.safetensors");
  const auto found = run.outputs(expected.contains("loss"));
  EXPECT_EQ(found.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    const double largest = std::max(1e-2, tensor.abs().max().item<double>());
    const double tolerance = name.starts_with("gradient.") ? 1e-4 : 1e-5;
    EXPECT_TRUE(test::near(found.at(name), tensor, tolerance * largest)) << name;
  }
}

/// All cases of scripts/make_model_reference.py, in alphabetical order.
std::vector<std::string> reference_cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kForwardReference)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Reference,
                         Forward,
                         testing::ValuesIn(reference_cases()),
                         [](const auto& chosen) {
                           auto name = chosen.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(ForwardInputs, UnknownNamesGetTheNearest) {
  Case run("bert-sequence");
  run.inputs["inputs_id"] = run.inputs["input_ids"];
  EXPECT_EQ(
      run.error(),
      run.folder.path("in.safetensors") +
          ": inputs_id: not an input of BertForSequenceClassification, did you mean input_ids?");
}

TEST(ForwardInputs, FamiliesWithoutSegmentsTakeNone) {
  Case run("distilbert-sequence");
  run.inputs["token_type_ids"] = at::zeros_like(run.inputs["input_ids"]);
  EXPECT_NE(run.error().find("token_type_ids: not an input of DistilBert"), std::string::npos);
}

TEST(ForwardInputs, IdsAndLabelsOutOfRangeAreRefused) {
  for (const auto* name : {"input_ids", "token_type_ids", "labels", "attention_mask"}) {
    for (const int64_t value : {-1, 1000}) {
      Case run("bert-sequence");
      run.inputs[name].view(-1)[0] = value;
      EXPECT_NE(run.error().find(std::string("in.safetensors: ") + name), std::string::npos)
          << name;
    }
  }
}

TEST(ForwardInputs, PrefixLengthsChangeTheAttentionMask) {
  Case run("gpt2-prefix-lm");
  const auto with_prefix = run.outputs(false).at("logits");
  run.inputs.erase("prefix_lengths");
  const auto causal = run.outputs(false).at("logits");
  EXPECT_FALSE(test::near(with_prefix[0][0], causal[0][0]));  // a token of a prefix of 4
  EXPECT_TRUE(test::near(with_prefix[1], causal[1]));         // a prefix of one is none
  run.inputs["prefix_lengths"] = at::tensor(std::vector<int64_t>{7, 0, 0}, at::kLong);
  std::filesystem::remove(run.folder.path("out.safetensors"));
  EXPECT_NE(run.error().find("prefix_lengths: found 7, allowed is 0 to 6"), std::string::npos);
}

TEST(ForwardInputs, ShapesAndTypesAreChecked) {
  Case flat("bert-sequence");
  flat.inputs["input_ids"] = flat.inputs["input_ids"].flatten();
  EXPECT_NE(flat.error().find("expected (sequences, length)"), std::string::npos);
  Case narrow("bert-sequence");
  narrow.inputs["attention_mask"] = narrow.inputs["attention_mask"].slice(1, 0, 3).contiguous();
  EXPECT_NE(narrow.error().find("attention_mask: found shape (3, 3), expected (3, 6)"),
            std::string::npos);
  Case floats("bert-sequence");
  floats.inputs["input_ids"] = floats.inputs["input_ids"].to(at::kFloat);
  EXPECT_NE(floats.error().find("input_ids: found F32, allowed is I64"), std::string::npos);
}

TEST(ForwardInputs, SequencesLongerThanThePositionsAreRefused) {
  Case run("roberta-masked-lm");  // 10 rows of positions, two of them before the first token
  run.inputs = {{"input_ids", at::full({1, 9}, 5, at::kLong)}};
  EXPECT_NE(run.error().find("a sequence of 9 tokens, the model's maximum is 8"),
            std::string::npos);
  run.inputs = {{"input_ids", at::full({1, 8}, 5, at::kLong)}};
  EXPECT_EQ(run.outputs(false).size(), 1U);
}

TEST(ForwardInputs, PaddingIsOnTheRightAndHasNoLabels) {
  Case left("bert-masked-lm");
  left.inputs["attention_mask"] = left.inputs["attention_mask"].flip({1}).contiguous();
  EXPECT_NE(left.error().find("padding is only allowed on the right"), std::string::npos);
  Case labelled("bert-masked-lm");
  labelled.inputs["labels"].fill_(5);
  EXPECT_NE(labelled.error().find("labels: found a label at a position with attention_mask 0"),
            std::string::npos);
}

TEST(ForwardInputs, GradientsNeedALoss) {
  Case run("bert-masked-lm");
  run.inputs.erase("labels");
  EXPECT_NE(run.error(true).find("no targets and therefore no loss"), std::string::npos);
}

}  // namespace
}  // namespace weft::cli
