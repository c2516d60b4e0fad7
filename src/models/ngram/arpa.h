#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/ngram/ngram_model.h"

namespace weft::models {

/// Writes an n-gram model in the ARPA format, which KenLM and SRILM read. `pieces`: the text of
/// each token; those that begin and end texts, and the unknown one, become <s>, </s> and <unk>.
/// Probability 0 is written as -99. Throws UserError if the model has no such form, FileError.
void write_arpa(const Model& model,
                const std::vector<std::string>& pieces,
                int64_t unknown_id,
                const std::string& path);

/// A model from an ARPA file. Its tokens: <unk>, <s>, </s>, then the other words in the order of
/// the file.
struct ArpaModel {
  std::shared_ptr<NgramModel> model;
  std::vector<std::string> words;  // without these three
};

/// Reads an ARPA file (also .gz), of any order of its n-grams. Words that it does not have are
/// <unk>, with probability 0 unless it has that. Throws formats::Error naming the line.
ArpaModel read_arpa(const std::string& path);

}  // namespace weft::models
