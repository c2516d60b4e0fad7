#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "cli/commands.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "models/config/family.h"
#include "models/directory.h"
#include "models/weights/tensors.h"
#include "objectives/evaluation/decision_threshold.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensor_file.h"
#include "support/tensors.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
using test::Tensors;

const std::string kImportReference = std::string(WEFT_SOURCE_DIR) + "/tests/reference/";

/// A copy of a reference model, to be spoilt.
struct Import {
  explicit Import(const std::string& model) {
    fs::create_directory(folder.path("in"));
    for (const auto* file : {"config.json", "model.safetensors"}) {
      fs::copy_file(kImportReference + "models/" + model + "/" + file,
                    folder.path(std::string("in/") + file));
    }
  }
  int run(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {folder.path("in"), "--output", folder.path("out")});
    return run_import(more);
  }
  std::string error(const std::vector<std::string>& more = {}) const {
    return test::message_of<UserError>([&] { run(more); });
  }
  template <class Edit>
  void edit(const Edit& change) const {
    auto tensors = test::read_tensors(folder.path("in/model.safetensors"));
    change(tensors);
    std::vector<formats::NamedTensor> views;
    for (const auto& [name, tensor] : tensors) {
      views.push_back({name, models::view_of(tensor)});
    }
    formats::write_safetensors(folder.path("in/model.safetensors"), views);
  }
  void edit_config(const formats::Json& change) const {
    auto json = formats::read_json(folder.path("in/config.json"));
    json.update(change);
    folder.write("in/config.json", json.dump());
  }
  Tensors written() const { return test::read_tensors(folder.path("out/model.safetensors")); }

  test::Folder folder;
};

bool are_equal(const Tensors& a, const Tensors& b) {
  for (const auto& [name, tensor] : a) {
    if (!b.contains(name) || !at::equal(tensor, b.at(name))) {
      return false;
    }
  }
  return a.size() == b.size();
}

Tensors original(const std::string& model) {
  return test::read_tensors(kImportReference + "models/" + model + "/model.safetensors");
}

class ImportEach : public testing::TestWithParam<std::string> {};

