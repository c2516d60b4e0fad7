#pragma once

#include <cstdint>
#include <vector>

namespace weft::metrics {

/// over / under; 0 where that is nothing of nothing.
inline double quotient(double over, double under) { return under == 0 ? 0 : over / under; }

/// Share of equal entries; 0 of nothing.
double accuracy(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions);

struct ClassScores {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

/// Of `found` decisions for a class, `hits` right ones, where it was wanted `wanted` times; 0 where
/// a quotient has no denominator, as scikit-learn has it.
ClassScores scores_of(double hits, double found, double wanted);

/// Matthews' correlation for any number of classes (Gorodkin 2004); 0 where either side is
/// constant.
double matthews_correlation(const std::vector<int64_t>& labels,
                            const std::vector<int64_t>& predictions,
                            int64_t classes);

/// NaN where either side is constant or there are fewer than two pairs.
double pearson(const std::vector<double>& x, const std::vector<double>& y);
/// Pearson's correlation of the ranks, ties sharing their mean rank.
double spearman(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace weft::metrics
