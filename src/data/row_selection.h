#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/split.h"
#include "data/split_rows.h"

namespace weft::data {

/// The rows that a run held out, kept as split.json in its directory and in its checkpoints.
struct SplitRecord {
  /// One file of the training data, or folder of images.
  struct File {
    std::string path;
    uint64_t digest = 0;  // of the content; of a folder: of the names and sizes of its files
    int64_t rows = 0;
    std::vector<int64_t> evaluate = {};  // counted from 0 in the file
    std::vector<int64_t> test = {};
  };
  uint64_t seed = 0;
  std::vector<File> files;
};

inline constexpr const char* kSplitRecord = "/split.json";

/// Writes DIRECTORY/split.json, in which rows count from 1.
void write_split_record(const std::string& directory, const SplitRecord& record);
/// nullopt if the directory has none. Throws formats::Error if it cannot be parsed.
std::optional<SplitRecord> read_split_record(const std::string& directory);

/// The items with the rows of one part. Throws data::Error: other files than recorded, a file that
/// has changed since, a part without rows.
std::vector<DataItem> items_of_part(const std::vector<DataItem>& items,
                                    const SplitRecord& record,
                                    SplitPart part);

/// Reads the rows of an item.
using SplitRowsReader = std::function<SplitRows(const DataItem& item)>;

struct RowSelection {
  DataOptions data;                   // without folds and split, but with the rows of each item
  std::optional<SplitRecord> record;  // of a split
  std::vector<std::string> remarks;   // for the log
};

/// Applies data.split or data.folds: data.train keeps its part of the rows, data.evaluate gets the
/// held-out one. `recorded`: rows of an earlier split, used as they are. Throws data::Error.
RowSelection select_rows(const DataOptions& options,
                         uint64_t run_seed,
                         const SplitRowsReader& read,
                         const std::optional<SplitRecord>& recorded = {});

/// Returns the fold of each row, counted from 0. Stratified: rows of each class are dealt out in an
/// order keyed by the seed, so class frequencies match and fold sizes differ by at most one row.
std::vector<int64_t> assign_folds(const std::vector<int64_t>& classes,
                                  int64_t count,
                                  uint64_t seed);

}  // namespace weft::data
