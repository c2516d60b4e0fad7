#include "data/images/image_source.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/file.h"
#include "base/random.h"
#include "base/string_util.h"
#include "data/error.h"
#include "data/labels.h"
#include "data/remark.h"
#include "formats/byte_source.h"
#include "formats/image_array.h"
#include "formats/line_reader.h"
#include "formats/table_reader.h"

namespace weft::data {

namespace {

namespace fs = std::filesystem;
using formats::Image;
using formats::ImageArray;
using formats::ImageSize;

const std::vector<std::string> kImageColumns = {"image", "file_name"};

/// Images in memory, from files with many images each.
class PixelImages : public ImageSource {
 public:
  PixelImages(const DataItem& item, ImageKind kind, bool needs_labels) {
    const auto names =
        item.names_file ? read_class_names(*item.names_file) : std::vector<std::string>();
    for (const auto& path : item.files) {
      auto rows = read(item, kind, path, needs_labels);
      if (needs_labels && static_cast<int64_t>(rows.labels.size()) != rows.size()) {
        throw Error(
            str_cat(path, ": ", rows.size(), " images, but ", rows.labels.size(), " labels"));
      }
      for (const int64_t label : rows.labels) {
        labels_.push_back(name_of(label, names, path));
      }
      begins_.push_back(size_);
      size_ += rows.size();
      hash_ = hash_combine(hash_, digest(rows.pixels.data(), rows.pixels.size()));
      files_.push_back({path, std::move(rows)});
    }
  }

  int64_t size() const override { return size_; }
  Image image(int64_t index) const override {
    const auto file = file_of(index);
    return files_[file].rows.image(index - begins_[file]);
  }
  ImageSize shape(int64_t index) const override {
    const auto& rows = files_[file_of(index)].rows;
    return {rows.height, rows.width};
  }
  std::string location(int64_t index) const override {
    const auto file = file_of(index);
    return str_cat(files_[file].path, ", image ", index - begins_[file] + 1);
  }
  uint64_t fingerprint() const override { return hash_; }
  uint64_t image_digest(int64_t index) const override {
    const auto pixels = image(index).pixels;
    return digest(pixels.data(), pixels.size());
  }

 private:
  struct File {
    std::string path;
    ImageArray rows;
  };

  static ImageArray read(const DataItem& item,
                         ImageKind kind,
                         const std::string& path,
                         bool needs_labels) {
    if (kind == ImageKind::kPixels) {
      return formats::read_image_csv(path, {.label = item.label, .white = item.image.white});
    }
    if (kind != ImageKind::kIdx) {
      return formats::read_cifar(path, kind == ImageKind::kCifar100 ? formats::CifarKind::kCifar100
                                                                    : formats::CifarKind::kCifar10);
    }
    auto rows = formats::read_idx_images(path);
    if (needs_labels) {
      rows.labels = formats::read_idx_labels(labels_file(item, path));
    }
    return rows;
  }

  static std::string labels_file(const DataItem& item, const std::string& path) {
    if (item.image.labels_file) {
      if (item.files.size() > 1) {
        throw Error(str_cat(item.path, ": one labels_file, but ", item.files.size(),
                            " image files: give each image file its own item"));
      }
      return *item.image.labels_file;
    }
    const std::string found = idx_labels_name(path);
    if (found == path || !fs::exists(found)) {
      throw Error(str_cat(path, ": label file not found", found == path ? "" : " at " + found,
                          ": set labels_file"));
    }
    return found;
  }

  static std::string name_of(int64_t label,
                             const std::vector<std::string>& names,
                             const std::string& path) {
    if (names.empty()) {
      return std::to_string(label);
    }
    if (label >= static_cast<int64_t>(names.size())) {
      throw Error(str_cat(path, ": label ", label, ", but names_file has names only for 0 to ",
                          names.size() - 1));
    }
    return names[static_cast<std::size_t>(label)];
  }

  std::size_t file_of(int64_t index) const {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), index);
    return static_cast<std::size_t>(after - begins_.begin()) - 1;
  }

