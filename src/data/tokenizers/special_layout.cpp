#include "data/tokenizers/special_layout.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "data/tokenizers/documents.h"
#include "data/tokenizers/sentencepiece/mbart_codes.h"

namespace weft::data {

namespace {

formats::Json layout_template_of(SpecialStyle style,
                                 const NamedId& classify,
                                 const NamedId& separate) {
  switch (style) {
    case SpecialStyle::kBert:
    case SpecialStyle::kBertNoSegments:
    case SpecialStyle::kXlm:
      return bert_template(classify, separate);
    case SpecialStyle::kRoberta:
    case SpecialStyle::kXlmRoberta:
      return roberta_processing(classify, separate, false);
    case SpecialStyle::kT5:
    case SpecialStyle::kEnding:
      return ending_template(separate);
    case SpecialStyle::kMbart:  // of the language: its class sets it
    case SpecialStyle::kGpt2:
    case SpecialStyle::kQwen2:
      break;
  }
  return nullptr;
}

/// As T5 has them: the first of them is the last of all ids.
std::vector<std::string> sentinels() {
  std::vector<std::string> names;
  for (int64_t number = kSentinels; number-- > 0;) {
    names.push_back(weft::text("<extra_id_", number, ">"));
  }
  return names;
}

}  // namespace

bool is_bert_style(SpecialStyle style) {
  return style == SpecialStyle::kBert || style == SpecialStyle::kBertNoSegments;
}

SpecialLayout special_layout(SpecialStyle style, const LanguageCodes& languages) {
  std::vector<std::string> last = {"<mask>"};
  switch (style) {
    case SpecialStyle::kBert:
    case SpecialStyle::kBertNoSegments:
      return {.first = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"},
              .last = {},
              .pad = "[PAD]",
              .unknown = "[UNK]",
              .classify = "[CLS]",
              .separate = "[SEP]",
              .mask = "[MASK]"};
    case SpecialStyle::kGpt2:
    case SpecialStyle::kQwen2:
      return {.first = {"<|endoftext|>"},
              .last = {},
              .pad = "<|endoftext|>",  // so that transformers can put texts side by side
              .unknown = "<|endoftext|>",
              .classify = "",
              .separate = "",
              .mask = ""};
    case SpecialStyle::kT5:
    case SpecialStyle::kEnding:
      return {.first = {"<pad>", "</s>", "<unk>"},
              .last = style == SpecialStyle::kT5 ? sentinels() : std::vector<std::string>{},
              .pad = "<pad>",
              .unknown = "<unk>",
              .classify = "",
              .separate = "</s>",
              .mask = ""};
    case SpecialStyle::kXlm:
      return {.first = {"<s>", "</s>", "<pad>", "<unk>"},
              .last = {"<special1>"},
              .pad = "<pad>",
              .unknown = "<unk>",
              .classify = "<s>",
              .separate = "</s>",
              .mask = "<special1>",
              .mask_strips_left = true};
    case SpecialStyle::kMbart:
      last = mbart_codes(languages);
      last.emplace_back("<mask>");
      break;
    case SpecialStyle::kRoberta:
    case SpecialStyle::kXlmRoberta:
      break;
  }
  return {.first = {"<s>", "<pad>", "</s>", "<unk>"},
          .last = std::move(last),
          .pad = "<pad>",
          .unknown = "<unk>",
          .classify = "<s>",
          .separate = "</s>",
          .mask = "<mask>",
          .mask_strips_left = true};
}

SpecialLayout byte_level_layout(SpecialStyle style) {
  SpecialLayout layout = special_layout(style);
  layout.mask_strips_left = true;
  layout.first.insert(layout.first.end(), layout.last.begin(), layout.last.end());
  layout.last.clear();
  return layout;
}

void add_special_tokens(TokenizerParts& parts,
                        SpecialStyle style,
                        const SpecialLayout& layout,
                        int64_t size) {
  formats::Json& document = parts.document;
  const auto add = [&](int64_t id, const std::string& content) {
    const bool strips = layout.mask_strips_left && content == layout.mask;
    add_token(document, static_cast<int32_t>(id), content, {.strips_left = strips});
  };
  for (std::size_t id = 0; id < layout.first.size(); ++id) {
    add(static_cast<int64_t>(id), layout.first[id]);
  }
  const auto last = static_cast<int64_t>(layout.last.size());
  for (int64_t place = 0; place < last; ++place) {
    add(size - last + place, layout.last[static_cast<std::size_t>(place)]);
  }
  const auto named = [&](const std::string& content) {
    const auto found = std::find(layout.first.begin(), layout.first.end(), content);
    return NamedId{content, static_cast<int32_t>(found - layout.first.begin())};
  };
  document["post_processor"] =
      layout_template_of(style, named(layout.classify), named(layout.separate));
  formats::Json& config = parts.config;
  const auto name = [&](const char* key, const std::string& content) {
    if (!content.empty()) {
      config[key] = content;
    }
  };
  if (!is_bert_style(style)) {
    const bool has_ends = !layout.separate.empty();
    name("bos_token", has_ends ? layout.classify : layout.unknown);
    name("eos_token", has_ends ? layout.separate : layout.unknown);
  }
  name("pad_token", layout.pad);
  name("unk_token", layout.unknown);
  name("cls_token", layout.classify);
  name("sep_token", layout.classify.empty() ? "" : layout.separate);
  name("mask_token", layout.mask);
  if (layout.mask_strips_left && !layout.mask.empty()) {
    // Said here too, for directories whose tokenizer.json is left behind.
    config["mask_token"] = {{"__type", "AddedToken"}, {"content", layout.mask},
                            {"lstrip", true},         {"normalized", false},
                            {"rstrip", false},        {"single_word", false}};
  }
  if (style == SpecialStyle::kT5) {
    config["extra_ids"] = kSentinels;
    formats::Json names = formats::Json::array();
    for (int64_t number = 0; number < kSentinels; ++number) {
      names.push_back(weft::text("<extra_id_", number, ">"));
    }
    config["additional_special_tokens"] = std::move(names);
  }
  config["clean_up_tokenization_spaces"] = false;
  config["model_input_names"] = style == SpecialStyle::kBert
                                    ? formats::Json{"input_ids", "token_type_ids", "attention_mask"}
                                    : formats::Json{"input_ids", "attention_mask"};
}

}  // namespace weft::data
