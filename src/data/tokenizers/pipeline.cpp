#include "data/tokenizers/pipeline.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/config_files.h"
#include "data/tokenizers/models/word_cache.h"
#include "data/tokenizers/special_names.h"

namespace weft::data {

namespace {

uint32_t next_serial() {
  static std::atomic<uint32_t> serial{0};
  return ++serial;
}

/// Pieces that begin a word start with `▁` (SentencePiece) or `Ġ` (byte-level).
bool begins_with_space_marker(std::string_view piece) {
  return piece.starts_with("\u2581") || piece.starts_with("\u0120") || piece.starts_with("\u010A");
}

}  // namespace

struct Pipeline::Scratch {
  std::vector<TextSegment> segments;
  std::vector<TextSegment> inner;
  std::vector<Piece> pieces;
  std::vector<int32_t> ids;  // with free space after them
  std::size_t count = 0;     // of the ids
  Words words;
  WordCache cache;

  // Of the next words: their entries are requested before the first is read, so that they are in
  // the CPU's caches in time.
  static constexpr std::size_t kAhead = 32;
  std::array<WordKey, kAhead> keys;
  std::array<WordCache::Line*, kAhead> lines{};

  /// Appends the first `length` of the ids; copies them all, which takes no loop.
  template <std::size_t size>
  void append(const std::array<int32_t, size>& from, std::size_t length) {
    if (count + size > ids.size()) {
      ids.resize(2 * (count + size));
    }
    std::memcpy(ids.data() + count, from.data(), sizeof(from));
    count += length;
  }

