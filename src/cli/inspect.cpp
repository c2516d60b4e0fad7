#include <algorithm>
#include <array>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <optional>

#include "base/string_util.h"
#include "cli/commands.h"
#include "config/section.h"
#include "data/tokenizer.h"
#include "inference/nearest_tokens.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/directory.h"
#include "models/generator.h"
#include "models/weights/weight_map.h"
#include "objectives/objective.h"
#include "train/checkpoint/checkpoint.h"
#include "train/cost/cost.h"
#include "train/cost/rank_plan.h"
#include "train/run/device.h"
#include "train/run/run_config.h"
#include "train/step/run_components.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const auto size : shape) {
    sizes.push_back(std::to_string(size));
  }
  return "(" + join(sizes) + ")";
}

void print_inspect_line(const std::string& name, const std::string& value) {
  std::cout << "  " << std::left << std::setw(26) << name << value << "\n";
}

/// Number of key/value heads, if there are fewer.
std::string grouped_text(const models::ModelOptions& model) {
  const int64_t groups = models::key_value_heads(model);
  return groups == model.heads ? "" : str_cat(" (", groups, " key/value heads)");
}

void print_model(const models::ModelOptions& model) {
  std::cout << models::architecture_of(model) << "\n";
  if (const auto& describe = model.family->describe) {
    for (const auto& [name, value] : describe(model)) {
      print_inspect_line(name, value);
    }
  } else {
    print_inspect_line("layers x dim",
                       str_cat(model.layers, " x ", model.dim, ", ", model.heads, " heads",
                               grouped_text(model), ", feed-forward ", model.width));
  }
  if (models::reads_images(model)) {
    const auto& vision = model.vision;
    print_inspect_line("images",
                       str_cat(vision.channels, " x ", vision.image_size, " x ", vision.image_size,
                               " in patches of ", vision.patch_size, " x ", vision.patch_size));
  } else {
    print_inspect_line("vocabulary", with_commas(model.vocabulary));
  }
  print_inspect_line("maximum length", str_cat(with_commas(models::text_length(model)), " tokens"));
  if (!model.labels.empty()) {
    print_inspect_line("labels", join(model.labels));
  }
}

/// Prints the number of parameters, and of those in each top-level module. `cost`: of a training
/// run, whose parameters may include adapters and a generator; nullptr for a stored model.
void print_totals(const models::ModelOptions& model, const train::Cost* cost) {
  const auto modules = models::module_sizes(model);
  int64_t total = 0;
  for (const auto& [name, size] : modules) {
    total += size;
  }
  const bool is_counted = models::capabilities_of(model.family).is_counted;
  std::cout << (is_counted ? "\nTables\n" : "\nParameters\n");
  print_inspect_line("all", str_cat(with_commas(total), ", ",
                                    format_bytes(4.0 * static_cast<double>(total)), " in fp32"));
  if (cost != nullptr) {
    const bool are_all = cost->trained_parameters == total && cost->parameters == total;
    print_inspect_line("trainable",
                       with_commas(cost->trained_parameters) +
                           (are_all ? "" : str_cat(" of ", with_commas(cost->parameters))));
  }
  if (is_counted) {
    return;  // --parameters lists the tables of each order and class
  }
  for (const auto& [name, count] : modules) {
    print_inspect_line(name, str_cat(with_commas(count), " (", format_percent(count, total), ")"));
  }
}

void print_parameters(const models::ModelOptions& model) {
  const auto tensors = models::weight_map(model);
  std::size_t width = 0;
  for (const auto& tensor : tensors) {
    width = std::max(width, tensor.name.size());
  }
  std::cout << "\nParameters by name\n";
  for (const auto& tensor : tensors) {
    std::cout << "  " << std::left << std::setw(static_cast<int>(width) + 2) << tensor.name
              << std::setw(16) << shape_text(tensor.shape) << std::right << std::setw(14)
              << with_commas(tensor.elements()) << "\n";
  }
}

