#include "inference/predict.h"

#include <algorithm>
#include <numeric>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "base/threads.h"
#include "batching/image_settings.h"
#include "batching/rows.h"
#include "batching/stage.h"
#include "batching/token_types.h"
#include "data/batch.h"
#include "data/datasets/sequence_template.h"
#include "kernels/linear/linear.h"
#include "kernels/to_device.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"

namespace weft::inference {

namespace {

using models::Head;

/// A query in tokens.
struct Encoded {
  data::Example example;
  std::vector<int64_t> segments;  // of a pair
  bool was_cut = false;
};

Encoded encoded(const Query& query,
                const data::Tokenizer& tokenizer,
                const models::ModelOptions& model,
                const batching::TokenTypes& types) {
  std::vector<int32_t> first;
  std::vector<int32_t> second;
  tokenizer.encode(query.text, first);
  if (query.text_pair) {
    tokenizer.encode(*query.text_pair, second);
  }
  const auto before = first.size() + second.size();
  const int64_t room = model.length - tokenizer.added_tokens(query.text_pair.has_value());
  const auto [keeps_first, keeps_second] =
      data::cut_pair(static_cast<int64_t>(first.size()), static_cast<int64_t>(second.size()), room);
  data::cut(first, keeps_first, tokenizer);
  data::cut(second, keeps_second, tokenizer);
  if (before == 0 && room == model.length) {
    first.push_back(data::token_of_nothing(tokenizer));
  }
  const auto sequence =
      query.text_pair ? tokenizer.sequence(first, second) : tokenizer.sequence(first);
  Encoded result;
  result.was_cut = first.size() + second.size() < before;
  if (query.text_pair) {
    result.segments = segments_of_pair(tokenizer, static_cast<int64_t>(first.size()), keeps_second);
  }
  result.example.ids.assign(sequence.ids.begin(), sequence.ids.end());
  types.tell(result.example, {sequence.types.begin(), sequence.types.end()});
  return result;
}

/// The image of the file that the query names.
Encoded encoded_image(const Query& query, const data::ImageSettings& settings) {
  Encoded result;
  result.example = data::image_example(formats::read_image(query.text), settings);
  return result;
}

std::vector<Encoded> all_encoded(const std::vector<Query>& queries,
                                 const data::Tokenizer& tokenizer,
                                 const models::ModelOptions& model,
                                 const batching::TokenTypes& types) {
  constexpr int64_t kTextsOfThread = 16;  // at least
  std::vector<Encoded> texts(queries.size());
  const bool is_of_images = models::reads_images(model);
  const auto settings =
      is_of_images ? batching::image_settings(model, {}, tokenizer) : data::ImageSettings{};
  parallel_for(
      static_cast<int64_t>(queries.size()), kTextsOfThread, [&](int64_t begin, int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          texts[i] = is_of_images ? encoded_image(queries[i], settings)
                                  : encoded(queries[i], tokenizer, model, types);
        }
      });
  return texts;
}

/// Places in the order of length, so that a batch holds like with like; alike ones stay in order.
std::vector<std::size_t> by_length(const std::vector<Encoded>& texts) {
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return texts[a].example.ids.size() < texts[b].example.ids.size();
  });
  return order;
}

/// One batch through the model, answers into `results`.
class Asked {
 public:
  Asked(models::Model& model,
        const data::Tokenizer& tokenizer,
        const PredictOptions& options,
        std::vector<Prediction>& results)
      : model_(model), tokenizer_(tokenizer), options_(options), results_(results) {}

  void operator()(const data::Batch& batch) {
    auto staged = batching::stage(batch, model_.device());
    nn::AttentionTrace trace(options_.attention_layers);
    staged.pass.trace = &trace;
    const auto head = model_.options().head;
    const bool is_class =
        head == Head::kSequence || head == Head::kImage || head == Head::kTaughtImage;
    const auto output = is_class ? model_.classify(staged.input, staged.pass)  // (B, C)
                                 : model_.hidden(staged.input, staged.pass);   // (N, D)
    keep_attention(attention_maps(trace, batch), batch);
    switch (head) {
      case Head::kMaskedLm:
        return fill(output, batch);
      case Head::kPretraining:
        classes(model_.next_sentence_logits(model_.pooled(output, staged.pass)), batch);
        return fill(output, batch);
      case Head::kNextSentence:
        return classes(model_.next_sentence_logits(model_.pooled(output, staged.pass)), batch);
      case Head::kSequence:
        return sequences(output, batch);
      case Head::kImage:
      case Head::kTaughtImage:
        return classes(output, batch);
      case Head::kNone:
      case Head::kToken:
      case Head::kSpan:
      case Head::kReplacedToken:
      case Head::kCausalLm:
      case Head::kConditional:
      case Head::kMaskedImage:
        throw UserError(models::architecture_of(model_.options()) +
                        ": this head does not answer for whole texts");
    }
  }

