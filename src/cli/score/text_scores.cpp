#include <array>
#include <cstdio>
#include <iostream>
#include <set>

#include "base/string_util.h"
#include "cli/score/score.h"
#include "formats/json.h"
#include "formats/line_reader.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/metrics.h"
#include "metrics/rouge.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr std::array<std::string_view, 4> kMetrics{"bleu", "chrf", "chrf++", "rouge"};

void reject_korean(const Arguments& arguments) {
  const auto word = arguments.get("tokenize");
  if (word.starts_with("ko")) {
    arguments.fail("--tokenize: '" + word +
                   "' needs its own MeCab, which Weft does not include: segment both files into "
                   "words with it first, and use none");
  }
}

struct Wanted {
  std::set<std::string> metrics;
  metrics::BleuOptions bleu;
  bool uses_stems = false;
};

/// `fallback`: the metrics if none is named.
Wanted read_wanted(const Arguments& arguments, std::set<std::string> fallback) {
  Wanted wanted;
  for (const auto& list : arguments.all("metric")) {
    for (const auto part : split(list, ',')) {
      const std::string word(trim(part));
      arguments.find_choice("metric", word, {kMetrics.begin(), kMetrics.end()});
      wanted.metrics.insert(word);
    }
  }
  if (wanted.metrics.empty()) {
    wanted.metrics = std::move(fallback);
  }
  reject_korean(arguments);
  wanted.bleu.tokenizer =
      arguments.choice("tokenize", metrics::BleuTokenizer::k13a, metrics::bleu_tokenizers());
  metrics::signature_of(wanted.bleu.tokenizer);  // throws if its library is missing
  wanted.bleu.smoothing =
      arguments.choice("smooth", metrics::BleuSmoothing::kExponential, metrics::bleu_smoothings());
  if (arguments.has("smooth-value")) {
    wanted.bleu.smoothing_value = arguments.number("smooth-value", 0, 0, 1e6);
  }
  wanted.bleu.is_lowercased = arguments.has("lowercase");
  wanted.uses_stems = arguments.has("stemmer");
  return wanted;
}

/// All metrics of some lines.
class Scores {
 public:
  explicit Scores(const Wanted& wanted)
      : wanted_(wanted),
        bleu_(wanted.bleu),
        chrf_(chrf_options(0)),
        chrf_words_(chrf_options(2)),
        rouge_(wanted.uses_stems) {}

  void add(const std::string& hypothesis, const std::vector<std::string>& references) {
    const auto line = lines_++;
    if (has("bleu")) {
      bleu_.add(line, hypothesis, references);
    }
    if (has("chrf")) {
      chrf_.add(line, hypothesis, references);
    }
    if (has("chrf++")) {
      chrf_words_.add(line, hypothesis, references);
    }
    if (has("rouge")) {
      rouge_.add(line, hypothesis, references);
    }
  }

  /// With the details after the metrics, or the metrics alone.
  Json json(bool is_whole) const {
    Json result = Json::object();
    if (is_whole) {
      result["lines"] = lines_;
    }
    if (has("bleu")) {
      add_bleu(result, is_whole);
    }
    if (has("chrf")) {
      add_chrf(result, "chrf", chrf_, is_whole);
    }
    if (has("chrf++")) {
      add_chrf(result, "chrf++", chrf_words_, is_whole);
    }
    if (has("rouge")) {
      const auto mean = rouge_.mean();
      result["rouge1"] = mean.rouge_1.f1;
      result["rouge2"] = mean.rouge_2.f1;
      result["rougeL"] = mean.rouge_l.f1;
      result["rougeLsum"] = mean.rouge_lsum.f1;
    }
    return result;
  }

 private:
  bool has(const std::string& metric) const { return wanted_.metrics.count(metric) > 0; }

  metrics::ChrfOptions chrf_options(int64_t words) const {
    return {.word_order = words, .is_lowercased = wanted_.bleu.is_lowercased};
  }

  /// In sacreBLEU's format.
  static std::string printed(const metrics::Bleu& bleu) {
    const auto score = bleu.score();
    const auto& p = score.precisions;
    std::array<char, 256> line{};
    std::snprintf(line.data(), line.size(),
                  " = %.2f %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = "
                  "%lld)",
                  score.score, p[0], p[1], p[2], p[3], score.brevity_penalty,
                  metrics::safe_divide(static_cast<double>(score.length),
                                       static_cast<double>(score.reference_length)),
                  static_cast<long long>(score.length),
                  static_cast<long long>(score.reference_length));
    return "BLEU|" + bleu.signature() + line.data();
  }

