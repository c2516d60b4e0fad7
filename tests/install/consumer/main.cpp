// A program on the installed library: trains a tokenizer on a text file, builds a BERT for it,
// encodes the given line.
#include <fstream>
#include <iostream>
#include <string>

#include "data/tokenizer_options.h"
#include "models/directory.h"

int main(int, char** arguments) {
  weft::data::TokenizerReport report;
  const auto tokenizer = weft::data::train_tokenizer(
      {.vocab_size = 500}, weft::data::TokenizerTemplate::kBert, 1,
      [&](const weft::data::TextVisitor& visit) {
        std::ifstream file(arguments[1]);
        for (std::string line; std::getline(file, line);) {
          visit(line);
        }
      },
      report);
  const auto model = weft::models::make_model({.head = weft::models::Head::kMaskedLm,
                                               .vocabulary = tokenizer->size(),
                                               .dim = 32,
                                               .layers = 1,
                                               .heads = 2,
                                               .width = 64},
                                              1);
  std::cout << report.lines << " lines, " << tokenizer->tokens(arguments[2]).size() << " tokens, "
            << model->named_parameters().size() << " parameters\n";
}
