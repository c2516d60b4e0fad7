#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/file.h"
#include "base/string_util.h"
#include "models/config/family.h"
#include "models/ngram/arpa.h"
#include "models/ngram/smoothing.h"

namespace weft::models {

namespace {

constexpr double kZeroProbability = -99;  // as log10

std::string log10_text(float natural) {
  const auto value =
      static_cast<float>(std::isfinite(natural) ? natural / std::numbers::ln10 : kZeroProbability);
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

class ArpaWriter {
 public:
  ArpaWriter(const NgramTables& tables, std::vector<std::string> words, const std::string& path)
      : tables_(tables), words_(std::move(words)), file_(path) {}

  void write(const std::vector<bool>& is_written) {
    file_.write("\\data\\\n");
    for (int64_t k = 1; k <= tables_.order(); ++k) {
      const auto count = k == 1 ? std::ranges::count(is_written, true)
                                : tables_.orders()[static_cast<std::size_t>(k) - 1].tokens.numel();
      file_.write(str_cat("ngram ", k, "=", count, "\n"));
    }
    for (std::size_t k = 0; k < tables_.orders().size(); ++k) {
      file_.write(str_cat("\n\\", k + 1, "-grams:\n"));
      for (int64_t token = 0; token < tables_.vocabulary(); ++token) {
        if (is_written[static_cast<std::size_t>(token)]) {
          visit(0, k, token, words_[static_cast<std::size_t>(token)]);
        }
      }
    }
    file_.write("\n\\end\\\n");
    file_.commit();
  }

 private:
  /// Writes the n-grams of order `wanted` (from 0) that begin with this one of order `order`.
  void visit(std::size_t order, std::size_t wanted, int64_t ngram, const std::string& words) {
    const auto& own = tables_.orders()[order];
    if (order == wanted) {
      const bool has_backoff = own.backoff.defined();
      file_.write(str_cat(log10_text(own.log_probability.const_data_ptr<float>()[ngram]), "\t",
                          words, has_backoff ? "\t" : "",
                          has_backoff ? log10_text(own.backoff.const_data_ptr<float>()[ngram]) : "",
                          "\n"));
      return;
    }
    const auto* begins = own.first_child.const_data_ptr<int32_t>() + ngram;
    const auto* tokens = tables_.orders()[order + 1].tokens.const_data_ptr<int32_t>();
    for (auto child = begins[0]; child < begins[1]; ++child) {
      visit(order + 1, wanted, child,
            words + " " + words_[static_cast<std::size_t>(tokens[child])]);
    }
  }

  const NgramTables& tables_;
  std::vector<std::string> words_;
  FileWriter file_;
};

void check_word(const std::string& word, std::size_t id) {
  if (word.empty() || word.find_first_of(" \t\r\n") != std::string::npos) {
    throw UserError(str_cat("the ARPA format separates words by white space, but token ", id,
                            " of the tokenizer is '", printable(word), "'"));
  }
}

}  // namespace

void write_arpa(const Model& model,
                const std::vector<std::string>& pieces,
                int64_t unknown_id,
                const std::string& path) {
  const auto* ngram = dynamic_cast<const NgramModel*>(&model);
  const auto& options = model.options();
  if (ngram == nullptr) {
    throw UserError(
        str_cat("the ARPA format is for n-gram language models (model.type: ngram, "
                "objective.type: causal), this one is ",
                architecture_of(options)));
  }
  if (ngram->tables().is_floor()) {
    throw UserError(str_cat("smoothing: ", options.ngram.smoothing,
                            " does not back off, so the ARPA format cannot express it"));
  }
  if (options.bos_id < 0 || options.eos_id < 0 || options.bos_id == options.eos_id) {
    throw UserError(
        "the ARPA format has two tokens <s> and </s> around a text, the tokenizer does not");
  }
  auto words = pieces;
  words.resize(static_cast<std::size_t>(options.vocabulary));
  words[static_cast<std::size_t>(options.bos_id)] = "<s>";
  words[static_cast<std::size_t>(options.eos_id)] = "</s>";
  if (unknown_id >= 0) {
    words[static_cast<std::size_t>(unknown_id)] = "<unk>";
  }
  std::vector<bool> is_written(words.size());
  for (std::size_t id = 0; id < words.size(); ++id) {
    is_written[id] = std::cmp_not_equal(id, options.pad_id);
    if (is_written[id]) {
      check_word(words[id], id);
    }
  }
  ArpaWriter(ngram->tables(), std::move(words), path).write(is_written);
}

}  // namespace weft::models
