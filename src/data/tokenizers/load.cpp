#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "data/images/image_format.h"
#include "data/tokenizer.h"
#include "data/tokenizers/config_files.h"
#include "data/tokenizers/documents.h"
#include "data/tokenizers/fasttext/fasttext_features.h"
#include "data/tokenizers/sentencepiece/sentencepiece_model.h"
#include "data/tokenizers/special_names.h"
#include "data/tokenizers/tokenizer_json_parts.h"

namespace weft::data {

namespace {

using formats::Json;
namespace fs = std::filesystem;

/// A file of a known kind, found in a directory or given directly.
struct Source {
  std::string file;
  std::string directory;
  Json model_config;  // config.json of the directory; empty: none
};

/// Splits into lines as Python does: at LF, CR or both.
std::vector<std::string_view> lines_of(std::string_view bytes) {
  std::vector<std::string_view> lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\r\n");
    lines.push_back(bytes.substr(0, end));
    if (end == std::string_view::npos) {
      break;
    }
    const bool is_pair = bytes[end] == '\r' && end + 1 < bytes.size() && bytes[end + 1] == '\n';
    bytes.remove_prefix(end + (is_pair ? 2 : 1));
  }
  return lines;
}

/// Some classes rebuild the parts around the model; a damaged file is rejected nevertheless.
void check_components(const JsonFields& fields) {
  fields.at("model");
  if (fields.has("normalizer")) {
    make_normalizer(fields.fields("normalizer"));
  }
  if (fields.has("pre_tokenizer")) {
    make_pre_tokenizer(fields.fields("pre_tokenizer"));
  }
  if (fields.has("post_processor")) {
    make_post_processor(fields.fields("post_processor"));
  }
  if (fields.has("decoder")) {
    make_token_decoder(fields.fields("decoder"));
  }
}

TokenizerParts read_tokenizer_json(const Source& source) {
  Json document = formats::read_json(source.file, kLargestTokenizerFile);
  check_components(JsonFields(document, source.file));
  TokenizerParts parts{.document = std::move(document),
                       .config = read_tokenizer_config(source.directory),
                       .location = source.file};
  for (const char* name : {"/spiece.model", "/sentencepiece.bpe.model"}) {
    if (fs::is_regular_file(source.directory + name)) {
      parts.sentencepiece = read_file(source.directory + name, kLargestTokenizerFile);
    }
  }
  return parts;
}

TokenizerParts read_vocab_txt(const Source& source) {
  const std::string bytes = read_file(source.file, kLargestTokenizerFile);
  if (const auto bad = utf8::first_invalid(bytes)) {
    throw Error(str_cat(source.file, ": byte ", *bad, " is not UTF-8"));
  }
  const std::vector<std::string_view> lines = lines_of(bytes);
  Vocabulary vocabulary;
  for (std::size_t i = lines.size();
       i-- > 0;) {  // if a piece is listed several times, its last line counts
    vocabulary.add(lines[i], static_cast<int32_t>(i));
  }
  TokenizerParts parts{.document = empty_document(),
                       .config = read_tokenizer_config(source.directory),
                       .location = source.file};
  const bool is_funnel = tokenizer_class(parts.config, source.model_config) == "FunnelTokenizer";
  parts.document["model"] = word_piece_model(
      vocabulary, special_token(parts.config, "unk_token").value_or(is_funnel ? "<unk>" : "[UNK]"));
  if (!parts.config.contains("tokenizer_class")) {
    parts.config["tokenizer_class"] = is_funnel ? "FunnelTokenizer" : "BertTokenizer";
  }
  return parts;
}

TokenizerParts read_vocab_json(const Source& source) {
  const std::string merges_file = fs::path(source.file).parent_path() / "merges.txt";
  if (!fs::is_regular_file(merges_file)) {
    throw Error(source.file +
                ": merges.txt is missing from the same directory (for a Marian model: source.spm "
                "and target.spm)");
  }
  const std::string merges = read_file(merges_file, kLargestTokenizerFile);
  if (const auto bad = utf8::first_invalid(merges)) {
    throw Error(str_cat(merges_file, ": byte ", *bad, " is not UTF-8"));
  }
  Json list = Json::array();
  for (const std::string_view line : lines_of(merges)) {
    const std::vector<std::string_view> sides = split(line, ' ');
    const bool is_header = list.empty() && line.starts_with("#version");
    if (is_header || trim(line).empty()) {
      continue;
    }
    if (sides.size() != 2) {
      throw Error(str_cat(merges_file, ": '", printable(line), "' is not a pair of pieces"));
    }
    list.push_back(Json::array({sides[0], sides[1]}));
  }
  TokenizerParts parts{.document = empty_document(),
                       .config = read_tokenizer_config(source.directory),
                       .location = source.file};
  parts.document["model"] = {{"type", "BPE"},
                             {"vocab", formats::read_json(source.file, kLargestTokenizerFile)},
                             {"merges", std::move(list)}};
  const auto name = tokenizer_class(parts.config, source.model_config);
  if (name == "XLMTokenizer") {
    throw Error(str_cat(source.file,
                        ": XLMTokenizer needs the Moses tokenizer, which is not supported; a "
                        "tokenizer.json is required in the same directory"));
  }
  if (name.empty()) {
    parts.config["tokenizer_class"] = "GPT2Tokenizer";
  }
  return parts;
}

TokenizerParts read_spiece_model(const Source& source) {
  std::string bytes = read_file(source.file, kLargestTokenizerFile);
  const SentencePieceModel model = read_sentencepiece_model(bytes, source.file);
  return {.document = sentencepiece_document(model, source.file),
          .config = read_tokenizer_config(source.directory),
          .sentencepiece = std::move(bytes),
          .location = source.file};
}

using ReadParts = TokenizerParts (*)(const Source& source);

/// In the order of the search in a directory.
constexpr std::array<std::pair<std::string_view, ReadParts>, 6> kFiles = {{
    {"tokenizer.json", read_tokenizer_json},
    {"vocab.txt", read_vocab_txt},
    {"vocab.json", read_vocab_json},
    {"spiece.model", read_spiece_model},
    {"sentencepiece.bpe.model", read_spiece_model},
    {"tokenizer.model", read_spiece_model},
}};

std::shared_ptr<const Tokenizer> read(const std::string& file,
                                      const std::string& directory,
                                      ReadParts read_parts) {
  try {
    const Source source{file, directory, read_json_object(directory + "/config.json")};
    TokenizerParts parts = read_parts(source);
    if (!parts.config.contains("added_tokens_decoder")) {
      add_legacy_tokens(parts, read_json_object(directory + "/added_tokens.json"));
    }
    apply_tokenizer_class(parts, tokenizer_class(parts.config, source.model_config));
    return std::make_shared<Pipeline>(std::move(parts));
  } catch (const Json::exception& error) {
    throw Error(str_cat(file, ": damaged: ", printable(error.what())));
  }
}

std::shared_ptr<const Tokenizer> read_directory(const std::string& path) {
  if (has_marian_tokenizer(path)) {
    return load_marian_tokenizer(path);
  }
  if (has_fasttext_tokenizer(path)) {
    return load_fasttext_tokenizer(path);
  }
  std::vector<std::string> names;
  for (const auto& [name, read_parts] : kFiles) {
    const std::string file = path + "/" + std::string(name);
    if (fs::exists(file)) {
      return read(file, path, read_parts);
    }
    names.emplace_back(name);
  }
  if (auto pixels = load_image_processor(path)) {
    return pixels;
  }
  throw Error(str_cat(path, ": no tokenizer found, must have one of ", join(names),
                      ", or source.spm and target.spm"));
}

/// Tokenizer directory of a run; any other directory itself.
std::string resolve_run_directory(const std::string& directory) {
  if (!has_tokenizer(directory)) {
    for (const char* link : {"best", "last"}) {
      if (auto below = str_cat(directory, "/", link); has_tokenizer(below)) {
        return below;
      }
    }
  }
  return directory;
}

}  // namespace

bool has_tokenizer(const std::string& directory) {
  return has_marian_tokenizer(directory) || has_fasttext_tokenizer(directory) ||
         fs::exists(directory + "/preprocessor_config.json") ||
         std::any_of(kFiles.begin(), kFiles.end(), [&](const auto& file) {
           return fs::exists(str_cat(directory, "/", file.first));
         });
}

std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path) {
  if (fs::is_directory(path)) {
    return read_directory(resolve_run_directory(path));
  }
  if (!fs::exists(path)) {
    throw Error(path + ": no such file or directory");
  }
  if (path.ends_with(".model")) {
    return make_sentencepiece_tokenizer(read_file(path, kLargestTokenizerFile), path);
  }
  const std::string directory =
      fs::path(path).parent_path().empty() ? "." : fs::path(path).parent_path();
  if (path.ends_with(".json") && !path.ends_with("vocab.json")) {
    return read(path, directory, read_tokenizer_json);
  }
  if (path.ends_with(".txt")) {
    return read(path, directory, read_vocab_txt);
  }
  if (path.ends_with("vocab.json")) {
    return read(path, directory, read_vocab_json);
  }
  throw Error(path + ": not a tokenizer, must be a directory or a .json, .txt or .model file");
}

}  // namespace weft::data
