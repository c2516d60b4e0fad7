#include "cli/predict/attention_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/string_util.h"
#include "base/utf8.h"
#include "cli/verb.h"

namespace weft::cli {
namespace {

using formats::Json;

/// The number rounded to six significant digits, the reliable precision of fp32.
double attention_rounded(float value) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.6g", static_cast<double>(value));
  return std::strtod(digits.data(), nullptr);
}

/// (H, L, L) as nested lists.
Json heads_json(const at::Tensor& weights) {
  const auto* value = weights.const_data_ptr<float>();
  Json heads = Json::array();
  for (int64_t head = 0; head < weights.size(0); ++head) {
    Json rows = Json::array();
    for (int64_t query = 0; query < weights.size(1); ++query) {
      Json row = Json::array();
      for (int64_t key = 0; key < weights.size(2); ++key) {
        row.push_back(attention_rounded(*value++));
      }
      rows.push_back(std::move(row));
    }
    heads.push_back(std::move(rows));
  }
  return heads;
}

}  // namespace

std::vector<int64_t> read_layers(const std::string& words, int64_t layers) {
  std::set<int64_t> chosen;
  for (const std::string_view word : split(words, ',')) {
    int64_t layer = layers - 1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), layer);
    const bool is_number = error == std::errc() && end == word.data() + word.size();
    if (word == "all") {
      for (int64_t each = 0; each < layers; ++each) {
        chosen.insert(each);
      }
    } else if ((is_number || word == "last") && layer >= 0 && layer < layers) {
      chosen.insert(layer);
    } else {
      throw UsageError(
          str_cat("--attention: '", word,
                  "' is not a layer, allowed is all, last, or layer numbers from 0 to ", layers - 1,
                  ", comma-separated"));
    }
  }
  return {chosen.begin(), chosen.end()};
}

void add_attention(Json& line,
                   const inference::AttentionMap& map,
                   const data::Tokenizer& tokenizer) {
  line["tokens"] = Json::array();
  for (const int64_t id : map.ids) {
    line["tokens"].push_back(utf8::replace_invalid(tokenizer.piece(static_cast<int32_t>(id))));
  }
  if (!map.segments.empty()) {
    line["segments"] = map.segments;
  }
  line["attention"] = Json::object();
  for (const auto& [layer, weights] : map.layers) {
    line["attention"][str_cat(layer)] = heads_json(weights);
  }
}

}  // namespace weft::cli
