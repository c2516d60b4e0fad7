#include "report/evaluation_json.h"

#include <utility>

#include "base/string_util.h"
#include "data/datasets/labelled_dataset.h"
#include "data/datasets/tagged_dataset.h"
#include "metrics/metric.h"

namespace weft::report {

namespace {

using formats::Json;

constexpr int kDigits = 12;  // the rest of a double is rounding of sums

void round_numbers(Json& value) {
  if (value.is_number_float()) {
    value = round_to_digits(value.get<double>(), kDigits);
  }
  if (value.is_structured()) {
    for (auto& part : value) {
      round_numbers(part);
    }
  }
}

Json item_json(const objectives::ExampleResult& result, const data::Dataset& dataset) {
  Json line = {{"place", dataset.location(0, result.item)}};
  if (const auto* labelled = dynamic_cast<const data::LabelledDataset*>(&dataset)) {
    const auto texts = labelled->texts(0, result.item);
    line["text"] = texts[0];
    if (texts.size() > 1) {
      line["text_pair"] = texts[1];
    }
  }
  if (const auto* tagged = dynamic_cast<const data::TaggedDataset*>(&dataset)) {
    line[str_cat(tagged->unit(), "s")] = tagged->words(0, result.item);
  }
  line.update(result.fields);
  line["loss"] = result.loss;
  return line;
}

}  // namespace

Json rounded(Json value) {
  round_numbers(value);
  return value;
}

Json evaluation_json(const train::DirectoryEvaluation& done) {
  Json line = Json::object();
  Json undefined = Json::object();
  for (const auto& [name, value] : done.evaluation->result()) {
    line[name] = value;
    if (const auto reason = metrics::undefined_reason(name, value); !reason.empty()) {
      undefined[name] = reason;
    }
  }
  if (done.decision.threshold) {
    line["eval_threshold"] = *done.decision.threshold;
  }
  if (!undefined.empty()) {
    line["undefined"] = undefined;
  }
  line.update(done.evaluation->details());
  return rounded(std::move(line));
}

std::vector<Json> hardest_examples(const train::DirectoryEvaluation& done, int64_t count) {
  std::vector<Json> lines;
  const auto results = done.evaluation->hardest_examples(count);
  for (const auto& result : results.value_or(std::vector<objectives::ExampleResult>())) {
    lines.push_back(item_json(result, *done.dataset));
  }
  return lines;
}

}  // namespace weft::report
