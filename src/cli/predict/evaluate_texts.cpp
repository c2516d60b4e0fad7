#include "base/error.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "cli/generate/generation_options.h"
#include "cli/predict/evaluate.h"
#include "cli/predict/output_writer.h"
#include "cli/score/score.h"
#include "data/rows/parallel_reader.h"
#include "inference/generate.h"
#include "models/config/family.h"
#include "train/distributed/divided_blocks.h"

namespace weft::cli {

namespace {

using inference::GenerationRequest;

/// Pairs of the data, line by line.
struct EvaluationLines {
  std::vector<std::string> sources;
  std::vector<std::string> targets;
};

EvaluationLines lines_of(const std::vector<data::DataItem>& items) {
  EvaluationLines lines;
  for (const auto& item : items) {
    data::ParallelReader reader(item);
    for (data::TextPairView pair; reader.next(pair);) {
      lines.sources.emplace_back(pair.source);
      lines.targets.push_back(plain_line(std::string(pair.target)));
    }
  }
  return lines;
}

/// Languages named by the data, for a model with language tokens.
TextLanguages languages_of(const train::DirectoryEvaluation& done) {
  TextLanguages found;
  const auto family = done.model->options().family;
  if (!models::capabilities_of(family).has_language_tokens || done.items.empty()) {
    return found;
  }
  found = {done.items.front().language, done.items.front().target_language};
  for (const auto& item : done.items) {
    if (item.language != found.source || item.target_language != found.target) {
      throw UserError(str_cat(item.path, ": from '", item.language, "' to '", item.target_language,
                              "', but other items are from '", found.source, "' to '", found.target,
                              "': --generate supports only one language pair at a time"));
    }
  }
  return found;
}

inference::TextGenerator generator_of(const Arguments& arguments,
                                      const train::DirectoryEvaluation& done) {
  inference::GenerationSettings settings;
  settings.config = models::read_generation_config(done.directory, done.model->options());
  settings.on_step = [] { throw_if_stopped("generating"); };
  read_generation(arguments, done.directory, done.tokenizer.get(), settings, languages_of(done));
  return {*done.model, done.tokenizer, settings};
}

/// Generates one text per source; ranks divide the sources. Only rank 0 returns texts.
std::vector<std::string> written(const Arguments& arguments,
                                 const train::DirectoryEvaluation& done,
                                 const std::vector<std::string>& sources,
                                 train::ProcessGroup& group) {
  auto generator = generator_of(arguments, done);
  std::vector<std::string> texts(sources.size());
  std::vector<GenerationRequest> queries;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!trim(sources[i]).empty()) {
      queries.push_back({.prompt = sources[i], .prefix = arguments.get("prefix")});
      places.push_back(i);
    }
  }
  int64_t cut = 0;
  train::DividedBlocks blocks(group);
  const auto ranks = static_cast<std::size_t>(group.size());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto begin = queries.size() * rank / ranks;
    const auto end = queries.size() * (rank + 1) / ranks;
    blocks.add(
        [&] {
          auto lines = formats::Json::array();
          for (const auto& answer :
               generator.generate({queries.begin() + static_cast<std::ptrdiff_t>(begin),
                                   queries.begin() + static_cast<std::ptrdiff_t>(end)},
                                  static_cast<int64_t>(begin))) {
            const auto& best = answer.texts.at(0);
            lines.push_back({plain_line(best.text), best.is_truncated || answer.was_truncated});
          }
          return lines;
        },
        [&, begin](const formats::Json& lines) {
          for (std::size_t i = 0; i < lines.size(); ++i) {
            texts[places[begin + i]] = lines[i][0];
            cut += lines[i][1].get<bool>() ? 1 : 0;
          }
        });
  }
  if (cut > 0) {
    log::warning(str_cat("[evaluate] ", with_commas(cut), " of ", with_commas(sources.size()),
                         " texts (or their sources) ", was_or_were(cut),
                         " truncated at the model's maximum length of ",
                         models::text_length(done.model->options()), " tokens"));
  }
  return texts;
}

}  // namespace

void declare_generated_texts(Arguments& arguments) {
  arguments.group("Generated texts")
      .flag("generate",
            "Also generate a text for every source, by the options of `weft generate`, and compare "
            "the texts with the targets: BLEU, chrF, ROUGE")
      .value("hypotheses", "FILE", "File for the generated texts, one per line");
  declare_text_metrics(arguments, "bleu,chrf,rouge");
  declare_generation(arguments, HelpLevel::kHelpAll);
}

bool wants_generated_texts(const Arguments& arguments) {
  if (arguments.has("generate")) {
    if (arguments.has("n-best")) {
      arguments.fail("--n-best: only the best text of each source is evaluated, omit it");
    }
    check_text_metrics(arguments);
    return true;
  }
  auto names = generation_option_names();
  names.insert(names.end(), text_metric_options().begin(), text_metric_options().end());
  names.emplace_back("hypotheses");
  for (const auto& name : names) {
    if (arguments.has(name)) {
      arguments.fail("--" + name + " needs --generate");
    }
  }
  return false;
}

formats::Json evaluate_texts(const Arguments& arguments,
                             const train::DirectoryEvaluation& done,
                             train::ProcessGroup& group) {
  const auto lines = lines_of(done.items);
  const auto texts = written(arguments, done, lines.sources, group);
  if (!group.is_main()) {
    return {};
  }
  if (arguments.has("hypotheses")) {
    OutputWriter file(arguments.get("hypotheses"));
    for (const auto& line : texts) {
      file.write(line + "\n");
    }
    file.commit();
  }
  const auto found = text_metrics(arguments, texts, lines.targets);
  formats::Json metrics = formats::Json::object();
  for (const auto& [name, value] : found.items()) {
    metrics["eval_" + name] = value;
  }
  return metrics;
}

}  // namespace weft::cli