  static Scratch& of_thread() {
    thread_local Scratch scratch;
    return scratch;
  }
};

Pipeline::Pipeline(TokenizerParts parts) : parts_(std::move(parts)), serial_(next_serial()) {
  const JsonFields fields(parts_.document, parts_.location);
  read_components(fields);
  read_tokens(fields);
  read_special_ids();
  mark_continuation_pieces();
  document_text_ = parts_.document.dump(2) + "\n";
  fingerprint_ = digest(document_text_);
  if (const formats::Json& processor = parts_.target_processor; !processor.is_null()) {
    target_ =
        make_target_template(*this, make_post_processor(JsonFields(processor, parts_.location)));
    fingerprint_ = digest(processor.dump(), fingerprint_);
  }
  truncates_left_ = data::truncates_left(parts_.config, parts_.document, parts_.location);
  if (truncates_left_) {
    fingerprint_ = digest(std::string_view("left"), fingerprint_);
  }
  parts_.document = formats::Json::object();
}

void Pipeline::read_components(const JsonFields& fields) {
  model_ = make_token_model(fields.fields("model"));
  if (fields.has("normalizer")) {
    normalizer_ = make_normalizer(fields.fields("normalizer"));
  }
  if (fields.has("pre_tokenizer")) {
    pre_tokenizer_ = make_pre_tokenizer(fields.fields("pre_tokenizer"));
    if (model_->can_read_bytes() && pre_tokenizer_->keep_bytes()) {
      model_->read_bytes();
    }
  }
  if (fields.has("post_processor")) {
    post_processor_ = make_post_processor(fields.fields("post_processor"));
  }
  if (fields.has("decoder")) {
    decoder_ = make_token_decoder(fields.fields("decoder"));
    parts_.is_byte_level = fields.fields("decoder").text("type") == "ByteLevel" &&
                           fields.fields("model").has("merges");
  }
}

void Pipeline::read_tokens(const JsonFields& fields) {
  const std::string location = fields.location() + ".added_tokens";
  if (fields.has("added_tokens")) {
    added_ = read_added_tokens(fields.at("added_tokens"), location);
  }
  const int64_t pieces = model_->vocabulary().size();
  const int64_t largest =
      std::max(pieces, Vocabulary::largest_id(pieces + static_cast<int64_t>(added_.size())));
  int64_t size = pieces;
  for (const AddedToken& token : added_) {
    if (token.id > largest) {
      throw Error(str_cat(location, ": id ", token.id, " is too large for ", pieces, " pieces"));
    }
    size = std::max<int64_t>(size, token.id + int64_t{1});
    added_pieces_.add(token.content, token.id);
    AlignedText normal(token.content, false);
    if (token.is_normalized && normalizer_) {
      normalizer_->apply(normal);
    }
    (token.is_normalized ? normalized_finder_ : raw_finder_).add(token, normal.view());
  }
  flags_.assign(static_cast<std::size_t>(size), 0);
  for (const AddedToken& token : added_) {
    if (token.is_special) {
      flags_[static_cast<std::size_t>(token.id)] |= kSpecial;
    }
  }
  for (const auto* steps : {&post_processor_.single, &post_processor_.pair}) {
    for (const TemplateStep& step : *steps) {
      for (const int32_t id : step.ids) {
        if (id >= size) {
          throw Error(str_cat(fields.location(), ".post_processor: no token has id ", id));
        }
      }
    }
  }
}

void Pipeline::read_special_ids() {
  for (const SpecialTokenName& name : special_token_names()) {
    const std::optional<std::string> given = special_token(parts_.config, name.key);
    int32_t& found = special_.*name.member;
    if (given) {
      found = id(*given).value_or(-1);
      continue;
    }
    for (const std::string_view default_content : name.default_contents) {
      const std::optional<int32_t> known = id(default_content);
      if (found < 0 && known && is_special(*known)) {
        found = *known;
      }
    }
  }
  if (special_.unk < 0) {
    special_.unk = model_->unknown_id();
  }
}

void Pipeline::mark_continuation_pieces() {
  const std::string prefix = model_->continuing_prefix();
  const Vocabulary& pieces = model_->vocabulary();
  for (int32_t id = 0; id < pieces.size(); ++id) {
    const std::string_view piece = pieces.piece(id);
    const bool continues =
        prefix.empty() ? !begins_with_space_marker(piece) : piece.starts_with(prefix);
    if (continues && pieces.has(id) && !is_special(id) && id != special_.unk) {
      flags_[static_cast<std::size_t>(id)] |= kContinues;
    }
  }
}

template <class Emit>
void Pipeline::run_words(Words& words, const Emit& emit) const {
  words.ranges.assign(1, {0, words.text.size()});
  if (pre_tokenizer_) {
    pre_tokenizer_->apply(words);
  }
  emit(words);
}

template <class Emit>
void Pipeline::run_segment(const AlignedText& text, bool is_first, const Emit& emit) const {
  Scratch& scratch = Scratch::of_thread();
  scratch.inner.clear();
  normalized_finder_.split(text.view(), {0, text.size()}, scratch.inner);
  for (const TextSegment& segment : scratch.inner) {
    const auto [begin, end] = segment.range;
    if (segment.id >= 0) {
      emit(segment.id, text, segment.range);
      continue;
    }
    Words words{
        .text = AlignedText(text.is_tracked()), .ranges = {}, .is_first = is_first && begin == 0};
    words.text.append_unchanged(text, begin, end);
    run_words(words, emit);
  }
}

template <class Emit>
void Pipeline::run(std::string_view text, bool is_tracked, const Emit& emit) const {
  Scratch& scratch = Scratch::of_thread();
  const bool is_valid = !utf8::first_invalid(text).has_value();
  const auto repaired = is_valid ? AlignedText(is_tracked) : repaired_text(text, is_tracked);
  const std::string_view source = is_valid ? text : repaired.view();
  scratch.segments.clear();
  raw_finder_.split(source, {0, source.size()}, scratch.segments);
  Words& words = scratch.words;
  for (const TextSegment& segment : scratch.segments) {
    const auto [begin, end] = segment.range;
    if (is_valid) {
      words.text.assign(source.substr(begin, end - begin), is_tracked, begin);
    } else {
      words.text = AlignedText(is_tracked);
      words.text.append_unchanged(repaired, begin, end);
    }
    if (segment.id >= 0) {
      emit(segment.id, words.text, TextRange{0, words.text.size()});
      continue;
    }
    if (normalizer_) {
      normalizer_->apply(words.text);
    }
    words.is_first = begin == 0;
    if (words.text.size() == 0) {
      continue;
    }
    if (normalized_finder_.is_empty()) {
      run_words(words, emit);
    } else {
      run_segment(AlignedText(words.text), words.is_first, emit);
    }
  }
}

void Pipeline::append_ids(const Words& words, Scratch& scratch) const {
  const std::string_view text = words.text.view();
  const PaddedText padded(text);
  const std::size_t count = words.ranges.size();
  for (std::size_t first = 0; first < count; first += Scratch::kAhead) {
    const TextRange* const ranges = words.ranges.data() + first;
    const std::size_t size = std::min(Scratch::kAhead, count - first);
    for (std::size_t at = 0; at < size; ++at) {
      const auto [begin, end] = ranges[at];
      scratch.keys[at].assign(padded.at(begin), end - begin, serial_);
      scratch.lines[at] = &scratch.cache.line(scratch.keys[at]);
      __builtin_prefetch(scratch.lines[at]);
    }
    for (std::size_t at = 0; at < size; ++at) {
      const WordCache::Line& line = *scratch.lines[at];
      const WordCache::Entry* const entry = line.find(scratch.keys[at]);
      if (entry != nullptr && !entry->fills_line()) {
        scratch.append(entry->ids, entry->count());
      } else if (entry != nullptr) {
        const auto ids = line.many_ids();
        scratch.append(
            ids, static_cast<std::size_t>(std::find(ids.begin(), ids.end(), -1) - ids.begin()));
      } else {
        append_pieces(text.substr(ranges[at].begin, ranges[at].end - ranges[at].begin), at,
                      scratch);
      }
    }
  }
}

void Pipeline::append_pieces(std::string_view word, std::size_t at, Scratch& scratch) const {
  scratch.pieces.clear();
  model_->tokenize(word, scratch.pieces);
  scratch.lines[at]->put(scratch.keys[at], scratch.pieces);
  for (const Piece& piece : scratch.pieces) {
    scratch.append(std::array{piece.id}, 1);
  }
}

namespace {

/// Callbacks of `run`: for an added token, and for the words between added tokens.
template <class OnToken, class OnWords>
struct Emitter {
  OnToken on_token;
  OnWords on_words;

