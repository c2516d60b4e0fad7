#pragma once

#include <functional>
#include <string>

#include "cli/verb.h"
#include "formats/safetensors.h"
#include "models/model.h"

namespace weft::cli {

/// `--dtype fp32|bf16|fp16`, fp32 where it is not given. Throws UsageError.
formats::DType read_dtype(const Arguments& arguments, const std::string& verb);

/// `--output DIR`, which must be new or empty. Throws UsageError.
std::string read_output(const Arguments& arguments, const std::string& verb);

/// Has a working directory beside `output` filled and puts it in its place whole.
void write_directory(const std::string& output,
                     const std::function<void(const std::string& working)>& fill);

/// kAll: tokenizer, weft.yaml, licences, modules of sentence vectors. kPapers: licences, model
/// cards and those modules.
enum class Companions { kAll, kPapers };

/// Copies what lies in a model directory beside weights and config.json, which are written anew.
/// training/ and pickle files stay behind.
void copy_companions(const std::string& from,
                     const std::string& to,
                     const models::Model& model,
                     Companions which = Companions::kAll);

/// Writes the generator below a discriminator's directory likewise, checked; nothing where there is
/// none, or where the model no longer is a discriminator.
void write_generator(const std::string& from,
                     const std::string& to,
                     const models::Model& model,
                     formats::DType dtype);

/// Reads the directory again and compares it with the model that was written: tensors within the
/// dtype's rounding, and outputs on made-up ids. -> the largest difference of outputs, as a share
/// of the largest output. Throws formats::Error.
double check_written(const std::string& directory, models::Model& model, formats::DType dtype);

}  // namespace weft::cli
