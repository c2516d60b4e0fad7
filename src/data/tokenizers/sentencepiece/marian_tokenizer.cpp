#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/codepoints.h"
#include "base/file.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/added_tokens.h"
#include "data/tokenizers/config_files.h"
#include "data/tokenizers/models/model.h"
#include "data/tokenizers/sentencepiece/sentencepiece_coder.h"
#include "data/tokenizers/sentencepiece/sentencepiece_model.h"
#include "data/tokenizers/special_names.h"
#include "data/tokenizers/tokenizer_json_parts.h"

namespace weft::data {

namespace {

using formats::Json;
namespace fs = std::filesystem;

constexpr const char* kSourceModel = "source.spm";
constexpr const char* kTargetModel = "target.spm";
constexpr const char* kPieces = "vocab.json";
constexpr const char* kTargetPieces = "target_vocab.json";
constexpr std::string_view kMarianSpaceSign = "\u2581";

/// Files of a directory, shared by both sides.
struct MarianFiles {
  std::string directory;                                        // for messages
  std::vector<std::pair<std::string, std::string>> files = {};  // names and bytes
  Json config = Json::object();                                 // tokenizer_config.json
  std::vector<AddedToken> added = {};
  std::string unknown = {};  // the unknown piece
  int32_t end = 0;           // appended to each text
  bool truncates_left = false;
  uint64_t fingerprint = 0;

  std::string path(const char* name) const { return directory + "/" + name; }
  const std::string& bytes(std::string_view name) const {
    return std::find_if(files.begin(), files.end(),
                        [&](const auto& file) { return file.first == name; })
        ->second;
  }
};

/// Length of a leading code such as `>>fra<<`, the target language of a translation; 0: none.
std::size_t code_length(std::string_view text) {
  const std::size_t end = text.starts_with(">>") ? text.find("<<") : std::string_view::npos;
  return end == std::string_view::npos ? 0 : end + 2;
}

/// Strips white space at both ends, by Python's definition.
std::string stripped(const std::string& text) {
  const std::u32string codes = utf8::decode(text);
  std::size_t begin = 0;
  std::size_t end = codes.size();
  while (begin < end && is_python_space(codes[begin])) {
    ++begin;
  }
  while (end > begin && is_python_space(codes[end - 1])) {
    --end;
  }
  return utf8::encode(std::u32string_view(codes).substr(begin, end - begin));
}

/// Tokenizer of one side.
class MarianTokenizer : public Tokenizer {
 public:
  MarianTokenizer(std::shared_ptr<const MarianFiles> files,
                  const char* model,
                  const char* pieces,
                  std::unique_ptr<const MarianTokenizer> target)
      : files_(std::move(files)),
        target_(std::move(target)),
        coder_(files_->bytes(model), files_->path(model)),
        vocabulary_(
            read_vocabulary(formats::parse_json(files_->bytes(pieces), files_->path(pieces)),
                            files_->path(pieces))) {
    const std::string location = files_->path(pieces);
    unknown_ = vocabulary_.find(files_->unknown);
    if (unknown_ == Vocabulary::kNone) {
      throw Error(str_cat(location, ": no unknown piece '", printable(files_->unknown),
                          "' in the vocabulary, it is required"));
    }
    add_tokens(location);
    for (const SentencePieceModel::Item& item : coder_.model().pieces) {
      ids_.push_back(id(item.piece).value_or(unknown_));
    }
  }

  std::vector<Token> tokens(std::string_view text) const override {
    std::vector<Token> result;
    run(utf8::replace_invalid(text), [&](const Token& token) { result.push_back(token); });
    return result;
  }
  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    run(utf8::replace_invalid(text), [&](const Token& token) { ids.push_back(token.id); });
  }

  Sequence sequence(const std::vector<int32_t>& first) const override {
    return sequence(first, {});
  }
  Sequence sequence(const std::vector<int32_t>& first,
                    const std::vector<int32_t>& second) const override {
    Sequence result{.ids = first,
                    .token_type_ids = std::vector<int32_t>(first.size(), 0),
                    .is_special = std::vector<uint8_t>(first.size() + second.size(), 0)};
    result.ids.insert(result.ids.end(), second.begin(), second.end());
    result.token_type_ids.resize(result.ids.size(), 1);
    result.ids.push_back(files_->end);
    result.token_type_ids.push_back(second.empty() ? 0 : 1);
    result.is_special.push_back(1);
    return result;
  }