  void operator()(int32_t id, const AlignedText& text, TextRange range) const {
    on_token(id, text, range);
  }
  void operator()(const Words& words) const { on_words(words); }
};
template <class OnToken, class OnWords>
Emitter(OnToken, OnWords) -> Emitter<OnToken, OnWords>;

}  // namespace

void Pipeline::encode(std::string_view text, std::vector<int32_t>& ids) const {
  Scratch& scratch = Scratch::of_thread();
  scratch.count = 0;
  const auto flush = [&] {
    ids.insert(ids.end(), scratch.ids.data(), scratch.ids.data() + scratch.count);
    scratch.count = 0;
  };
  run(text, false,
      Emitter{[&](int32_t id, const AlignedText&, TextRange) {
                flush();
                ids.push_back(id);
              },
              [&](const Words& words) { append_ids(words, scratch); }});
  flush();
}

std::vector<Token> Pipeline::tokens(std::string_view text) const {
  std::vector<Token> result;
  const auto push = [&](int32_t id, const AlignedText& from, std::size_t begin, std::size_t end) {
    const TextRange origin = from.origin(begin, end);
    result.push_back({id, static_cast<int64_t>(origin.begin), static_cast<int64_t>(origin.end)});
  };
  std::vector<Piece> pieces;
  run(text, true,
      Emitter{[&](int32_t id, const AlignedText& from, TextRange range) {
                push(id, from, range.begin, range.end);
              },
              [&](const Words& words) {
                const std::string_view view = words.text.view();
                for (const TextRange word : words.ranges) {
                  pieces.clear();
                  model_->tokenize(view.substr(word.begin, word.end - word.begin), pieces);
                  for (const Piece& piece : pieces) {
                    push(piece.id, words.text, word.begin + piece.begin, word.begin + piece.end);
                  }
                }
              }});
  return result;
}

Sequence Pipeline::sequence(const std::vector<int32_t>& first) const {
  return apply_template(post_processor_.single, first, {});
}

Sequence Pipeline::sequence(const std::vector<int32_t>& first,
                            const std::vector<int32_t>& second) const {
  return apply_template(post_processor_.pair, first, second);
}

std::string_view Pipeline::added_or_piece(int32_t id) const {
  return added_pieces_.has(id) ? added_pieces_.piece(id) : model_->vocabulary().piece(id);
}

std::string Pipeline::decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const {
  std::vector<std::string> pieces;
  for (const int32_t id : ids) {
    const bool is_known = added_pieces_.has(id) || model_->vocabulary().has(id);
    if (is_known && !(skip_special_tokens && is_special(id))) {
      pieces.emplace_back(added_or_piece(id));
    }
  }
  if (!decoder_) {
    return join(pieces, " ");
  }
  decoder_->apply(pieces);
  return join(pieces, "");
}

std::string Pipeline::piece(int32_t id) const { return std::string(added_or_piece(id)); }

std::optional<int32_t> Pipeline::id(std::string_view piece) const {
  const int32_t added = added_pieces_.find(piece);
  const int32_t found = added != Vocabulary::kNone ? added : model_->vocabulary().find(piece);
  return found == Vocabulary::kNone ? std::nullopt : std::optional(found);
}

void Pipeline::save(const std::string& directory, int64_t max_length) const {
  make_directories(directory);
  write_file(directory + "/tokenizer.json", document_text_);
  save_tokenizer_config(parts_.config, max_length, directory);
  save_legacy_files(*model_, parts_, directory);
}

}  // namespace weft::data
