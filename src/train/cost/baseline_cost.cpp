#include "train/cost/baseline_cost.h"

#include <algorithm>

namespace weft::train {

namespace {

/// Of one token.
double kept_bytes(const models::ModelOptions& model, double length, bool is_bf16) {
  const double element = is_bf16 ? 2 : 4;
  if (model.family == models::Family::kBagOfWords) {
    // Row, weight, place in the layout; the table's row, wide and weighted.
    const auto classes = static_cast<double>(models::head_outputs(model));
    return static_cast<double>(model.bag.ngrams) * (8 + 4 + classes * (element + 4)) + 16;
  }
  // Inputs of the products, what each network has before and after its functions, and the shares
  // that a token gives to the other half.
  const auto& own = model.decomposable;
  const int64_t width = own.intra_attention ? 2 * model.dim : model.dim;
  const int64_t networks = own.intra_attention ? 3 : 2;
  return element *
         (static_cast<double>(model.embedding_size + 4 * width + 5 * own.hidden * networks) +
          length);
}

}  // namespace

std::vector<Product> baseline_products(const models::ModelOptions& model, const StepRows& rows) {
  if (model.family == models::Family::kBagOfWords) {
    return {};  // it adds up rows of a table
  }
  const auto& own = model.decomposable;
  const int64_t width = own.intra_attention ? 2 * model.dim : model.dim;
  std::vector<Product> products = {
      {rows.tokens, model.embedding_size, model.dim, 1},
      {rows.tokens, width, own.hidden, 1},
      {rows.tokens, 2 * width, own.hidden, 1},
      {rows.tokens, own.hidden, own.hidden, own.intra_attention ? 3 : 2},
      {rows.sequences, 2 * own.hidden, own.hidden, 1},
      {rows.sequences, own.hidden, own.hidden, 1},
      {rows.sequences, own.hidden, models::head_outputs(model), 1},
  };
  if (own.intra_attention) {
    products.push_back({rows.tokens, model.dim, own.hidden, 1});
  }
  return products;
}

double baseline_flops(const models::ModelOptions& model, int64_t length) {
  if (model.family == models::Family::kBagOfWords) {
    return 2.0 * static_cast<double>(model.bag.ngrams * models::head_outputs(model));
  }
  double flops = 0;
  for (const auto& product :
       baseline_products(model, {.tokens = length, .targets = 0, .sequences = 1})) {
    flops += 2.0 * static_cast<double>(product.rows * product.inputs) *
             static_cast<double>(product.outputs * product.times);
  }
  // Two texts of half the length: a token meets the other half, by features and by values.
  const auto& own = model.decomposable;
  const auto width = static_cast<double>(own.intra_attention ? 2 * model.dim : model.dim);
  const auto half = static_cast<double>(length) / 2;
  double attention = 2.0 * half * (static_cast<double>(own.hidden) / 2 + width);
  if (own.intra_attention) {
    attention += 2.0 * half * static_cast<double>(own.hidden + model.dim);
  }
  return flops / static_cast<double>(length) + attention;
}

StepMemory baseline_memory(const models::ModelOptions& model, const StepShape& shape) {
  const auto& rows = shape.rows;
  const double length =
      static_cast<double>(rows.tokens) / std::max(1.0, static_cast<double>(rows.sequences));
  const double kept = static_cast<double>(rows.tokens) * kept_bytes(model, length, shape.is_bf16);
  return {.kept = kept, .head = 0, .peak = kept};
}

}  // namespace weft::train
