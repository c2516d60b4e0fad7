#include "train/step/state.h"

#include <charconv>
#include <limits>
#include <utility>

#include "base/file.h"
#include "base/string_util.h"
#include "formats/json.h"

namespace weft::train {

namespace {

using formats::Json;

constexpr int kStateFormat = 1;
constexpr int64_t kLargest = int64_t{16} << 20;  // bytes

// 64-bit integers do not fit into the numbers of all JSON readers.
uint64_t parse_hex(const std::string& digits) {
  uint64_t value = 0;
  const auto* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value, 16);
  if (result.ec != std::errc() || result.ptr != end) {
    throw formats::Error("'" + digits + "' is not a hexadecimal number");
  }
  return value;
}

/// An integer of at least `least`. In a corrupt file a negative or huge number must not become a
/// data position.
int64_t count_at(const Json& json,
                 const char* key,
                 int64_t least = 0,
                 int64_t most = int64_t{1} << 53) {
  const auto& value = json.at(key);
  if (!value.is_number_integer() || value < least || value > most) {
    throw formats::Error(str_cat(key, ": ", quoted_text(value.dump()), ", must be an integer from ",
                                 least, " to ", most));
  }
  return value.get<int64_t>();
}

EarlyStopping parse_early_stopping(const Json& json) {
  EarlyStopping early_stopping;
  if (!json.at("best").is_null()) {
    early_stopping.best = json.at("best").get<double>();
  }
  early_stopping.num_bad_evaluations = count_at(json, "waited");
  return early_stopping;
}

data::DataPosition parse_cursor(const Json& json) {
  return {.epoch = count_at(json, "epoch"), .position = count_at(json, "position")};
}

Json state_json_of(const data::DataPosition& cursor) {
  return {{"epoch", cursor.epoch}, {"position", cursor.position}};
}

// Absent from the first checkpoints of this format.
void parse_step_failures(const Json& json, TrainState& state) {
  if (!json.contains("rollbacks")) {
    return;
  }
  state.spikes = count_at(json, "spikes");
  state.loss_history = {.losses = json.at("recent").at("losses"),
                        .norms = json.at("recent").at("norms")};
  const auto& rollbacks = json.at("rollbacks");
  state.rollbacks.save_steps = rollbacks.at("due").get<std::vector<int64_t>>();
  state.rollbacks.count = count_at(rollbacks, "count");
  state.rollbacks.to_step = count_at(rollbacks, "to_step", -1);
  for (const auto& range : rollbacks.at("left_out")) {
    state.rollbacks.skipped_ranges.push_back(
        {.begin = parse_cursor(range.at("begin")), .end = parse_cursor(range.at("end"))});
  }
  if (!json.at("micro_batch_tokens").is_null()) {
    state.micro_batch_tokens = count_at(json, "micro_batch_tokens");
  }
}

void add_step_failures(const TrainState& state, Json& json) {
  json["spikes"] = state.spikes;
  json["recent"] = {{"losses", state.loss_history.losses}, {"norms", state.loss_history.norms}};
  auto skipped_ranges = Json::array();
  for (const auto& range : state.rollbacks.skipped_ranges) {
    skipped_ranges.push_back(
        {{"begin", state_json_of(range.begin)}, {"end", state_json_of(range.end)}});
  }
  json["rollbacks"] = {{"due", state.rollbacks.save_steps},
                       {"count", state.rollbacks.count},
                       {"to_step", state.rollbacks.to_step},
                       {"left_out", skipped_ranges}};
  json["micro_batch_tokens"] =
      state.micro_batch_tokens ? Json(*state.micro_batch_tokens) : Json(nullptr);
}

TrainState parse_state(const Json& json) {
  if (json.at("format").get<int>() != kStateFormat) {
    throw formats::Error(
        str_cat("format ", json.at("format").get<int>(), ", must be ", kStateFormat));
  }
  TrainState state;
  state.progress = {.steps = count_at(json, "step"),
                    .epochs = json.at("epochs"),
                    .tokens = count_at(json, "tokens"),
                    .minutes = json.at("minutes")};
  state.updates = count_at(json, "updates");
  state.cursor = parse_cursor(json.at("cursor"));
  state.skipped = count_at(json, "skipped");
  state.skipped_in_row = count_at(json, "skipped_in_row");
  parse_step_failures(json, state);
  state.window_loss = json.at("window").at("loss");
  state.window_steps = count_at(json.at("window"), "steps");
  if (json.at("window").contains("max_loss")) {
    state.window_max_loss = json.at("window").at("max_loss").get<double>();
  }
  if (json.at("window").contains("tallies")) {
    state.window_sums = json.at("window").at("tallies").get<std::vector<double>>();
  }
  if (json.at("window").contains("auxiliary_losses")) {
    state.window_auxiliary_losses =
        json.at("window").at("auxiliary_losses").get<std::map<std::string, double>>();
  }
  if (const auto& end = json.at("warmup_end"); end.is_object()) {
    state.warmup_end = {.progress = end.at("progress"), .config = end.at("config")};
  }
  state.pending_evaluation = json.at("owes_evaluation");
  state.metric_for_best_model = json.value("best_by", "");
  for (const auto& item : json.at("scored")) {
    state.scored.push_back({.step = count_at(item, "step"), .value = item.at("value")});
  }
  if (json.contains("patience")) {  // absent from the first checkpoints of this format
    state.early_stopping = parse_early_stopping(json.at("patience"));
  }
  if (json.contains("decision")) {
    state.decision = {.threshold = json.at("decision").at("threshold").get<double>(),
                      .tuned_by = json.at("decision").at("tuned_by")};
  }
  state.seed = count_at(json, "seed", 0, std::numeric_limits<int64_t>::max());
  state.precision = json.at("precision");
  state.threads = count_at(json, "threads");
  state.data = parse_hex(json.at("data"));
  state.evaluation_data = parse_hex(json.at("evaluation_data"));
  state.versions = json.at("versions");
  return state;
}

}  // namespace

