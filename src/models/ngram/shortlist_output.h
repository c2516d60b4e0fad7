#pragma once

#include "nn/output/output_layer.h"

namespace weft::models {

/// The most frequent tokens by the network, the others by an n-gram model (Schwenk, Computer Speech
/// and Language 21, 2007).
nn::OutputMaker read_shortlist_output(config::Section& section);

}  // namespace weft::models
