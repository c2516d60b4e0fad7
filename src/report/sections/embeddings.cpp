#include <algorithm>
#include <map>
#include <utility>

#include <ATen/Functions.h>

#include "base/string_util.h"
#include "base/utf8.h"
#include "inference/nearest_tokens.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "report/examples.h"
#include "report/figures/charts.h"
#include "report/markup.h"
#include "report/sections/sections.h"

namespace weft::report {

namespace {

constexpr int64_t kCountedItems = 2000;  // whose tokens are counted
constexpr std::size_t kProjected = 60;   // words of the projection
constexpr std::size_t kQueries = 10;     // words with their nearest ones
constexpr int64_t kNeighbors = 5;
constexpr int64_t kProjectedTexts = 300;
constexpr int64_t kLongestText = 128;  // tokens of a projected text

/// Whether the text is a word of at least three letters; other characters than those of ASCII are
/// letters unless they are punctuation or symbols.
bool is_word(const std::string& text) {
  const auto codes = utf8::decode(text);
  return codes.size() >= 3 && std::ranges::all_of(codes, [](char32_t code) {
           const bool is_ascii = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
           const bool is_symbol =
               (code >= 0x2000 && code < 0x2c00) || (code >= 0x3000 && code < 0x3040);
           return is_ascii || (code >= 0xc0 && !is_symbol);
         });
}

/// The token without the sign of a space before it.
std::string shown_word(const data::Tokenizer& tokenizer, int64_t id) {
  constexpr std::string_view kSpace = "▁";
  const auto text = shown_token(tokenizer, id);
  return text.starts_with(kSpace) && text.size() > kSpace.size() ? text.substr(kSpace.size())
                                                                 : text;
}

/// The words that are frequent in the data, most frequent first: whole words of at least three
/// letters.
std::vector<int64_t> frequent_words(const LoadedRun& run, const data::Dataset& dataset) {
  std::map<int64_t, int64_t> counts;
  for (int64_t item = 0; item < std::min(dataset.size(0), kCountedItems); ++item) {
    const auto example = dataset.example(0, item);
    for (const auto id : example.source_ids.empty() ? example.ids : example.source_ids) {
      ++counts[id];
    }
  }
  std::vector<std::pair<int64_t, int64_t>> words;  // negative count, id
  for (const auto& [id, count] : counts) {
    const auto token = static_cast<int32_t>(id);
    const auto text = std::string(trim(run.tokenizer->decode({token})));
    if (is_word(text) && !run.tokenizer->is_special(token) &&
        !run.tokenizer->continues_word(token)) {
      words.emplace_back(-count, id);
    }
  }
  std::ranges::sort(words);
  std::vector<int64_t> ids;
  ids.reserve(words.size());
  for (const auto& [count, id] : words) {
    ids.push_back(id);
  }
  return ids;
}

void add_words(const LoadedRun& run, const std::vector<int64_t>& words, Page& page) {
  const auto embeddings = run.model->input_embeddings().detach().to(at::kCPU, at::kFloat);
  const auto known = embeddings.slice(0, 0, run.tokenizer->size());
  // The most frequent words are function words: every third one shows more of the vocabulary.
  Table table{.caption = "Nearest words by the cosine similarity of the input embeddings",
              .columns = {"Word", "Nearest"},
              .rows = {}};
  for (std::size_t i = 0; i < words.size() && table.rows.size() < kQueries; i += 3) {
    std::vector<std::string> nearest;
    for (const auto& [id, value] :
         inference::nearest_tokens(known, words[i], kNeighbors, inference::Similarity::kCosine)) {
      nearest.push_back(str_cat(shown_word(*run.tokenizer, id), " ", number_text(value, 3)));
    }
    table.rows.push_back({shown_word(*run.tokenizer, words[i]), join(nearest)});
  }
  page.add(table);
  std::vector<int64_t> projected(
      words.begin(),
      words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), kProjected)));
  const auto places =
      rows_of(principal_components(embeddings.index_select(0, at::tensor(projected))));
  std::vector<ScatterPlot::Point> points;
  for (std::size_t i = 0; i < projected.size(); ++i) {
    points.push_back(
        {.x = places[i][0], .y = places[i][1], .label = shown_word(*run.tokenizer, projected[i])});
  }
  page.add(ScatterPlot(
      "Frequent words (PCA of the input embeddings)",
      {.x_label = "First component", .y_label = "second component", .shows_labels = true},
      std::move(points)));
}

/// Means of the last hidden states of texts or images, by class.
void add_examples_by_class(const LoadedRun& run, const data::Dataset& dataset, Page& page) {
  std::vector<at::Tensor> vectors;
  std::vector<std::pair<int64_t, int64_t>> shown;  // item and class
  for (int64_t item = 0;
       item < dataset.size(0) && static_cast<int64_t>(vectors.size()) < kProjectedTexts; ++item) {
    if (dataset.length(0, item) > kLongestText) {
      continue;
    }
    const auto batch = batch_of(dataset.example(0, item));
    if (batch.tokens() == 0) {
      continue;
    }
    vectors.push_back(hidden_states_of(run, batch).to(at::kFloat).mean(0).cpu());
    shown.emplace_back(item, std::max<int64_t>(batch.labels.front(), 0));
  }
  if (vectors.size() < 3) {
    return;
  }
  const auto places = rows_of(principal_components(at::stack(vectors)));
  std::vector<ScatterPlot::Point> points;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto [item, label] = shown[i];
    const auto name = static_cast<std::size_t>(label) < run.labels.size()
                          ? run.labels[static_cast<std::size_t>(label)] + ", "
                          : std::string();
    points.push_back({.x = places[i][0],
                      .y = places[i][1],
                      .label = name + dataset.location(0, item),
                      .group = label});
  }
  constexpr std::size_t kLegend = 8;
  page.add(ScatterPlot(
      "Examples (PCA of the mean hidden states)",
      {.x_label = "First component",
       .y_label = "second component",
       .groups = {run.labels.begin(), run.labels.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                               run.labels.size(), kLegend))}},
      std::move(points)));
}

}  // namespace

void add_embeddings(const ReportInput& input, Page& page) {
  if (!input.loaded || input.dataset() == nullptr) {
    return;
  }
  const auto& run = *input.loaded;
  if (!models::reads_images(run.model->options()) && run.tokenizer &&
      run.model->input_embeddings().defined()) {
    const auto words = frequent_words(run, *input.dataset());
    if (words.size() >= 3) {
      add_words(run, words, page);
    }
  }
  if (models::head_of(run.model->options()).classifies_sequences) {
    add_examples_by_class(run, *input.dataset(), page);
  }
}

}  // namespace weft::report