 private:
  void keep_attention(std::vector<AttentionMap> maps, const data::Batch& batch) {
    if (options_.attention_layers.empty()) {
      return;
    }
    for (std::size_t i = 0; i < maps.size(); ++i) {
      result(batch, i).attention = std::move(maps[i]);
    }
  }

  void sequences(const at::Tensor& logits, const data::Batch& batch) {
    if (!model_.options().is_regression) {
      return classes(logits, batch);
    }
    const auto values = logits.to(at::kDouble).cpu().contiguous();  // (B, T)
    const auto* data = values.const_data_ptr<double>();
    for (std::size_t i = 0; i < batch.items.size(); ++i, data += values.size(1)) {
      result(batch, i).values.assign(data, data + values.size(1));
    }
  }

  void classes(const at::Tensor& logits, const data::Batch& batch) {
    const auto scores = logits.to(at::kDouble);
    const bool is_many =
        model_.options().head == Head::kSequence && model_.options().is_multi_label;
    const auto shares =
        (is_many ? scores.sigmoid() : scores.softmax(1)).cpu().contiguous();  // (B, C)
    const auto* data = shares.const_data_ptr<double>();
    for (std::size_t i = 0; i < batch.items.size(); ++i, data += shares.size(1)) {
      result(batch, i).scores.assign(data, data + shares.size(1));
    }
  }

  void fill(const at::Tensor& hidden, const data::Batch& batch) {
    const int64_t mask = tokenizer_.special().mask;
    std::vector<int64_t> rows;
    std::vector<std::size_t> sequences;
    for (std::size_t i = 0; i < batch.items.size(); ++i) {
      for (int64_t row = batch.offsets[i]; row < batch.offsets[i + 1]; ++row) {
        if (batch.ids[static_cast<std::size_t>(row)] == mask) {
          rows.push_back(row);
          sequences.push_back(i);
        }
      }
    }
    if (!rows.empty()) {
      fill_rows(hidden.index_select(0, kernels::to_device(rows, hidden.device())), sequences,
                batch);
    }
  }

  void fill_rows(const at::Tensor& rows,
                 const std::vector<std::size_t>& sequences,
                 const data::Batch& batch) {
    const auto logits = kernels::linear(model_.token_features(rows), model_.output_weight(),
                                        model_.output_bias());  // (M, V)
    const auto best = std::min<int64_t>(options_.best, std::min(logits.size(1), tokenizer_.size()));
    const auto known = logits.slice(1, 0, tokenizer_.size()).to(at::kFloat).softmax(1);
    const auto [scores, ids] = known.topk(best, 1);
    const auto host_scores = scores.cpu().contiguous();
    const auto host_ids = ids.cpu().contiguous();
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      auto& fills = result(batch, sequences[i]).fills.emplace_back();
      for (int64_t k = 0; k < best; ++k) {
        const auto at = static_cast<int64_t>(i) * best + k;
        const auto id = static_cast<int32_t>(host_ids.const_data_ptr<int64_t>()[at]);
        fills.push_back({id, tokenizer_.piece(id), host_scores.const_data_ptr<float>()[at]});
      }
    }
  }

  Prediction& result(const data::Batch& batch, std::size_t sequence) {
    return results_[static_cast<std::size_t>(batch.items[sequence])];
  }

  models::Model& model_;
  const data::Tokenizer& tokenizer_;
  const PredictOptions& options_;
  std::vector<Prediction>& results_;
};

}  // namespace

std::vector<Prediction> predict(models::Model& model,
                                const data::Tokenizer& tokenizer,
                                const std::vector<Query>& queries,
                                const PredictOptions& options) {
  const at::NoGradGuard guard;
  check_attention_layers(model, options.attention_layers);
  const batching::TokenTypes types(model.options(), options.language);
  const auto texts = all_encoded(queries, tokenizer, model.options(), types);
  std::vector<Prediction> results(queries.size());
  Asked ask(model, tokenizer, options, results);
  data::Batch batch;
  for (const auto place : by_length(texts)) {
    const auto& example = texts[place].example;
    if (batch.sequences() > 0 &&
        batch.tokens() + static_cast<int64_t>(example.ids.size()) > options.batch_tokens) {
      ask(batch);
      batch = {};
    }
    batch.add(static_cast<int64_t>(place), example);
  }
  if (batch.sequences() > 0) {
    ask(batch);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].was_cut = texts[i].was_cut;
    results[i].attention.segments = texts[i].segments;
  }
  return results;
}

}  // namespace weft::inference
