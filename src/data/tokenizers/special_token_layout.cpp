#include "data/tokenizers/special_token_layout.h"

#include <algorithm>
#include <utility>

#include "base/string_util.h"
#include "data/tokenizers/documents.h"

namespace weft::data {

namespace {

formats::Json layout_template_of(TokenizerTemplate style, const NamedId& cls, const NamedId& sep) {
  switch (style) {
    case TokenizerTemplate::kBert:
    case TokenizerTemplate::kBertNoSegments:
    case TokenizerTemplate::kXlm:
      return bert_template(cls, sep);
    case TokenizerTemplate::kFunnel:
      return bert_template(cls, sep, kFunnelClsType);
    case TokenizerTemplate::kRoberta:
    case TokenizerTemplate::kXlmRoberta:
      return roberta_processing(cls, sep, false);
    case TokenizerTemplate::kT5:
    case TokenizerTemplate::kEosOnly:
    case TokenizerTemplate::kFastText:
      return eos_template(sep);
    case TokenizerTemplate::kBosEos:
      return bos_eos_template(cls, sep);
    case TokenizerTemplate::kMbart:  // set by its class, by language
    case TokenizerTemplate::kGpt2:
    case TokenizerTemplate::kQwen2:
      break;
  }
  return nullptr;
}

/// In T5's order: the first sentinel has the highest id.
std::vector<std::string> sentinels() {
  std::vector<std::string> names;
  for (int64_t number = kSentinels; number-- > 0;) {
    names.push_back(weft::str_cat("<extra_id_", number, ">"));
  }
  return names;
}

}  // namespace

bool is_bert_style(TokenizerTemplate style) {
  return style == TokenizerTemplate::kBert || style == TokenizerTemplate::kBertNoSegments;
}

SpecialTokenLayout special_token_layout(TokenizerTemplate style, const LanguageCodes& languages) {
  std::vector<std::string> last = {"<mask>"};
  switch (style) {
    case TokenizerTemplate::kBert:
    case TokenizerTemplate::kBertNoSegments:
      return {.first = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"},
              .last = {},
              .pad = "[PAD]",
              .unk = "[UNK]",
              .cls = "[CLS]",
              .sep = "[SEP]",
              .mask = "[MASK]"};
    case TokenizerTemplate::kFunnel:
      return {.first = {"<pad>", "<unk>", "<cls>", "<sep>", "<mask>"},
              .last = {},
              .pad = "<pad>",
              .unk = "<unk>",
              .cls = "<cls>",
              .sep = "<sep>",
              .mask = "<mask>"};
    case TokenizerTemplate::kGpt2:
    case TokenizerTemplate::kQwen2:
      return {.first = {"<|endoftext|>"},
              .last = {},
              .pad = "<|endoftext|>",  // so that transformers can batch texts
              .unk = "<|endoftext|>",
              .cls = "",
              .sep = "",
              .mask = ""};
    case TokenizerTemplate::kT5:
    case TokenizerTemplate::kEosOnly:
    case TokenizerTemplate::kFastText:
      return {.first = {"<pad>", "</s>", "<unk>"},
              .last = style == TokenizerTemplate::kT5 ? sentinels() : std::vector<std::string>{},
              .pad = "<pad>",
              .unk = "<unk>",
              .cls = "",
              .sep = "</s>",
              .mask = ""};
    case TokenizerTemplate::kBosEos:
      return {.first = {"<unk>", "<s>", "</s>"},
              .last = {},
              .pad = "",
              .unk = "<unk>",
              .cls = "<s>",
              .sep = "</s>",
              .mask = ""};
    case TokenizerTemplate::kXlm:
      return {.first = {"<s>", "</s>", "<pad>", "<unk>"},
              .last = {"<special1>"},
              .pad = "<pad>",
              .unk = "<unk>",
              .cls = "<s>",
              .sep = "</s>",
              .mask = "<special1>",
              .mask_lstrip = true};
    case TokenizerTemplate::kMbart:
      last = mbart_language_codes(languages);
      last.emplace_back("<mask>");
      break;
    case TokenizerTemplate::kRoberta:
    case TokenizerTemplate::kXlmRoberta:
      break;
  }
  return {.first = {"<s>", "<pad>", "</s>", "<unk>"},
          .last = std::move(last),
          .pad = "<pad>",
          .unk = "<unk>",
          .cls = "<s>",
          .sep = "</s>",
          .mask = "<mask>",
          .mask_lstrip = true};
}

SpecialTokenLayout byte_level_layout(TokenizerTemplate style) {
  SpecialTokenLayout layout = special_token_layout(style);
  layout.mask_lstrip = true;
  layout.first.insert(layout.first.end(), layout.last.begin(), layout.last.end());
  layout.last.clear();
  return layout;
}

void add_special_tokens(TokenizerParts& parts,
                        TokenizerTemplate style,
                        const SpecialTokenLayout& layout,
                        int64_t size) {
  formats::Json& document = parts.document;
  const auto add = [&](int64_t id, const std::string& content) {
    const bool strips = layout.mask_lstrip && content == layout.mask;
    add_token(document, static_cast<int32_t>(id), content, {.lstrip = strips});
  };
  for (std::size_t id = 0; id < layout.first.size(); ++id) {
    add(static_cast<int64_t>(id), layout.first[id]);
  }
  const auto last = static_cast<int64_t>(layout.last.size());
  for (int64_t index = 0; index < last; ++index) {
    add(size - last + index, layout.last[static_cast<std::size_t>(index)]);
  }
  const auto named = [&](const std::string& content) {
    const auto found = std::find(layout.first.begin(), layout.first.end(), content);
    return NamedId{content, static_cast<int32_t>(found - layout.first.begin())};
  };
  document["post_processor"] = layout_template_of(style, named(layout.cls), named(layout.sep));
  formats::Json& config = parts.config;
  const auto name = [&](const char* key, const std::string& content) {
    if (!content.empty()) {
      config[key] = content;
    }
  };
  if (!is_bert_style(style)) {
    const bool has_ends = !layout.sep.empty();
    name("bos_token", has_ends ? layout.cls : layout.unk);
    name("eos_token", has_ends ? layout.sep : layout.unk);
  }
  name("pad_token", layout.pad);
  name("unk_token", layout.unk);
  name("cls_token", layout.cls);
  name("sep_token", layout.cls.empty() ? "" : layout.sep);
  name("mask_token", layout.mask);
  if (layout.mask_lstrip && !layout.mask.empty()) {
    // Repeated here for directories without tokenizer.json.
    config["mask_token"] = {{"__type", "AddedToken"}, {"content", layout.mask},
                            {"lstrip", true},         {"normalized", false},
                            {"rstrip", false},        {"single_word", false}};
  }
  if (style == TokenizerTemplate::kT5) {
    config["extra_ids"] = kSentinels;
    formats::Json names = formats::Json::array();
    for (int64_t number = 0; number < kSentinels; ++number) {
      names.push_back(weft::str_cat("<extra_id_", number, ">"));
    }
    config["additional_special_tokens"] = std::move(names);
  }
  config["clean_up_tokenization_spaces"] = false;
  const bool has_types = style == TokenizerTemplate::kBert || style == TokenizerTemplate::kFunnel;
  config["model_input_names"] = has_types
                                    ? formats::Json{"input_ids", "token_type_ids", "attention_mask"}
                                    : formats::Json{"input_ids", "attention_mask"};
}

}  // namespace weft::data
