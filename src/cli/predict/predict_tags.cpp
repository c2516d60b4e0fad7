#include "inference/predict_tags.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "cli/predict/predict.h"
#include "data/labels.h"
#include "data/text/text_words.h"
#include "formats/json.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr std::array<const char*, 2> kWordKeys = {"words", "tokens"};
constexpr auto kSentencesKey = "sentences";

/// A row of the input: its words, and the text that offsets refer to.
struct Sentence {
  std::vector<data::TextWord> words;
  std::string text;
};

Sentence sentence_of_words(const Json& list, const std::string& place) {
  std::vector<std::string> words;
  for (const Json& word : list) {
    if (!word.is_string()) {
      throw formats::Error(str_cat(place, ": \"words\" has an entry that is not a string"));
    }
    words.push_back(word.get<std::string>());
  }
  return {.words = data::join_words(words), .text = join(words, " ")};
}

Sentence read_sentence(const InputRow& row, const RequestColumns& columns) {
  if (!columns.text) {
    for (const auto* key : kWordKeys) {
      if (const auto list = value_at(row, key); list.is_array()) {
        return sentence_of_words(list, row.location);
      }
    }
    if (!row.fields.contains("text") || !row.fields["text"].is_string()) {
      throw formats::Error(
          str_cat(row.location,
                  ": no \"text\" and no list of \"words\", as in {\"text\": \"...\"} or "
                  "{\"words\": [\"...\"]}"));
    }
  }
  const auto content = request_of(row, columns).text;
  return {.words = data::split_words(content), .text = content};
}

/// Characters [begin, end) of a text.
std::string characters(const std::string& text, int64_t begin, int64_t end) {
  const auto codes = utf8::decode(text);
  return utf8::encode(std::u32string_view(codes).substr(static_cast<std::size_t>(begin),
                                                        static_cast<std::size_t>(end - begin)));
}

class TagPredictor : public RowPredictor {
 public:
  TagPredictor(models::Model& model,
               const data::Tokenizer& tokenizer,
               inference::TagPredictOptions options,
               RequestColumns columns)
      : model_(model),
        tokenizer_(tokenizer),
        labels_(model.options().labels),
        scheme_(labels_),
        options_(std::move(options)),
        columns_(std::move(columns)),
        nothing_(std::find(labels_.begin(), labels_.end(), "O") == labels_.end() ? Json()
                                                                                 : Json("O")) {}

  std::vector<Json> answer(const std::vector<InputRow>& rows) override {
    std::vector<Sentence> sentences;
    std::vector<std::vector<std::string>> words;
    for (const InputRow& row : rows) {
      sentences.push_back(read_sentence(row, columns_));
      auto& list = words.emplace_back();
      for (const auto& word : sentences.back().words) {
        list.push_back(word.text);
      }
    }
    const auto found = inference::predict_tags(model_, tokenizer_, words, options_);
    std::vector<Json> lines;
    for (std::size_t i = 0; i < found.size(); ++i) {
      split_ += found[i].was_split ? 1 : 0;
      lines.push_back(line_of(sentences[i], words[i], found[i]));
    }
    return lines;
  }

  void report(train::ProcessGroup& group) override {
    const auto split = group.sum_count(split_);
    if (group.is_main() && split > 0) {
      log::warning(str_cat("[predict] ", counted(split, "sentence"),
                           " longer than the model's maximum of ", model_.options().length,
                           " tokens ", was_or_were(split), " split"));
    }
  }

 private:
  Json line_of(const Sentence& sentence,
               const std::vector<std::string>& words,
               const inference::TagPrediction& found) const {
    Json line = {{"words", words}, {"tags", Json::array()}, {"scores", Json::array()}};
    for (const auto& word : found.words) {
      line["tags"].push_back(word.tag < 0 ? nothing_ : Json(data::label_name(labels_, word.tag)));
      line["scores"].push_back(word.tag < 0 ? Json() : Json(word.score));
    }
    if (scheme_.marks_entities()) {
      line["entities"] = Json::array();
      for (const auto& entity : inference::entities_of(found, scheme_)) {
        line["entities"].push_back(entity_json(sentence, entity));
      }
    }
    add_maps(line, found.attention);
    return line;
  }

  Json entity_json(const Sentence& sentence, const inference::ScoredEntity& entity) const {
    const auto& first = sentence.words[static_cast<std::size_t>(entity.entity.begin)];
    const auto& last = sentence.words[static_cast<std::size_t>(entity.entity.end - 1)];
    return {{"type", scheme_.types()[static_cast<std::size_t>(entity.entity.type)]},
            {"text", characters(sentence.text, first.begin, last.end)},
            {"start", first.begin},
            {"end", last.end},
            {"score", entity.score}};
  }

  /// A sentence split into windows gets a list with one object per window.
  void add_maps(Json& line, const std::vector<inference::AttentionMap>& maps) const {
    if (maps.size() == 1) {
      return add_attention(line, maps.front(), tokenizer_);
    }
    for (const auto& map : maps) {
      Json window = Json::object();
      add_attention(window, map, tokenizer_);
      line["stretches"].push_back(std::move(window));
    }
  }

  models::Model& model_;
  const data::Tokenizer& tokenizer_;
  std::vector<std::string> labels_;
  metrics::TagScheme scheme_;
  inference::TagPredictOptions options_;
  RequestColumns columns_;
  Json nothing_;  // tag of a word that the tokenizer drops
  int64_t split_ = 0;
};

}  // namespace

std::unique_ptr<RowPredictor> make_tag_predictor(models::Model& model,
                                                 const data::Tokenizer& tokenizer,
                                                 inference::TagPredictOptions options,
                                                 RequestColumns columns) {
  return std::make_unique<TagPredictor>(model, tokenizer, std::move(options), std::move(columns));
}

RequestColumns columns_to_tag(const Arguments& arguments, const InputReader& input) {
  const auto there = input.table_columns();
  const auto is_there = [&](const char* key) {
    return std::find(there.begin(), there.end(), key) != there.end();
  };
  const bool has_lists = is_there(kSentencesKey) || std::ranges::any_of(kWordKeys, is_there);
  return has_lists && !arguments.has("text-column") ? RequestColumns{}
                                                    : read_columns(arguments, input);
}

}  // namespace weft::cli
