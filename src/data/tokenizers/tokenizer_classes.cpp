
#include <algorithm>
#include <array>
#include <utility>

#include "base/string_util.h"
#include "data/tokenizers/documents.h"
#include "data/tokenizers/special_names.h"
#include "data/tokenizers/special_token_layout.h"
#include "data/tokenizers/tokenizer_json_parts.h"

namespace weft::data {

namespace {

using formats::Json;

constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kFamilies = {{
    {"bert", "BertTokenizer"},
    {"distilbert", "BertTokenizer"},
    {"electra", "BertTokenizer"},
    {"funnel", "FunnelTokenizer"},
    {"roberta", "RobertaTokenizer"},
    {"xlm-roberta", "XLMRobertaTokenizer"},
    {"xlm", "XLMTokenizer"},
    {"camembert", "CamembertTokenizer"},
    {"bart", "RobertaTokenizer"},
    {"mbart", "MBartTokenizer"},
    {"longformer", "RobertaTokenizer"},
    {"gpt2", "GPT2Tokenizer"},
    {"gpt_neox", "GPTNeoXTokenizer"},
    {"t5", "T5Tokenizer"},
    {"mt5", "T5Tokenizer"},
}};

/// Aliases of the classes.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kAliases = {{
    {"DistilBertTokenizer", "BertTokenizer"},
    {"ElectraTokenizer", "BertTokenizer"},
    {"BartTokenizer", "RobertaTokenizer"},
    {"LongformerTokenizer", "RobertaTokenizer"},
}};

/// Families whose directories name the wrong class: their file is used unchanged.
constexpr std::array<std::string_view, 2> kUnmodifiedFamilies = {"modernbert",
                                                                 "modernbert-decoder"};

