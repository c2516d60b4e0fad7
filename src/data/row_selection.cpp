#include "data/row_selection.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/random.h"
#include "base/string_util.h"
#include "data/error.h"
#include "data/images/image_source.h"
#include "formats/error.h"
#include "formats/json.h"

namespace weft::data {

namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr int kSplitRecordFormat = 1;

/// Digest of a data file with the file of its labels; of a folder, of names and sizes.
uint64_t digest_of_data(const DataItem& item, const std::string& path) {
  if (!fs::is_directory(path)) {
    const auto own = digest_file(path);
    const auto labels = item.image.labels_file.value_or(idx_labels_name(path));
    return labels != path && fs::exists(labels) ? hash_combine(own, digest_file(labels)) : own;
  }
  std::vector<std::string> names;
  for (const auto& entry :
       fs::recursive_directory_iterator(path, fs::directory_options::follow_directory_symlink)) {
    if (entry.is_regular_file()) {
      names.push_back(str_cat(fs::relative(entry.path(), path).string(), " ", entry.file_size()));
    }
  }
  std::sort(names.begin(), names.end());
  return digest(join(names, "\n"));
}

std::vector<int64_t> rows_of_part(const SplitRecord::File& file, SplitPart part) {
  if (part != SplitPart::kTrain) {
    return part == SplitPart::kTest ? file.test : file.evaluate;
  }
  std::vector<bool> is_held_out(static_cast<std::size_t>(file.rows));
  for (const auto* rows : {&file.evaluate, &file.test}) {
    for (const auto row : *rows) {
      is_held_out.at(static_cast<std::size_t>(row)) = true;
    }
  }
  std::vector<int64_t> rest;
  for (int64_t row = 0; row < file.rows; ++row) {
    if (!is_held_out[static_cast<std::size_t>(row)]) {
      rest.push_back(row);
    }
  }
  return rest;
}

/// Throws if the files of the items are not those of the record.
void check_files(const std::vector<DataItem>& items, const SplitRecord& record) {
  std::size_t number = 0;
  for (const DataItem& item : items) {
    for (const std::string& path : item.files) {
      if (number >= record.files.size()) {
        throw Error(path + ": not one of the files whose split was recorded (split.json)");
      }
      const auto& file = record.files[number++];
      const auto found = digest_of_data(item, path);
      if (found != file.digest) {
        throw Error(str_cat(path, ": has changed since the run split its rows (digest ",
                            to_hex(found), ", was ", to_hex(file.digest),
                            "): restore the file, name other data, or split its rows anew with "
                            "--allow-changed-data"));
      }
    }
  }
  if (number < record.files.size()) {
    throw Error(str_cat(record.files[number].path,
                        ": is in the recorded split (split.json), but not in data.train"));
  }
}

SplitRecord record_of(const std::vector<DataItem>& items,
                      const std::vector<SplitRows>& rows,
                      const Split& split,
                      uint64_t seed) {
  SplitRecord record{.seed = seed, .files = {}};
  std::size_t next = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& files = rows[i].files;
    for (std::size_t number = 0; number < files.size(); ++number) {
      const auto end = number + 1 < files.size() ? files[number + 1].begin
                                                 : static_cast<int64_t>(rows[i].rows.size());
      SplitRecord::File file{.path = files[number].path,
                             .digest = digest_of_data(items[i], files[number].path),
                             .rows = end - files[number].begin};
      for (int64_t row = 0; row < file.rows; ++row) {
        const auto part = split.parts[next++];
        if (part == SplitPart::kEvaluate) {
          file.evaluate.push_back(row);
        } else if (part == SplitPart::kTest) {
          file.test.push_back(row);
        }
      }
      record.files.push_back(std::move(file));
    }
  }
  return record;
}

int64_t count_rows(const SplitRecord& record, SplitPart part) {
  int64_t count = 0;
  for (const auto& file : record.files) {
    count += static_cast<int64_t>(rows_of_part(file, part).size());
  }
  return count;
}

SplitRecord draw_split(const DataOptions& options,
                       uint64_t seed,
                       const SplitRowsReader& read,
                       std::vector<std::string>& remarks) {
  std::vector<SplitRows> items;
  std::vector<SplitRow> rows;
  for (const DataItem& item : options.train) {
    auto& read_rows = items.emplace_back(read(item));
    if (options.split.group) {
      read_groups(item, *options.split.group, read_rows);
    }
    rows.insert(rows.end(), read_rows.rows.begin(), read_rows.rows.end());
  }
  const auto split = assign_split(rows, options.split, seed);
  remarks = split.remarks;
  return record_of(options.train, items, split, seed);
}

/// Class numbers of the rows in use, in the order in which the classes appear.
std::vector<int64_t> class_numbers(const SplitRows& rows) {
  std::map<std::string_view, int64_t> numbers;
  std::vector<int64_t> classes;
  for (const SplitRow& row : rows.rows) {
    if (!row.is_dropped) {
      classes.push_back(
          numbers.emplace(row.label, static_cast<int64_t>(numbers.size())).first->second);
    }
  }
  return classes;
}

void select_fold(DataOptions& data, int64_t count, uint64_t seed, const SplitRowsReader& read) {
  data.evaluate = data.train;
  for (std::size_t i = 0; i < data.train.size(); ++i) {
    const auto rows = read(data.train[i]);
    const auto classes = class_numbers(rows);
    if (static_cast<int64_t>(classes.size()) < count) {
      throw Error(str_cat(data.train[i].path, ": ", classes.size(), " rows, not enough for ", count,
                          " folds"));
    }
    const auto folds = assign_folds(classes, count, seed);
    data.train[i].rows.emplace();
    data.evaluate[i].rows.emplace();
    std::size_t next = 0;
    for (std::size_t row = 0; row < rows.rows.size(); ++row) {
      if (!rows.rows[row].is_dropped) {
        const bool is_held_out = folds[next++] == data.fold - 1;
        (is_held_out ? data.evaluate : data.train)[i].rows->push_back(static_cast<int64_t>(row));
      }
    }
    data.evaluate[i].weight = 1;  // each row once
  }
}

