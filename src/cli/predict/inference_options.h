#pragma once

#include "cli/verb.h"
#include "models/inference.h"

namespace weft::cli {

/// `--precision`, `--int8` and `--device`, which the verbs that ask a trained model share.
void declare_inference(Arguments& arguments);

/// Throws UsageError, UserError where there is no such device.
models::InferenceOptions read_inference(const Arguments& arguments);

}  // namespace weft::cli
