#include "objectives/loss/class_weights.h"

#include <algorithm>

#include "base/string_util.h"

namespace weft::objectives {

namespace {

std::vector<double> balanced(const ClassOptions& options,
                             const std::vector<std::string>& labels,
                             const std::vector<int64_t>& counts,
                             int64_t rows) {
  const auto present = static_cast<double>(counts.size()) -
                       static_cast<double>(std::count(counts.begin(), counts.end(), int64_t{0}));
  std::vector<double> weights;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto count = static_cast<double>(counts[i]);
    const auto all = static_cast<double>(rows);
    if (options.multi_label && (counts[i] == 0 || counts[i] == rows)) {
      throw config::Error(str_cat("objective.class_weights: balanced, but the class '", labels[i],
                                  "' is in ", counts[i] == 0 ? "none" : "all",
                                  " of the rows; give the weights by class name"));
    }
    // The weight of a class without rows does not matter.
    weights.push_back(options.multi_label ? (all - count) / count
                      : count == 0        ? 1
                                          : all / (present * count));
  }
  return weights;
}

}  // namespace

std::vector<double> class_weights(const ClassOptions& options,
                                  const std::vector<std::string>& labels,
                                  const std::vector<int64_t>& counts,
                                  int64_t rows) {
  if (options.class_weights.word == "balanced") {
    return balanced(options, labels, counts, rows);
  }
  if (options.class_weights.numbers.empty()) {
    return {};
  }
  std::vector<double> weights(labels.size(), 1);
  for (const auto& [name, weight] : options.class_weights.numbers) {
    const auto at = std::find(labels.begin(), labels.end(), name);
    if (at == labels.end()) {
      const auto near = did_you_mean(name, labels);
      throw config::Error(str_cat("objective.class_weights: '", name.substr(0, 100),
                                  "' is not one of the classes ", join(labels),
                                  near.empty() ? "" : str_cat(", did you mean '", near, "'?")));
    }
    weights[static_cast<std::size_t>(at - labels.begin())] = weight;
  }
  return weights;
}

}  // namespace weft::objectives
