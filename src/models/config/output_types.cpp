#include "models/config/output_types.h"

#include "models/ngram/shortlist_output.h"

namespace weft::models {

namespace {

constexpr nn::OutputDefinition kShortlist = {
    .name = "shortlist", .read = read_shortlist_output, .needs_histories = true};

}  // namespace

const Registry<nn::OutputDefinition>& output_types() {
  [[maybe_unused]] static const bool is_added = [] {
    nn::register_output(kShortlist);
    return true;
  }();
  return nn::output_types();
}

}  // namespace weft::models
