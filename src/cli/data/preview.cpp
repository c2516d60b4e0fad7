#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/string_util.h"
#include "cli/data/data.h"

namespace weft::cli {
namespace {

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kStruck = "\x1b[9;31m";
constexpr std::string_view kUnderlined = "\x1b[4;32m";
constexpr std::string_view kMasked = "\x1b[33m";
constexpr std::string_view kReplaced = "\x1b[35m";
constexpr std::string_view kPlain = "\x1b[0m";

std::string colored(std::string_view color, std::string_view word, bool has_colors) {
  return has_colors ? str_cat(color, word, kPlain) : std::string(word);
}

/// The piece without the characters that mark word beginnings.
std::string word_of(const data::Tokenizer& tokenizer, int64_t id) {
  const auto number = static_cast<int32_t>(id);
  std::string piece = tokenizer.piece(number);
  constexpr std::string_view kWordBegin = "\xe2\x96\x81";  // of SentencePiece
  if (piece.starts_with(kWordBegin) && piece.size() > kWordBegin.size()) {
    piece.erase(0, kWordBegin.size());
  } else if (tokenizer.continues_word(number) && piece.starts_with("##") && piece.size() > 2) {
    piece.erase(0, 2);
  }
  for (char& byte : piece) {  // a vocabulary may contain anything: keep it on one line
    byte = static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f ? '?' : byte;
  }
  return piece;
}

std::string show_target(const std::string& right,
                        const std::string& input,
                        bool is_kept,
                        bool is_masked,
                        bool has_colors) {
  if (!has_colors) {
    return is_kept ? str_cat("{", right, "}") : str_cat("{", right, ">", input, "}");
  }
  if (is_kept) {
    return colored(kUnderlined, right, true);
  }
  return colored(kStruck, right, true) + colored(is_masked ? kMasked : kReplaced, input, true);
}

}  // namespace

std::string show_example(const data::Example& example,
                         const data::Tokenizer& tokenizer,
                         bool has_colors) {
  const int64_t mask = tokenizer.special_token_ids().mask;
  std::string line;
  std::size_t target = 0;
  for (std::size_t i = 0; i < example.ids.size(); ++i) {
    const int64_t id = example.ids[i];
    const bool is_target = target < example.targets.size() &&
                           example.target_positions[target] == static_cast<int64_t>(i);
    const int64_t right = is_target ? example.targets[target] : id;
    target += is_target ? 1 : 0;
    const bool is_special = tokenizer.is_special(static_cast<int32_t>(right));
    const bool is_glued = !is_special && tokenizer.continues_word(static_cast<int32_t>(right));
    line += line.empty() || is_glued ? "" : " ";
    const std::string word = word_of(tokenizer, right);
    if (is_target) {
      line += show_target(word, word_of(tokenizer, id), id == right, id == mask, has_colors);
    } else {
      line += is_special ? colored(kDim, word, has_colors) : word;
    }
  }
  return line;
}

namespace {

/// Tokens without targets.
std::string show_ids(const std::vector<int64_t>& ids,
                     const data::Tokenizer& tokenizer,
                     bool has_colors) {
  data::Example shown;
  shown.ids = ids;
  return show_example(shown, tokenizer, has_colors);
}

}  // namespace

std::string show_token_metadata(const data::Example& example,
                                const std::vector<std::string>& languages) {
  if (languages.empty() && example.positions.empty()) {
    return "";
  }
  const auto position = [&](std::size_t i) {
    return example.positions.empty() ? static_cast<int64_t>(i) : example.positions[i];
  };
  const auto name = [&](std::size_t i) {
    return languages.empty()
               ? ""
               : languages.at(static_cast<std::size_t>(example.token_type_ids.at(i))) + " at ";
  };
  std::vector<std::string> spans;
  for (std::size_t begin = 0, end = 0; begin < example.ids.size(); begin = end) {
    end = begin + 1;
    while (end < example.ids.size() && position(end) == position(end - 1) + 1 &&
           name(end) == name(begin)) {
      ++end;
    }
    spans.push_back(str_cat(name(begin), "positions ", position(begin), " to ", position(end - 1)));
  }
  return join(spans);
}

bool predicts_next_token(const data::Example& example) {
  const auto first =
      std::max<int64_t>(0, example.prefix_length - 1);  // position predicting the first target
  const auto predicted = static_cast<int64_t>(example.ids.size()) - first;
  return !example.targets.empty() && static_cast<int64_t>(example.targets.size()) == predicted &&
         std::equal(example.ids.begin() + first + 1, example.ids.end(), example.targets.begin());
}

bool predicts_sentences(const data::Example& example) {
  return std::ranges::adjacent_find(example.target_positions) != example.target_positions.end();
}

std::string show_predicted_sentences(const data::Example& example,
                                     const data::Tokenizer& tokenizer,
                                     bool has_colors) {
  std::vector<std::string> lines;
  auto begin = example.ids.begin();
  std::size_t target = 0;
  for (const auto length : example.sentence_lengths) {
    lines.push_back(show_ids({begin, begin + length}, tokenizer, has_colors));
    begin += length;
    std::vector<int64_t> predicted;
    const auto last = begin - example.ids.begin() - 1;
    while (target < example.targets.size() && example.target_positions[target] == last) {
      predicted.push_back(example.targets[target++]);
    }
    if (!predicted.empty()) {
      lines.push_back(str_cat("  {", show_ids(predicted, tokenizer, has_colors), "}"));
    }
  }
  return join(lines, "\n");
}

std::string show_generation(const data::Example& example,
                            const data::Tokenizer& tokenizer,
                            bool has_colors) {
  if (!example.source_ids.empty()) {
    return str_cat("source: ", show_ids(example.source_ids, tokenizer, has_colors),
                   "\ntarget: ", show_ids(example.targets, tokenizer.target(), has_colors));
  }
  const auto plain = [&](const std::vector<int64_t>& ids) {
    return show_ids(ids, tokenizer, has_colors);
  };
  if (example.prefix_length > 0) {
    return str_cat(
        "prefix: ", plain({example.ids.begin(), example.ids.begin() + example.prefix_length}),
        "\nrest: ", plain(example.targets));
  }
  auto whole = example.ids;
  whole.push_back(example.targets.back());
  return plain(whole);
}

std::string show_tagged(const data::Example& example,
                        const data::Tokenizer& tokenizer,
                        const std::vector<std::string>& labels) {
  std::string line;
  std::size_t target = 0;
  for (std::size_t i = 0; i < example.ids.size(); ++i) {
    line += line.empty() ? "" : " ";
    line += tokenizer.piece(static_cast<int32_t>(example.ids[i]));
    if (target < example.targets.size() &&
        example.target_positions[target] == static_cast<int64_t>(i)) {
      line += str_cat("[", labels.at(static_cast<std::size_t>(example.targets[target])), "]");
      ++target;
    }
  }
  return line;
}

std::string show_legend(bool has_colors) {
  return str_cat("tokens in the loss: ", show_target("right", "[MASK]", false, true, has_colors),
                 " masked, ", show_target("right", "other", false, false, has_colors),
                 " replaced by a random token, ",
                 show_target("right", "right", true, false, has_colors), " unchanged");
}

void count_masks(const data::Example& example,
                 const data::Tokenizer& tokenizer,
                 MaskCounts& counts) {
  counts.tokens += static_cast<int64_t>(example.ids.size());
  for (std::size_t i = 0; i < example.targets.size(); ++i) {
    const int64_t input = example.ids[static_cast<std::size_t>(example.target_positions[i])];
    if (input == example.targets[i]) {
      ++counts.kept;
    } else if (input == tokenizer.special_token_ids().mask) {
      ++counts.masked;
    } else {
      ++counts.replaced;
    }
  }
}

}  // namespace weft::cli