void convert_to_word_pieces(TokenizerParts& parts, int cls_type) {
  const JsonFields config(parts.config, parts.location);
  parts.document["normalizer"] =
      bert_normalizer({.lowercase = config.boolean("do_lower_case", true),
                       .strip_accents = config.optional_boolean("strip_accents"),
                       .spaces_ideographs = config.boolean("tokenize_chinese_chars", true)});
  parts.document["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  parts.document["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  add_configured_tokens(parts);
  parts.document["post_processor"] =
      bert_template(named_token(parts, "cls_token"), named_token(parts, "sep_token"), cls_type);
}

void convert_to_bert(TokenizerParts& parts) {
  set_default_tokens(parts.config, {{"unk_token", "[UNK]"},
                                    {"sep_token", "[SEP]"},
                                    {"pad_token", "[PAD]"},
                                    {"cls_token", "[CLS]"},
                                    {"mask_token", "[MASK]"}});
  convert_to_word_pieces(parts, 0);
}

void convert_to_funnel(TokenizerParts& parts) {
  set_default_tokens(parts.config, {{"unk_token", "<unk>"},
                                    {"sep_token", "<sep>"},
                                    {"pad_token", "<pad>"},
                                    {"cls_token", "<cls>"},
                                    {"mask_token", "<mask>"},
                                    {"bos_token", "<s>"},
                                    {"eos_token", "</s>"}});
  convert_to_word_pieces(parts, kFunnelClsType);
}

void convert_to_byte_level(TokenizerParts& parts) {
  const bool prepends = JsonFields(parts.config, parts.location).boolean("add_prefix_space", false);
  parts.document["normalizer"] = nullptr;
  parts.document["pre_tokenizer"] = byte_level(prepends);
  parts.document["decoder"] = byte_level(true);
  // These classes override these fields of the model.
  Json& model = parts.document["model"];
  if (model.is_object()) {
    for (const char* key : {"unk_token", "dropout", "fuse_unk", "byte_fallback", "ignore_merges"}) {
      model.erase(key);
    }
    model["continuing_subword_prefix"] = "";
    model["end_of_word_suffix"] = "";
  }
}

void set_default_roberta_tokens(Json& config) {
  set_default_tokens(config, {{"bos_token", "<s>"},
                              {"eos_token", "</s>"},
                              {"sep_token", "</s>"},
                              {"cls_token", "<s>"},
                              {"unk_token", "<unk>"},
                              {"pad_token", "<pad>"},
                              {"mask_token", "<mask>"}});
}

void convert_to_roberta(TokenizerParts& parts) {
  set_default_roberta_tokens(parts.config);
  convert_to_byte_level(parts);
  add_configured_tokens(parts);
  const bool prepends = JsonFields(parts.config, parts.location).boolean("add_prefix_space", false);
  parts.document["post_processor"] = roberta_processing(named_token(parts, "cls_token"),
                                                        named_token(parts, "sep_token"), prepends);
}

void convert_to_gpt2(TokenizerParts& parts) {
  set_default_tokens(parts.config, {{"unk_token", "<|endoftext|>"},
                                    {"bos_token", "<|endoftext|>"},
                                    {"eos_token", "<|endoftext|>"}});
  convert_to_byte_level(parts);
  add_configured_tokens(parts);
}

void convert_to_qwen2(TokenizerParts& parts) {
  set_default_tokens(parts.config, {{"unk_token", "<|endoftext|>"},
                                    {"eos_token", "<|endoftext|>"},
                                    {"pad_token", "<|endoftext|>"}});
  convert_to_byte_level(parts);
  parts.document["normalizer"] = {{"type", "NFC"}};
  parts.document["pre_tokenizer"] = qwen2_pre_tokenizer(
      JsonFields(parts.config, parts.location).boolean("add_prefix_space", false));
  add_configured_tokens(parts);
}

void convert_to_gpt_neox(TokenizerParts& parts) {
  set_default_tokens(parts.config, {{"unk_token", "<|endoftext|>"},
                                    {"bos_token", "<|endoftext|>"},
                                    {"eos_token", "<|endoftext|>"},
                                    {"pad_token", "<|padding|>"}});
  convert_to_byte_level(parts);
  parts.document["normalizer"] = {{"type", "NFC"}};
  add_configured_tokens(parts);
}

void convert_to_llama(TokenizerParts& parts) {
  set_default_tokens(parts.config,
                     {{"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}});
  const JsonFields config(parts.config, parts.location);
  const bool prepends = config.boolean("add_prefix_space", true);
  const bool is_legacy = config.boolean("legacy", false);
  Json& document = parts.document;
  document["normalizer"] = nullptr;
  document["pre_tokenizer"] = metaspace(!prepends   ? "never"
                                        : is_legacy ? "always"
                                                    : "first",
                                        false);
  document["decoder"] = byte_fallback_decoder(prepends);
  for (const char* key : {"unk_token", "dropout", "ignore_merges"}) {
    document["model"].erase(key);
  }
  document["model"]["fuse_unk"] = true;
  document["model"]["byte_fallback"] = true;
  add_configured_tokens(parts);
  const bool begins = config.boolean("add_bos_token", false);
  const bool ends = config.boolean("add_eos_token", false);
  if (document["post_processor"].is_null() && (begins || ends)) {
    const auto token = [&](bool is_there, std::string_view key) {
      return is_there ? std::optional(named_token(parts, key)) : std::nullopt;
    };
    document["post_processor"] =
        bos_eos_template(token(begins, "bos_token"), token(ends, "eos_token"));
  }
}

void convert_to_t5(TokenizerParts& parts) {
  set_default_tokens(parts.config,
                     {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}});
  const int64_t extra = JsonFields(parts.config, parts.location).integer("extra_ids", 100);
  if (extra < 0 || extra > 10'000) {
    throw Error(str_cat(parts.location, ": extra_ids must be in 0 .. 10000"));
  }
  if (!parts.config.contains("additional_special_tokens") &&
      !parts.config.contains("extra_special_tokens")) {
    Json names = Json::array();
    for (int64_t i = 0; i < extra; ++i) {
      names.push_back(str_cat("<extra_id_", i, ">"));
    }
    parts.config["additional_special_tokens"] = std::move(names);
  }
  Json& document = parts.document;
  document["normalizer"] = find_component(document["normalizer"], "normalizers", "Precompiled");
  if (parts.location.ends_with(".model")) {  // T5's own models do not have these pieces
    for (int64_t i = extra; i-- > 0;) {
      document["model"]["vocab"].push_back(Json::array({str_cat("<extra_id_", i, ">"), 0.0}));
    }
  }
  document["pre_tokenizer"] =
      sequence_of("pretokenizers", {{{"type", "WhitespaceSplit"}}, metaspace("always", true)});
  document["decoder"] = metaspace("always", true);
  document["model"]["unk_id"] = 2;
  document["model"]["byte_fallback"] = false;
  add_configured_tokens(parts);
  NamedId end = named_token(parts, "eos_token");
  end.content = "</s>";
  document["post_processor"] = eos_template(end);
}

/// Components that XLM-RoBERTa's, CamemBERT's and mBART's classes build around their Unigram model,
/// except the template.
void convert_to_fairseq(TokenizerParts& parts) {
  Json& document = parts.document;
  document["normalizer"] = find_component(document["normalizer"], "normalizers", "Precompiled");
  const bool prepends = JsonFields(parts.config, parts.location).boolean("add_prefix_space", true);
  const std::string_view scheme = prepends ? "always" : "never";
  document["pre_tokenizer"] =
      sequence_of("pretokenizers", {{{"type", "WhitespaceSplit"}}, metaspace(scheme, true)});
  document["decoder"] = metaspace(scheme, true);
  document["model"]["byte_fallback"] = false;
  add_configured_tokens(parts);
}

void set_roberta_template(TokenizerParts& parts) {
  parts.document["post_processor"] =
      roberta_template(named_token(parts, "bos_token"), named_token(parts, "eos_token"));
}

/// A mask token given only by its text has lstrip.
void set_mask_lstrip(Json& config) {
  Json& mask = config["mask_token"];
  if (mask.is_string()) {
    mask = {{"content", mask}, {"lstrip", true}};
  }
}

void convert_to_xlm_roberta(TokenizerParts& parts) {
  set_default_roberta_tokens(parts.config);
  if (parts.location.ends_with(".model")) {
    convert_to_fairseq_ids(parts.document, {"<mask>"});
  }
  parts.document["model"]["unk_id"] = 3;
  convert_to_fairseq(parts);
  set_roberta_template(parts);
}

/// Adds the language token after each text. A tokenizer.json keeps its normalisation rules, which
/// the class of transformers 5 drops: published models were trained with them.
void convert_to_mbart(TokenizerParts& parts) {
  set_default_roberta_tokens(parts.config);
  set_mask_lstrip(parts.config);
  Json& config = parts.config;
  std::vector<std::string> last = mbart_language_codes();
  Json& codes = config["additional_special_tokens"];
  codes = codes.is_array() ? codes : Json::array();
  for (const std::string& code : last) {
    if (std::find(codes.begin(), codes.end(), code) == codes.end()) {
      codes.push_back(code);
    }
  }
  if (parts.location.ends_with(".model")) {
    last.emplace_back("<mask>");
    convert_to_fairseq_ids(parts.document, last);
  }
  parts.document["model"]["unk_id"] = 3;
  convert_to_fairseq(parts);
  const auto template_for = [&](std::string_view key) {
    const std::string code = special_token(parts.config, key).value_or("en_XX");
    const auto id = piece_id(parts.document, code, parts.location);
    if (!id) {
      throw Error(str_cat(parts.location, ": ", key, ": '", printable(code),
                          "' is not a token of the tokenizer"));
    }
    return language_template(named_token(parts, "eos_token"), {code, *id});
  };
  parts.document["post_processor"] = template_for("src_lang");
  if (special_token(parts.config, "tgt_lang")) {
    parts.target_processor = template_for("tgt_lang");
  }
}

void convert_to_camembert(TokenizerParts& parts) {
  set_default_roberta_tokens(parts.config);
  set_mask_lstrip(parts.config);
  Json& config = parts.config;
  if (!config.contains("additional_special_tokens") && !config.contains("extra_special_tokens")) {
    config["additional_special_tokens"] = {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"};
  }
  const std::string unknown = special_token(config, "unk_token").value_or("<unk>");
  parts.document["model"]["unk_id"] = piece_id(parts.document, unknown, parts.location).value_or(0);
  convert_to_fairseq(parts);
  set_roberta_template(parts);
}

struct TokenizerClass {
  std::string_view name;
  std::string_view model;  // required model type: others keep their file unchanged
  void (*convert)(TokenizerParts& parts);
};

constexpr std::array<TokenizerClass, 11> kClasses = {{
    {"BertTokenizer", "WordPiece", convert_to_bert},
    {"FunnelTokenizer", "WordPiece", convert_to_funnel},
    {"RobertaTokenizer", "BPE", convert_to_roberta},
    {"GPT2Tokenizer", "BPE", convert_to_gpt2},
    {"Qwen2Tokenizer", "BPE", convert_to_qwen2},
    {"GPTNeoXTokenizer", "BPE", convert_to_gpt_neox},
    {"LlamaTokenizer", "BPE", convert_to_llama},
    {"T5Tokenizer", "Unigram", convert_to_t5},
    {"XLMRobertaTokenizer", "Unigram", convert_to_xlm_roberta},
    {"CamembertTokenizer", "Unigram", convert_to_camembert},
    {"MBartTokenizer", "Unigram", convert_to_mbart},
}};

bool has_byte_level_pre_tokenizer(const Json& document) {
  const auto found = document.find("pre_tokenizer");
  return found != document.end() && !find_component(*found, "pretokenizers", "ByteLevel").is_null();
}

bool has_model_for(const Json& document, const TokenizerClass& result) {
  if (result.name == "LlamaTokenizer" && has_byte_level_pre_tokenizer(document)) {
    return false;  // Llama 3 uses the same class name
  }
  const auto model = document.find("model");
  return model != document.end() && model->is_object() &&
         (!model->contains("type") || (*model)["type"] == result.model);
}

}  // namespace

std::string tokenizer_class(const Json& config, const Json& model_config) {
  const auto type = model_config.find("model_type");
  const auto is_type = [&](std::string_view name) {
    return type != model_config.end() && *type == name;
  };
  if (std::any_of(kUnmodifiedFamilies.begin(), kUnmodifiedFamilies.end(), is_type)) {
    return "";
  }
  if (is_type("qwen2")) {
    return "Qwen2Tokenizer";  // regardless of the config
  }
  const auto found = config.find("tokenizer_class");
  if (found != config.end() && found->is_string()) {
    std::string name = found->get<std::string>();
    if (name.ends_with("Fast") && name != "PreTrainedTokenizerFast") {
      name.resize(name.size() - 4);
    }
    if (name == "LlamaTokenizer" && is_type("mistral")) {
      return "";  // transformers uses the file unchanged
    }
    for (const auto& [alias, known] : kAliases) {
      if (name == alias) {
        return std::string(known);
      }
    }
    return name;
  }
  for (const auto& [family, name] : kFamilies) {
    if (is_type(family)) {
      return std::string(name);
    }
  }
  return "";
}

void convert_to_fairseq_ids(Json& document, const std::vector<std::string>& last) {
  constexpr std::size_t kOwn = 3;  // `<unk>`, `<s>`, `</s>`
  const Json& pieces = document.at("model").at("vocab");
  Json vocabulary = Json::array();
  for (const char* token : {"<s>", "<pad>", "</s>", "<unk>"}) {
    vocabulary.push_back(Json::array({token, 0.0}));
  }
  for (std::size_t i = kOwn; i < pieces.size(); ++i) {
    vocabulary.push_back(pieces[i]);
  }
  for (const std::string& token : last) {
    vocabulary.push_back(Json::array({token, 0.0}));
  }
  document["model"]["vocab"] = std::move(vocabulary);
  document["model"]["unk_id"] = 3;
  Json tokens = Json::array();
  for (Json& token : document["added_tokens"]) {
    const std::string content = token.value("content", "");
    if (const auto id = piece_id(document, content, "tokenizer")) {
      token["id"] = *id;
      tokens.push_back(token);
    }
  }
  document["added_tokens"] = std::move(tokens);
}

void apply_tokenizer_class(TokenizerParts& parts, const std::string& name) {
  const auto* const found = std::ranges::find_if(kClasses, [&](const TokenizerClass& each) {
    return each.name == name && has_model_for(parts.document, each);
  });
  const bool is_known = found != kClasses.end();
  add_listed_tokens(parts, is_known);
  is_known ? found->convert(parts) : add_configured_tokens(parts);
}

}  // namespace weft::data
