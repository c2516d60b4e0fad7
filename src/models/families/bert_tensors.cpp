#include <stdexcept>
#include <utility>

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/heads.h"
#include "models/config/modernbert.h"
#include "models/config/traits.h"
#include "models/families/bert_kind.h"
#include "models/families/bert_rows.h"

namespace weft::models::bert_family {

namespace {

int64_t size_of(char letter, const ModelOptions& options) {
  switch (letter) {
    case 'V':
      return options.vocabulary;
    case 'P':
      return position_offset(options) + options.length;
    case 'T':
      return options.type_vocab_size;
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

/// Adds the tensors of rows, with prefixes before both names.
class Builder {
 public:
  explicit Builder(const ModelOptions& options) : options_(options) {}

  void add(WeightNames rows,
           Part part,
           const std::string& parameter = "",
           const std::string& hf_name = "") {
    for (const auto& row : rows) {
      add(row, part, parameter + std::string(row.parameter), hf_name + std::string(row.hf_name));
    }
  }

  std::vector<StoredTensor> result;

 private:
  void add(const WeightName& row,
           Part part,
           const std::string& parameter,
           const std::string& hf_name) {
    const int64_t rows = size_of(row.rows, options_);
    const int64_t columns = size_of(row.columns, options_);
    const int64_t first = row.qkv_index * rows;
    switch (row.kind) {
      case WeightKind::kLinear:
        result.push_back(
            {parameter + ".weight", hf_name + ".weight", {rows, columns}, first, part});
        result.push_back({parameter + ".bias", hf_name + ".bias", {rows}, first, part});
        return;
      case WeightKind::kTable:
        result.push_back(
            {parameter + ".weight", hf_name + ".weight", {rows, columns}, first, part});
        return;
      case WeightKind::kNorm:
        result.push_back({parameter + ".weight", hf_name + ".weight", {rows}, first, part});
        result.push_back({parameter + ".bias", hf_name + ".bias", {rows}, first, part});
        return;
      case WeightKind::kVector:
        result.push_back({parameter, hf_name, {rows}, first, part});
        return;
    }
  }

  const ModelOptions& options_;
};

std::string prefix_of(const ModelOptions& options) {
  return head_of(options).is_bare ? "" : std::string(hf_names_of(options).prefix) + ".";
}

void add_backbone(Builder& builder, const ModelOptions& options, const BertWeightNames& table) {
  const auto prefix = prefix_of(options);
  builder.add(table.embeddings, Part::kBackbone, "", prefix);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    builder.add(table.layer, Part::kBackbone, str_cat("layers.", layer, "."),
                str_cat(prefix, table.layers, layer, "."));
  }
  builder.add(table.final_norm, Part::kBackbone, "", prefix);
  if (has_pooler(options)) {
    builder.add(table.pooler, Part::kPooler, "", prefix);
  }
}

void add_bert_head(Builder& builder, const ModelOptions& options, const BertWeightNames& table) {
  const auto& head = head_of(options);
  const auto add = [&](bool is_there, WeightNames names) {
    if (is_there) {
      builder.add(names, Part::kHead);
    }
  };
  add(head.predicts_tokens, table.mlm);
  add(head.predicts_next_sentence, table.nsp);
  add(head.classifies_sequences, table.sequence);
  add(head.classifies_tokens, table.token);
  add(head.predicts_spans, table.span);
  add(head.detects_replaced_tokens, table.replaced);
}

/// Removes tensors that the model lacks: a tied decoder is the word embedding and is not stored;
/// for an untied one transformers may store the bias a second time.
void drop_absent_tensors(std::vector<StoredTensor>& tensors, const ModelOptions& options) {
  const bool has_projection = embedding_width(options) != options.dim;
  std::erase_if(tensors, [&](const auto& tensor) {
    return (options.tie_word_embeddings && tensor.parameter == "head.decoder.weight") ||
           (!has_projection && tensor.parameter.starts_with("projection.")) ||
           !has_parameter(options, tensor.parameter);
  });
  for (auto& tensor : tensors) {
    const bool is_shared =
        tensor.parameter.starts_with("head.dense.") || tensor.parameter.starts_with("head.norm.");
    if (capabilities_of(options.family).has_prediction_head && is_shared) {
      tensor.part = Part::kPooler;  // all heads share these layers, so weights transfer
    }
    if (tensor.parameter == "head.bias" && !options.tie_word_embeddings) {
      tensor.duplicate_name = bert_weight_names(options).bias_copy;
    }
  }
}

}  // namespace

std::vector<StoredTensor> tensors(const ModelOptions& options) {
  const auto& table = bert_weight_names(options);
  Builder builder(options);
  add_backbone(builder, options, table);
  add_bert_head(builder, options, table);
  drop_absent_tensors(builder.result, options);
  return std::move(builder.result);
}

std::vector<std::string> name_aliases(const StoredTensor& tensor, const ModelOptions& options) {
  const auto copy = bert_weight_names(options).bias_copy;
  if (tensor.parameter == "head.bias" && tensor.duplicate_name.empty() && !copy.empty()) {
    return {std::string(copy)};  // for files with only the decoder's bias
  }
  return {};
}

bool is_ignorable(std::string_view name, const ModelOptions& options) {
  const bool is_buffer =
      name.ends_with("embeddings.position_ids") || name.ends_with("embeddings.token_type_ids");
  const auto copy = bert_weight_names(options).tied_copy;
  return is_buffer || (options.tie_word_embeddings && !copy.empty() && name.starts_with(copy));
}

}  // namespace weft::models::bert_family
