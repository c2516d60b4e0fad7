#include "cli/model_output.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <unistd.h>

#include "base/file.h"
#include "base/string_util.h"
#include "cli/forward/forward.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/decoding/model_decoder.h"
#include "models/directory.h"
#include "models/generator.h"
#include "models/sentence.h"

namespace weft::cli {

namespace {

namespace fs = std::filesystem;

/// Files that are copied as is.
bool is_copied_as_is(const fs::directory_entry& entry) {
  static const std::vector<std::string> kOmittedExtensions{
      ".safetensors", ".bin", ".pt", ".pth", ".pkl", ".msgpack", ".h5"};
  const auto name = entry.path().filename().string();
  return entry.is_regular_file() && name != "config.json" &&
         name.find(".safetensors") == std::string::npos &&
         std::find(kOmittedExtensions.begin(), kOmittedExtensions.end(),
                   entry.path().extension().string()) == kOmittedExtensions.end();
}

bool is_documentation(const std::string& name) {
  static const std::vector<std::string> kBegins{"LICENSE", "LICENCE", "NOTICE", "README",
                                                "CITATION"};
  return std::any_of(kBegins.begin(), kBegins.end(),
                     [&](const auto& begin) { return name.starts_with(begin); });
}

void copy_file(const fs::path& from, const std::string& to) {
  FileWriter copy(str_cat(to, "/", from.filename().string()), FileWriter::Mode::kPlain);
  copy.write(MappedFile(from.string()).text());
  copy.commit();
}

double rounding_error_of(formats::DType dtype) {
  return dtype == formats::DType::kF32 ? 0.0 : dtype == formats::DType::kBF16 ? 0x1p-8 : 0x1p-10;
}

void check_tensors(const std::string& directory,
                   const models::Model& again,
                   const models::Model& model,
                   formats::DType dtype) {
  const auto written = again.named_parameters();
  for (const auto& parameter : model.named_parameters()) {
    const auto& value = parameter.value();
    const auto gap = (written[parameter.key()] - value).abs();
    // Below the smallest normal fp16 number, rounding is absolute.
    const auto allowed =
        value.abs() * rounding_error_of(dtype) + (dtype == formats::DType::kF16 ? 0x1p-24 : 0.0);
    if (!gap.le(allowed).all().item<bool>()) {
      throw formats::Error(str_cat(directory, ": ", parameter.key(),
                                   " differs from the written tensor by more than rounding of ",
                                   formats::name_of(dtype)));
    }
  }
}

/// Two sequences, one padded, with ids from the whole vocabulary.
ForwardInputs synthetic_inputs(const models::ModelOptions& options) {
  if (models::reads_images(options)) {
    const auto& vision = options.vision;
    const auto pixels = at::arange(2 * vision.channels * vision.image_size * vision.image_size);
    return ForwardInputs(
        {{"pixel_values", pixels.to(at::kFloat)
                              .mul(0.37)
                              .sin()
                              .view({2, vision.channels, vision.image_size, vision.image_size})}},
        options);
  }
  const int64_t columns = std::min<int64_t>(12, options.length);
  auto mask = at::ones({2, columns}, at::kLong);
  mask[1].slice(0, (columns + 1) / 2).zero_();
  const int64_t source = options.decoder.source_vocabulary;
  const auto ids = (at::arange(2 * columns, at::kLong) * 7919 + 5)
                       .remainder(source > 0 ? source : options.vocabulary)
                       .view({2, columns});
  std::map<std::string, at::Tensor> inputs = {{"input_ids", ids}, {"attention_mask", mask}};
  if (models::head_of(options).reads_source) {
    inputs["decoder_input_ids"] = ids.flip(1).remainder(options.vocabulary);
    inputs["decoder_attention_mask"] = mask;
  } else if (models::is_encoder_decoder(options) && options.eos_id >= 0) {
    ids[0][columns - 1] = options.eos_id;  // such classifiers read the state of this token
    ids[1][(columns + 1) / 2 - 1] = options.eos_id;
  }
  if (options.type_vocab_size > 1) {
    const auto* name = models::uses_language_ids(options) ? "langs" : "token_type_ids";
    inputs[name] = at::arange(columns, at::kLong).ge(columns / 4).to(at::kLong) * mask;
  }
  return ForwardInputs(std::move(inputs), options);
}

double compare_outputs(const std::string& directory, models::Model& again, models::Model& model) {
  const at::NoGradGuard guard;
  const auto inputs = synthetic_inputs(model.options());
  const auto expected = forward_pass(model, inputs);
  double worst = 0;
  for (const auto& [name, tensor] : forward_pass(again, inputs)) {
    // Log probabilities may be -infinity, in both models.
    const auto is_same = tensor == expected.at(name);
    const auto wanted = expected.at(name).masked_fill(expected.at(name).isinf() & is_same, 0);
    const double gap = (tensor.masked_fill(is_same, 0) - wanted.masked_fill(is_same, 0))
                           .abs()
                           .max()
                           .item<double>();
    if (!std::isfinite(gap)) {
      throw formats::Error(str_cat(directory, ": ", name, " is not finite"));
    }
    worst = std::max(worst, gap / std::max(1e-30, wanted.abs().max().item<double>()));
  }
  return worst;
}

}  // namespace

formats::DType read_dtype(const Arguments& arguments) {
  return arguments.choice("dtype", formats::DType::kF32,
                          {{"fp32", formats::DType::kF32},
                           {"bf16", formats::DType::kBF16},
                           {"fp16", formats::DType::kF16}});
}

std::string read_output(const Arguments& arguments, const std::string& command) {
  auto output = arguments.get("output");
  if (output.empty()) {
    throw UsageError(str_cat("weft ", command, ": --output DIR is required"));
  }
  if (fs::exists(output) && (!fs::is_directory(output) || !fs::is_empty(output))) {
    throw UsageError(str_cat("weft ", command, ": --output: '", output,
                             "' exists and is not an empty directory"));
  }
  return output;
}

void write_directory(const std::string& output,
                     const std::function<void(const std::string& working)>& fill) {
  auto target = fs::path(output).lexically_normal();
  target = target.has_filename() ? target : target.parent_path();
  // A name that nobody else uses, but for an earlier process of the same number that was killed.
  const auto working = str_cat(target.string(), ".tmp-", ::getpid());
  remove_tree(working);
  make_directories(working);
  try {
    fill(working);
  } catch (...) {
    remove_tree(working);
    throw;
  }
  flush_directory(working);
  rename_and_flush(working, target.string());  // replaces an empty directory, or none
}

void copy_auxiliary_files(const std::string& from,
                          const std::string& to,
                          const models::Model& model,
                          AuxiliaryFiles which) {
  const auto of_sentences = models::sentence_files(from);
  // modules.json only fits a bare encoder; a model with a head does not produce sentence vectors.
  const bool embeds = models::head_of(model.options()).is_bare;
  const bool generates = models::can_generate(model);
  for (const auto& entry : fs::directory_iterator(from)) {
    const auto name = entry.path().filename().string();
    const bool is_of_sentences =
        std::find(of_sentences.begin(), of_sentences.end(), name) != of_sentences.end();
    const bool is_wanted = is_of_sentences
                               ? embeds
                               : which == AuxiliaryFiles::kAll || is_documentation(name) ||
                                     (generates && name == models::kGenerationConfig);
    if (is_copied_as_is(entry) && is_wanted) {
      copy_file(entry.path(), to);
    } else if (embeds && is_of_sentences && entry.is_directory()) {
      make_directories(to + "/" + name);
      for (const auto& part : fs::directory_iterator(entry.path())) {
        copy_file(part.path(), to + "/" + name);
      }
    }
  }
}

void write_generator(const std::string& from,
                     const std::string& to,
                     const models::Model& model,
                     formats::DType dtype) {
  if (!models::head_of(model.options()).detects_replaced_tokens || !models::has_generator(from)) {
    return;
  }
  const auto source = models::generator_directory(from);
  const auto below = models::generator_directory(to);
  const auto loaded = models::load_model(source, models::read_model_config(source), 0);
  if (!loaded.missing_keys.empty()) {
    throw formats::Error(str_cat(source, ": ", loaded.missing_keys.front(), " is missing"));
  }
  make_directories(below);
  copy_auxiliary_files(source, below, *loaded.model);
  models::save_model(below, *loaded.model, dtype);
  check_written(below, *loaded.model, dtype);
  flush_directory(below);
}

double check_written(const std::string& directory, models::Model& model, formats::DType dtype) {
  const auto again = models::load_model(directory, models::read_model_config(directory), 0);
  if (!again.missing_keys.empty()) {
    throw formats::Error(
        str_cat(directory, ": missing keys in the written model: ", again.missing_keys.front()));
  }
  check_tensors(directory, *again.model, model, dtype);
  const double gap = compare_outputs(directory, *again.model, model);
  if (dtype == formats::DType::kF32 && gap > 1e-6) {
    throw formats::Error(str_cat(directory, ": outputs differ by ", gap,
                                 " of the largest value from those of the model"));
  }
  return gap;
}

}  // namespace weft::cli
