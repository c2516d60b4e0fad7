#include "nn/depth/exit_rule.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace weft::nn {

namespace {

/// Of -p log p, in nats.
double surprise(double probability) {
  return probability > 0 ? -probability * std::log(probability) : 0;
}

double softmax_entropy(const std::vector<float>& logits) {
  const double top = *std::ranges::max_element(logits);
  double sum = 0;
  for (const double logit : logits) {
    sum += std::exp(logit - top);
  }
  double entropy = 0;
  for (const double logit : logits) {
    entropy += surprise(std::exp(logit - top) / sum);
  }
  return entropy;
}

/// The mean over the labels.
double sigmoid_entropy(const std::vector<float>& logits) {
  double entropy = 0;
  for (const double logit : logits) {
    const double probability = 1 / (1 + std::exp(-logit));
    entropy += surprise(probability) + surprise(1 - probability);
  }
  return entropy / static_cast<double>(logits.size());
}

/// DeeBERT (arXiv:2004.12993, section 3.2): the entropy is below a threshold.
class EntropyRule : public ExitRule {
 public:
  EntropyRule(double threshold, OutputKind outputs) : threshold_(threshold), outputs_(outputs) {}

  bool exits(const std::vector<float>& outputs, ExitMemory& /*memory*/) const override {
    return (outputs_ == OutputKind::kLabels ? sigmoid_entropy(outputs) : softmax_entropy(outputs)) <
           threshold_;
  }

 private:
  double threshold_;
  OutputKind outputs_;
};

/// PABEE (arXiv:2006.04152, section 3.2): `patience` layers in a row agree with the one before.
class PatienceRule : public ExitRule {
 public:
  PatienceRule(int64_t patience, double tolerance, OutputKind outputs)
      : patience_(patience), tolerance_(tolerance), outputs_(outputs) {}

  bool exits(const std::vector<float>& outputs, ExitMemory& memory) const override {
    const bool agrees = !memory.outputs.empty() && agree(outputs, memory.outputs);
    memory.agreements = agrees ? memory.agreements + 1 : 0;
    memory.outputs = outputs;
    return memory.agreements >= patience_;
  }

 private:
  bool agree(const std::vector<float>& now, const std::vector<float>& before) const {
    if (outputs_ == OutputKind::kClasses) {
      return std::ranges::max_element(now) - now.begin() ==
             std::ranges::max_element(before) - before.begin();
    }
    return std::ranges::equal(now, before, [&](double a, double b) {
      return outputs_ == OutputKind::kLabels ? (a > 0) == (b > 0) : std::abs(a - b) < tolerance_;
    });
  }

  int64_t patience_;
  double tolerance_;
  OutputKind outputs_;
};

ExitRuleDefinition::Maker read_entropy(config::Section& section) {
  double threshold = 0.1;
  section.read("threshold", threshold,
               {.help = "Entropy in nats below which a text has its answer; 0: never before the "
                        "last layer. With several labels for a text, the mean over them.",
                .range = config::between(0, 100)});
  return [=](const ExitRuleOptions& options) -> std::shared_ptr<ExitRule> {
    if (options.outputs == OutputKind::kNumbers) {
      throw UserError(
          "model.early_exit.type: entropy, but the outputs are numbers, not classes; allowed is "
          "patience");
    }
    return std::make_shared<EntropyRule>(threshold, options.outputs);
  };
}

ExitRuleDefinition::Maker read_patience(config::Section& section) {
  int64_t patience = 6;
  double tolerance = 0.1;
  section.read("patience", patience,
               {.help = "Number of layers in a row that predict the same as the layer before.",
                .unit = "layers",
                .range = config::between(1, 4096)});
  section.read("tolerance", tolerance,
               {.help = "Difference below which two numbers count as the same (regression).",
                .range = config::between(0, 1e6)});
  return [=](const ExitRuleOptions& options) {
    return std::make_shared<PatienceRule>(patience, tolerance, options.outputs);
  };
}

Registry<ExitRuleDefinition>& exit_rule_registry() {
  static Registry<ExitRuleDefinition> registry(
      "early exit rule", {{"entropy", read_entropy}, {"patience", read_patience}});
  return registry;
}

}  // namespace

const Registry<ExitRuleDefinition>& exit_rules() { return exit_rule_registry(); }

void register_exit_rule(const ExitRuleDefinition& definition) {
  exit_rule_registry().add(definition);
}

}  // namespace weft::nn
