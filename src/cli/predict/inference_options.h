#pragma once

#include "cli/verb.h"
#include "models/inference.h"

namespace weft::cli {

/// Declares `--precision`, `--int8` and `--device`, shared by the inference verbs.
void declare_inference(Arguments& arguments);

/// Throws UsageError, UserError if there is no such device.
models::InferenceOptions read_inference(const Arguments& arguments);

}  // namespace weft::cli