  std::string decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const override {
    std::string result;
    std::vector<std::string> pieces;
    for (const int32_t id : ids) {
      if (!is_special(id)) {
        if (added_.has(id) || vocabulary_.has(id)) {
          pieces.push_back(piece(id));
        }
      } else if (!skip_special_tokens) {
        result += coder_.decode(pieces) + piece(id) + " ";
        pieces.clear();
      }
    }
    result += coder_.decode(pieces);
    for (std::size_t at = result.find(kMarianSpaceSign); at != std::string::npos;
         at =
             result.find(kMarianSpaceSign, at)) {  // of pieces that only the other side's model has
      result.replace(at, kMarianSpaceSign.size(), " ");
    }
    return stripped(result);
  }

  int64_t size() const override { return static_cast<int64_t>(is_special_.size()); }
  std::string piece(int32_t id) const override {
    return std::string(added_.has(id) ? added_.piece(id) : vocabulary_.piece(id));
  }
  std::optional<int32_t> id(std::string_view piece) const override {
    const int32_t added = added_.find(piece);
    const int32_t found = added != Vocabulary::kNone ? added : vocabulary_.find(piece);
    return found == Vocabulary::kNone ? std::nullopt : std::optional(found);
  }
  SpecialTokenIds special_token_ids() const override { return special_; }
  bool is_special(int32_t id) const override {
    return id >= 0 && id < size() && is_special_[static_cast<std::size_t>(id)] != 0;
  }
  bool continues_word(int32_t id) const override {
    const std::string_view piece = vocabulary_.piece(id);
    return !piece.empty() && !is_special(id) && !piece.starts_with(kMarianSpaceSign) &&
           code_length(piece) != piece.size();
  }

  const Tokenizer& target() const override { return target_ ? *target_ : *this; }

  void save(const std::string& directory, int64_t max_length) const override {
    make_directories(directory);
    for (const auto& [name, bytes] : files_->files) {
      write_file(directory + "/" + name, bytes);
    }
    save_tokenizer_config(files_->config, max_length, directory);
  }

  bool truncates_left() const override { return files_->truncates_left; }
  uint64_t fingerprint() const override { return files_->fingerprint; }

 private:
  void add_tokens(const std::string& location) {
    is_special_.assign(static_cast<std::size_t>(vocabulary_.size()), 0);
    for (const AddedToken& token : files_->added) {
      const auto at = static_cast<std::size_t>(token.id);
      const int32_t known = vocabulary_.find(token.content);
      if (known != token.id && (known != Vocabulary::kNone || vocabulary_.has(token.id))) {
        throw Error(str_cat(location, ": '", printable(token.content), "' does not have the id ",
                            token.id, " as in ", kPieces,
                            ", added and special tokens must have the same id on both sides"));
      }
      is_special_.resize(std::max(is_special_.size(), at + 1), 0);
      is_special_[at] = token.is_special ? 1 : 0;
      added_.add(token.content, token.id);
      finder_.add(token, token.content);
    }
    for (const SpecialTokenName& name : special_token_names()) {
      if (const auto content = special_token(files_->config, name.key)) {
        special_.*name.member = id(*content).value_or(-1);
      }
    }
  }

  /// Calls `emit` for each token of a text.
  template <class Emit>
  void run(const std::string& text, const Emit& emit) const {
    std::vector<TextSegment> segments;
    finder_.split(text, {0, text.size()}, segments);
    for (const TextSegment& segment : segments) {
      const auto [begin, end] = segment.range;
      if (segment.id >= 0) {
        emit(Token{segment.id, static_cast<int64_t>(begin), static_cast<int64_t>(end)});
      } else {
        run_segment(std::string_view(text).substr(begin, end - begin), begin, emit);
      }
    }
  }

  template <class Emit>
  void run_segment(std::string_view text, std::size_t begin, const Emit& emit) const {
    const std::size_t code = code_length(text);
    if (code > 0) {
      emit(Token{id(text.substr(0, code)).value_or(unknown_), static_cast<int64_t>(begin),
                 static_cast<int64_t>(begin + code)});
    }
    const auto first = static_cast<int64_t>(begin + code);
    for (const SurfaceToken& found : coder_.tokens(text.substr(code))) {
      const Token& token = found.token;
      // A piece unknown to this side's model may be a piece of the other side's.
      const int32_t own = found.unknown.empty() ? ids_[static_cast<std::size_t>(token.id)]
                                                : id(found.unknown).value_or(unknown_);
      emit(Token{own, first + token.begin, first + token.end});
    }
  }

