#include <string_view>
#include <utility>

#include "base/threads.h"
#include "batching/model_inputs.h"
#include "data/batch.h"
#include "data/datasets/sentence_encoder.h"
#include "data/datasets/sequence_template.h"
#include "inference/predict_tags.h"
#include "inference/tag_examples.h"

namespace weft::inference {

namespace {

constexpr int64_t kDocumentsPerThread = 4;  // minimum

data::Example example_of(data::SentenceIds document,
                         const data::SequenceTemplate& around,
                         const batching::TokenTypeIds& types) {
  data::Example example;
  example.ids.assign(document.ids.begin(), document.ids.end());
  types.assign(example,
               around.token_type_ids(std::ssize(example.ids) - around.num_special_tokens()));
  data::add_sentence_targets(std::move(document.lengths), example);
  example.targets.assign(example.target_positions.size(), 0);
  return example;
}

}  // namespace

std::vector<SentenceTags> predict_sentence_tags(
    models::Model& model,
    const data::Tokenizer& tokenizer,
    const std::vector<std::vector<std::string>>& documents,
    const TagPredictOptions& options) {
  check_attention_layers(model, options.attention_layers);
  const auto& own = model.options();
  const data::SentenceEncoder encoder(
      tokenizer, batching::sentence_limits(own, models::text_length(own)).value());
  const data::SequenceTemplate around(tokenizer, /*is_pair=*/false);
  const batching::TokenTypeIds types(own, options.language);
  std::vector<SentenceTags> results(documents.size());
  std::vector<data::Example> examples(documents.size());
  parallel_for(std::ssize(documents), kDocumentsPerThread, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      auto document = encoder.encode({documents[i].begin(), documents[i].end()});
      results[i].was_truncated = document.is_shortened;
      if (!document.lengths.empty()) {
        examples[i] = example_of(std::move(document), around, types);
      }
    }
  });
  auto tagged = tag_examples(model, examples, options);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    results[i].sentences = std::move(tagged[i].tags);
    results[i].sentences.resize(documents[i].size());
  }
  return results;
}

}  // namespace weft::inference
