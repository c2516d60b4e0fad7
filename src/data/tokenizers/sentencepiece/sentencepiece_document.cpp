#include <algorithm>
#include <tuple>
#include <utility>

#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/documents.h"
#include "data/tokenizers/normalizers/character_map.h"
#include "data/tokenizers/sentencepiece/sentencepiece_model.h"

namespace weft::data {

namespace {

using formats::Json;

Json unigram_model(const SentencePieceModel& model) {
  Json vocabulary = Json::array();
  for (const SentencePieceModel::Item& item : model.pieces) {
    vocabulary.push_back(Json::array({item.piece, static_cast<double>(item.score)}));
  }
  return {{"type", "Unigram"},
          {"unk_id", model.unknown_id},
          {"vocab", std::move(vocabulary)},
          {"byte_fallback", model.byte_fallback}};
}

/// SentencePiece merges any two pieces that form the best piece, but a list of merges must name
/// both. All splits of each piece are listed, in the order of the merged pieces.
Json merges_of(const SentencePieceModel& model, const Vocabulary& vocabulary) {
  struct SplitCandidate {
    float score;
    int32_t id;
    std::size_t split;  // bytes of the left piece
  };
  std::vector<SplitCandidate> candidates;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePieceModel::Item& item = model.pieces[id];
    if (item.type != SentencePieceType::kNormal) {
      continue;
    }
    const std::string_view piece = item.piece;
    for (std::size_t split = 0; split < piece.size();) {
      utf8::next(piece, split);
      if (split < piece.size() && vocabulary.find(piece.substr(0, split)) != Vocabulary::kNone &&
          vocabulary.find(piece.substr(split)) != Vocabulary::kNone) {
        candidates.push_back({item.score, static_cast<int32_t>(id), split});
      }
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const SplitCandidate& a, const SplitCandidate& b) {
                     return std::tie(b.score, a.id) < std::tie(a.score, b.id);
                   });
  Json merges = Json::array();
  for (const SplitCandidate& candidate : candidates) {
    const std::string& piece = model.pieces[static_cast<std::size_t>(candidate.id)].piece;
    merges.push_back(
        Json::array({piece.substr(0, candidate.split), piece.substr(candidate.split)}));
  }
  return merges;
}

Json byte_pair_model(const SentencePieceModel& model) {
  Vocabulary vocabulary;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    vocabulary.add(model.pieces[id].piece, static_cast<int32_t>(id));
  }
  Json merges = merges_of(model, vocabulary);
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", model.pieces[static_cast<std::size_t>(model.unknown_id)].piece},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", true},
          {"byte_fallback", model.byte_fallback},
          {"ignore_merges", false},
          {"vocab", vocabulary_object(vocabulary)},
          {"merges", std::move(merges)}};
}

Json normalizer_of(const SentencePieceModel& model) {
  std::vector<Json> parts;
  if (!model.character_map.empty()) {
    parts.push_back(
        {{"type", "Precompiled"}, {"precompiled_charsmap", to_base64(model.character_map)}});
  }
  if (model.removes_extra_spaces) {
    parts.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
    parts.push_back(replacement("Regex", " {2,}", " "));
  }
  if (parts.empty()) {
    return nullptr;
  }
  return sequence_of("normalizers", std::move(parts));
}

Json decoder_of(const SentencePieceModel& model) {
  if (!model.byte_fallback) {
    return metaspace(model.adds_dummy_prefix ? "always" : "never", true);
  }
  return byte_fallback_decoder(model.adds_dummy_prefix);
}

}  // namespace

Json sentencepiece_document(const SentencePieceModel& model, const std::string& location) {
  if (model.model_type > 2) {
    throw Error(location + ": model type word or char, must be unigram or bpe");
  }
  Json document = empty_document();
  document["normalizer"] = normalizer_of(model);
  document["pre_tokenizer"] = metaspace(model.adds_dummy_prefix ? "always" : "never", true);
  document["decoder"] = decoder_of(model);
  document["model"] = model.model_type == 2 ? byte_pair_model(model) : unigram_model(model);
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePieceModel::Item& item = model.pieces[id];
    const bool is_special = item.type == SentencePieceType::kControl;
    if (is_special || item.type == SentencePieceType::kUserDefined) {
      add_token(document, static_cast<int32_t>(id), item.piece, {.is_special = is_special});
      document["added_tokens"].back()["normalized"] = false;
    }
  }
  return document;
}

}  // namespace weft::data
