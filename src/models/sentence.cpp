#include "models/sentence.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/string_util.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "models/config/json_fields.h"
#include "models/directory.h"
#include "models/weights/tensors.h"

namespace weft::models {

namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr auto kModules = "modules.json";
constexpr int64_t kSentenceLongest = int64_t{1} << 20;
constexpr int64_t kSentenceMostTokens = int64_t{1} << 30;

// One name per family, from versions with family-specific classes.
constexpr std::array kLimitFiles = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
};
constexpr auto kPrompts = "config_sentence_transformers.json";

/// In the order of their concatenation.
constexpr std::array<std::pair<std::string_view, nn::SentencePooling>, 6> kFlags = {{
    {"pooling_mode_cls_token", nn::SentencePooling::kClsToken},
    {"pooling_mode_max_tokens", nn::SentencePooling::kMax},
    {"pooling_mode_mean_tokens", nn::SentencePooling::kMean},
    {"pooling_mode_mean_sqrt_len_tokens", nn::SentencePooling::kMeanSqrtLength},
    {"pooling_mode_weightedmean_tokens", nn::SentencePooling::kWeightedMean},
    {"pooling_mode_lasttoken", nn::SentencePooling::kLastToken},
}};

constexpr std::array<std::pair<std::string_view, std::optional<kernels::Activation>>, 6>
    kActivations = {{{"Identity", std::nullopt},
                     {"Tanh", kernels::Activation::kTanh},
                     {"ReLU", kernels::Activation::kRelu},
                     {"GELU", kernels::Activation::kGelu},
                     {"SiLU", kernels::Activation::kSilu},
                     {"", std::nullopt}}};

bool sentence_exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// `torch.nn.modules.activation.Tanh` -> `Tanh`.
std::string last_word(const std::string& dotted) { return dotted.substr(dotted.rfind('.') + 1); }

/// A module of modules.json.
struct Module {
  std::string type;       // `Pooling`
  std::string directory;  // full path
  std::string folder;     // as written, empty: the directory itself
};

std::vector<Module> read_modules(const std::string& directory) {
  const auto path = directory + "/" + kModules;
  const auto list = formats::read_json(path, kSentenceLongest);
  std::vector<Module> modules;
  for (const auto& entry : list) {
    if (!list.is_array() || !entry.is_object()) {
      break;
    }
    const JsonFields fields(entry, path);
    std::string type;
    std::string folder;
    fields.read("type", type);
    fields.read("path", folder);
    if (folder.find("..") != std::string::npos || folder.starts_with('/')) {
      fields.fail("path", str_cat("'", folder, "', must be a directory next to the file"));
    }
    modules.push_back(
        {last_word(type), folder.empty() ? directory : directory + "/" + folder, folder});
  }
  if (modules.empty()) {
    throw formats::Error(path + ": must be a list of objects with \"type\" and \"path\"");
  }
  return modules;
}

nn::SentencePooling pooling_of(const std::string& word, const JsonFields& fields) {
  std::vector<std::string> known;
  for (const auto& [name, pooling] : poolings()) {
    if (word == name || word == str_cat(name, "_token") || word == str_cat(name, "_tokens")) {
      return pooling;
    }
    known.emplace_back(name);
  }
  fields.fail("pooling_mode", str_cat("'", word, "' is not one of ", join(known)));
}

void read_poolings(const JsonFields& fields, SentenceOptions& options) {
  options.poolings.clear();
  if (fields.has("pooling_mode")) {
    const auto& mode = fields.at("pooling_mode");
    for (const auto& word : mode.is_array() ? mode : Json::array({mode})) {
      options.poolings.push_back(
          pooling_of(word.is_string() ? word.get<std::string>() : word.dump(), fields));
    }
    return;
  }
  for (const auto& [flag, pooling] : kFlags) {
    bool is_set = pooling == nn::SentencePooling::kMean && !fields.has(flag);
    fields.read(flag, is_set);
    if (is_set) {
      options.poolings.push_back(pooling);
    }
  }
  if (options.poolings.empty()) {
    fields.fail("pooling_mode",
                "no pooling mode is on, must be at least one of the pooling_mode_... keys");
  }
}

void read_sentence_pooling(const std::string& directory, SentenceOptions& options) {
  const auto path = directory + "/config.json";
  const auto json = formats::read_json(path, kSentenceLongest);
  const JsonFields fields(json, path);
  read_poolings(fields, options);
  bool includes_prompt = true;
  fields.read("include_prompt", includes_prompt);
  if (!includes_prompt && !options.prompt.empty()) {
    fields.fail("include_prompt", "false: pooling without the prompt tokens is not supported");
  }
}

SentenceProjection read_projection(const std::string& directory) {
  const auto path = directory + "/config.json";
  const auto json = formats::read_json(path, kSentenceLongest);
  const JsonFields fields(json, path);
  std::string word = "torch.nn.modules.activation.Tanh";
  fields.read("activation_function", word);
  const auto* const found =
      std::find_if(kActivations.begin(), kActivations.end(),
                   [&](const auto& known) { return known.first == last_word(word); });
  if (found == kActivations.end()) {
    fields.fail("activation_function",
                str_cat("'", word, "' is not one of Identity, Tanh, ReLU, GELU, SiLU"));
  }
  const formats::SafetensorsFile file(directory + "/model.safetensors");
  SentenceProjection projection;
  projection.activation = found->second;
  projection.weight = tensor_of(file.at("linear.weight")).clone();
  if (file.tensors().contains("linear.bias")) {
    projection.bias = tensor_of(file.at("linear.bias")).clone();
  }
  const auto bias = projection.bias;
  if (projection.weight.dim() != 2 ||
      (bias.defined() && (bias.dim() != 1 || bias.size(0) != projection.weight.size(0)))) {
    throw formats::Error(file.path() + ": linear.weight and linear.bias do not match");
  }
  return projection;
}