TEST_P(ImportEach, KeepsNamesAndValuesOfACurrentFile) {
  const Import tried(GetParam());
  ASSERT_EQ(tried.run(), 0);
  EXPECT_TRUE(are_equal(tried.written(), original(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Reference,
                         ImportEach,
                         testing::Values("bert-pretraining",
                                         "roberta-masked-lm",
                                         "xlm-roberta-sequence",
                                         "distilbert-untied",
                                         "distilbert-sequence",
                                         "electra-masked-lm",
                                         "electra-pretraining"),
                         [](const auto& chosen) {
                           std::string name = chosen.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Import, OldSpellingsBuffersAndTiedCopiesBecomeCurrent) {
  const Import tried("bert-masked-lm");
  tried.edit([](Tensors& tensors) {
    Tensors old;
    for (const auto& [stored, tensor] : tensors) {
      auto name = stored;
      if (name.ends_with("LayerNorm.weight")) {
        name.replace(name.size() - 6, 6, "gamma");
      } else if (name.ends_with("LayerNorm.bias")) {
        name.replace(name.size() - 4, 4, "beta");
      }
      old[name] = tensor;
    }
    old["bert.embeddings.position_ids"] = at::arange(10, at::kLong).unsqueeze(0);
    old["cls.predictions.decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"];
    old["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"];
    old.erase("cls.predictions.bias");
    tensors = old;
  });
  ASSERT_EQ(tried.run(), 0);
  EXPECT_TRUE(are_equal(tried.written(), original("bert-masked-lm")));
}  // namespace

TEST(Import, NarrowAndWideTypesAreReadAsTheyAre) {
  const std::pair<at::ScalarType, double> types[] = {
      {at::kHalf, 2e-3}, {at::kBFloat16, 2e-2}, {at::kDouble, 0.0}};
  for (const auto& [type, tolerance] : types) {
    const Import tried("electra-token");
    tried.edit([type = type](Tensors& tensors) {
      for (auto& [name, tensor] : tensors) {
        tensor = tensor.to(type);
      }
    });
    ASSERT_EQ(tried.run(), 0);
    const auto before = original("electra-token");
    for (const auto& [name, tensor] : tried.written()) {
      EXPECT_EQ(tensor.scalar_type(), at::kFloat);
      EXPECT_TRUE(test::near(tensor, before.at(name), tolerance)) << name;
    }
  }  // namespace weft::cli
}

TEST(Import, TrimmedConfigIsWrittenCompletely) {
  const Import tried("distilbert-sequence");
  auto json = formats::read_json(tried.folder.path("in/config.json"));
  for (const auto* key : {"architectures", "dtype", "activation", "dropout", "id2label", "label2id",
                          "seq_classif_dropout", "transformers_version"}) {
    json.erase(key);
  }
  tried.folder.write("in/config.json", json.dump());
  ASSERT_EQ(tried.run(), 0);
  const auto written = formats::read_json(tried.folder.path("out/config.json"));
  EXPECT_EQ(written["architectures"][0], "DistilBertForSequenceClassification");
  EXPECT_EQ(written["id2label"].size(), 3U);
  EXPECT_EQ(written["seq_classif_dropout"], 0.2);
}

TEST(Import, GenerationSettingsComeAlong) {
  const Import tried("llama-causal-lm");
  const auto own = models::read_model_config(tried.folder.path("in")).eos_id;
  const formats::Json settings = {{"eos_token_id", {own, 7}},
                                  {"bad_words_ids", {{3}, {4, 5}}},
                                  {"num_beams", 4},
                                  {"no_repeat_ngram_size", 2}};
  tried.folder.write("in/generation_config.json", settings.dump());
  ASSERT_EQ(tried.run(), 0);
  ASSERT_EQ(run_export({tried.folder.path("out"), "--output", tried.folder.path("again")}), 0);
  for (const auto* name : {"out", "again"}) {
    const auto written =
        formats::read_json(tried.folder.path(name) + std::string("/generation_config.json"));
    for (const auto& [key, value] : settings.items()) {
      EXPECT_EQ(written.at(key), value) << name << ", " << key;
    }
  }
  const Import classifier("llama-causal-lm");
  classifier.folder.write("in/generation_config.json", settings.dump());
  ASSERT_EQ(classifier.run({"--head", "sequence", "--labels", "no,yes"}), 0);
  EXPECT_FALSE(fs::exists(classifier.folder.path("out/generation_config.json")));
}

// A MixtralConfig without these keys has no window, and a theta that Llama does not have.
TEST(Import, AbsentKeysOfMixtralHaveItsOwnDefaults) {
  const Import tried("mixtral-causal-lm");
  auto json = formats::read_json(tried.folder.path("in/config.json"));
  for (const auto* key : {"rope_theta", "rope_parameters", "sliding_window"}) {
    json.erase(key);
  }
  tried.folder.write("in/config.json", json.dump());
  const auto options = models::read_model_config(tried.folder.path("in"));
  EXPECT_EQ(options.rope.theta, 1e6);
  EXPECT_EQ(options.window.size, 0);
}

TEST(Import, DifferentHeadIsNewlyInitialised) {
  const Import tried("electra-pretraining");
  ASSERT_EQ(tried.run({"--head", "token", "--labels", "O,B,I"}), 0);
  const auto options = models::read_model_config(tried.folder.path("out"));
  EXPECT_EQ(models::architecture_of(options), "ElectraForTokenClassification");
  EXPECT_EQ(options.labels, (std::vector<std::string>{"O", "B", "I"}));
  EXPECT_EQ(tried.written().at("classifier.weight").sizes(), (at::IntArrayRef{3, 8}));
  EXPECT_FALSE(tried.written().contains("discriminator_predictions.dense.weight"));
}

TEST(Import, TheDecisionOfAClassifierComesAlong) {
  const auto decision = [](const std::vector<std::string>& options) {
    const Import tried("distilbert-sequence");
    auto json = formats::read_json(tried.folder.path("in/config.json"));
    json["id2label"] = {{"0", "spam"}, {"1", "ham"}};
    json["label2id"] = {{"spam", 0}, {"ham", 1}};
    tried.folder.write("in/config.json", json.dump());
    tried.edit([](Tensors& tensors) {
      for (const auto* name : {"classifier.weight", "classifier.bias"}) {
        tensors[name] = tensors[name].narrow(0, 0, 2).contiguous();
      }
    });
    tried.folder.write("in/weft_task.json",
                       R"({"threshold": 0.25, "tuned_by": "f1", "positive_label": "spam"})");
    EXPECT_EQ(tried.run(options), 0);
    return objectives::read_decision_threshold(tried.folder.path("out"));
  };
  const auto same = decision({});
  EXPECT_EQ(same.threshold, 0.25);
  EXPECT_EQ(same.tuned_by, "f1");
  EXPECT_EQ(same.positive_label, "spam");
  const auto renamed = decision({"--labels", "junk,mail"});
  EXPECT_EQ(renamed.threshold, 0.25);
  EXPECT_EQ(renamed.positive_label, "junk");
  const auto other = decision({"--labels", "a,b,c"});
  EXPECT_EQ(other.threshold, std::nullopt);
  EXPECT_EQ(other.positive_label, "");
}

TEST(Import, TokenizersComeAlongAsCurrentFiles) {
  const Import tried("bert-model");
  tried.edit_config({{"vocab_size", 24}});
  tried.folder.write("in/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##b\n");
  ASSERT_EQ(tried.run({"--dtype", "bf16"}), 0);
  for (const auto* file : {"tokenizer.json", "tokenizer_config.json", "vocab.txt"}) {
    EXPECT_TRUE(fs::exists(tried.folder.path(std::string("out/") + file))) << file;
  }
  EXPECT_EQ(formats::read_json(tried.folder.path("out/config.json"))["dtype"], "bfloat16");
}

TEST(Import, RefusalsSayWhatIsAllowed) {
  const Import tried("electra-model");
  EXPECT_EQ(tried.error({"--head", "pretraining"}),
            "weft import: --head: 'pretraining' is not one of none, mlm, sequence, token, span, "
            "replaced_token");
  EXPECT_EQ(tried.error({"--labels", "a,b"}),
            "weft import: --labels: only the heads sequence and token have classes");
  EXPECT_NE(tried.error({"--head", "token", "--labels", "a,,b"}).find("without duplicates"),
            std::string::npos);
  EXPECT_EQ(tried.error({"--dtype", "fp8"}),
            "weft import: --dtype: 'fp8' is not one of fp32, bf16, fp16");
  EXPECT_FALSE(fs::exists(tried.folder.path("out")));
  fs::create_directory(tried.folder.path("out"));
  tried.folder.write("out/file", "");
  EXPECT_NE(tried.error().find("exists and is not an empty directory"), std::string::npos);
}

TEST(Import, PickleFilesGetTheLineThatConvertsThem) {
  const Import tried("distilbert-token");
  fs::rename(tried.folder.path("in/model.safetensors"), tried.folder.path("in/pytorch_model.bin"));
  const auto message = tried.error();
  EXPECT_NE(message.find("from transformers import DistilBertForTokenClassification; "
                         "DistilBertForTokenClassification.from_pretrained('"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace weft::cli