/// Prints the generator trained with a discriminator, and the part of it that is not shared.
void print_generator(const models::ModelOptions& generator, models::EmbeddingSharing sharing) {
  std::cout << "\nGenerator, ";
  print_model(generator);
  print_inspect_line("own parameters",
                     str_cat(with_commas(models::count_unshared_parameters(generator, sharing)),
                             sharing == models::EmbeddingSharing::kShared
                                 ? "; embeddings are shared with the discriminator"
                                 : "; the discriminator adds to its word embeddings"));
}

std::string flops_text(double flops) {
  return str_cat(std::fixed, std::setprecision(2), flops / 1e6, " MFLOP");
}

void print_activations(const train::StepCost& step, bool may_run_on_gpu) {
  const auto tokens = with_commas(step.micro_batch_tokens);
  const auto measured = with_commas(step.measured_tokens);
  print_inspect_line("activations",
                     str_cat(format_bytes(step.activation_bytes()),
                             " at peak, in a micro-batch of ", tokens, " tokens",
                             step.measured_tokens == step.micro_batch_tokens
                                 ? ", measured"
                                 : str_cat(", extrapolated from at most ", measured, " tokens")));
  if (may_run_on_gpu) {
    print_inspect_line("", "measured on the CPU; an estimate for a GPU");
  }
}

/// `program`: memory of the process without model and data.
void print_memory(const train::Cost& cost, double program, bool may_run_on_gpu) {
  std::cout << "\nMemory of a training step\n";
  if (cost.copy_bytes > 0) {
    print_inspect_line("weights, fp32", format_bytes(cost.weight_bytes - cost.copy_bytes));
    print_inspect_line("weights, bf16 copy", format_bytes(cost.copy_bytes));
  } else {
    print_inspect_line("weights", format_bytes(cost.weight_bytes));
  }
  print_inspect_line("gradients", format_bytes(cost.gradient_bytes));
  print_inspect_line("optimizer", format_bytes(cost.optimizer_bytes));
  if (cost.ema_bytes > 0) {
    print_inspect_line("weight average (EMA)", format_bytes(cost.ema_bytes));
  }
  if (cost.teacher_bytes > 0) {
    print_inspect_line("teacher weights", format_bytes(cost.teacher_bytes));
  }
  if (cost.save_bytes > 0) {
    print_inspect_line("copy while saving", format_bytes(cost.save_bytes));
  }
  if (cost.step) {
    print_activations(*cost.step, may_run_on_gpu);
  } else {
    print_inspect_line("activations", "not measured: " + cost.why_not_measured);
  }
  print_inspect_line(cost.step ? "all tensors" : "all but activations",
                     format_bytes(cost.total_bytes()));
  if (cost.step) {
    print_inspect_line("resident memory, expected",
                       str_cat(format_bytes(cost.total_bytes() + program), ", with ",
                               format_bytes(program), " for the program and its libraries"));
  }
}

/// How many ranks a large model needs, by the memory of each. A power of two.
void print_ranks(const train::Cost& cost) {
  constexpr double kLargeModel = 16e9;
  constexpr std::array<int, 5> kMemories = {24, 40, 80, 141, 192};  // GB
  if (cost.total_bytes() < kLargeModel) {
    return;
  }
  const double activations = cost.step ? cost.step->activation_bytes() : 0;
  std::cout << "\nRanks needed, by the memory of each"
            << (cost.step ? "" : " (without activations)") << "\n";
  std::string header;
  const auto choices = train::rank_plan_choices(cost.rank_plan_sizes, cost.expert_plan_sizes);
  const auto cell = [](const train::RankPlanChoice& choice, const std::string& text) {
    return str_cat(std::setw(choice.sizes.experts ? 22 : 16), text);
  };
  for (const auto& choice : choices) {
    header += cell(choice, choice.name);
  }
  print_inspect_line("train.ranks.shard", header);
  for (const int memory : kMemories) {
    std::string row;
    for (const auto& choice : choices) {
      const auto ranks =
          train::least_ranks(choice.sizes, choice.sharding, memory * 1e9 - activations);
      row += cell(choice, ranks ? std::to_string(*ranks) : "too large");
    }
    print_inspect_line(str_cat(memory, " GB"), row);
  }
}

