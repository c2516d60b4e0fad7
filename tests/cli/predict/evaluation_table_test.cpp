#include <cmath>

#include <gtest/gtest.h>

#include "cli/predict/evaluate.h"

namespace weft::cli {
namespace {

TEST(EvaluationTable, BeginsWithTheMetricThatSelects) {
  const formats::Json report = {{"eval_accuracy", 0.75},
                                {"eval_f1", 0.44999999999999984},
                                {"eval_roc_auc", std::nan("")},
                                {"undefined", {{"eval_roc_auc", "one class"}}},
                                {"labels", {"ham", "spam"}},
                                {"per_class", {{"ham", {{"f1", 2.0 / 3}, {"support", 3}}}}},
                                {"confusion_matrix", {{2, 1}, {0, 1}}}};
  EXPECT_EQ(evaluation_table(report, "eval_f1"),
            "eval_f1             0.45\n"
            "eval_accuracy       0.75\n"
            "eval_roc_auc   undefined\n"
            "eval_roc_auc is undefined: one class\n"
            "\n"
            "class      f1  support\n"
            "ham    0.6667        3\n"
            "\n"
            "Confusion matrix (rows: labels, columns: predictions)\n"
            "label  ham  spam\n"
            "ham      2     1\n"
            "spam     0     1\n");
}

}  // namespace
}  // namespace weft::cli
