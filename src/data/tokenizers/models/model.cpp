#include "data/tokenizers/models/model.h"

#include <array>
#include <utility>

#include "base/string_util.h"

namespace weft::data {

namespace {

constexpr std::array<std::pair<std::string_view, MakeTokenModel>, 4> kModels = {{
    {"WordPiece", make_word_piece},
    {"BPE", make_byte_pair},
    {"Unigram", make_unigram},
    {"WordLevel", make_word_level},
}};

/// Files older than tokenizers 0.9 have no `type`.
std::string type_of(const JsonFields& fields) {
  if (fields.has("type")) {
    return fields.text("type");
  }
  if (fields.has("merges")) {
    return "BPE";
  }
  return fields.has("unk_id") ? "Unigram" : "WordPiece";
}

}  // namespace

std::unique_ptr<TokenModel> make_token_model(const JsonFields& fields) {
  return fields.choose("type", type_of(fields), kModels)(fields);
}

Vocabulary read_vocabulary(const formats::Json& pieces, const std::string& location) {
  if (!pieces.is_object() || pieces.empty()) {
    throw Error(location + ": must be an object of pieces and their ids");
  }
  const int64_t largest = Vocabulary::largest_id(static_cast<int64_t>(pieces.size()));
  Vocabulary vocabulary;
  for (const auto& [piece, value] : pieces.get_ref<const formats::Json::object_t&>()) {
    const int32_t id = token_id(value, location);
    if (id > largest) {
      throw Error(
          weft::str_cat(location, ": id ", id, " is too large for ", pieces.size(), " pieces"));
    }
    if (vocabulary.has(id)) {
      throw Error(
          weft::str_cat(location, ": id ", id, " is duplicated, at '", printable(piece), "'"));
    }
    vocabulary.add(piece, id);
  }
  return vocabulary;
}

Vocabulary read_vocabulary(const JsonFields& fields) {
  return read_vocabulary(fields.at("vocab"), fields.location() + ".vocab");
}

int32_t read_unknown(const JsonFields& fields,
                     const Vocabulary& vocabulary,
                     std::string_view fallback) {
  const std::string unknown = fields.text("unk_token", fallback);
  const int32_t id = vocabulary.find(unknown);
  if (id == Vocabulary::kNone) {
    fields.fail("unk_token", weft::str_cat("'", printable(unknown), "' is not in the vocabulary"));
  }
  return id;
}

}  // namespace weft::data