  std::shared_ptr<const MarianFiles> files_;
  std::unique_ptr<const MarianTokenizer> target_;  // null: this is the target side
  SentencePieceCoder coder_;
  Vocabulary vocabulary_;
  Vocabulary added_;
  TokenFinder finder_;
  std::vector<int32_t> ids_;         // by the ids of the model
  std::vector<uint8_t> is_special_;  // by id
  SpecialTokenIds special_;
  int32_t unknown_ = 0;
};

/// Reads the added and special tokens from tokenizer_config.json and related files; their ids are
/// in the source vocabulary.
void read_added(MarianFiles& files) {
  TokenizerParts parts{.document = Json::object(),
                       .config = read_tokenizer_config(files.directory),
                       .location = files.path("tokenizer_config.json")};
  set_default_tokens(parts.config,
                     {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}});
  parts.document["model"]["vocab"] = formats::parse_json(files.bytes(kPieces), files.path(kPieces));
  parts.document["added_tokens"] = Json::array();
  if (!parts.config.contains("added_tokens_decoder")) {
    add_legacy_tokens(parts, read_json_object(files.path("added_tokens.json")));
  }
  add_listed_tokens(parts, true);
  add_configured_tokens(parts);
  Json& list = parts.document["added_tokens"];
  files.added = read_added_tokens(list, parts.location);
  std::sort(list.begin(), list.end(), [](const Json& a, const Json& b) {
    return a["id"].get<int32_t>() < b["id"].get<int32_t>();  // same order as in saved files
  });
  files.config = std::move(parts.config);
  Json& listed = files.config["added_tokens_decoder"];
  listed = Json::object();
  for (const Json& token : list) {
    if (token.value("single_word", false)) {
      throw Error(str_cat(parts.location, ": '", printable(token.value("content", "")),
                          "' is single_word, which is not supported for Marian tokenizers"));
    }
    Json kept = token;
    kept.erase("id");
    listed[str_cat(token["id"].get<int32_t>())] = std::move(kept);
  }
  files.config["tokenizer_class"] = "MarianTokenizer";
}

std::shared_ptr<const MarianFiles> read_files(const std::string& directory) {
  auto files = std::make_shared<MarianFiles>();
  files->directory = directory;
  const auto read = [&](const char* name) {
    if (!fs::is_regular_file(files->path(name))) {
      throw Error(str_cat(directory, ": not a complete Marian tokenizer, missing file ", name));
    }
    files->files.emplace_back(name, read_file(files->path(name), kLargestTokenizerFile));
  };
  read(kSourceModel);
  read(kTargetModel);
  read(kPieces);
  read_added(*files);
  const JsonFields config(files->config, files->path("tokenizer_config.json"));
  if (config.has("sp_model_kwargs") && !config.at("sp_model_kwargs").empty()) {
    config.fail("sp_model_kwargs",
                "SentencePiece subword regularization is not supported, must be {}");
  }
  if (config.boolean("separate_vocabs", false)) {
    read(kTargetPieces);
  }
  files->truncates_left = truncates_left(files->config, Json::object(), config.location());
  files->unknown = special_token(files->config, "unk_token").value_or("");
  const std::string end = special_token(files->config, "eos_token").value_or("");
  for (const AddedToken& token : files->added) {
    files->end = token.content == end ? token.id : files->end;
  }
  for (const auto& [name, bytes] : files->files) {
    files->fingerprint = digest(bytes, digest(name, files->fingerprint));
  }
  files->fingerprint = digest(files->config["added_tokens_decoder"].dump(), files->fingerprint);
  if (files->truncates_left) {
    files->fingerprint = digest(std::string_view("left"), files->fingerprint);
  }
  return files;
}

}  // namespace

bool has_marian_tokenizer(const std::string& directory) {
  return fs::exists(directory + "/" + kSourceModel) || fs::exists(directory + "/" + kTargetModel);
}

std::shared_ptr<const Tokenizer> load_marian_tokenizer(const std::string& directory) {
  try {
    const auto files = read_files(directory);
    const bool are_separate = files->files.back().first == kTargetPieces;
    auto target = std::make_unique<const MarianTokenizer>(
        files, kTargetModel, are_separate ? kTargetPieces : kPieces, nullptr);
    return std::make_shared<MarianTokenizer>(files, kSourceModel, kPieces, std::move(target));
  } catch (const Json::exception& error) {
    throw Error(str_cat(directory, "/tokenizer_config.json: damaged: ", printable(error.what())));
  }
}

}  // namespace weft::data