  std::vector<File> files_;
  int64_t size_ = 0;
  uint64_t hash_ = 0;
};

/// Images in separate files, read on demand.
class ImageFiles : public ImageSource {
 public:
  int64_t size() const override { return static_cast<int64_t>(paths_.size()); }
  Image image(int64_t index) const override { return formats::read_image(path(index)); }
  ImageSize shape(int64_t index) const override { return formats::read_image_size(path(index)); }
  std::string location(int64_t index) const override { return path(index); }
  uint64_t fingerprint() const override { return hash_; }
  uint64_t image_digest(int64_t index) const override { return digest_file(path(index)); }

 protected:
  void add(const std::string& path, const std::string& label) {
    std::error_code failed;
    const auto bytes = fs::file_size(path, failed);
    if (failed) {
      throw Error(str_cat(path, ": cannot be read: ", failed.message()));
    }
    paths_.push_back(path);
    labels_.push_back(label);
    hash_ = hash_combine(digest(path, hash_), bytes);
  }

  std::string name_;

 private:
  const std::string& path(int64_t index) const { return paths_[static_cast<std::size_t>(index)]; }

  std::vector<std::string> paths_;
  uint64_t hash_ = 0;
};

/// One folder per class; nested folders belong to the same class.
class FolderImages : public ImageFiles {
 public:
  FolderImages(const DataItem& item, bool needs_labels) {
    name_ = item.path;
    for (const auto& root : item.files) {
      begins_.push_back(size());
      for (const auto& name : list_directory(root)) {
        const auto path = root + "/" + name;
        if (fs::is_directory(path)) {
          visit(path, name, kMaxDepth);
        } else if (formats::is_image_name(name) && needs_labels) {
          throw Error(
              str_cat(path, ": image file outside of the class folders, must be in one of them"));
        } else {
          add_if_image(path, "");
        }
      }
    }
    if (size() == 0) {
      throw Error(str_cat(item.path, ": no images found, must have one folder per class with ",
                          formats::kImageFormats, " files",
                          skipped_.empty() ? "" : str_cat("; found ", list_skipped())));
    }
    if (!needs_labels) {
      labels_.clear();
    }
  }

  std::vector<std::string> remarks() const override {
    int64_t count = 0;
    for (const auto& [extension, files] : skipped_) {
      count += files;
    }
    std::vector<std::string> remarks;
    add_remark(remarks, name_,
               {.count = count,
                .noun = "file",
                .which = str_cat("without the name of a ", formats::kImageFormats, " image"),
                .done = "skipped: " + list_skipped()});
    return remarks;
  }

 private:
  static constexpr int kMaxDepth = 16;  // of folders; a link may be a cycle

  void add_if_image(const std::string& path, const std::string& label) {
    if (formats::is_image_name(path)) {
      add(path, label);
    } else {
      ++skipped_[fs::path(path).extension().string()];
    }
  }

  /// `22 .gif, 1 without extension`
  std::string list_skipped() const {
    std::vector<std::string> kinds;
    for (const auto& [extension, files] : skipped_) {
      kinds.push_back(
          str_cat(with_commas(files), " ", extension.empty() ? "without extension" : extension));
    }
    return abbreviated(kinds);
  }

  void visit(const std::string& folder, const std::string& label, int depth) {
    for (const auto& name : list_directory(folder)) {
      const auto path = folder + "/" + name;
      if (!fs::is_directory(path)) {
        add_if_image(path, label);
      } else if (depth > 0) {
        visit(path, label, depth - 1);
      }
    }
  }

  std::map<std::string, int64_t> skipped_;  // files by extension
};