  void add_bleu(Json& result, bool is_whole) const {
    const auto score = bleu_.score();
    result["bleu"] = score.score;
    if (is_whole) {
      result["bleu_line"] = printed(bleu_);
    }
  }

  static void add_chrf(Json& result,
                       const std::string& key,
                       const metrics::Chrf& chrf,
                       bool is_whole) {
    result[key] = chrf.score();
    if (is_whole) {
      std::array<char, 32> number{};
      std::snprintf(number.data(), number.size(), " = %.2f", chrf.score());
      result[key + "_line"] = chrf.name() + "|" + chrf.signature() + number.data();
    }
  }

  const Wanted& wanted_;
  int64_t lines_ = 0;
  metrics::Bleu bleu_;
  metrics::Chrf chrf_;
  metrics::Chrf chrf_words_;
  metrics::Rouge rouge_;
};

}  // namespace

void declare_text_scores(Arguments& arguments) {
  arguments.group("Generated texts")
      .value("hypotheses", "FILE", "File with generated lines, to compare with --references")
      .value("references", "FILE", "File with reference lines; may be repeated");
  declare_text_metrics(arguments, "bleu,chrf");
  arguments.flag("lines", "Also write the metrics of each line (BLEU with effective order)");
}

void declare_text_metrics(Arguments& arguments, const std::string& fallback) {
  arguments
      .value("metric", "NAMES", "bleu, chrf, chrf++, rouge, comma-separated (" + fallback + ")")
      .value("tokenize", "HOW", "BLEU tokenizer: 13a (default), intl, char, zh, ja-mecab, none")
      .value("smooth", "HOW", "BLEU smoothing: exp (default), floor, add-k, none")
      .value("smooth-value", "X", "Smoothing value of floor (default: 0.1) and add-k (default: 1)")
      .flag("lowercase", "Lowercase the texts for BLEU and chrF")
      .flag("stemmer", "Stem English words for ROUGE (Porter stemmer)");
}

const std::vector<std::string>& text_metric_options() {
  static const std::vector<std::string> kNames{"metric",       "tokenize",  "smooth",
                                               "smooth-value", "lowercase", "stemmer"};
  return kNames;
}

void check_text_metrics(const Arguments& arguments) { read_wanted(arguments, {}); }

formats::Json text_metrics(const Arguments& arguments,
                           const std::vector<std::string>& hypotheses,
                           const std::vector<std::string>& references) {
  const auto wanted = read_wanted(arguments, {"bleu", "chrf", "rouge"});
  Scores all(wanted);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    all.add(hypotheses[i], {references.at(i)});
  }
  return all.json(true);
}

bool wants_text_scores(const Arguments& arguments) {
  if (arguments.has("hypotheses") != arguments.has("references")) {
    arguments.fail(arguments.has("hypotheses") ? "--hypotheses needs --references FILE"
                                               : "--references needs --hypotheses FILE");
  }
  if (arguments.has("hypotheses")) {
    return true;
  }
  auto names = text_metric_options();
  names.emplace_back("lines");
  for (const auto& name : names) {
    if (arguments.has(name)) {
      arguments.fail("--" + name + " needs --hypotheses FILE and --references FILE");
    }
  }
  return false;
}

int run_text_scores(const Arguments& arguments) {
  const auto wanted = read_wanted(arguments, {"bleu", "chrf"});
  auto of_line = wanted;
  of_line.bleu.has_effective_order = true;
  formats::LineReader hypotheses(arguments.get("hypotheses"));
  std::vector<formats::LineReader> references;
  for (const auto& path : arguments.all("references")) {
    references.emplace_back(path);
  }
  Scores all(wanted);
  for (std::string_view line; hypotheses.next(line);) {
    std::vector<std::string> others;
    for (auto& reader : references) {
      std::string_view other;
      if (!reader.next(other)) {
        throw formats::Error(str_cat(reader.location(), ": ends early, but ", hypotheses.location(),
                                     " continues: the number of lines must be equal"));
      }
      others.emplace_back(other);
    }
    all.add(std::string(line), others);
    if (arguments.has("lines")) {
      Scores one(of_line);
      one.add(std::string(line), others);
      std::cout << one.json(false).dump() << "\n";
    }
  }
  for (auto& reader : references) {
    if (std::string_view more; reader.next(more)) {
      throw formats::Error(str_cat(reader.location(), ": has no corresponding line in ",
                                   arguments.get("hypotheses")));
    }
  }
  std::cout << all.json(true).dump() << "\n";
  return 0;
}

}  // namespace weft::cli
