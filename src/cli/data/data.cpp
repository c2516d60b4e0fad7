#include "cli/data/data.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/log.h"
#include "base/string_util.h"
#include "batching/model_inputs.h"
#include "cli/commands.h"
#include "config/section.h"
#include "data/data_loader.h"
#include "data/store/store_file.h"
#include "data/store/token_store.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "objectives/objective.h"
#include "train/run/run_config.h"
#include "train/step/run_components.h"

namespace weft::cli {
namespace {

constexpr int64_t kMaxExamples = 1'000'000;  // read by `inspect`

/// Texts of a config, and what is needed to make examples of them.
struct Source {
  train::RunConfig config;
  std::shared_ptr<const data::Tokenizer> tokenizer;

  bool is_running_text() const {
    return config.objective->traits(config.model).reads_raw_text &&
           !config.objective->reads_pairs(config.data, config.model);
  }
};

Source open_source(const Arguments& arguments) {
  Source source;
  const auto config = train::read_run_config(
      config::Document::load(arguments.positional().at(1), arguments.all("set")));
  source.config = train::select_rows(config).config;
  source.tokenizer = train::prepare_tokenizer(source.config, std::nullopt);
  return source;
}

objectives::Datasets open_data(const Source& source) {
  const auto model = train::complete_options(source.config, *source.tokenizer);
  return train::prepare_data(source.config, model, source.tokenizer);
}

/// Calls visit(name, store) for each store of the config. Remarks on them come from open_data.
template <class Visit>
void visit_stores(const Source& source, const Visit& visit) {
  const auto open = [&](const std::string& which, const std::vector<data::DataItem>& items) {
    for (const data::DataItem& item : items) {
      std::vector<std::string> remarks;
      const auto options =
          source.config.objective->store_options(source.config.data, source.config.model);
      const auto store =
          data::open_token_store(item, options, *source.tokenizer, train::show_progress(), remarks);
      log::set_progress_line("");
      visit(which + " " + item.path, *store);
    }
  };
  open("train", source.config.data.train);
  open("evaluate", source.config.data.evaluate);
}

void build(const Arguments& arguments) {
  const Source source = open_source(arguments);
  if (source.is_running_text()) {
    visit_stores(source, [](const std::string& name, const data::TokenStore& store) {
      const auto size = static_cast<double>(std::filesystem::file_size(store.path()));
      std::cout << name << ": " << with_commas(store.documents()) << " documents, "
                << with_commas(store.sentences()) << " sentences, " << with_commas(store.tokens())
                << " tokens in " << store.path() << " (" << format_bytes(size) << ")\n";
    });
  }
  const auto data = open_data(source);
  std::cout << "train: " << with_commas(data.train->size(0)) << " sequences per epoch\n";
  if (data.evaluate) {
    std::cout << "evaluate: " << with_commas(data.evaluate->size(0)) << " sequences\n";
  }
}

/// Header of the file if it is a token store.
std::optional<data::StoreHeader> read_store_header(const std::string& path) {
  data::StoreHeader head;
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(&head), sizeof(head));
  return file && head.magic == data::StoreHeader{}.magic ? std::optional(head) : std::nullopt;
}

bool is_of_images(const Source& source) { return models::reads_images(source.config.model); }

void inspect_images(const Source& source) {
  constexpr int64_t kMaxImages = 10'000;
  const auto data = open_data(source);
  const int64_t patch = source.config.model.vision.patch_size;
  std::cout << "train\n" << show_images(*data.train, data.labels, patch, kMaxImages);
  if (data.evaluate) {
    std::cout << "evaluate\n" << show_images(*data.evaluate, data.labels, patch, kMaxImages);
  }
}

void inspect_data(const std::string& which,
                  const data::Dataset& dataset,
                  const std::vector<std::string>& labels,
                  int64_t unknown) {
  std::cout << which << ", as seen by the model"
            << show_dataset(data::dataset_statistics(dataset, 0, unknown, kMaxExamples),
                            dataset.size(0), labels);
}

void inspect(const Arguments& arguments) {
  const std::string& path = arguments.positional().at(1);
  if (const auto head = read_store_header(path)) {
    data::StoreFooter footer;
    const auto store = data::open_store_file(path, head->width, head->key, footer);
    std::cout << path << ": " << with_commas(store->tokens()) << " tokens of " << head->width
              << " bytes\n"
              << show_store(data::store_statistics(*store, -1), false);
    return;
  }
  const Source source = open_source(arguments);
  if (is_of_images(source)) {
    return inspect_images(source);
  }
  const int64_t unknown = source.tokenizer->special_token_ids().unk;
  if (source.is_running_text()) {
    visit_stores(source, [&](const std::string& name, const data::TokenStore& store) {
      std::cout << name << ": " << with_commas(store.tokens()) << " tokens in " << store.path()
                << "\n"
                << show_store(data::store_statistics(store, unknown), true);
    });
  }
  const auto data = open_data(source);
  inspect_data("train", *data.train, data.labels, unknown);
  if (data.evaluate) {
    inspect_data("evaluate", *data.evaluate, data.labels, unknown);
  }
}

/// `, label spam`; empty if the example has none.
std::string label_of(const data::Example& example,
                     const data::LabelFormat& format,
                     const objectives::Datasets& data) {
  if (format.is_regression) {
    std::vector<std::string> values;
    for (const double value : example.values) {
      values.push_back(shortest_repr(value));
    }
    return (values.size() == 1 ? ", value " : ", values ") + join(values);
  }
  if (format.is_multi_label) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < example.values.size(); ++i) {
      if (example.values[i] != 0) {
        names.push_back(data.labels.at(i));
      }
    }
    return names.empty() ? ", no label" : ", labels " + join(names);
  }
  if (example.label == data::kIgnoreIndex) {
    return "";
  }
  const auto& names = data.label_meanings.empty() ? data.labels : data.label_meanings;
  const auto index = static_cast<std::size_t>(example.label);
  return ", label " + (index < names.size() ? names[index] : str_cat(example.label));
}

