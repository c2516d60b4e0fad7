#include <stdexcept>
#include <utility>

#include "base/text.h"
#include "models/config/family.h"
#include "models/config/modern.h"
#include "models/config/traits.h"
#include "models/families/bert_kind.h"
#include "models/families/bert_rows.h"

namespace weft::models::bert_kind {

namespace {

int64_t size_of(char letter, const ModelOptions& options) {
  switch (letter) {
    case 'V':
      return options.vocabulary;
    case 'P':
      return position_offset(options) + options.length;
    case 'T':
      return options.segments;
    case 'D':
      return options.dim;
    case 'E':
      return embedding_width(options);
    case 'F':
      return options.width;
    case 'G':
      return 2 * options.width;
    case 'Q':
      return 3 * options.dim;
    case 'C':
      return head_outputs(options);
    case '2':
      return 2;
    default:
      throw std::logic_error("a size without a meaning");
  }
}

/// Adds what the rows stand for, with prefixes before both names.
class Builder {
 public:
  explicit Builder(const ModelOptions& options) : options_(options) {}

  void add(NameRows rows, Part part, const std::string& ours = "", const std::string& stored = "") {
    for (const auto& row : rows) {
      add(row, part, ours + std::string(row.ours), stored + std::string(row.stored));
    }
  }

  std::vector<StoredTensor> result;

 private:
  void add(const NameRow& row, Part part, const std::string& ours, const std::string& stored) {
    const int64_t rows = size_of(row.rows, options_);
    const int64_t columns = size_of(row.columns, options_);
    const int64_t first = row.third * rows;
    switch (row.kind) {
      case RowKind::kLinear:
        result.push_back({ours + ".weight", stored + ".weight", {rows, columns}, first, part});
        result.push_back({ours + ".bias", stored + ".bias", {rows}, first, part});
        return;
      case RowKind::kTable:
        result.push_back({ours + ".weight", stored + ".weight", {rows, columns}, first, part});
        return;
      case RowKind::kNorm:
        result.push_back({ours + ".weight", stored + ".weight", {rows}, first, part});
        result.push_back({ours + ".bias", stored + ".bias", {rows}, first, part});
        return;
      case RowKind::kVector:
        result.push_back({ours, stored, {rows}, first, part});
        return;
    }
  }

  const ModelOptions& options_;
};

std::string prefix_of(const ModelOptions& options) {
  return options.head == Head::kNone ? "" : std::string(facts_of(options).prefix) + ".";
}

bool has_pooler(const ModelOptions& options) {
  switch (options.head) {
    case Head::kNone:
      return traits_of(options.family).has_pooler;
    case Head::kPretraining:
    case Head::kNextSentence:
      return true;
    case Head::kSequence:
      return traits_of(options.family).classifies_pooled;
    case Head::kMaskedLm:
    case Head::kToken:
    case Head::kSpan:
    case Head::kReplacedToken:
    case Head::kCausalLm:
    case Head::kConditional:
    case Head::kImage:
    case Head::kTaughtImage:
    case Head::kMaskedImage:
      return false;
  }
  return false;
}

void add_backbone(Builder& builder, const ModelOptions& options, const NameTable& table) {
  const auto prefix = prefix_of(options);
  builder.add(table.embeddings, Part::kBackbone, "", prefix);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    builder.add(table.layer, Part::kBackbone, text("layers.", layer, "."),
                text(prefix, table.layers, layer, "."));
  }
  builder.add(table.after, Part::kBackbone, "", prefix);
  if (has_pooler(options)) {
    builder.add(table.pooler, Part::kPooler, "", prefix);
  }
}

void add_bert_head(Builder& builder, const ModelOptions& options, const NameTable& table) {
  switch (options.head) {
    case Head::kNone:
      return;
    case Head::kMaskedLm:
      return builder.add(table.guess, Part::kHead);
    case Head::kPretraining:
      builder.add(table.guess, Part::kHead);
      return builder.add(table.pair, Part::kHead);
    case Head::kNextSentence:
      return builder.add(table.pair, Part::kHead);
    case Head::kSequence:
      return builder.add(table.sequence, Part::kHead);
    case Head::kToken:
      return builder.add(table.token, Part::kHead);
    case Head::kSpan:
      return builder.add(table.span, Part::kHead);
    case Head::kReplacedToken:
      return builder.add(table.replaced, Part::kHead);
    case Head::kCausalLm:
    case Head::kConditional:
    case Head::kImage:
    case Head::kTaughtImage:
    case Head::kMaskedImage:
      return;  // no head of these families
  }
}

/// Takes away what only some models of the family have: tied, the decoder is the word embedding and
/// is not stored; untied, transformers may store the bias a second time with it.
void settle(std::vector<StoredTensor>& tensors, const ModelOptions& options) {
  const bool has_projection = embedding_width(options) != options.dim;
  std::erase_if(tensors, [&](const auto& tensor) {
    return (options.ties_embeddings && tensor.parameter == "head.decoder.weight") ||
           (!has_projection && tensor.parameter.starts_with("projection.")) ||
           !has_parameter(options, tensor.parameter);
  });
  for (auto& tensor : tensors) {
    const bool is_shared =
        tensor.parameter.starts_with("head.dense.") || tensor.parameter.starts_with("head.norm.");
    if (is_modern(options.family) && is_shared) {
      tensor.part = Part::kPooler;  // all its heads begin alike, and take this from each other
    }
    if (tensor.parameter == "head.bias" && !options.ties_embeddings) {
      tensor.copy = name_table(options).bias_copy;
    }
  }
}

}  // namespace

std::vector<StoredTensor> tensors(const ModelOptions& options) {
  const auto& table = name_table(options);
  Builder builder(options);
  add_backbone(builder, options, table);
  add_bert_head(builder, options, table);
  settle(builder.result, options);
  return std::move(builder.result);
}

std::vector<std::string> spellings(const StoredTensor& tensor, const ModelOptions& options) {
  const auto copy = name_table(options).bias_copy;
  if (tensor.parameter == "head.bias" && tensor.copy.empty() && !copy.empty()) {
    return {std::string(copy)};  // files that keep only the decoder's
  }
  return {};
}

bool is_harmless(std::string_view name, const ModelOptions& options) {
  const bool is_buffer =
      name.ends_with("embeddings.position_ids") || name.ends_with("embeddings.token_type_ids");
  const auto copy = name_table(options).tied_copy;
  return is_buffer || (options.ties_embeddings && !copy.empty() && name.starts_with(copy));
}

}  // namespace weft::models::bert_kind
