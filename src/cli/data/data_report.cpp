#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <sstream>

#include "base/string_util.h"
#include "cli/data/data.h"

namespace weft::cli {
namespace {

constexpr int64_t kBarWidth = 40;

std::string bar(int64_t count, int64_t longest) {
  return std::string(static_cast<std::size_t>((count * kBarWidth + longest - 1) / longest), '#');
}

}  // namespace

std::string show_lengths(const std::string& what, const data::LengthCounts& lengths) {
  std::ostringstream out;
  out << "  " << what << ": " << with_commas(lengths.count()) << ", of " << lengths.shortest()
      << " to " << with_commas(lengths.longest()) << " tokens, mean " << std::fixed
      << std::setprecision(1) << lengths.mean() << "\n";
  std::size_t first = data::LengthCounts::kBuckets;
  std::size_t last = 0;
  int64_t longest = 1;
  for (std::size_t i = 0; i < data::LengthCounts::kBuckets; ++i) {
    if (lengths.bucket(i) > 0) {
      first = std::min(first, i);
      last = i;
      longest = std::max(longest, lengths.bucket(i));
    }
  }
  for (std::size_t i = first; i <= last; ++i) {
    const int64_t least = data::LengthCounts::bucket_min(i);
    const int64_t greatest = i == 0 ? 0 : 2 * least - 1;
    const std::string range = least == greatest ? str_cat(least) : str_cat(least, "-", greatest);
    out << "  " << std::setw(17) << range << std::setw(14) << with_commas(lengths.bucket(i)) << "  "
        << bar(lengths.bucket(i), longest) << "\n";
  }
  return out.str();
}

std::string show_store(const data::StoreStatistics& statistics, bool knows_unknown) {
  const int64_t tokens = statistics.sentences.total();
  std::string shown = show_lengths("documents", statistics.documents) +
                      show_lengths("sentences", statistics.sentences);
  shown += str_cat("  repeated sentences: ", with_commas(statistics.repeated), " (",
                   format_percent(statistics.repeated, statistics.sentences.count()), ")\n");
  if (knows_unknown) {
    shown += str_cat("  unknown tokens: ", with_commas(statistics.unknown), " (",
                     format_percent(statistics.unknown, tokens), ")\n");
  }
  return shown;
}

std::string show_dataset(const data::DatasetStatistics& statistics,
                         int64_t size,
                         const std::vector<std::string>& labels) {
  const int64_t tokens = statistics.sequences.total();
  std::string shown;
  if (statistics.sequences.count() < size) {
    shown += str_cat("  of ", with_commas(size), " sequences per epoch, ",
                     with_commas(statistics.sequences.count()), " evenly spaced ones:\n");
  }
  shown += show_lengths("sequences", statistics.sequences);
  shown += str_cat("  tokens: ", with_commas(tokens),
                   ", including special tokens; unknown: ", with_commas(statistics.unknown), " (",
                   format_percent(statistics.unknown, tokens), ")\n");
  if (statistics.targets > 0) {
    shown += str_cat("  tokens in the loss: ", with_commas(statistics.targets), " (",
                     format_percent(statistics.targets, tokens), ")\n");
  }
  for (const auto& [label, count] : statistics.labels) {
    const auto index = static_cast<std::size_t>(label);
    const std::string name = index < labels.size() ? labels[index] : str_cat(label);
    shown += str_cat("  class ", name, ": ", with_commas(count), " (",
                     format_percent(count, statistics.sequences.count()), ")\n");
  }
  return shown;
}

}  // namespace weft::cli
