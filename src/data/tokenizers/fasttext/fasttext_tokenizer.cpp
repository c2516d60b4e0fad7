#include <filesystem>
#include <unordered_map>

#include "base/file.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/config_files.h"
#include "data/tokenizers/fasttext/fasttext_features.h"
#include "data/tokenizers/vocabulary.h"

namespace weft::data {

namespace {

using formats::Json;

constexpr const char* kFile = "fasttext.json";
constexpr std::string_view kLabelPrefix = "__label__";  // fastText reads such words as labels
constexpr int64_t kMostNgram = 1000;
constexpr int64_t kMostBuckets = int64_t{1} << 30;

class FastTextTokenizer : public Tokenizer {
 public:
  FastTextTokenizer(const FastTextFeatures& features,
                    const std::vector<std::string>& words,
                    std::shared_ptr<const std::vector<int64_t>> bucket_rows)
      : ngrams_(features), bucket_rows_(std::move(bucket_rows)) {
    for (const auto& word : words) {
      words_.add(utf8::replace_invalid(word), static_cast<int32_t>(word_count_++));
    }
    if (bucket_rows_) {
      for (const auto bucket : *bucket_rows_) {
        rows_.emplace(bucket, static_cast<int32_t>(word_count_ + std::ssize(rows_)));
      }
    }
    const auto ngrams = bucket_rows_ ? std::ssize(*bucket_rows_) : features.buckets;
    size_ = word_count_ + (has_ngrams() ? ngrams : 0);
    end_ = words_.find(kFastTextEnd);
    document_ = to_json(words).dump();
    fingerprint_ = digest(document_);
  }

  std::vector<Token> tokens(std::string_view text) const override {
    std::vector<Token> result;
    const auto words = ngrams_.words(text, /*is_tracked=*/true);
    const auto last = words.ranges.size();
    visit(words, [&](int32_t id, std::size_t first, std::size_t word) {
      const auto begin =
          first < last ? words.text.origin(words.ranges[first].begin, words.ranges[first].end).begin
                       : text.size();
      const auto end = word < last
                           ? words.text.origin(words.ranges[word].begin, words.ranges[word].end).end
                           : text.size();
      result.push_back({id, static_cast<int64_t>(begin), static_cast<int64_t>(end)});
    });
    return result;
  }

  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    visit(ngrams_.words(text, /*is_tracked=*/false),
          [&](int32_t id, std::size_t, std::size_t) { ids.push_back(id); });
  }

  Sequence sequence(const std::vector<int32_t>& first) const override {
    return {.ids = first,
            .token_type_ids = std::vector<int32_t>(first.size(), 0),
            .is_special = std::vector<uint8_t>(first.size(), 0)};
  }
  Sequence sequence(const std::vector<int32_t>& first,
                    const std::vector<int32_t>& second) const override {
    auto result = sequence(first);
    result.ids.insert(result.ids.end(), second.begin(), second.end());
    result.token_type_ids.resize(result.ids.size(), 1);
    result.is_special.resize(result.ids.size(), 0);
    return result;
  }

  std::string decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const override {
    std::vector<std::string> words;
    for (const auto id : ids) {
      if (id >= 0 && id < word_count_ && !(skip_special_tokens && is_special(id))) {
        words.emplace_back(words_.piece(id));
      }
    }
    return join(words, " ");
  }

  int64_t size() const override { return size_; }
  std::string piece(int32_t id) const override {
    if (id < word_count_) {
      return std::string(words_.piece(id));
    }
    const auto row = static_cast<std::size_t>(id - word_count_);
    return str_cat("<n-gram ", bucket_rows_ ? bucket_rows_->at(row) : id - word_count_, ">");
  }
  std::optional<int32_t> id(std::string_view piece) const override {
    const auto found = words_.find(piece);
    return found == Vocabulary::kNone ? std::nullopt : std::optional(found);
  }
  SpecialTokenIds special_token_ids() const override { return {.eos = end_}; }
  bool is_special(int32_t id) const override { return id == end_ && end_ >= 0; }
  bool continues_word(int32_t /*id*/) const override { return false; }

  void save(const std::string& directory, int64_t /*max_length*/) const override {
    make_directories(directory);
    write_file(str_cat(directory, "/", kFile), document_);
  }
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  bool has_ngrams() const {
    return ngrams_.features().word_ngrams > 1 || ngrams_.features().max_chars > 0;
  }

