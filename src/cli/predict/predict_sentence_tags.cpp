#include <utility>

#include "base/log.h"
#include "base/string_util.h"
#include "cli/predict/predict.h"
#include "data/datasets/sentence_encoder.h"
#include "data/labels.h"
#include "formats/json.h"
#include "inference/predict_tags.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr auto kSentenceList = "sentences";

std::vector<std::string> sentences_of_list(const Json& list,
                                           const std::string& key,
                                           const std::string& location) {
  std::vector<std::string> sentences;
  for (const Json& sentence : list) {
    if (!sentence.is_string()) {
      throw formats::Error(str_cat(location, ": \"", key, "\" has an entry that is not a string"));
    }
    sentences.push_back(sentence.get<std::string>());
  }
  return sentences;
}

/// A list stays as it is; a text is divided.
std::vector<std::string> read_sentences(const InputRow& row, const RequestColumns& columns) {
  const auto key = columns.text.value_or(kSentenceList);
  if (const auto list = value_at(row, key); list.is_array()) {
    return sentences_of_list(list, key, row.location);
  }
  if (columns.text) {
    return data::sentences_of(request_of(row, columns).text);
  }
  const auto text = value_at(row, "text");
  if (!text.is_string()) {
    throw formats::Error(
        str_cat(row.location,
                ": no list of \"sentences\" and no \"text\", as in {\"sentences\": [\"...\"]} or "
                "{\"text\": \"...\"}"));
  }
  return data::sentences_of(text.get<std::string>());
}

class SentenceTagPredictor : public RowPredictor {
 public:
  SentenceTagPredictor(models::Model& model,
                       const data::Tokenizer& tokenizer,
                       inference::TagPredictOptions options,
                       RequestColumns columns)
      : model_(model),
        tokenizer_(tokenizer),
        options_(std::move(options)),
        columns_(std::move(columns)) {}

  std::vector<Json> answer(const std::vector<InputRow>& rows) override {
    std::vector<std::vector<std::string>> documents;
    documents.reserve(rows.size());
    for (const InputRow& row : rows) {
      documents.push_back(read_sentences(row, columns_));
    }
    const auto found = inference::predict_sentence_tags(model_, tokenizer_, documents, options_);
    std::vector<Json> lines;
    for (std::size_t i = 0; i < found.size(); ++i) {
      truncated_ += found[i].was_truncated ? 1 : 0;
      Json line = {{"sentences", documents[i]}, {"tags", Json::array()}, {"scores", Json::array()}};
      for (const auto& sentence : found[i].sentences) {
        const bool is_read = sentence.tag >= 0;
        line["tags"].push_back(
            is_read ? Json(data::label_name(model_.options().labels, sentence.tag)) : Json());
        line["scores"].push_back(is_read ? Json(sentence.score) : Json());
      }
      lines.push_back(std::move(line));
    }
    return lines;
  }

  void report(train::ProcessGroup& group) override {
    const auto truncated = group.sum_count(truncated_);
    if (group.is_main() && truncated > 0) {
      const auto& limits = *model_.options().document;
      log::warning(str_cat("[predict] ", counted(truncated, "document"),
                           " longer than the model's maximum of ", limits.sentences,
                           " sentences of ", limits.sentence_length, " tokens ",
                           was_or_were(truncated), " truncated; sentences left out have no tag"));
    }
  }

 private:
  models::Model& model_;
  const data::Tokenizer& tokenizer_;
  inference::TagPredictOptions options_;
  RequestColumns columns_;
  int64_t truncated_ = 0;
};

}  // namespace

std::unique_ptr<RowPredictor> make_sentence_tag_predictor(models::Model& model,
                                                          const data::Tokenizer& tokenizer,
                                                          inference::TagPredictOptions options,
                                                          RequestColumns columns) {
  return std::make_unique<SentenceTagPredictor>(model, tokenizer, std::move(options),
                                                std::move(columns));
}

}  // namespace weft::cli