void print_work(const train::Cost& cost, int64_t length) {
  std::cout << "\nComputation per token, at " << length << " tokens per sequence\n";
  const auto text = [&](double train::StepCost::*flops) {
    return cost.step ? flops_text(*cost.step.*flops) : std::string("not measured");
  };
  print_inspect_line("forward", text(&train::StepCost::forward_flops));
  print_inspect_line("training step", text(&train::StepCost::training_flops));
}

/// The costs in the precisions that the run may have.
std::vector<std::pair<std::string, train::Cost>> costs_of(const train::RunConfig& run,
                                                          int64_t length) {
  std::vector<std::pair<std::string, train::Cost>> costs;
  for (const bool is_bf16 : {false, true}) {
    if (run.train.precision == train::Precision::kAuto ||
        is_bf16 == (run.train.precision == train::Precision::kBf16)) {
      costs.emplace_back(is_bf16 ? "bf16" : "fp32",
                         train::cost_of(run, length, is_bf16 ? at::kBFloat16 : at::kFloat));
    }
  }
  return costs;
}

void inspect_config(const std::string& path,
                    const std::vector<std::string>& overrides,
                    bool lists_parameters) {
  auto run = train::read_run_config(config::Document::load(path, overrides));
  run.model = train::options_without_data(run);
  print_model(run.model);
  if (models::capabilities_of(run.model.family).is_counted) {
    print_inspect_line("size", "known when the data are counted");
    return;
  }
  const auto length = run.data.length.value_or(models::text_length(run.model));
  const auto program = static_cast<double>(train::peak_memory());
  train::set_threads(run.train.threads);
  const auto costs = costs_of(run, length);
  print_totals(run.model, &costs.front().second);  // equal in all precisions
  if (lists_parameters) {
    print_parameters(run.model);
  }
  if (const auto generator = run.objective->generator_options(run.model)) {
    print_generator(*generator, run.objective->embedding_sharing());
  }
  if (const auto teacher = run.objective->teacher_options(run.model)) {
    std::cout << "\nTeacher, ";
    print_model(*teacher);
  }
  const bool may_run_on_gpu = run.run.device == train::DeviceChoice::kCuda ||
                              (run.run.device == train::DeviceChoice::kAuto &&
                               !train::choose_device(run.run.device).is_cpu());
  for (const auto& [precision, cost] : costs) {
    std::cout << "\n" << precision << "\n";
    print_work(cost, length);
    print_memory(cost, program, may_run_on_gpu);
    print_ranks(cost);
  }
}

/// The token that a word or a piece is. Throws UserError if it is several.
int64_t token_of(const data::Tokenizer& tokenizer, const std::string& word) {
  if (const auto id = tokenizer.word_token(word)) {
    return *id;
  }
  if (const auto id = tokenizer.id(word)) {
    return *id;
  }
  std::vector<std::string> pieces;
  for (const auto id : tokenizer.ids(word)) {
    pieces.push_back(tokenizer.piece(static_cast<int32_t>(id)));
  }
  throw UserError(str_cat("--nearest: ", quoted_text(word),
                          pieces.size() > 1 ? str_cat(" is several tokens: ", join(pieces, " "))
                                            : " is not in the vocabulary",
                          "; must be one token"));
}