  /// Calls `visit(id, first word, last word)` for each feature; the end is the word after the last.
  template <class Visit>
  void visit(const Words& words, const Visit& on_feature) const {
    std::vector<uint32_t> hashes;
    hashes.reserve(words.ranges.size() + 1);
    const auto text = words.text.view();
    for (std::size_t i = 0; i <= words.ranges.size(); ++i) {
      const auto word =
          i < words.ranges.size()
              ? text.substr(words.ranges[i].begin, words.ranges[i].end - words.ranges[i].begin)
              : kFastTextEnd;
      const auto id = words_.find(word);
      if (id == Vocabulary::kNone && word.starts_with(kLabelPrefix)) {
        continue;
      }
      const auto on_bucket = [&](uint64_t bucket, std::size_t first) {
        if (const auto row = row_of(static_cast<int64_t>(bucket)); row >= 0) {
          on_feature(row, first, i);
        }
      };
      if (id != Vocabulary::kNone) {
        on_feature(id, i, i);
      }
      ngrams_.visit_characters(word, [&](uint64_t bucket) { on_bucket(bucket, i); });
      hashes.push_back(FastTextNgrams::hash(word));
      ngrams_.visit_words(hashes, on_bucket);
    }
  }

  /// -1: the bucket has none.
  int32_t row_of(int64_t bucket) const {
    if (!bucket_rows_) {
      return static_cast<int32_t>(word_count_ + bucket);
    }
    const auto found = rows_.find(bucket);
    return found == rows_.end() ? -1 : found->second;
  }

  Json to_json(const std::vector<std::string>& words) const {
    const auto& features = ngrams_.features();
    Json json = {{"word_ngrams", features.word_ngrams},
                 {"char_ngrams", {features.min_chars, features.max_chars}},
                 {"buckets", features.buckets},
                 {"lowercase", features.lowercase},
                 {"bucket_rows", bucket_rows_ ? Json(*bucket_rows_) : Json()}};
    auto& list = json["words"] = Json::array();
    for (const auto& word : words) {
      list.push_back(utf8::replace_invalid(word));
    }
    return json;
  }

  FastTextNgrams ngrams_;
  Vocabulary words_;
  int64_t word_count_ = 0;
  std::shared_ptr<const std::vector<int64_t>> bucket_rows_;
  std::unordered_map<int64_t, int32_t> rows_;  // id of each bucket that has one
  int64_t size_ = 0;
  int32_t end_ = -1;
  std::string document_;
  uint64_t fingerprint_ = 0;
};

int64_t read_size(const JsonFields& fields, const char* key, int64_t least, int64_t most) {
  const auto value = fields.integer(key);
  if (value < least || value > most) {
    fields.fail(key, str_cat("found ", value, ", must be ", least, " to ", most));
  }
  return value;
}

std::shared_ptr<const std::vector<int64_t>> read_bucket_rows(const JsonFields& fields,
                                                             int64_t buckets) {
  if (!fields.has("bucket_rows")) {
    return nullptr;
  }
  std::vector<int64_t> rows;
  for (const auto& row : fields.list("bucket_rows")) {
    rows.push_back(row.is_number_integer() ? row.get<int64_t>() : -1);
    if (rows.back() < 0 || rows.back() >= buckets) {
      fields.fail("bucket_rows",
                  str_cat("found ", printable(row.dump()), ", must be 0 to ", buckets - 1));
    }
  }
  return std::make_shared<std::vector<int64_t>>(std::move(rows));
}

}  // namespace

std::shared_ptr<const Tokenizer> make_fasttext_tokenizer(
    const FastTextFeatures& features,
    const std::vector<std::string>& words,
    std::shared_ptr<const std::vector<int64_t>> bucket_rows) {
  return std::make_shared<FastTextTokenizer>(features, words, std::move(bucket_rows));
}

bool has_fasttext_tokenizer(const std::string& directory) {
  return std::filesystem::exists(str_cat(directory, "/", kFile));
}

std::shared_ptr<const Tokenizer> load_fasttext_tokenizer(const std::string& directory) {
  const auto path = str_cat(directory, "/", kFile);
  const auto json = formats::read_json(path, kLargestTokenizerFile);
  const JsonFields fields(json, path);
  FastTextFeatures features;
  features.word_ngrams = read_size(fields, "word_ngrams", 0, kMostNgram);
  features.buckets = read_size(fields, "buckets", 0, kMostBuckets);
  features.lowercase = fields.boolean("lowercase", false);
  const auto& characters = fields.list("char_ngrams");
  for (const auto& count : characters) {
    if (characters.size() != 2 || !count.is_number_integer() || count.get<int64_t>() < 0 ||
        count.get<int64_t>() > kMostNgram) {
      fields.fail("char_ngrams", str_cat("found ", printable(characters.dump()),
                                         ", must be two numbers from 0 to ", kMostNgram));
    }
  }
  features.min_chars = characters.at(0).get<int64_t>();
  features.max_chars = characters.at(1).get<int64_t>();
  std::vector<std::string> words;
  for (const auto& word : fields.list("words")) {
    if (!word.is_string()) {
      fields.fail("words", str_cat("found ", printable(word.dump()), ", must be a word"));
    }
    words.push_back(word.get<std::string>());
  }
  if (words.empty()) {
    fields.fail("words", "has none");
  }
  return make_fasttext_tokenizer(features, words, read_bucket_rows(fields, features.buckets));
}

}  // namespace weft::data
