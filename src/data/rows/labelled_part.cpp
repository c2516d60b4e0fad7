#include "data/rows/labelled_part.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/string_util.h"
#include "base/threads.h"
#include "data/datasets/sequence_template.h"
#include "data/error.h"

namespace weft::data {
namespace {

constexpr int64_t kLabelledRowsAtOnce = 256;

double number_at(std::string_view field, const std::string& location) {
  if (const auto value = parse_number(field)) {
    return *value;
  }
  throw Error(str_cat(location, ": '", field.substr(0, 100), "' is not a finite number",
                      field.find(',') == std::string_view::npos
                          ? ""
                          : "; numbers have a decimal point and no commas"));
}

void add_values(LabelledPart& part, int64_t row, int64_t width) {
  const auto fields = part.rows.labels_of(row);
  if (static_cast<int64_t>(fields.size()) != width) {
    throw Error(str_cat(part.rows.location(row), ": ", fields.size(), " numbers, must be ", width,
                        " as in the first row"));
  }
  for (const auto field : fields) {
    part.values.push_back(number_at(field, part.rows.location(row)));
  }
}

void add_classes(LabelledPart& part, int64_t row, const Labels& labels) {
  std::vector<int32_t> found;
  for (const auto name : part.rows.labels_of(row)) {
    const auto id = labels.find(name);
    if (!id) {
      labels.throw_unknown(name, part.rows.location(row));
    }
    found.push_back(static_cast<int32_t>(*id));
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  part.classes.add(found.data(), static_cast<int64_t>(found.size()));
}

}  // namespace

int64_t RaggedIds::size(int64_t text) const {
  const auto i = static_cast<std::size_t>(text);
  return offsets[i + 1] - offsets[i];
}

void RaggedIds::add(const int32_t* begin, int64_t count) {
  ids.insert(ids.end(), begin, begin + count);
  offsets.push_back(static_cast<int64_t>(ids.size()));
}

void RaggedIds::read(int64_t text, std::vector<int64_t>& out) const {
  const auto i = static_cast<std::size_t>(text);
  out.insert(out.end(), ids.begin() + offsets[i], ids.begin() + offsets[i + 1]);
}

RaggedIds tokenize(const TextList& texts,
                   const Tokenizer& tokenizer,
                   const SentenceEncoder* sentences) {
  const int64_t blocks = (texts.size() + kLabelledRowsAtOnce - 1) / kLabelledRowsAtOnce;
  std::vector<RaggedIds> parts(static_cast<std::size_t>(blocks));
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      RaggedIds& part = parts[static_cast<std::size_t>(block)];
      const int64_t last = std::min((block + 1) * kLabelledRowsAtOnce, texts.size());
      for (int64_t row = block * kLabelledRowsAtOnce; row < last; ++row) {
        if (sentences == nullptr) {
          tokenizer.encode(texts.at(row), part.ids);
        } else {
          part.shortened.push_back(sentences->encode(texts.at(row), part.ids) ? 1 : 0);
        }
        part.offsets.push_back(static_cast<int64_t>(part.ids.size()));
      }
    }
  });
  RaggedIds all;
  for (const RaggedIds& part : parts) {
    const auto base = static_cast<int64_t>(all.ids.size());
    all.ids.insert(all.ids.end(), part.ids.begin(), part.ids.end());
    all.shortened.insert(all.shortened.end(), part.shortened.begin(), part.shortened.end());
    for (std::size_t i = 1; i < part.offsets.size(); ++i) {
      all.offsets.push_back(base + part.offsets[i]);
    }
  }
  return all;
}

void tokenize_and_truncate(LabelledPart& part,
                           const DataItem& item,
                           const LabelledSettings& settings,
                           int64_t max_tokens,
                           int64_t width,
                           const Labels& labels,
                           const Tokenizer& tokenizer) {
  const bool is_pair = part.rows.is_pair;
  std::optional<SentenceEncoder> sentences;
  if (settings.sentences) {
    if (is_pair) {
      throw Error(str_cat(part.name, ": model.document reads one text per row, found two"));
    }
    sentences.emplace(tokenizer, *settings.sentences);
  }
  const RaggedIds first = tokenize(part.rows.first, tokenizer, sentences ? &*sentences : nullptr);
  const RaggedIds second = tokenize(part.rows.second, tokenizer);
  const auto row_begin = [](const RaggedIds& list, int64_t row) {
    return list.ids.data() + list.offsets[static_cast<std::size_t>(row)];
  };
  for (int64_t row = 0; row < part.rows.size(); ++row) {
    if (!item.reads_row(row)) {
      continue;
    }
    if (part.rows.lacks_label(row)) {
      ++part.unlabelled;
      continue;
    }
    part.without_class += part.rows.labels_of(row).empty() ? 1 : 0;
    const int64_t a = first.size(row);
    const int64_t b = is_pair ? second.size(row) : 0;
    const bool is_long =
        a + b > max_tokens || (sentences && first.shortened[static_cast<std::size_t>(row)] != 0);
    if (is_long && settings.truncation == Truncation::kDrop) {
      ++part.dropped;
      continue;
    }
    part.truncated += is_long ? 1 : 0;
    part.empty += a == 0 || (is_pair && b == 0) ? 1 : 0;
    part.kept.push_back(row);
    if (settings.label_format.is_regression) {
      add_values(part, row, width);
    } else {
      add_classes(part, row, labels);
    }
    const auto [kept_a, kept_b] =
        is_pair ? truncate_pair(a, b, max_tokens) : std::pair{std::min(a, max_tokens), b};
    if (a + b == 0 && max_tokens == settings.length) {  // no special tokens either
      const int32_t nothing = empty_text_token(tokenizer);
      part.first.add(&nothing, 1);
    } else {
      part.first.add(row_begin(first, row) + tokenizer.first_kept(a, kept_a), kept_a);
    }
    if (is_pair) {
      part.second.add(row_begin(second, row) + tokenizer.first_kept(b, kept_b), kept_b);
    }
  }
}

}  // namespace weft::data