std::string share_of(int64_t part, int64_t whole) {
  const double share = static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, whole));
  return str_cat(std::fixed, std::setprecision(1), 100 * share, " %");
}

void preview(const Arguments& arguments) {
  const int64_t count = arguments.integer("count", 5, 1, 1'000'000);
  const int64_t epoch = arguments.integer("epoch", 0, 0, 1'000'000'000);
  const Source source = open_source(arguments);
  const auto data = open_data(source);
  const auto head = source.config.objective->head(source.config.model);
  const auto label_format = source.config.objective->label_format(source.config.data);
  const bool is_evaluation = arguments.has("evaluate");
  const auto& dataset = is_evaluation ? data.evaluate : data.train;
  if (!dataset) {
    throw UsageError("weft data preview: --evaluate: the config has no data.evaluate");
  }
  const data::DataLoaderOptions order{.seed = static_cast<uint64_t>(source.config.run.seed),
                                      .shuffles = source.config.data.shuffle && !is_evaluation};
  const bool has_colors = log::has_colors() && isatty(STDOUT_FILENO) != 0;
  MaskCounts counts;
  for (int64_t i = 0; i < std::min(count, dataset->size(epoch)); ++i) {
    const int64_t item = data::item_at(order, *dataset, {epoch, i});
    const data::Example example = dataset->example(epoch, item);
    if (is_of_images(source)) {
      std::cout << "# " << dataset->location(epoch, item) << show_classes(example, data.labels)
                << "\n"
                << show_image(example, source.config.model.vision.patch_size) << "\n";
      continue;
    }
    const bool is_tagged = models::definition_of(head).classifies_tokens;
    const bool has_sentences = !is_tagged && predicts_sentences(example);
    const bool is_masked = !is_tagged && !has_sentences && !predicts_next_token(example);
    if (is_masked) {
      count_masks(example, *source.tokenizer, counts);
    }
    std::cout << "# " << dataset->location(epoch, item) << ": "
              << example.source_ids.size() + example.ids.size() << " tokens"
              << label_of(example, label_format, data) << "\n"
              << (is_tagged       ? show_tagged(example, *source.tokenizer, data.labels)
                  : has_sentences ? show_predicted_sentences(example, *source.tokenizer, has_colors)
                  : is_masked     ? show_example(example, *source.tokenizer, has_colors)
                                  : show_generation(example, *source.tokenizer, has_colors))
              << "\n";
    const auto metadata = show_token_metadata(example, batching::languages_of(source.config.model));
    std::cout << metadata << (metadata.empty() ? "" : "\n") << "\n";
  }
  if (counts.targets() > 0) {
    std::cout << show_legend(has_colors) << "\n"
              << share_of(counts.targets(), counts.tokens) << " of " << with_commas(counts.tokens)
              << " tokens: " << share_of(counts.masked, counts.targets()) << " masked, "
              << share_of(counts.replaced, counts.targets()) << " replaced, "
              << share_of(counts.kept, counts.targets()) << " unchanged\n";
  }
}

struct DataAction {
  std::string name;
  void (*run)(const Arguments& arguments) = nullptr;
  /// Of an action with options of its own, in place of `run`: gets what follows its name.
  int (*run_alone)(const std::vector<std::string>& arguments) = nullptr;
  std::string usage = {};  // for errors
};

const std::vector<DataAction> kDataActions = {
    {.name = "build", .run = build},
    {.name = "inspect", .run = inspect},
    {.name = "preview", .run = preview},
    {.name = "split", .run_alone = run_data_split, .usage = "FILE --test 0.1 ..."},
    {.name = "shortlist", .run_alone = run_data_shortlist, .usage = "MODEL --data FILE"}};

}  // namespace

