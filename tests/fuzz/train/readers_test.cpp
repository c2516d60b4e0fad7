// Readers that use LibTorch and therefore have no libFuzzer program: seeds and mutations of them
// that is the same in every run.
#include <filesystem>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "base/file.h"
#include "fuzz/replay.h"
#include "fuzz/target.h"
#include "models/adapters/adapter_reader.h"
#include "models/directory.h"
#include "models/ngram/arpa.h"
#include "models/sentence.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/run_config.h"
#include "train/step/state.h"

namespace weft::fuzz {
namespace {

std::string folder(const std::string& name) {
  auto path = scratch_folder() + "/" + name;
  std::filesystem::create_directories(path);
  return path;
}

void run_config(std::string_view input) {
  static const bool is_there = [] {
    scratch_file("text.txt", "a text\n");
    scratch_file("rows.csv", "text,label\na,b\n");
    std::filesystem::current_path(scratch_folder());
    return true;
  }();
  (void)is_there;
  try_reading([&] {
    const auto config = train::read_run_config(config::Document::parse(input, "fuzzed.yaml"));
    train::read_run_config(config::Document::parse(config.resolved, "again.yaml"));
  });
}

void model_config(std::string_view input) {
  const auto directory = folder("model");
  scratch_file("model/config.json", input);
  try_reading([&] { models::read_model_config(directory); });
  try_reading([&] { models::read_legacy_model_config(directory); });
}

void weight_index(std::string_view input) {
  const auto directory = folder("shards");
  scratch_file("shards/config.json",
               R"({"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 4,
"num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 4, "vocab_size": 8})");
  scratch_file("shards/part.safetensors", part_of(input, 1));
  scratch_file("shards/model.safetensors.index.json", part_of(input, 0));
  try_reading([&] { models::load_model(directory, models::read_model_config(directory), 0); });
}

void adapter(std::string_view input) {
  const auto directory = folder("adapter");
  scratch_file("adapter/adapter_config.json", input);
  try_reading([&] {
    models::adapter_base(directory);
    models::ModelOptions base;
    base.vocabulary = 8;
    base.dim = 4;
    base.layers = 1;
    models::adapter_options(directory, base);
  });
}

void sentence(std::string_view input) {
  const auto directory = folder("sentence");
  folder("sentence/1_Pooling");
  scratch_file("sentence/modules.json", part_of(input, 0));
  scratch_file("sentence/1_Pooling/config.json", part_of(input, 1));
  scratch_file("sentence/sentence_bert_config.json", part_of(input, 2));
  try_reading([&] { models::read_sentence_model(directory); });
}

void state(std::string_view input) {
  try_reading([&] { train::read_state(scratch_file("state.json", input)); });
}

/// Adds a valid checksum, as an attacker would.
void manifest(std::string_view input) {
  const auto directory = folder("checkpoint");
  folder("checkpoint/training");
  scratch_file("checkpoint/file", "content");
  const std::string zeros(16, '0');
  std::string repaired(input);
  if (const auto at = repaired.find(zeros); at != std::string::npos) {
    repaired.replace(at, zeros.size(), to_hex(digest(repaired)));
  }
  for (const auto& content : {std::string(input), repaired}) {
    scratch_file("checkpoint/training/manifest.json", content);
    try_reading([&] { train::verify_manifest(directory); });
  }
}

void arpa(std::string_view input) {
  try_reading(
      [&] { models::read_arpa(scratch_file("model.arpa", input)).model->finish_loading(); });
}

TEST(HostileInput, Arpa) { replay("arpa", arpa); }
TEST(HostileInput, Adapter) { replay("adapter", adapter); }
TEST(HostileInput, Manifest) { replay("manifest", manifest); }
TEST(HostileInput, ModelConfig) { replay("model_config", model_config); }
TEST(HostileInput, RunConfig) { replay("run_config", run_config); }
TEST(HostileInput, Sentence) { replay("sentence", sentence); }
TEST(HostileInput, State) { replay("state", state); }
TEST(HostileInput, WeightIndex) { replay("weight_index", weight_index); }

}  // namespace
}  // namespace weft::fuzz
