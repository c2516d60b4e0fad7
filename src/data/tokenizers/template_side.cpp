#include "data/tokenizers/template_side.h"

#include <utility>

namespace weft::data {

namespace {

class TemplateSide : public Tokenizer {
 public:
  TemplateSide(const Tokenizer& whole, SequenceSteps steps)
      : whole_(whole), steps_(std::move(steps)) {}

  std::vector<Token> tokens(std::string_view text) const override { return whole_.tokens(text); }
  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    whole_.encode(text, ids);
  }
  Sequence sequence(const std::vector<int32_t>& first) const override {
    return follow_steps(steps_.single, first, {});
  }
  Sequence sequence(const std::vector<int32_t>& first,
                    const std::vector<int32_t>& second) const override {
    return follow_steps(steps_.pair, first, second);
  }
  std::string decode(const std::vector<int32_t>& ids, bool skips_special) const override {
    return whole_.decode(ids, skips_special);
  }
  int64_t size() const override { return whole_.size(); }
  std::string piece(int32_t id) const override { return whole_.piece(id); }
  std::optional<int32_t> id(std::string_view piece) const override { return whole_.id(piece); }
  SpecialIds special() const override { return whole_.special(); }
  bool is_special(int32_t id) const override { return whole_.is_special(id); }
  bool continues_word(int32_t id) const override { return whole_.continues_word(id); }
  bool cuts_begin() const override { return whole_.cuts_begin(); }
  void save(const std::string& directory, int64_t max_length) const override {
    whole_.save(directory, max_length);
  }
  uint64_t fingerprint() const override { return whole_.fingerprint(); }

 private:
  const Tokenizer& whole_;
  SequenceSteps steps_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_template_side(const Tokenizer& whole, SequenceSteps steps) {
  return std::make_unique<const TemplateSide>(whole, std::move(steps));
}

}  // namespace weft::data
