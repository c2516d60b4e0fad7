#include "train/cost/layer_memory.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/norm.h"
#include "models/config/modernbert.h"
#include "train/cost/step_rows.h"

namespace weft::train {

namespace {

// Two sums of each block, fp32.
double norm_sums(double rows, double dim) {
  const auto size = static_cast<double>(kernels::norm_block_rows(std::llround(rows)));
  return 2 * std::ceil(rows / size) * dim * 4;
}

void add_adapters(LayerSizes& sizes,
                  const models::ModelOptions& model,
                  const models::LoraOptions& lora,
                  int64_t layer,
                  const LayerRun& run) {
  const auto prefix = "layers." + std::to_string(layer) + ".";
  for (const auto& site : models::lora_layers(model, lora)) {
    if (!site.linear.starts_with(prefix)) {
      continue;
    }
    sizes.keeps_hidden = sizes.keeps_hidden || site.linear.ends_with(".down");
    sizes.makes_normed = sizes.makes_normed || site.linear.ends_with(".qkv");
    sizes.makes_rest_normed = sizes.makes_rest_normed || site.linear.ends_with(".up");
    const double rows = site.linear.ends_with(".qkv") ? run.tokens : run.rows;
    sizes.adapters += rows * static_cast<double>(lora.rank) * run.element;
    if (lora.dropout > 0) {
      sizes.adapters_work =
          std::max(sizes.adapters_work, 2 * rows * static_cast<double>(site.columns) * run.element);
    }
  }
}

void attention_forward(Ledger& ledger, const LayerSizes& sizes) {
  const double normed = sizes.is_pre && sizes.has_first_norm ? sizes.stream : 0;
  ledger.hold(normed + (normed > 0 ? sizes.statistics : 0));
  ledger.hold(sizes.qkv);
  ledger.touch(sizes.adapters_work);
  ledger.hold(sizes.mixed + sizes.exponents);
  if (sizes.is_cut) {
    ledger.hold(sizes.rest);  // the rows of first tokens
  }
  ledger.hold(sizes.rest);  // the branch
  ledger.release(normed);
}

void attention_backward(Ledger& ledger, const LayerSizes& sizes) {
  if (sizes.is_cut) {  // the residual's way to all rows
    ledger.hold(sizes.stream);
    ledger.release(sizes.rest);
  }
  const bool gathers = sizes.is_cut && !sizes.has_few_queries;
  ledger.hold(gathers ? sizes.rest : sizes.mixed);  // of what the output projection read
  ledger.release(sizes.drops_attention ? sizes.rest : 0);
  if (gathers) {
    ledger.release(sizes.rest);
    ledger.hold(sizes.stream);
    ledger.release(sizes.rest);
  }
  ledger.hold(sizes.qkv);
  ledger.release(2 * sizes.mixed + sizes.qkv + sizes.exponents);
  ledger.hold(sizes.stream);
  const bool is_normed = sizes.is_pre && sizes.has_first_norm;
  ledger.touch((sizes.has_few_queries ? sizes.stream + sizes.rest : sizes.adapters_work) +
               (is_normed && sizes.makes_normed ? sizes.stream : 0));
  ledger.release(sizes.qkv + (sizes.has_few_queries ? sizes.rest : 0));
  if (is_normed) {
    ledger.hold(sizes.stream + sizes.sums);
    ledger.release(sizes.stream + sizes.sums + sizes.statistics);
  }
  ledger.release(2 * sizes.stream);  // what came in, and a gradient added to the residual's
}

void feed_forward_forward(Ledger& ledger, const LayerSizes& sizes) {
  ledger.hold(sizes.up);
  ledger.hold(sizes.hidden);
  if (sizes.drops_hidden) {
    ledger.touch(sizes.hidden);
  }
  ledger.hold(sizes.rest);
  ledger.release(sizes.keeps_hidden ? 0 : sizes.hidden);
}

// From the gradient of what it gives, which stays, to that of what it reads, which is gone.
void feed_forward_backward(Ledger& ledger, const LayerSizes& sizes) {
  ledger.hold(sizes.hidden);
  if (sizes.keeps_hidden) {
    ledger.release(sizes.hidden + (sizes.drops_down ? sizes.rest : 0));
    ledger.touch(sizes.drops_hidden ? sizes.hidden : 0);
    ledger.hold(sizes.up);
    ledger.release(sizes.hidden + sizes.up);
  } else {
    const double again = sizes.makes_hidden ? sizes.hidden : 0;
    ledger.hold(again + (sizes.is_gated ? sizes.up : 0));  // else in the place of what came
    ledger.release(again + (sizes.is_gated ? sizes.hidden : 0) + sizes.up +
                   (sizes.drops_down ? sizes.rest : 0));
  }
  ledger.hold(sizes.rest);
  ledger.touch(sizes.is_pre && sizes.makes_rest_normed ? sizes.rest : 0);
  ledger.release(sizes.up + (sizes.is_pre ? 0 : sizes.rest));
}

// The end of a post-norm sub-layer.
void norm_of_sum_backward(Ledger& ledger, const LayerSizes& sizes, bool drops) {
  ledger.hold(sizes.rest + (drops ? sizes.rest : 0) + sizes.sums);
  ledger.release(2 * sizes.rest + sizes.rest_statistics + sizes.sums);
}

}  // namespace

LayerSizes layer_sizes(const models::ModelOptions& model,
                       const models::LoraOptions* lora,
                       int64_t layer,
                       const LayerRun& run) {
  const auto dim = static_cast<double>(model.dim);
  const auto width = static_cast<double>(model.width);
  const bool is_new = models::is_modernbert(model.family);
  LayerSizes sizes;
  sizes.stream = run.tokens * dim * run.element;
  sizes.rest = run.rows * dim * run.element;
  sizes.is_cut = run.rows < run.tokens;
  sizes.has_few_queries = sizes.is_cut && lora == nullptr && spares_queries(model);
  const double queries = sizes.has_few_queries ? run.rows : run.tokens;
  sizes.mixed = queries * run.element * static_cast<double>(models::query_width(model));
  sizes.qkv =
      sizes.mixed + 2 * run.tokens * run.element * static_cast<double>(models::key_width(model));
  sizes.exponents = queries * static_cast<double>(model.heads) * 4;
  sizes.statistics = run.tokens * 8;
  sizes.rest_statistics = run.rows * 8;
  sizes.sums = norm_sums(run.tokens, dim);
  sizes.hidden = run.rows * width * run.element;
  sizes.is_gated = model.is_gated;
  sizes.up = (sizes.is_gated ? 2 : 1) * sizes.hidden;
  sizes.is_pre = model.norm_placement == models::NormPlacement::kPre;
  sizes.is_parallel = model.is_parallel;
  sizes.has_first_norm = !is_new || layer > 0;
  sizes.drops_attention = (is_new ? model.attention_dropout : model.dropout) > 0;
  sizes.drops_hidden = model.activation_dropout > 0;
  sizes.keeps_hidden = sizes.drops_hidden;
  sizes.makes_hidden = lora == nullptr;
  sizes.makes_normed = lora == nullptr;
  sizes.makes_rest_normed = lora == nullptr;
  sizes.drops_down = !is_new && model.dropout > 0;
  if (lora != nullptr) {
    add_adapters(sizes, model, *lora, layer, run);
  }
  return sizes;
}

void forward_layer(Ledger& ledger, const LayerSizes& sizes) {
  attention_forward(ledger, sizes);
  ledger.hold(sizes.adapters + (sizes.is_cut ? sizes.rest : 0));
  if (sizes.is_pre) {
    ledger.hold(sizes.rest);
    ledger.release(sizes.rest + (sizes.is_cut ? sizes.rest : 0));
    ledger.hold(sizes.rest + sizes.rest_statistics);
    feed_forward_forward(ledger, sizes);
    ledger.release(sizes.rest);  // what is normed
    ledger.hold(sizes.rest);
    ledger.release(sizes.is_parallel ? sizes.rest : 0);
  } else {
    ledger.hold(2 * sizes.rest + sizes.rest_statistics);
    ledger.release(sizes.rest + (sizes.is_cut ? sizes.rest : 0));
    feed_forward_forward(ledger, sizes);
    ledger.hold(2 * sizes.rest + sizes.rest_statistics);
  }
  ledger.release(sizes.rest);
}

void pass_layer(Ledger& ledger, const LayerSizes& sizes) {
  const double normed = sizes.is_pre ? sizes.stream : 0;
  ledger.touch(normed + sizes.qkv + sizes.adapters_work);
  ledger.touch(normed + sizes.qkv + sizes.mixed);
  ledger.touch(normed + 2 * sizes.rest + (sizes.is_pre ? sizes.rest : 0) + sizes.up +
               (sizes.drops_hidden ? 2 : 1) * sizes.hidden);
  ledger.hold(sizes.rest);
}

void backward_layer(Ledger& ledger, const LayerSizes& sizes) {
  if (sizes.is_pre) {
    ledger.hold(sizes.drops_down ? sizes.rest : 0);
    feed_forward_backward(ledger, sizes);
    ledger.hold(sizes.rest + sizes.sums);
    ledger.release((sizes.is_parallel ? 2 : 3) * sizes.rest + sizes.sums + sizes.rest_statistics);
    ledger.hold(sizes.drops_attention ? sizes.rest : 0);
  } else {
    norm_of_sum_backward(ledger, sizes, sizes.drops_down);
    feed_forward_backward(ledger, sizes);
    ledger.release(sizes.rest);  // a gradient added to the residual's
    norm_of_sum_backward(ledger, sizes, sizes.drops_attention);
  }
  attention_backward(ledger, sizes);
  ledger.release(sizes.adapters);
}

// The outer node holds the gradient that came, and what the layer gives, to the end.
void recompute_layer(Ledger& ledger, const LayerSizes& sizes) {
  forward_layer(ledger, sizes);
  ledger.hold(sizes.rest);
  backward_layer(ledger, sizes);
  ledger.release(2 * sizes.rest);
}

}  // namespace weft::train
