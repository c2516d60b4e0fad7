#include "data/tokenizers/special_names.h"

namespace weft::data {

const std::vector<SpecialTokenName>& special_token_names() {
  static const std::vector<SpecialTokenName> names = {
      {"pad_token", &SpecialTokenIds::pad, {"[PAD]", "<pad>"}},
      {"unk_token", &SpecialTokenIds::unk, {"[UNK]", "<unk>"}},
      {"bos_token", &SpecialTokenIds::bos, {"<s>", "<|endoftext|>"}},
      {"eos_token", &SpecialTokenIds::eos, {"</s>", "<|endoftext|>"}},
      {"cls_token", &SpecialTokenIds::cls, {"[CLS]", "<s>"}},
      {"sep_token", &SpecialTokenIds::sep, {"[SEP]", "</s>"}},
      {"mask_token", &SpecialTokenIds::mask, {"[MASK]", "<mask>"}},
  };
  return names;
}

std::optional<std::string> special_token(const formats::Json& config, std::string_view key) {
  if (!config.is_object()) {
    return std::nullopt;
  }
  const auto found = config.find(std::string(key));
  if (found == config.end()) {
    return std::nullopt;
  }
  if (found->is_string()) {
    return found->get<std::string>();
  }
  if (found->is_object()) {
    const auto content = found->find("content");
    if (content != found->end() && content->is_string()) {
      return content->get<std::string>();
    }
  }
  return std::nullopt;
}

}  // namespace weft::data