void print_nearest(const models::Model& model,
                   const std::string& directory,
                   const std::string& word,
                   inference::Similarity similarity) {
  constexpr int64_t kNeighbors = 5;
  const auto embeddings = model.input_embeddings();
  if (!embeddings.defined()) {
    throw UserError(str_cat("--nearest: ", models::architecture_of(model.options()),
                            " has no word embeddings"));
  }
  const auto tokenizer = data::load_tokenizer(directory);
  const auto id = token_of(*tokenizer, word);
  std::cout << "\nNearest to " << tokenizer->piece(static_cast<int32_t>(id)) << ", by "
            << (similarity == inference::Similarity::kCosine ? "cosine similarity"
                                                             : "Euclidean distance")
            << "\n";
  for (const auto& neighbor : inference::nearest_tokens(embeddings.slice(0, 0, tokenizer->size()),
                                                        id, kNeighbors, similarity)) {
    print_inspect_line(tokenizer->piece(static_cast<int32_t>(neighbor.id)),
                       str_cat(std::fixed, std::setprecision(4), neighbor.value));
  }
}

struct InspectOptions {
  bool lists_parameters = false;
  std::string nearest;  // empty: none
  inference::Similarity similarity = inference::Similarity::kCosine;
};

void inspect_model(const std::string& path, const InspectOptions& wanted) {
  const auto directory = models::model_directory(path);
  const bool is_checkpoint = train::has_manifest(directory);
  if (is_checkpoint) {
    train::verify_manifest(directory);
  }
  const auto options = models::read_model_config(directory);
  const auto loaded = models::load_model(directory, options, 0);
  std::cout << directory << ": ";
  print_model(options);
  print_totals(options, nullptr);
  if (wanted.lists_parameters) {
    print_parameters(options);
  }
  if (models::head_of(options).detects_replaced_tokens && models::has_generator(directory)) {
    models::load_generator(*loaded.model, directory);
    print_generator(models::generator_of(*loaded.model)->options(),
                    models::has_embedding_delta(directory)
                        ? models::EmbeddingSharing::kGradientDisentangled
                        : models::EmbeddingSharing::kShared);
  }
  std::cout << "\n";
  if (is_checkpoint) {
    print_inspect_line("checksums", "all checksums match");
  }
  print_inspect_line("missing keys",
                     loaded.missing_keys.empty() ? "none" : join(loaded.missing_keys));
  print_inspect_line("unexpected keys",
                     loaded.unexpected_keys.empty() ? "none" : join(loaded.unexpected_keys));
  if (!wanted.nearest.empty()) {
    print_nearest(*loaded.model, directory, wanted.nearest, wanted.similarity);
  }
}

}  // namespace

int run_inspect(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage = "weft inspect CONFIG|MODEL [--set key=value ...] [--parameters]",
       .description = "For a config: parameters in all, trainable ones and those of each module, "
                      "FLOPs per token and memory of a training step. "
                      "FLOPs and activations are measured on synthetic data, if the model fits "
                      "into memory; nothing is written. For a model directory, checkpoint or run: "
                      "its contents; for checkpoints the checksums are verified.",
       .examples = {"weft inspect configs/quickstart_pretrain.yaml",
                    "weft inspect runs/quickstart/spam"}},
      1, 1);
  arguments.value("set", "KEY=VALUE", "Override a config key; may be repeated")
      .flag("parameters", "Also list each parameter with its shape")
      .value("nearest", "WORD",
             "For a model: also list the 5 words whose embeddings are most similar")
      .value("similarity", "NAME", "Of --nearest: cosine (default) or euclidean");
  if (!arguments.parse(raw)) {
    return 0;
  }
  const auto& path = arguments.positional()[0];
  if (fs::is_directory(path) || models::is_hub_name(path)) {
    const auto similarity = arguments.choice("similarity", inference::Similarity::kCosine,
                                             {{"cosine", inference::Similarity::kCosine},
                                              {"euclidean", inference::Similarity::kEuclidean}});
    inspect_model(path, {.lists_parameters = arguments.has("parameters"),
                         .nearest = arguments.get("nearest"),
                         .similarity = similarity});
  } else if (arguments.has("nearest") || arguments.has("similarity")) {
    throw UsageError("weft inspect: --nearest needs a model directory, not a config");
  } else {
    inspect_config(path, arguments.all("set"), arguments.has("parameters"));
  }
  return 0;
}

}  // namespace weft::cli