/// Rows of a table with an image path, relative to the table's folder or the working directory.
class TableImages : public ImageFiles {
 public:
  TableImages(const DataItem& item, bool needs_labels) {
    name_ = item.path;
    for (const auto& path : item.files) {
      const auto kind = formats::table_kind(path);
      if (!kind) {
        throw Error(path + ": not a table, must be csv, tsv, jsonl or parquet");
      }
      std::vector<std::string> columns = {image_column(item, path, *kind)};
      if (needs_labels) {
        columns.push_back(item.label.value_or("label"));
      }
      begins_.push_back(size());
      formats::TableReader reader(path, *kind, columns, item.table);
      for (std::vector<std::optional<std::string>> fields; reader.next(fields);) {
        add_row(fields, path, reader.location());
      }
    }
    if (size() == 0) {
      throw Error(item.path + ": no rows, must have at least one");
    }
    if (!needs_labels) {
      labels_.clear();
    }
  }

 private:
  static std::string image_column(const DataItem& item,
                                  const std::string& path,
                                  formats::TableKind kind) {
    if (item.image.column) {
      return *item.image.column;
    }
    const auto columns = formats::read_column_names(path, kind, item.table);
    if (auto found = formats::first_column(kImageColumns, columns)) {
      return *std::move(found);
    }
    throw Error(str_cat(path, ": no column image or file_name, choose one of ", join(columns),
                        " with `image:`"));
  }

  void add_row(const std::vector<std::optional<std::string>>& fields,
               const std::string& table,
               const std::string& location) {
    for (const auto& field : fields) {
      if (!field || trim(*field).empty()) {
        throw Error(location + ": empty image or label, must have both");
      }
    }
    const auto beside = fs::path(table).parent_path() / *fields[0];
    const auto path = fs::exists(beside) ? beside.string() : *fields[0];
    if (!fs::exists(path)) {
      throw Error(str_cat(location, ": '", fields[0]->substr(0, 200), "': image not found"));
    }
    add(path, fields.size() > 1 ? *fields[1] : "");
  }
};

bool has_image_column(const DataItem& item, const std::string& path, formats::TableKind kind) {
  const auto columns = formats::read_column_names(path, kind, item.table);
  return formats::first_column(kImageColumns, columns).has_value();
}

}  // namespace

std::string idx_labels_name(const std::string& path) {
  std::string name = path;
  for (const auto& [images, labels] :
       {std::pair{"images", "labels"}, std::pair{"idx3", "idx1"}, std::pair{"idx4", "idx1"}}) {
    const auto at = name.rfind(images);
    if (at != std::string::npos) {
      name.replace(at, std::string_view(images).size(), labels);
    }
  }
  return name;
}

ImageKind image_kind_of(const DataItem& item) {
  if (item.image.kind) {
    return *item.image.kind;
  }
  if (item.image.column) {
    return ImageKind::kTable;
  }
  const auto& path = item.files.front();
  if (fs::is_directory(path)) {
    return ImageKind::kFolder;
  }
  if (const auto kind = formats::table_kind(path)) {
    const bool is_pixel_format =
        *kind == formats::TableKind::kCsv || *kind == formats::TableKind::kTsv;
    const bool names_images = !is_pixel_format || has_image_column(item, path, *kind);
    return names_images ? ImageKind::kTable : ImageKind::kPixels;
  }
  if (formats::is_idx(path)) {
    return ImageKind::kIdx;
  }
  if (formats::without_compression(path).ends_with(".bin")) {
    return ImageKind::kCifar10;
  }
  throw Error(
      str_cat(path,
              ": unknown image data, must be a folder with one subfolder per class, an IDX file, a "
              "CIFAR .bin file, a csv, tsv, jsonl or parquet table, or have its format set with "
              "`format:`"));
}

std::unique_ptr<const ImageSource> open_images(const DataItem& item, bool needs_labels) {
  const auto kind = image_kind_of(item);
  switch (kind) {
    case ImageKind::kFolder:
      return std::make_unique<FolderImages>(item, needs_labels);
    case ImageKind::kTable:
      return std::make_unique<TableImages>(item, needs_labels);
    case ImageKind::kIdx:
    case ImageKind::kCifar10:
    case ImageKind::kCifar100:
    case ImageKind::kPixels:
      return std::make_unique<PixelImages>(item, kind, needs_labels);
  }
  return nullptr;
}

}  // namespace weft::data
