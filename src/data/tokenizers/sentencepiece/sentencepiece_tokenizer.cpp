#include <memory>
#include <optional>
#include <utility>

#include "base/file.h"
#include "data/tokenizers/sentencepiece/sentencepiece_coder.h"
#include "data/tokenizers/sentencepiece/sentencepiece_model.h"

namespace weft::data {

namespace {

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string bytes, const std::string& location)
      : coder_(std::move(bytes), location) {}

  std::vector<Token> tokens(std::string_view text) const override {
    std::vector<Token> result;
    for (const SurfaceToken& found : coder_.tokens(text)) {
      result.push_back(found.token);
    }
    return result;
  }

  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    coder_.encode(text, ids);
  }

  Sequence sequence(const std::vector<int32_t>& first) const override {
    return concatenate(first, {});
  }
  Sequence sequence(const std::vector<int32_t>& first,
                    const std::vector<int32_t>& second) const override {
    return concatenate(first, second);
  }

  std::string decode(const std::vector<int32_t>& ids, bool) const override {
    return coder_.decode(ids);
  }

  int64_t size() const override { return static_cast<int64_t>(coder_.model().pieces.size()); }
  std::string piece(int32_t id) const override {
    return id >= 0 && id < size() ? item(id).piece : std::string();
  }
  std::optional<int32_t> id(std::string_view piece) const override { return coder_.id(piece); }
  SpecialTokenIds special_token_ids() const override { return coder_.special_token_ids(); }
  bool is_special(int32_t id) const override {
    return id >= 0 && id < size() &&
           (item(id).type == SentencePieceType::kControl || id == coder_.model().unknown_id);
  }
  bool continues_word(int32_t id) const override {
    return id >= 0 && id < size() && !is_special(id) && !item(id).piece.starts_with("\u2581");
  }

  void save(const std::string& directory, int64_t max_length) const override {
    const std::string& location = coder_.location();
    TokenizerParts parts{.document = sentencepiece_document(
                             read_sentencepiece_model(coder_.bytes(), location), location),
                         .sentencepiece = coder_.bytes(),
                         .location = location};
    const SpecialTokenIds named = special_token_ids();
    parts.config["tokenizer_class"] = "PreTrainedTokenizerFast";
    parts.config["unk_token"] = item(named.unk).piece;
    const auto name = [&](const char* key, int32_t id) {
      if (id >= 0) {
        parts.config[key] = item(id).piece;
      }
    };
    name("pad_token", named.pad);
    name("bos_token", named.bos);
    name("eos_token", named.eos);
    Pipeline(std::move(parts)).save(directory, max_length);
  }

  uint64_t fingerprint() const override { return digest(coder_.bytes(), 1); }

 private:
  const SentencePieceModel::Item& item(int32_t id) const {
    return coder_.model().pieces[static_cast<std::size_t>(id)];
  }

  static Sequence concatenate(const std::vector<int32_t>& first,
                              const std::vector<int32_t>& second) {
    Sequence result{.ids = first,
                    .token_type_ids = std::vector<int32_t>(first.size(), 0),
                    .is_special = std::vector<uint8_t>(first.size() + second.size(), 0)};
    result.ids.insert(result.ids.end(), second.begin(), second.end());
    result.token_type_ids.resize(result.ids.size(), 1);
    return result;
  }

  SentencePieceCoder coder_;
};

}  // namespace

std::shared_ptr<const Tokenizer> make_sentencepiece_tokenizer(std::string bytes,
                                                              const std::string& location) {
  return std::make_shared<SentencePieceTokenizer>(std::move(bytes), location);
}

}  // namespace weft::data