std::string to_json(const TrainState& state) {
  Json json;
  json["format"] = kStateFormat;
  json["step"] = state.progress.steps;
  json["epochs"] = state.progress.epochs;
  json["tokens"] = state.progress.tokens;
  json["minutes"] = state.progress.minutes;
  json["updates"] = state.updates;
  json["cursor"] = state_json_of(state.cursor);
  json["skipped"] = state.skipped;
  json["skipped_in_row"] = state.skipped_in_row;
  add_step_failures(state, json);
  json["window"] = {{"loss", state.window_loss}, {"steps", state.window_steps}};
  if (state.window_max_loss) {
    json["window"]["max_loss"] = *state.window_max_loss;
  }
  if (!state.window_sums.empty()) {
    json["window"]["tallies"] = state.window_sums;
  }
  if (!state.window_auxiliary_losses.empty()) {
    json["window"]["auxiliary_losses"] = state.window_auxiliary_losses;
  }
  json["warmup_end"] = nullptr;
  if (const auto& end = state.warmup_end) {
    json["warmup_end"] = {{"progress", end->progress}, {"config", end->config}};
  }
  json["owes_evaluation"] = state.pending_evaluation;
  json["best_by"] = state.metric_for_best_model;
  json["scored"] = Json::array();
  for (const auto& scored : state.scored) {
    json["scored"].push_back({{"step", scored.step}, {"value", scored.value}});
  }
  const auto& early_stopping = state.early_stopping;
  json["patience"] = {{"best", early_stopping.best ? Json(*early_stopping.best) : Json(nullptr)},
                      {"waited", early_stopping.num_bad_evaluations}};
  if (const auto& decision = state.decision; decision.threshold) {
    json["decision"] = {{"threshold", *decision.threshold}, {"tuned_by", decision.tuned_by}};
  }
  json["seed"] = state.seed;
  json["precision"] = state.precision;
  json["threads"] = state.threads;
  json["data"] = to_hex(state.data);
  json["evaluation_data"] = to_hex(state.evaluation_data);
  json["versions"] = state.versions;
  return json.dump(2) + "\n";
}

TrainState read_state(const std::string& path) {
  const auto json = formats::read_json(path, kLargest);
  try {
    return parse_state(json);
  } catch (const std::exception& error) {
    throw formats::Error(path + ": " + error.what());
  }
}

}  // namespace weft::train