/// Without any other length limit, sentence-transformers uses the tokenizer's.
void read_tokenizers_limit(const std::string& directory, SentenceOptions& options) {
  const auto path = directory + "/tokenizer_config.json";
  if (options.length || !sentence_exists(path)) {
    return;
  }
  const auto json = formats::read_json(path, kSentenceLongest);
  if (!json.is_object() || !json.contains("model_max_length")) {
    return;
  }
  const auto& length = json.at("model_max_length");  // 1e30 means none
  if (length.is_number() && length.get<double>() >= 1 &&
      length.get<double>() <= kSentenceMostTokens) {
    options.length = length.get<int64_t>();
  }
}

void read_limits(const std::string& directory, SentenceOptions& options) {
  for (const auto* name : kLimitFiles) {
    const auto path = directory + "/" + name;
    if (!sentence_exists(path)) {
      continue;
    }
    const auto json = formats::read_json(path, kSentenceLongest);
    const JsonFields fields(json, path);
    if (fields.has("max_seq_length")) {
      int64_t length = 0;
      fields.read("max_seq_length", length, 1, kSentenceMostTokens);
      options.length = length;
    }
    fields.read("do_lower_case", options.lowercases);
    return;
  }
}

void read_prompt(const std::string& directory, SentenceOptions& options) {
  const auto path = directory + "/" + kPrompts;
  if (!sentence_exists(path)) {
    return;
  }
  const auto json = formats::read_json(path, kSentenceLongest);
  const JsonFields fields(json, path);
  std::string name;
  fields.read("default_prompt_name", name);
  if (name.empty()) {
    return;
  }
  if (!fields.has("prompts") || !fields.at("prompts").contains(name)) {
    fields.fail("default_prompt_name", str_cat("'", name, "' is not one of the prompts"));
  }
  JsonFields(fields.at("prompts"), path + ": prompts").read(name, options.prompt);
}

/// Reads the modules in order: Transformer, Pooling, then Dense layers, then Normalize.
SentenceModel read_declared(const std::string& path) {
  static const std::vector<std::string> kOrder = {"Transformer", "Pooling", "Dense", "Normalize"};
  const auto modules = read_modules(path);
  SentenceModel result{.directory = modules.front().directory, .is_declared = true, .options = {}};
  read_prompt(path, result.options);
  std::size_t least = 0;
  for (const auto& module : modules) {
    const auto found = std::find(kOrder.begin(), kOrder.end(), module.type);
    const auto place = static_cast<std::size_t>(found - kOrder.begin());
    const bool may_repeat = module.type == "Dense";
    if (found == kOrder.end() || place < least ||
        (least == 0 && place > 0 && &module == &modules[0])) {
      throw formats::Error(
          str_cat(path, "/", kModules, ": module '", module.type,
                  "', must be Transformer, Pooling, Dense (any number) and Normalize "
                  "in this order"));
    }
    least = may_repeat ? place : place + 1;
    if (module.type == "Transformer") {
      read_limits(module.directory, result.options);
      read_tokenizers_limit(module.directory, result.options);
    } else if (module.type == "Pooling") {
      read_sentence_pooling(module.directory, result.options);
    } else if (module.type == "Dense") {
      result.options.projections.push_back(read_projection(module.directory));
    } else {
      result.options.normalizes = true;
    }
  }
  if (modules.size() < 2 || modules[1].type != "Pooling") {
    throw formats::Error(str_cat(path, "/", kModules, ": no Pooling after the Transformer"));
  }
  return result;
}

}  // namespace

bool is_sentence_directory(const std::string& path) {
  return sentence_exists(path + "/" + kModules);
}

SentenceModel read_sentence_model(const std::string& path) {
  if (is_sentence_directory(path)) {
    return read_declared(path);
  }
  const auto directory = model_directory(path);
  if (is_sentence_directory(directory)) {
    return read_declared(directory);
  }
  SentenceModel result{.directory = directory, .is_declared = false, .options = {}};
  read_tokenizers_limit(directory, result.options);
  return result;
}

const config::Choices<nn::SentencePooling>& poolings() {
  static const config::Choices<nn::SentencePooling> kWords = {
      {"cls", nn::SentencePooling::kClsToken},
      {"max", nn::SentencePooling::kMax},
      {"mean", nn::SentencePooling::kMean},
      {"mean_sqrt_len_tokens", nn::SentencePooling::kMeanSqrtLength},
      {"weightedmean", nn::SentencePooling::kWeightedMean},
      {"lasttoken", nn::SentencePooling::kLastToken},
  };
  return kWords;
}

std::vector<std::string> sentence_files(const std::string& directory) {
  std::vector<std::string> result;
  if (!is_sentence_directory(directory)) {
    return result;
  }
  result.emplace_back(kModules);
  result.emplace_back(kPrompts);
  result.insert(result.end(), kLimitFiles.begin(), kLimitFiles.end());
  for (const auto& module : read_modules(directory)) {
    if (!module.folder.empty()) {
      result.push_back(module.folder);
    }
  }
  std::erase_if(result, [&](const auto& name) { return !sentence_exists(directory + "/" + name); });
  return result;
}

}  // namespace weft::models
