#include "inference/predict_tags.h"

#include <algorithm>
#include <numeric>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "batching/hidden_states.h"
#include "batching/rows.h"
#include "batching/stage.h"
#include "batching/token_types.h"
#include "data/batch.h"
#include "data/datasets/sequence_template.h"
#include "data/text/text_words.h"
#include "data/text/word_encoder.h"

namespace weft::inference {

namespace {

/// What the model sees at once of a sentence.
struct Stretch {
  std::size_t sentence = 0;
  std::vector<std::size_t> words;  // of the targets
  data::Example example;           // target_positions: first pieces; targets are not known
};

/// Cuts sentences into stretches.
class Stretcher {
 public:
  Stretcher(const models::ModelOptions& model,
            const data::Tokenizer& tokenizer,
            const std::string& language)
      : types_(model, language),
        encoder_(tokenizer),
        template_(tokenizer, false),
        room_(model.length - template_.added()) {}

  std::vector<Stretch> operator()(std::size_t sentence,
                                  const std::vector<std::string>& words) const {
    std::vector<int32_t> ids;
    std::vector<int32_t> counts;
    for (const std::string& word : words) {
      const std::size_t before = ids.size();
      encoder_.encode(word, ids);
      counts.push_back(static_cast<int32_t>(ids.size() - before));
    }
    std::vector<Stretch> stretches;
    std::size_t word = 0;
    auto from = ids.begin();
    for (const int64_t end : data::word_stretches(counts, room_)) {
      Stretch stretch{.sentence = sentence, .words = {}, .example = {}};
      int64_t pieces = 0;
      for (; word < static_cast<std::size_t>(end); ++word) {
        if (counts[word] > 0) {
          stretch.words.push_back(word);
          stretch.example.target_positions.push_back(
              static_cast<int64_t>(template_.before().size()) + pieces);
        }
        pieces += counts[word];
      }
      fill(stretch.example, {from, from + std::min(pieces, room_)});
      from += pieces;
      stretches.push_back(std::move(stretch));
    }
    return stretches;
  }

 private:
  void fill(data::Example& example, const std::vector<int32_t>& pieces) const {
    example.ids = template_.before();
    example.ids.insert(example.ids.end(), pieces.begin(), pieces.end());
    example.ids.insert(example.ids.end(), template_.after().begin(), template_.after().end());
    types_.tell(example, template_.types(static_cast<int64_t>(pieces.size())));
    example.targets.assign(example.target_positions.size(), 0);
  }

  batching::TokenTypes types_;
  data::WordEncoder encoder_;
  data::SequenceTemplate template_;
  int64_t room_;
};

/// One batch of stretches through the model.
void ask(models::Model& model,
         const std::vector<Stretch>& stretches,
         const data::Batch& batch,
         const TagPredictOptions& options,
         std::vector<TagPrediction>& results) {
  auto staged = batching::stage(batch, model.device());
  nn::AttentionTrace trace(options.attention_layers);
  staged.pass.trace = &trace;
  const auto logits = batching::tag_logits(model, staged.input, batch, staged.pass);  // (M, C)
  const auto [shares, tags] = logits.to(at::kDouble).softmax(1).max(1);
  const auto host_shares = shares.cpu().contiguous();
  const auto host_tags = tags.cpu().contiguous();
  auto maps = attention_maps(trace, batch);
  int64_t row = 0;
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    const auto& stretch = stretches[static_cast<std::size_t>(batch.items[i])];
    auto& result = results[stretch.sentence];
    for (const std::size_t word : stretch.words) {
      result.words[word] = {.tag = host_tags.const_data_ptr<int64_t>()[row],
                            .score = host_shares.const_data_ptr<double>()[row]};
      ++row;
    }
    if (!options.attention_layers.empty()) {
      result.attention.push_back(std::move(maps[i]));
    }
  }
}

}  // namespace

std::vector<TagPrediction> predict_tags(models::Model& model,
                                        const data::Tokenizer& tokenizer,
                                        const std::vector<std::vector<std::string>>& sentences,
                                        const TagPredictOptions& options) {
  const at::NoGradGuard guard;
  check_attention_layers(model, options.attention_layers);
  const Stretcher stretcher(model.options(), tokenizer, options.language);
  std::vector<Stretch> stretches;
  std::vector<TagPrediction> results(sentences.size());
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    results[i].words.resize(sentences[i].size());
    auto more = stretcher(i, sentences[i]);
    results[i].was_split = more.size() > 1;
    std::move(more.begin(), more.end(), std::back_inserter(stretches));
  }
  data::Batch batch;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const auto size = static_cast<int64_t>(stretches[i].example.ids.size());
    if (batch.sequences() > 0 && batch.tokens() + size > options.batch_tokens) {
      ask(model, stretches, batch, options, results);
      batch = {};
    }
    batch.add(static_cast<int64_t>(i), stretches[i].example);
  }
  if (batch.sequences() > 0) {
    ask(model, stretches, batch, options, results);
  }
  return results;
}

std::vector<ScoredEntity> entities_of(const TagPrediction& prediction,
                                      const metrics::TagScheme& scheme) {
  std::vector<int64_t> tags;
  for (const WordTag& word : prediction.words) {
    tags.push_back(word.tag);
  }
  std::vector<ScoredEntity> found;
  for (const metrics::Entity& entity : scheme.entities(tags)) {
    const auto sum = std::accumulate(
        prediction.words.begin() + entity.begin, prediction.words.begin() + entity.end, 0.0,
        [](double total, const WordTag& word) { return total + word.score; });
    found.push_back(
        {.place = entity, .score = sum / static_cast<double>(entity.end - entity.begin)});
  }
  return found;
}

}  // namespace weft::inference
