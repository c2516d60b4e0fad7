#include "data/tokenizers/tokenizer_classes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "data/tokenizers/class_parts.h"
#include "data/tokenizers/documents.h"
#include "data/tokenizers/sentencepiece/mbart_codes.h"
#include "data/tokenizers/special_names.h"

namespace weft::data {

namespace {

using formats::Json;

constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kFamilies = {{
    {"bert", "BertTokenizer"},
    {"distilbert", "BertTokenizer"},
    {"electra", "BertTokenizer"},
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

/// Other names of the same classes.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kAliases = {{
    {"DistilBertTokenizer", "BertTokenizer"},
    {"ElectraTokenizer", "BertTokenizer"},
    {"BartTokenizer", "RobertaTokenizer"},
    {"LongformerTokenizer", "RobertaTokenizer"},
}};

/// Families whose directories name classes that do not fit them: their file is taken as it is.
constexpr std::array<std::string_view, 2> kTakenAsTheyAre = {"modernbert", "modernbert-decoder"};

void become_bert(TokenizerParts& parts) {
  name_tokens(parts.config, {{"unk_token", "[UNK]"},
                             {"sep_token", "[SEP]"},
                             {"pad_token", "[PAD]"},
                             {"cls_token", "[CLS]"},
                             {"mask_token", "[MASK]"}});
  const JsonFields config(parts.config, parts.place);
  parts.document["normalizer"] =
      bert_normalizer({.lowercase = config.truth("do_lower_case", true),
                       .strip_accents = config.maybe_truth("strip_accents"),
                       .spaces_ideographs = config.truth("tokenize_chinese_chars", true)});
  parts.document["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  parts.document["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  add_configured_tokens(parts);
  parts.document["post_processor"] =
      bert_template(named(parts, "cls_token"), named(parts, "sep_token"));
}

void become_byte_level(TokenizerParts& parts) {
  const bool prepends = JsonFields(parts.config, parts.place).truth("add_prefix_space", false);
  parts.document["normalizer"] = nullptr;
  parts.document["pre_tokenizer"] = byte_level(prepends);
  parts.document["decoder"] = byte_level(true);
  // What these classes give the model whatever the file says.
  Json& model = parts.document["model"];
  if (model.is_object()) {
    for (const char* key : {"unk_token", "dropout", "fuse_unk", "byte_fallback", "ignore_merges"}) {
      model.erase(key);
    }
    model["continuing_subword_prefix"] = "";
    model["end_of_word_suffix"] = "";
  }
}

void name_roberta_tokens(Json& config) {
  name_tokens(config, {{"bos_token", "<s>"},
                       {"eos_token", "</s>"},
                       {"sep_token", "</s>"},
                       {"cls_token", "<s>"},
                       {"unk_token", "<unk>"},
                       {"pad_token", "<pad>"},
                       {"mask_token", "<mask>"}});
}

void become_roberta(TokenizerParts& parts) {
  name_roberta_tokens(parts.config);
  become_byte_level(parts);
  add_configured_tokens(parts);
  const bool prepends = JsonFields(parts.config, parts.place).truth("add_prefix_space", false);
  parts.document["post_processor"] =
      roberta_processing(named(parts, "cls_token"), named(parts, "sep_token"), prepends);
}

void become_gpt2(TokenizerParts& parts) {
  name_tokens(parts.config, {{"unk_token", "<|endoftext|>"},
                             {"bos_token", "<|endoftext|>"},
                             {"eos_token", "<|endoftext|>"}});
  become_byte_level(parts);
  add_configured_tokens(parts);
}

void become_qwen2(TokenizerParts& parts) {
  name_tokens(parts.config, {{"unk_token", "<|endoftext|>"},
                             {"eos_token", "<|endoftext|>"},
                             {"pad_token", "<|endoftext|>"}});
  become_byte_level(parts);
  parts.document["normalizer"] = {{"type", "NFC"}};
  parts.document["pre_tokenizer"] =
      qwen2_words(JsonFields(parts.config, parts.place).truth("add_prefix_space", false));
  add_configured_tokens(parts);
}

void become_gpt_neox(TokenizerParts& parts) {
  name_tokens(parts.config, {{"unk_token", "<|endoftext|>"},
                             {"bos_token", "<|endoftext|>"},
                             {"eos_token", "<|endoftext|>"},
                             {"pad_token", "<|padding|>"}});
  become_byte_level(parts);
  parts.document["normalizer"] = {{"type", "NFC"}};
  add_configured_tokens(parts);
}

void become_llama(TokenizerParts& parts) {
  name_tokens(parts.config, {{"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}});
  const JsonFields config(parts.config, parts.place);
  const bool prepends = config.truth("add_prefix_space", true);
  const bool is_legacy = config.truth("legacy", false);
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
  const bool begins = config.truth("add_bos_token", false);
  const bool ends = config.truth("add_eos_token", false);
  if (document["post_processor"].is_null() && (begins || ends)) {
    const auto token = [&](bool is_there, std::string_view key) {
      return is_there ? std::optional(named(parts, key)) : std::nullopt;
    };
    document["post_processor"] =
        framing_template(token(begins, "bos_token"), token(ends, "eos_token"));
  }
}

void become_t5(TokenizerParts& parts) {
  name_tokens(parts.config,
              {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}});
  const int64_t extra = JsonFields(parts.config, parts.place).integer("extra_ids", 100);
  if (extra < 0 || extra > 10'000) {
    throw Error(text(parts.place, ": extra_ids must be in 0 .. 10000"));
  }
  if (!parts.config.contains("additional_special_tokens") &&
      !parts.config.contains("extra_special_tokens")) {
    Json names = Json::array();
    for (int64_t i = 0; i < extra; ++i) {
      names.push_back(text("<extra_id_", i, ">"));
    }
    parts.config["additional_special_tokens"] = std::move(names);
  }
  Json& document = parts.document;
  document["normalizer"] = part_of(document["normalizer"], "normalizers", "Precompiled");
  if (parts.place.ends_with(".model")) {  // T5's own models do not have these pieces
    for (int64_t i = extra; i-- > 0;) {
      document["model"]["vocab"].push_back(Json::array({text("<extra_id_", i, ">"), 0.0}));
    }
  }
  document["pre_tokenizer"] =
      sequence_of("pretokenizers", {{{"type", "WhitespaceSplit"}}, metaspace("always", true)});
  document["decoder"] = metaspace("always", true);
  document["model"]["unk_id"] = 2;
  document["model"]["byte_fallback"] = false;
  add_configured_tokens(parts);
  NamedId end = named(parts, "eos_token");
  end.content = "</s>";
  document["post_processor"] = ending_template(end);
}

/// What XLM-RoBERTa's, CamemBERT's and mBART's class build around their Unigram model, without the
/// template.
void become_fairseq(TokenizerParts& parts) {
  Json& document = parts.document;
  document["normalizer"] = part_of(document["normalizer"], "normalizers", "Precompiled");
  const bool prepends = JsonFields(parts.config, parts.place).truth("add_prefix_space", true);
  const std::string_view scheme = prepends ? "always" : "never";
  document["pre_tokenizer"] =
      sequence_of("pretokenizers", {{{"type", "WhitespaceSplit"}}, metaspace(scheme, true)});
  document["decoder"] = metaspace(scheme, true);
  document["model"]["byte_fallback"] = false;
  add_configured_tokens(parts);
}

void set_roberta_template(TokenizerParts& parts) {
  parts.document["post_processor"] =
      roberta_template(named(parts, "bos_token"), named(parts, "eos_token"));
}

/// A mask that is named by its text alone takes the space before it.
void let_mask_strip(Json& config) {
  Json& mask = config["mask_token"];
  if (mask.is_string()) {
    mask = {{"content", mask}, {"lstrip", true}};
  }
}

void become_xlm_roberta(TokenizerParts& parts) {
  name_roberta_tokens(parts.config);
  if (parts.place.ends_with(".model")) {
    lay_out_as_fairseq(parts.document, {"<mask>"});
  }
  parts.document["model"]["unk_id"] = 3;
  become_fairseq(parts);
  set_roberta_template(parts);
}

/// The language stands behind each text. A tokenizer.json keeps its rules of normalisation, which
/// the class of transformers 5 forgets: published models were trained with them.
void become_mbart(TokenizerParts& parts) {
  name_roberta_tokens(parts.config);
  let_mask_strip(parts.config);
  Json& config = parts.config;
  std::vector<std::string> last = mbart_codes();
  Json& codes = config["additional_special_tokens"];
  codes = codes.is_array() ? codes : Json::array();
  for (const std::string& code : last) {
    if (std::find(codes.begin(), codes.end(), code) == codes.end()) {
      codes.push_back(code);
    }
  }
  if (parts.place.ends_with(".model")) {
    last.emplace_back("<mask>");
    lay_out_as_fairseq(parts.document, last);
  }
  parts.document["model"]["unk_id"] = 3;
  become_fairseq(parts);
  const auto template_for = [&](std::string_view key) {
    const std::string code = special_token(parts.config, key).value_or("en_XX");
    const auto id = piece_id(parts.document, code, parts.place);
    if (!id) {
      throw Error(
          text(parts.place, ": ", key, ": '", shown(code), "' is no token of the tokenizer"));
    }
    return language_template(named(parts, "eos_token"), {code, *id});
  };
  parts.document["post_processor"] = template_for("src_lang");
  if (special_token(parts.config, "tgt_lang")) {
    parts.target_processor = template_for("tgt_lang");
  }
}

void become_camembert(TokenizerParts& parts) {
  name_roberta_tokens(parts.config);
  let_mask_strip(parts.config);
  Json& config = parts.config;
  if (!config.contains("additional_special_tokens") && !config.contains("extra_special_tokens")) {
    config["additional_special_tokens"] = {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"};
  }
  const std::string unknown = special_token(config, "unk_token").value_or("<unk>");
  parts.document["model"]["unk_id"] = piece_id(parts.document, unknown, parts.place).value_or(0);
  become_fairseq(parts);
  set_roberta_template(parts);
}

struct TokenizerClass {
  std::string_view name;
  std::string_view model;  // the kind that it is made for: others keep their file as it is
  void (*become)(TokenizerParts& parts);
};

constexpr std::array<TokenizerClass, 10> kClasses = {{
    {"BertTokenizer", "WordPiece", become_bert},
    {"RobertaTokenizer", "BPE", become_roberta},
    {"GPT2Tokenizer", "BPE", become_gpt2},
    {"Qwen2Tokenizer", "BPE", become_qwen2},
    {"GPTNeoXTokenizer", "BPE", become_gpt_neox},
    {"LlamaTokenizer", "BPE", become_llama},
    {"T5Tokenizer", "Unigram", become_t5},
    {"XLMRobertaTokenizer", "Unigram", become_xlm_roberta},
    {"CamembertTokenizer", "Unigram", become_camembert},
    {"MBartTokenizer", "Unigram", become_mbart},
}};

bool has_bytes_as_pieces(const Json& document) {
  const auto found = document.find("pre_tokenizer");
  return found != document.end() && !part_of(*found, "pretokenizers", "ByteLevel").is_null();
}

bool has_model_for(const Json& document, const TokenizerClass& made) {
  if (made.name == "LlamaTokenizer" && has_bytes_as_pieces(document)) {
    return false;  // of Llama 3, which is called so too
  }
  const auto model = document.find("model");
  return model != document.end() && model->is_object() &&
         (!model->contains("type") || (*model)["type"] == made.model);
}

}  // namespace

std::string tokenizer_class(const Json& config, const Json& model_config) {
  const auto type = model_config.find("model_type");
  const auto is_type = [&](std::string_view name) {
    return type != model_config.end() && *type == name;
  };
  if (std::any_of(kTakenAsTheyAre.begin(), kTakenAsTheyAre.end(), is_type)) {
    return "";
  }
  if (is_type("qwen2")) {
    return "Qwen2Tokenizer";  // whatever the config says
  }
  const auto found = config.find("tokenizer_class");
  if (found != config.end() && found->is_string()) {
    std::string name = found->get<std::string>();
    if (name.ends_with("Fast") && name != "PreTrainedTokenizerFast") {
      name.resize(name.size() - 4);
    }
    if (name == "LlamaTokenizer" && is_type("mistral")) {
      return "";  // transformers takes the file as it is
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

void lay_out_as_fairseq(Json& document, const std::vector<std::string>& last) {
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
  for (const auto& made : kClasses) {
    if (made.name == name && has_model_for(parts.document, made)) {
      add_listed_tokens(parts, true);
      made.become(parts);
      return;
    }
  }
  add_listed_tokens(parts, false);
  add_configured_tokens(parts);
}

}  // namespace weft::data