int run_data(std::vector<std::string> raw) {
  for (const auto& action : kDataActions) {
    if (action.run_alone != nullptr && !raw.empty() && raw.front() == action.name) {
      return action.run_alone({raw.begin() + 1, raw.end()});
    }
  }
  Arguments arguments(
      {.usage = "weft data build|inspect|preview CONFIG [options]",
       .description =
           "Prepares and shows the data of a config.\n\n"
           "  build      tokenizes the texts of a config into token stores, which later runs "
           "reuse\n"
           "  inspect    statistics of the data: documents, sentences, lengths, unknown tokens, "
           "duplicates; also of a token store file\n"
           "  preview    examples as the model sees them, after pairing and masking\n"
           "  split      divides tables into training, evaluation and test files; see `weft data "
           "split --help`\n"
           "  shortlist  likely translations of each token, for `weft generate --shortlist`; see "
           "`weft data shortlist --help`",
       .examples = {"weft data build configs/quickstart_pretrain.yaml",
                    "weft data inspect configs/quickstart_pretrain.yaml",
                    "weft data preview configs/quickstart_pretrain.yaml --count 3 --epoch 1"}},
      2, 2);
  arguments.value("set", "KEY=VALUE", "Override a config key; may be repeated")
      .group("Preview")
      .value("count", "N", "Number of examples (default: 5)")
      .value("epoch", "E", "Epoch, counted from 0 (default: 0)")
      .flag("evaluate", "Use data.evaluate instead of data.train");
  if (!arguments.parse(raw)) {
    return 0;
  }
  const auto& action =
      find_entry(kDataActions, arguments.positional()[0], "weft data: unknown action");
  if (action.run_alone != nullptr) {
    arguments.fail(str_cat(action.name, ": name it before the options, as in weft data ",
                           action.name, " ", action.usage));
  }
  action.run(arguments);
  return 0;
}

}  // namespace weft::cli
