#include "inference/predict_tags.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/stop.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "cli/predict/predict.h"
#include "data/text/text_words.h"
#include "formats/json.h"
#include "formats/line_reader.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr std::size_t kTagBlock = 256;  // lines per block

/// A line of the input: its words, and the text that offsets refer to.
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

Sentence read_sentence(std::string_view raw, const std::string& place) {
  const Json line = formats::parse_json(raw, place);
  for (const auto* key : {"words", "tokens"}) {
    if (line.is_object() && line.contains(key) && line[key].is_array()) {
      return sentence_of_words(line[key], place);
    }
  }
  if (!line.is_object() || !line.contains("text") || !line["text"].is_string()) {
    throw formats::Error(str_cat(place,
                                 ": not a JSON object with \"text\" or \"words\", as in {\"text\": "
                                 "\"...\"} or {\"words\": [\"...\"]}"));
  }
  const auto content = line["text"].get<std::string>();
  return {.words = data::split_words(content), .text = content};
}

/// Characters [begin, end) of a text.
std::string characters(const std::string& text, int64_t begin, int64_t end) {
  const auto codes = utf8::decode(text);
  return utf8::encode(std::u32string_view(codes).substr(static_cast<std::size_t>(begin),
                                                        static_cast<std::size_t>(end - begin)));
}

class Tagger {
 public:
  Tagger(models::Model& model, const data::Tokenizer& tokenizer, const TagRequest& request)
      : model_(model), tokenizer_(tokenizer), labels_(model.options().labels), scheme_(labels_) {
    options_.attention_layers = request.attention_layers;
    options_.language = request.language;
    nothing_ = std::find(labels_.begin(), labels_.end(), "O") == labels_.end() ? Json() : Json("O");
  }

  /// Returns one line per sentence.
  std::vector<std::string> operator()(const std::vector<Sentence>& sentences) {
    std::vector<std::vector<std::string>> words;
    for (const Sentence& sentence : sentences) {
      auto& list = words.emplace_back();
      for (const auto& word : sentence.words) {
        list.push_back(word.text);
      }
    }
    const auto found = inference::predict_tags(model_, tokenizer_, words, options_);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < found.size(); ++i) {
      was_split += found[i].was_split ? 1 : 0;
      lines.push_back(line_of(sentences[i], words[i], found[i]).dump() + "\n");
    }
    return lines;
  }

  int64_t was_split = 0;

 private:
  Json line_of(const Sentence& sentence,
               const std::vector<std::string>& words,
               const inference::TagPrediction& found) const {
    Json line = {{"words", words}, {"tags", Json::array()}, {"scores", Json::array()}};
    for (const auto& word : found.words) {
      line["tags"].push_back(word.tag < 0 ? nothing_ : Json(name_of(word.tag)));
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

  std::string name_of(int64_t tag) const {
    const auto id = static_cast<std::size_t>(tag);
    return id < labels_.size() ? labels_[id] : str_cat("LABEL_", id);
  }

  models::Model& model_;
  const data::Tokenizer& tokenizer_;
  std::vector<std::string> labels_;
  metrics::TagScheme scheme_;
  inference::TagPredictOptions options_;
  Json nothing_;  // tag of a word that the tokenizer drops
};

}  // namespace

TaggedCounts write_tag_predictions(models::Model& model,
                                   const data::Tokenizer& tokenizer,
                                   const TagRequest& request,
                                   const std::function<void(const std::string&)>& write) {
  // Attention weights are large: one sentence at a time.
  const std::size_t block = request.attention_layers.empty() ? kTagBlock : 1;
  Tagger tagger(model, tokenizer, request);
  formats::LineReader lines(request.input);
  std::vector<Sentence> sentences;
  int64_t blank_lines = 0;
  const auto answer = [&] {
    for (const std::string& line : tagger(sentences)) {
      write(line);
    }
    sentences.clear();
  };
  for (std::string_view line; lines.next(line);) {
    throw_if_stopped("predicting");
    if (trim(line).empty()) {
      ++blank_lines;
      continue;
    }
    sentences.push_back(read_sentence(line, lines.location()));
    if (sentences.size() == block) {
      answer();
    }
  }
  answer();
  return {.split_sentences = tagger.was_split, .blank_lines = blank_lines};
}

}  // namespace weft::cli
