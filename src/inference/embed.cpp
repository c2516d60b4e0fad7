#include "inference/embed.h"

#include <algorithm>
#include <atomic>

#include <ATen/ATen.h>

#include "base/codepoints.h"
#include "base/error.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "batching/device_batch.h"
#include "batching/model_inputs.h"
#include "batching/run_batches.h"
#include "data/batch.h"
#include "data/datasets/sequence_template.h"
#include "kernels/activation.h"
#include "kernels/linear/linear.h"
#include "kernels/parallel.h"

namespace weft::inference {

namespace {

constexpr int64_t kMinEmbeddedTextsPerThread = 16;  // minimum per thread, for tokenising

std::string to_lower(const std::string& text) {
  auto codes = utf8::decode(text);
  std::transform(codes.begin(), codes.end(), codes.begin(), lower_case);
  return utf8::encode(codes);
}

/// Tokenises texts, truncated to leave space for the special tokens.
class TextEncoder {
 public:
  TextEncoder(const data::Tokenizer& tokenizer,
              const models::SentenceOptions& options,
              const models::ModelOptions& model,
              const std::string& language)
      : tokenizer_(tokenizer),
        options_(options),
        max_tokens_(std::min(options.length.value_or(model.length), model.length) -
                    tokenizer.num_special_tokens_to_add(false)),
        types_(model, language) {
    batching::reject_documents(model, "embeddings");
    if (max_tokens_ < 1) {
      throw UserError(
          "the special tokens leave no space for text: the maximum length is too small");
    }
  }

  data::Example operator()(const std::string& text, bool& was_truncated) const {
    std::vector<int32_t> ids;
    const auto whole = options_.prompt + text;
    tokenizer_.encode(options_.lowercases ? to_lower(whole) : whole, ids);
    was_truncated = static_cast<int64_t>(ids.size()) > max_tokens_;
    data::truncate(ids, max_tokens_, tokenizer_);
    const auto sequence = tokenizer_.sequence(ids);
    data::Example example;
    example.ids.assign(sequence.ids.begin(), sequence.ids.end());
    types_.assign(example, {sequence.token_type_ids.begin(), sequence.token_type_ids.end()});
    return example;
  }

 private:
  const data::Tokenizer& tokenizer_;
  const models::SentenceOptions& options_;
  int64_t max_tokens_;
  batching::TokenTypeIds types_;
};

at::Tensor project(const at::Tensor& vectors, const models::SentenceProjection& projection) {
  if (projection.weight.size(1) != vectors.size(1)) {
    throw UserError(str_cat("the Dense module expects vectors of size ", projection.weight.size(1),
                            ", got ", vectors.size(1)));
  }
  const auto on = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(vectors.options()) : tensor;
  };
  const auto result = kernels::linear(vectors, on(projection.weight), on(projection.bias));
  return projection.activation ? kernels::activate(result, *projection.activation) : result;
}

int64_t width_of(const models::ModelOptions& model, const models::SentenceOptions& options) {
  return options.projections.empty() ? model.dim * static_cast<int64_t>(options.poolings.size())
                                     : options.projections.back().weight.size(0);
}

at::Tensor embed_batch(models::Model& model,
                       const data::Batch& batch,
                       const models::SentenceOptions& options) {
  const auto device_batch = batching::to_device(batch, model.device());
  const auto hidden =
      model.hidden(device_batch.input, device_batch.context).to(at::kFloat);  // (N, D)
  const auto layout = model.hidden_layout(device_batch.context.layout);
  std::vector<at::Tensor> parts;
  for (const auto pooling : options.poolings) {
    parts.push_back(nn::pool(hidden, layout, pooling));
  }
  auto vectors = at::cat(parts, 1);  // (B, E)
  for (const auto& projection : options.projections) {
    vectors = project(vectors, projection);
  }
  if (options.normalizes) {
    vectors = vectors / vectors.norm(2, {1}, true).clamp_min(1e-12);
  }
  return vectors.cpu();
}

}  // namespace

Embeddings embed(models::Model& model,
                 const data::Tokenizer& tokenizer,
                 const std::vector<std::string>& texts,
                 const models::SentenceOptions& options,
                 std::optional<int64_t> batch_tokens,
                 const std::string& language) {
  const TextEncoder encode(tokenizer, options, model.options(), language);
  std::vector<data::Example> examples(texts.size());
  std::atomic<int64_t> truncated = 0;
  kernels::parallel_for(0, static_cast<int64_t>(texts.size()), kMinEmbeddedTextsPerThread,
                        [&](int64_t begin, int64_t end) {
                          for (auto i = static_cast<std::size_t>(begin);
                               i < static_cast<std::size_t>(end); ++i) {
                            bool was_truncated = false;
                            examples[i] = encode(texts[i], was_truncated);
                            truncated += was_truncated ? 1 : 0;
                          }
                        });
  Embeddings result;
  result.truncated = truncated;
  if (texts.empty()) {
    return result;
  }
  result.empty_texts = std::count_if(examples.begin(), examples.end(),
                                     [](const auto& example) { return example.tokens() == 0; });
  result.vectors = at::zeros({std::ssize(texts), width_of(model.options(), options)});
  batching::run_batches(examples, model.device(), batch_tokens, [&](const data::Batch& batch) {
    result.vectors.index_copy_(0, at::tensor(batch.items, at::kLong),
                               embed_batch(model, batch, options));
  });
  return result;
}

}  // namespace weft::inference
