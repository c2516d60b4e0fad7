#pragma once

#include <cstdint>
#include <vector>

namespace weft::metrics {

/// over / under; 0 if `under` is 0.
inline double safe_divide(double over, double under) { return under == 0 ? 0 : over / under; }

/// Fraction of equal entries; 0 if empty.
double accuracy(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions);

struct ClassScores {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

/// Scores of a class predicted `predicted` times, `true_positives` of them correct, with `actual`
/// examples; 0 if a denominator is 0, as in scikit-learn.
ClassScores precision_recall_f1(double true_positives, double predicted, double actual);

/// Matthews correlation coefficient for any number of classes (Gorodkin 2004); 0 if either side is
/// constant.
double matthews_correlation(const std::vector<int64_t>& labels,
                            const std::vector<int64_t>& predictions,
                            int64_t classes);

/// Pearson correlation; NaN if either side is constant or there are fewer than two pairs.
double pearson(const std::vector<double>& x, const std::vector<double>& y);
/// Pearson correlation of the ranks; ties get their mean rank.
double spearman(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace weft::metrics
