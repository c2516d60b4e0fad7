#include "data/tokenizers/documents.h"

#include <utility>

namespace weft::data {

namespace {

using formats::Json;

Json text_step(std::string_view which, int32_t type) {
  return {{"Sequence", {{"id", which}, {"type_id", type}}}};
}

Json token_step(const NamedId& token, int32_t type) {
  return {{"SpecialToken", {{"id", token.content}, {"type_id", type}}}};
}

Json token_table(const std::vector<NamedId>& tokens) {
  Json table = Json::object();
  for (const NamedId& token : tokens) {
    table[token.content] = {{"id", token.content},
                            {"ids", Json::array({token.id})},
                            {"tokens", Json::array({token.content})}};
  }
  return table;
}

Json documents_template_of(Json single, Json pair, const std::vector<NamedId>& tokens) {
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"pair", std::move(pair)},
          {"special_tokens", token_table(tokens)}};
}

}  // namespace

Json empty_document() {
  return {{"version", "1.0"},          {"truncation", nullptr},
          {"padding", nullptr},        {"added_tokens", Json::array()},
          {"normalizer", nullptr},     {"pre_tokenizer", nullptr},
          {"post_processor", nullptr}, {"decoder", nullptr},
          {"model", nullptr}};
}

void add_token(Json& document,
               int32_t id,
               const std::string& content,
               const AddedTokenOptions& options) {
  const Json result = {{"id", id},
                       {"content", content},
                       {"single_word", false},
                       {"lstrip", options.lstrip},
                       {"rstrip", false},
                       {"normalized", !options.is_special},
                       {"special", options.is_special}};
  Json& tokens = document["added_tokens"];
  for (Json& token : tokens) {
    if (token.value("content", "") == content) {
      token = result;
      return;
    }
  }
  tokens.push_back(result);
}

Json vocabulary_object(const Vocabulary& vocabulary) {
  Json object = Json::object();
  // nlohmann's own insertion compares with all previous keys.
  auto& fields = static_cast<Json::object_t::Container&>(object.get_ref<Json::object_t&>());
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.has(id)) {
      fields.emplace_back(std::string(vocabulary.piece(id)), id);
    }
  }
  return object;
}

Json bert_normalizer(const BertOptions& options) {
  return {{"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", options.spaces_ideographs},
          {"strip_accents", options.strip_accents ? Json(*options.strip_accents) : Json()},
          {"lowercase", options.lowercase}};
}

Json word_piece_model(const Vocabulary& vocabulary, const std::string& unknown) {
  return {{"type", "WordPiece"},
          {"unk_token", unknown},
          {"continuing_subword_prefix", "##"},
          {"max_input_chars_per_word", 100},
          {"vocab", vocabulary_object(vocabulary)}};
}

Json bert_template(const NamedId& cls, const NamedId& sep, int cls_type) {
  const Json single = {token_step(cls, cls_type), text_step("A", 0), token_step(sep, 0)};
  Json pair = single;
  pair.push_back(text_step("B", 1));
  pair.push_back(token_step(sep, 1));
  return documents_template_of(single, std::move(pair), {cls, sep});
}

Json roberta_processing(const NamedId& cls, const NamedId& sep, bool prepends_space) {
  return {{"type", "RobertaProcessing"},
          {"sep", Json::array({sep.content, sep.id})},
          {"cls", Json::array({cls.content, cls.id})},
          {"trim_offsets", true},
          {"add_prefix_space", prepends_space}};
}

Json roberta_template(const NamedId& begin, const NamedId& end) {
  const Json single = {token_step(begin, 0), text_step("A", 0), token_step(end, 0)};
  Json pair = single;
  pair.push_back(token_step(end, 0));
  pair.push_back(text_step("B", 0));
  pair.push_back(token_step(end, 0));
  return documents_template_of(single, std::move(pair), {begin, end});
}

Json eos_template(const NamedId& end) {
  const Json single = {text_step("A", 0), token_step(end, 0)};
  Json pair = single;
  pair.push_back(text_step("B", 0));
  pair.push_back(token_step(end, 0));
  return documents_template_of(single, std::move(pair), {end});
}

Json language_template(const NamedId& end, const NamedId& language) {
  const Json single = {text_step("A", 0), token_step(end, 0), token_step(language, 0)};
  const Json pair = {text_step("A", 0), text_step("B", 0), token_step(end, 0),
                     token_step(language, 0)};
  return documents_template_of(single, pair, {end, language});
}

Json bos_eos_template(const std::optional<NamedId>& begin, const std::optional<NamedId>& end) {
  std::vector<NamedId> tokens;
  const auto framed = [&](const char* text, int type) {
    Json steps = Json::array();
    if (begin) {
      steps.push_back(token_step(*begin, type));
    }
    steps.push_back(text_step(text, type));
    if (end) {
      steps.push_back(token_step(*end, type));
    }
    return steps;
  };
  for (const auto& token : {begin, end}) {
    if (token) {
      tokens.push_back(*token);
    }
  }
  const Json single = framed("A", 0);
  Json pair = single;
  for (const Json& step : framed("B", 1)) {
    pair.push_back(step);
  }
  return documents_template_of(single, std::move(pair), tokens);
}

Json byte_level(bool prepends_space) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", prepends_space},
          {"trim_offsets", true},
          {"use_regex", true}};
}

Json byte_fallback_decoder(bool strips) {
  return sequence_of(
      "decoders", {replacement("String", "\u2581", " "),
                   {{"type", "ByteFallback"}},
                   {{"type", "Fuse"}},
                   {{"type", "Strip"}, {"content", " "}, {"start", strips ? 1 : 0}, {"stop", 0}}});
}

Json qwen2_pre_tokenizer(bool prepends_space) {
  const Json split = {
      {"type", "Split"},
      {"pattern",
       {{"Regex",
         R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
         R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"}}},
      {"behavior", "Isolated"},
      {"invert", false}};
  Json bytes = byte_level(prepends_space);
  bytes["use_regex"] = false;
  return sequence_of("pretokenizers", {split, bytes});
}

Json metaspace(std::string_view prepend_scheme, bool splits) {
  return {{"type", "Metaspace"},
          {"replacement", "\u2581"},
          {"prepend_scheme", prepend_scheme},
          {"split", splits}};
}

Json sequence_of(std::string_view key, std::vector<Json> parts) {
  return {{"type", "Sequence"}, {std::string(key), Json(std::move(parts))}};
}

Json replacement(std::string_view kind, const std::string& pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{std::string(kind), pattern}}}, {"content", content}};
}

}  // namespace weft::data
