#include <string>

#include "base/file.h"
#include "data/tokenizers/documents.h"
#include "data/tokenizers/pipeline.h"

namespace weft::data {

namespace {

/// One piece per line, whose line number is its id: only for a vocabulary without gaps, and pieces
/// without line ends.
void save_vocab_txt(const Vocabulary& vocabulary, const std::string& directory) {
  std::string lines;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view piece = vocabulary.piece(id);
    if (!vocabulary.has(id) || piece.find_first_of("\n\r") != std::string_view::npos) {
      return;
    }
    lines.append(piece).push_back('\n');
  }
  write_file(directory + "/vocab.txt", lines);
}

/// Writes a file of pieces and one of merges for byte-level models, whose pieces have no spaces.
void save_bpe_files(const TokenModel& model, const std::string& directory) {
  const Vocabulary& vocabulary = model.vocabulary();
  std::string lines = "#version: 0.2\n";
  for (const auto& [left, right] : model.merges()) {
    lines.append(vocabulary.piece(left)).append(" ").append(vocabulary.piece(right)) += '\n';
  }
  write_file(directory + "/vocab.json", vocabulary_object(vocabulary).dump() + "\n");
  write_file(directory + "/merges.txt", lines);
}

/// File name under which the classes of transformers expect a SentencePiece model.
std::string sentencepiece_name(const formats::Json& config) {
  const std::string name = config.value("tokenizer_class", "");
  const bool is_of_fairseq =
      name.starts_with("XLMRobertaTokenizer") || name.starts_with("MBartTokenizer");
  return is_of_fairseq ? "sentencepiece.bpe.model" : "spiece.model";
}

}  // namespace

void save_legacy_files(const TokenModel& model,
                       const TokenizerParts& parts,
                       const std::string& directory) {
  if (model.continuing_prefix() == "##") {
    save_vocab_txt(model.vocabulary(), directory);
  }
  if (!parts.sentencepiece.empty()) {
    write_file(directory + "/" + sentencepiece_name(parts.config), parts.sentencepiece);
  }
  if (parts.is_byte_level) {
    save_bpe_files(model, directory);
  }
}

}  // namespace weft::data
