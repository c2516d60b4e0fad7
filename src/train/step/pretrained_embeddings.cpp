#include <algorithm>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "formats/word_vectors.h"
#include "models/config/family.h"
#include "train/step/run_components.h"

namespace weft::train {

namespace {

/// The embeddings, whose rows must be as wide as the vectors of the file.
at::Tensor checked_embeddings(const std::string& path,
                              const models::Model& model,
                              std::size_t dimensions) {
  auto embeddings = model.input_embeddings();
  if (!embeddings.defined()) {
    throw UserError(str_cat("pretrained_embeddings: ", models::architecture_of(model.options()),
                            " has no word embeddings"));
  }
  if (std::cmp_not_equal(embeddings.size(1), dimensions)) {
    throw UserError(str_cat("pretrained_embeddings: the vectors of ", path, " have ", dimensions,
                            " dimensions, the embeddings of the model ", embeddings.size(1),
                            "; they must be the same"));
  }
  return embeddings;
}

}  // namespace

void check_pretrained_embeddings(const std::string& path, const models::Model& model) {
  formats::read_word_vectors(path, [&](std::string_view, std::span<const float> vector) {
    checked_embeddings(path, model, vector.size());
    return false;
  });
}

void load_pretrained_embeddings(const std::string& path,
                                const data::Tokenizer& tokenizer,
                                models::Model& model) {
  constexpr int64_t kWordsPerReport = 4096;
  const at::NoGradGuard no_grad;
  at::Tensor embeddings;
  std::vector<bool> is_set(static_cast<std::size_t>(tokenizer.size()), false);
  int64_t words = 0;
  formats::read_word_vectors(path, [&](std::string_view word, std::span<const float> vector) {
    if (!embeddings.defined()) {
      embeddings = checked_embeddings(path, model, vector.size());
    }
    if (words++ % kWordsPerReport == 0) {
      log::set_progress_line(str_cat("reading ", path, "  ", with_commas(words - 1), " words"));
      throw_if_stopped("reading the pretrained embeddings");
    }
    const auto token = tokenizer.word_token(std::string(word));
    if (token && !is_set[static_cast<std::size_t>(*token)]) {
      is_set[static_cast<std::size_t>(*token)] = true;
      embeddings[*token].copy_(at::from_blob(const_cast<float*>(vector.data()),  // never written to
                                             {static_cast<int64_t>(vector.size())}, at::kFloat));
    }
    return true;
  });
  log::set_progress_line("");
  const auto found = std::ranges::count(is_set, true);
  if (found == 0) {
    throw UserError(str_cat("pretrained_embeddings: none of the ", with_commas(tokenizer.size()),
                            " tokens is a word of ", path));
  }
  log::info(str_cat("[model] pretrained embeddings of ", with_commas(found), " of ",
                    with_commas(tokenizer.size()), " tokens from ", path, ", which has ",
                    with_commas(words), " words"));
}

}  // namespace weft::train
