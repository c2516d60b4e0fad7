#pragma once

#include <functional>
#include <string>

#include "cli/command.h"
#include "formats/safetensors.h"
#include "models/model.h"

namespace weft::cli {

/// `--dtype fp32|bf16|fp16`, default fp32. Throws UsageError.
formats::DType read_dtype(const Arguments& arguments);

/// `--output DIR`, which must be new or empty. Throws UsageError.
std::string read_output(const Arguments& arguments, const std::string& command);

/// Fills a working directory next to `output`, then moves it into place atomically.
void write_directory(const std::string& output,
                     const std::function<void(const std::string& working)>& fill);

/// kAll: tokenizer, weft.yaml, licences, modules of sentence vectors. kDocumentation: licences,
/// model cards and those modules.
enum class AuxiliaryFiles { kAll, kDocumentation };

/// Copies the files of a model directory other than weights and config.json, which are written
/// separately. training/ and pickle files are not copied.
void copy_auxiliary_files(const std::string& from,
                          const std::string& to,
                          const models::Model& model,
                          AuxiliaryFiles which = AuxiliaryFiles::kAll);

/// Writes the generator of a discriminator's directory in the same way, checked; does nothing if
/// there is none, or if the model is no longer a discriminator.
void write_generator(const std::string& from,
                     const std::string& to,
                     const models::Model& model,
                     formats::DType dtype);

/// Reads the directory back and compares it with the model that was written: tensors within the
/// dtype's rounding, and outputs for synthetic ids. Returns the largest difference of outputs
/// relative to the largest output. Throws formats::Error.
double check_written(const std::string& directory, models::Model& model, formats::DType dtype);

}  // namespace weft::cli
