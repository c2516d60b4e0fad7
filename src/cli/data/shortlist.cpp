#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "cli/command.h"
#include "cli/data/data.h"
#include "cli/predict/output_writer.h"
#include "config/section.h"
#include "data/data_options.h"
#include "data/rows/parallel_text.h"
#include "data/text/ibm_model_1.h"
#include "data/tokenizer.h"
#include "formats/json.h"
#include "train/step/run_components.h"

namespace weft::cli {
namespace {

constexpr int64_t kLongestText = 512;  // tokens that are read of each text
constexpr double kLeastProbability = 1e-5;

/// The pairs of the files: items like those of `data.train`, or paths of tables.
std::vector<data::DataItem> read_pair_items(const std::vector<std::string>& given) {
  std::vector<std::string> items;
  items.reserve(given.size());
  for (const auto& item : given) {
    items.push_back(item.starts_with('{') ? item : formats::Json({{"path", item}}).dump());
  }
  auto section = config::Document::parse("{train: [" + join(items) + "]}", "--data").root();
  return data::read_data_options(section).train;
}

/// Tokenised pairs; a pass over them shows its progress.
class TokenPairs {
 public:
  TokenPairs(const std::vector<data::DataItem>& items,
             const data::Tokenizer& tokenizer,
             int64_t passes)
      : passes_(passes) {
    std::vector<std::string> remarks;
    for (const auto& item : items) {
      texts_.push_back(
          data::open_parallel_text(item, {}, "", tokenizer, train::show_progress(), remarks));
      size_ += texts_.back()->pairs();
    }
    log::set_progress_line("");
    for (const auto& remark : remarks) {
      log::info("[data] " + remark);
    }
  }

  int64_t size() const { return size_; }

  void visit(const data::TokenPairVisitor& visitor) {
    constexpr int64_t kPairsPerReport = 4096;
    std::vector<int64_t> source;
    std::vector<int64_t> target;
    int64_t done = 0;
    for (const auto& texts : texts_) {
      for (int64_t pair = 0; pair < texts->pairs(); ++pair, ++done) {
        if (done % kPairsPerReport == 0) {
          throw_if_stopped("estimating translation probabilities");
          train::show_progress()(
              {.activity = str_cat("pass ", pass_ + 1, " of ", passes_),
               .fraction = static_cast<double>(done) / static_cast<double>(size_)});
        }
        source.clear();
        target.clear();
        texts->read_source(pair, kLongestText, source);
        texts->read_target(pair, kLongestText, target);
        visitor(source, target);
      }
    }
    ++pass_;
    log::set_progress_line("");
  }

 private:
  std::vector<std::shared_ptr<const data::ParallelText>> texts_;
  int64_t size_ = 0;
  int64_t passes_;
  int64_t pass_ = 0;
};

/// The piece as a field of a line; empty: it cannot be one, or every shortlist has it anyway.
std::string shortlist_field(const data::Tokenizer& tokenizer, int32_t id) {
  auto piece = tokenizer.piece(id);
  const bool is_field = piece.find_first_of(" \t\r\n") == std::string::npos &&
                        tokenizer.id(piece) == id && !tokenizer.is_special(id);
  return is_field ? piece : "";
}

/// Lines TARGET SOURCE PROBABILITY of a source token.
std::string shortlist_lines(const data::Tokenizer& tokenizer,
                            const std::string& source,
                            const std::vector<data::TokenTranslation>& translations) {
  constexpr int kDigits = 6;
  std::ostringstream lines;
  lines << std::setprecision(kDigits);
  for (const auto& [id, probability] : translations) {
    const auto target = shortlist_field(tokenizer.target(), id);
    if (!target.empty() && probability >= kLeastProbability) {
      lines << target << ' ' << source << ' ' << std::min(probability, 1.0) << '\n';
    }
  }
  return lines.str();
}

void declare_shortlist(Arguments& arguments) {
  arguments
      .value("data", "FILE",
             "Table with columns source and target, or '{source: a.en, target: a.de}' like an item "
             "of data.train; may be repeated. Of longer texts the first 512 tokens count")
      .value("output", "FILE", "Output file; - (default): standard output")
      .value("best", "N", "Most likely translations of each source token (default: 100)")
      .value("iterations", "N", "Iterations of expectation maximisation (default: 5)");
}

}  // namespace

int run_data_shortlist(const std::vector<std::string>& raw) {
  Arguments arguments(
      {.usage = "weft data shortlist MODEL --data FILE [--data FILE ...] [options]",
       .description =
           "Makes a lexical shortlist for `weft generate --shortlist`: the most likely "
           "translations of each token, by IBM model 1 on pairs of texts, in Marian's format: "
           "lines TARGET SOURCE PROBABILITY. MODEL is a model, run or tokenizer directory, whose "
           "tokens are counted. Translations of a probability below 1e-5 are left out.",
       .examples = {"weft data shortlist runs/multi30k-en-de --data '{source: train.en, target: "
                    "train.de}' --output lex.s2t",
                    "weft generate runs/multi30k-en-de --input test.en --plain --beams 5 "
                    "--shortlist lex.s2t"}},
      1, 1);
  declare_shortlist(arguments);
  if (!arguments.parse(raw)) {
    return 0;
  }
  if (!arguments.has("data")) {
    arguments.fail("needs --data FILE, the pairs to count");
  }
  const auto best = arguments.integer("best", 100, 1, std::numeric_limits<int32_t>::max());
  const auto iterations = arguments.integer("iterations", 5, 1, 1000);
  const auto tokenizer = data::load_tokenizer(arguments.positional()[0]);
  TokenPairs pairs(read_pair_items(arguments.all("data")), *tokenizer, iterations + 1);
  const data::IbmModel1 model([&](const auto& visitor) { pairs.visit(visitor); },
                              {.source_vocabulary = tokenizer->size(), .iterations = iterations});
  OutputWriter writer(arguments.get("output", "-"));
  int64_t sources = 0;
  for (int32_t id = 0; id < tokenizer->size(); ++id) {
    const auto source = shortlist_field(*tokenizer, id);
    const auto lines =
        source.empty() ? "" : shortlist_lines(*tokenizer, source, model.best(id, best));
    sources += lines.empty() ? 0 : 1;
    writer.write(lines);
  }
  writer.commit();
  log::info(str_cat("[data] translations of ", counted(sources, "token"), " from ",
                    counted(pairs.size(), "pair")));
  return 0;
}

}  // namespace weft::cli