std::vector<int64_t> rows_from_json(const Json& json, int64_t rows) {
  std::vector<int64_t> found;
  for (const auto& number : json) {
    found.push_back(number.get<int64_t>() - 1);
    if (found.back() < 0 || found.back() >= rows) {
      throw formats::Error(str_cat("row ", found.back() + 1, ", must be from 1 to ", rows));
    }
  }
  return found;
}

Json rows_to_json(std::vector<int64_t> rows) {
  for (auto& row : rows) {
    ++row;
  }
  return rows;
}

SplitRecord parse_record(const Json& json) {
  if (json.at("format").get<int>() != kSplitRecordFormat) {
    throw formats::Error(
        str_cat("format ", json.at("format").get<int>(), ", must be ", kSplitRecordFormat));
  }
  SplitRecord record{.seed = json.at("seed"), .files = {}};
  for (const auto& item : json.at("files")) {
    SplitRecord::File file{.path = item.at("path"),
                           .digest = std::stoull(item.at("digest").get<std::string>(), nullptr, 16),
                           .rows = item.at("rows")};
    file.evaluate = rows_from_json(item.at("evaluate"), file.rows);
    file.test = rows_from_json(item.at("test"), file.rows);
    record.files.push_back(std::move(file));
  }
  return record;
}

}  // namespace

void write_split_record(const std::string& directory, const SplitRecord& record) {
  // One line per file of the data.
  std::vector<std::string> files;
  for (const auto& file : record.files) {
    const Json line = {{"path", file.path},
                       {"digest", to_hex(file.digest)},
                       {"rows", file.rows},
                       {"evaluate", rows_to_json(file.evaluate)},
                       {"test", rows_to_json(file.test)}};
    files.push_back(line.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  write_file(directory + kSplitRecord,
             str_cat("{\"format\": ", kSplitRecordFormat, ", \"seed\": ", record.seed,
                     ", \"files\": [\n", join(files, ",\n"), "\n]}\n"));
}

std::optional<SplitRecord> read_split_record(const std::string& directory) {
  const auto path = directory + kSplitRecord;
  if (!fs::exists(path)) {
    return std::nullopt;
  }
  const auto json = formats::read_json(path);
  try {
    return parse_record(json);
  } catch (const std::exception& error) {
    throw formats::Error(path + ": " + error.what());
  }
}

std::vector<DataItem> items_of_part(const std::vector<DataItem>& items,
                                    const SplitRecord& record,
                                    SplitPart part) {
  check_files(items, record);
  auto selected = items;
  std::size_t number = 0;
  for (DataItem& item : selected) {
    item.rows.emplace();
    int64_t begin = 0;
    for (std::size_t i = 0; i < item.files.size(); ++i) {
      const auto& file = record.files[number++];
      for (const auto row : rows_of_part(file, part)) {
        item.rows->push_back(begin + row);
      }
      begin += file.rows;
    }
    if (part != SplitPart::kTrain) {
      item.weight = 1;  // each row once
    }
  }
  return selected;
}

RowSelection select_rows(const DataOptions& options,
                         uint64_t run_seed,
                         const SplitRowsReader& read,
                         const std::optional<SplitRecord>& recorded) {
  RowSelection result{.data = options, .record = {}, .remarks = {}};
  DataOptions& data = result.data;
  if (options.folds) {
    select_fold(data, *options.folds, run_seed, read);
  } else if (options.split.is_used()) {
    const auto seed =
        static_cast<uint64_t>(options.split.seed.value_or(static_cast<int64_t>(run_seed)));
    result.record = recorded ? recorded : draw_split(options, seed, read, result.remarks);
    data.train = items_of_part(options.train, *result.record, SplitPart::kTrain);
    if (options.split.evaluate) {
      data.evaluate = items_of_part(options.train, *result.record, SplitPart::kEvaluate);
    }
    result.remarks.push_back(
        str_cat("split", recorded ? " as recorded" : str_cat(" with seed ", seed), ": ",
                with_commas(count_rows(*result.record, SplitPart::kTrain)), " rows to train, ",
                with_commas(count_rows(*result.record, SplitPart::kEvaluate)), " to evaluate, ",
                with_commas(count_rows(*result.record, SplitPart::kTest)), " to test"));
  }
  data.folds.reset();
  data.split = {};
  return result;
}

std::vector<int64_t> assign_folds(const std::vector<int64_t>& classes,
                                  int64_t count,
                                  uint64_t seed) {
  std::map<int64_t, std::vector<std::size_t>> rows;
  for (std::size_t row = 0; row < classes.size(); ++row) {
    rows[classes[row]].push_back(row);
  }
  std::vector<int64_t> folds(classes.size());
  int64_t next = 0;  // continues from class to class, so that the last rows of each are spread too
  uint64_t number = 0;
  for (const auto& [name, members] : rows) {
    const Permutation order(static_cast<int64_t>(members.size()), seed, RandomPurpose::kFolds,
                            number++);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto row = members[static_cast<std::size_t>(order(static_cast<int64_t>(i)))];
      folds[row] = next++ % count;
    }
  }
  return folds;
}

}  // namespace weft::data
