#include "base/string_util.h"
#include "models/config/choice_json.h"
#include "models/config/stack_keys.h"

namespace weft::models {

namespace {

constexpr auto kRateKey = "drop_path_rate";
constexpr auto kScheduleKey = "drop_path_schedule";
constexpr auto kLayerdropKey = "layerdrop";

const config::Choices<bool>& schedules() {
  static const config::Choices<bool> kWords = {{"linear", false}, {"constant", true}};
  return kWords;
}

}  // namespace

void read_stochastic_depth(config::Section& model, ModelOptions& options) {
  auto& own = options.stochastic_depth;
  model.read(kRateKey, own.drop_path_rate,
             {.help = "Stochastic depth (drop path, arXiv:1603.09382): probability that training "
                      "skips a sub-layer for a text or image.",
              .range = config::half_open(0, 1)});
  model.read_choice(kScheduleKey, own.is_constant, schedules(),
                    {.help = "The rate of a layer: it grows linearly from 0 at the first layer to "
                             "drop_path_rate at the last one, or is the same in all layers."});
  model.read(kLayerdropKey, own.layerdrop,
             {.help = "LayerDrop (arXiv:1909.11556): probability that a training step skips a "
                      "layer. `weft export --layers` then makes shallower models.",
              .range = config::half_open(0, 1)});
  if (model.is_documenting()) {
    return;
  }
  if (own.is_constant && own.drop_path_rate == 0) {
    model.fail(kScheduleKey, str_cat("has no effect without ", kRateKey));
  }
  if (own.drop_path_rate > 0 && reads_layer_before(options.layer_types)) {
    model.fail(kRateKey,
               "is not possible with attention that reads the scores of the layer before");
  }
  if (own.drop_path_rate > 0 && draws_at_random(options.layer_types)) {
    model.fail(kRateKey, "is not possible with attention that draws keys at random");
  }
  if (own.layerdrop > 0 && options.layer_types.halting) {
    model.fail(kLayerdropKey, "is not possible with halting");
  }
  if (own.layerdrop > 0 && carries_state(options.layer_types)) {
    model.fail(kLayerdropKey,
               "is not possible with layers that carry a state or memory from step to step");
  }
}

void read_stochastic_depth(const JsonFields& fields, ModelOptions& options) {
  auto& own = options.stochastic_depth;
  fields.read(kRateKey, own.drop_path_rate, 0.0, 1.0);
  read_choice_word(fields, kScheduleKey, schedules(), own.is_constant);
  fields.read(kLayerdropKey, own.layerdrop, 0.0, 1.0);
}

void write_stochastic_depth(formats::Json& json, const ModelOptions& options) {
  const auto& own = options.stochastic_depth;
  if (own.drop_path_rate > 0) {
    json[kRateKey] = own.drop_path_rate;
  }
  if (own.is_constant) {
    json[kScheduleKey] = choice_word(schedules(), own.is_constant);
  }
  if (own.layerdrop > 0) {
    json[kLayerdropKey] = own.layerdrop;
  }
}

}  // namespace weft::models
