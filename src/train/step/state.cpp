#include "train/step/state.h"

#include <charconv>
#include <limits>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "formats/in_quotes.h"
#include "formats/json.h"

namespace weft::train {

namespace {

using formats::Json;

constexpr int kStateFormat = 1;
constexpr int64_t kLargest = int64_t{16} << 20;  // bytes

// 64 bits do not fit the numbers of all JSON readers.
uint64_t parse_hex(const std::string& digits) {
  uint64_t value = 0;
  const auto* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value, 16);
  if (result.ec != std::errc() || result.ptr != end) {
    throw formats::Error("'" + digits + "' is not a hexadecimal number");
  }
  return value;
}

/// A whole number from `least` on. Where the file is no honest one, a negative or huge number must
/// not become a place in the data.
int64_t count_at(const Json& json,
                 const char* key,
                 int64_t least = 0,
                 int64_t most = int64_t{1} << 53) {
  const auto& value = json.at(key);
  if (!value.is_number_integer() || value < least || value > most) {
    throw formats::Error(text(key, ": ", formats::in_quotes(value.dump()),
                              ", must be an integer from ", least, " to ", most));
  }
  return value.get<int64_t>();
}

Patience parse_patience(const Json& json) {
  Patience patience;
  if (!json.at("best").is_null()) {
    patience.best = json.at("best").get<double>();
  }
  patience.waited = count_at(json, "waited");
  return patience;
}

data::Cursor parse_cursor(const Json& json) {
  return {.epoch = count_at(json, "epoch"), .position = count_at(json, "position")};
}

Json state_json_of(const data::Cursor& cursor) {
  return {{"epoch", cursor.epoch}, {"position", cursor.position}};
}

// Not in the first checkpoints of this format.
void parse_troubles(const Json& json, TrainState& state) {
  if (!json.contains("rollbacks")) {
    return;
  }
  state.spikes = count_at(json, "spikes");
  state.recent = {.losses = json.at("recent").at("losses"), .norms = json.at("recent").at("norms")};
  const auto& rollbacks = json.at("rollbacks");
  state.rollbacks.due = rollbacks.at("due").get<std::vector<int64_t>>();
  state.rollbacks.count = count_at(rollbacks, "count");
  state.rollbacks.to_step = count_at(rollbacks, "to_step", -1);
  for (const auto& range : rollbacks.at("left_out")) {
    state.rollbacks.left_out.push_back(
        {.begin = parse_cursor(range.at("begin")), .end = parse_cursor(range.at("end"))});
  }
  if (!json.at("micro_batch_tokens").is_null()) {
    state.micro_batch_tokens = count_at(json, "micro_batch_tokens");
  }
}

void add_troubles(const TrainState& state, Json& json) {
  json["spikes"] = state.spikes;
  json["recent"] = {{"losses", state.recent.losses}, {"norms", state.recent.norms}};
  auto left_out = Json::array();
  for (const auto& range : state.rollbacks.left_out) {
    left_out.push_back({{"begin", state_json_of(range.begin)}, {"end", state_json_of(range.end)}});
  }
  json["rollbacks"] = {{"due", state.rollbacks.due},
                       {"count", state.rollbacks.count},
                       {"to_step", state.rollbacks.to_step},
                       {"left_out", left_out}};
  json["micro_batch_tokens"] =
      state.micro_batch_tokens ? Json(*state.micro_batch_tokens) : Json(nullptr);
}

TrainState parse_state(const Json& json) {
  if (json.at("format").get<int>() != kStateFormat) {
    throw formats::Error(text("format ", json.at("format").get<int>(), ", must be ", kStateFormat));
  }
  TrainState state;
  state.clock = {.steps = count_at(json, "step"),
                 .epochs = json.at("epochs"),
                 .tokens = count_at(json, "tokens"),
                 .minutes = json.at("minutes")};
  state.updates = count_at(json, "updates");
  state.cursor = parse_cursor(json.at("cursor"));
  state.skipped = count_at(json, "skipped");
  state.skipped_in_row = count_at(json, "skipped_in_row");
  parse_troubles(json, state);
  state.window_loss = json.at("window").at("loss");
  state.window_steps = count_at(json.at("window"), "steps");
  if (json.at("window").contains("tallies")) {
    state.window_tallies = json.at("window").at("tallies").get<std::vector<double>>();
  }
  if (!json.at("warmup_end").is_null()) {
    state.warmup_end = json.at("warmup_end").get<double>();
  }
  state.owes_evaluation = json.at("owes_evaluation");
  for (const auto& item : json.at("scored")) {
    state.scored.push_back({.step = count_at(item, "step"), .value = item.at("value")});
  }
  if (json.contains("patience")) {  // not in the first checkpoints of this format
    state.patience = parse_patience(json.at("patience"));
  }
  if (json.contains("decision")) {
    state.decision = {.threshold = json.at("decision").at("threshold").get<double>(),
                      .tuned_by = json.at("decision").at("tuned_by")};
  }
  state.seed = count_at(json, "seed", 0, std::numeric_limits<int64_t>::max());
  state.precision = json.at("precision");
  state.optimizer = json.at("optimizer");
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
  json["step"] = state.clock.steps;
  json["epochs"] = state.clock.epochs;
  json["tokens"] = state.clock.tokens;
  json["minutes"] = state.clock.minutes;
  json["updates"] = state.updates;
  json["cursor"] = state_json_of(state.cursor);
  json["skipped"] = state.skipped;
  json["skipped_in_row"] = state.skipped_in_row;
  add_troubles(state, json);
  json["window"] = {{"loss", state.window_loss}, {"steps", state.window_steps}};
  if (!state.window_tallies.empty()) {
    json["window"]["tallies"] = state.window_tallies;
  }
  json["warmup_end"] = state.warmup_end ? Json(*state.warmup_end) : Json(nullptr);
  json["owes_evaluation"] = state.owes_evaluation;
  json["scored"] = Json::array();
  for (const auto& scored : state.scored) {
    json["scored"].push_back({{"step", scored.step}, {"value", scored.value}});
  }
  const auto& patience = state.patience;
  json["patience"] = {{"best", patience.best ? Json(*patience.best) : Json(nullptr)},
                      {"waited", patience.waited}};
  if (const auto& decision = state.decision; decision.threshold) {
    json["decision"] = {{"threshold", *decision.threshold}, {"tuned_by", decision.tuned_by}};
  }
  json["seed"] = state.seed;
  json["precision"] = state.precision;
  json["optimizer"] = state.optimizer;
  json["threads"] = state.threads;
  json["data"] = hex(state.data);
  json["evaluation_data"] = hex(state.evaluation_data);
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
