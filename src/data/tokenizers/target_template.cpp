#include <utility>

#include "data/tokenizers/pipeline.h"

namespace weft::data {

namespace {

class TargetTemplate : public Tokenizer {
 public:
  TargetTemplate(const Tokenizer& whole, PostProcessorTemplate steps)
      : base_(whole), post_processor_(std::move(steps)) {}

  std::vector<Token> tokens(std::string_view text) const override { return base_.tokens(text); }
  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    base_.encode(text, ids);
  }
  Sequence sequence(const std::vector<int32_t>& first) const override {
    return apply_template(post_processor_.single, first, {});
  }
  Sequence sequence(const std::vector<int32_t>& first,
                    const std::vector<int32_t>& second) const override {
    return apply_template(post_processor_.pair, first, second);
  }
  std::string decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const override {
    return base_.decode(ids, skip_special_tokens);
  }
  int64_t size() const override { return base_.size(); }
  std::string piece(int32_t id) const override { return base_.piece(id); }
  std::optional<int32_t> id(std::string_view piece) const override { return base_.id(piece); }
  SpecialTokenIds special_token_ids() const override { return base_.special_token_ids(); }
  bool is_special(int32_t id) const override { return base_.is_special(id); }
  bool continues_word(int32_t id) const override { return base_.continues_word(id); }
  bool truncates_left() const override { return base_.truncates_left(); }
  void save(const std::string& directory, int64_t max_length) const override {
    base_.save(directory, max_length);
  }
  uint64_t fingerprint() const override { return base_.fingerprint(); }

 private:
  const Tokenizer& base_;
  PostProcessorTemplate post_processor_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_target_template(const Tokenizer& whole,
                                                      PostProcessorTemplate steps) {
  return std::make_unique<const TargetTemplate>(whole, std::move(steps));
}

}  // namespace weft::data
