#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/string_util.h"
#include "cli/init/column_choice.h"
#include "cli/init/draft.h"
#include "config/yaml.h"
#include "data/images/image_source.h"
#include "data/labels.h"
#include "data/rows/labelled_rows.h"
#include "formats/image.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxRows = 200'000;  // that are looked at
constexpr std::string_view kLinearTraining = "train: {duration: 10 epochs}\n";

[[noreturn]] void fail_columns(const std::string& path,
                               const data::TableProfile& table,
                               const std::string& what) {
  std::vector<std::string> names;
  for (const auto& column : table.columns) {
    names.push_back(column.name);
  }
  throw UserError(
      str_cat(path, ": no column with ", what, " found; the columns are ", quoted_text(names)));
}

void init_labelled(const InitRequest& request,
                   const data::TableProfile& table,
                   bool has_classes,
                   Draft& draft) {
  const auto& path = request.paths.front();
  const auto columns = choose_columns(table, has_classes);
  if (columns.text == nullptr || columns.label == nullptr) {
    fail_columns(path, table,
                 columns.text == nullptr ? "texts"
                 : has_classes           ? "2 to 200 classes that occur more than once"
                                         : "numbers");
  }
  draft.describe(path, table);
  draft.add_fact("Texts: " + describe_lengths(*columns.text));
  if (has_classes) {
    draft.add_fact("Classes: " + describe_classes(*columns.label));
  }
  Draft::Item item = {{"path", config::yaml_text(path)}};
  if (!table.options.has_header) {
    item.emplace_back("header", "false");
  }
  item.emplace_back("text", config::yaml_text(columns.text->name));
  if (columns.text_pair != nullptr) {
    item.emplace_back("text_pair", config::yaml_text(columns.text_pair->name));
  }
  item.emplace_back("label", config::yaml_text(columns.label->name));
  const bool is_linear = has_classes && columns.text_pair == nullptr;
  draft.write_model(is_linear ? "model: {type: bag_of_words}   # a linear baseline; --from MODEL "
                                "fine-tunes a pretrained encoder\n"
                              : "model: {preset: bert-mini}   # trained from scratch; --from MODEL "
                                "fine-tunes a pretrained encoder\n");
  draft.write_data(item, kSplit);
  if (const auto unlabelled = table.rows - columns.label->filled; unlabelled > 0) {
    draft.write(
        str_cat("  unlabelled: drop   # ", counted(unlabelled, "row"), " without a label\n"));
  }
  draft.write(has_classes ? "objective: {type: classify}\n" : "objective: {type: regress}\n");
  draft.write_training(is_linear ? kLinearTraining : kEncoderTraining);
}

/// A table of pixels: many columns, all of numbers.
bool has_pixels(const data::TableProfile& table) {
  constexpr std::size_t kMinPixels = 16;
  return table.columns.size() > kMinPixels &&
         std::ranges::all_of(table.columns, &data::ColumnProfile::is_numeric);
}

/// A directory with image files, or a file that is neither text nor a table.
bool has_images(const std::string& path) {
  if (!fs::is_directory(path)) {
    return !formats::table_kind(path) && !path.ends_with(".txt");
  }
  return std::any_of(
      fs::recursive_directory_iterator(path), fs::recursive_directory_iterator(),
      [](const auto& entry) { return formats::is_image_name(entry.path().string()); });
}

/// Highest pixel of a table of pixels, if it is lower than in images of 8 bits.
std::optional<int64_t> low_white(const data::TableProfile& table) {
  double highest = 0;
  for (const auto& column : table.columns) {
    for (const auto& [value, rows] : column.values) {
      highest = std::max(highest, data::parse_number(value).value_or(0));
    }
  }
  return highest < 128 ? std::optional(static_cast<int64_t>(highest)) : std::nullopt;
}

/// Of some images of a data set: all of them may differ.
struct ImageSizes {
  int64_t channels = 1;               // the most
  int64_t longest = 1;                // median of the longer sides
  std::pair<int64_t, int64_t> least;  // height and width of the smallest
  std::pair<int64_t, int64_t> most;   // and of the largest
};

ImageSizes sample_sizes(const data::ImageSource& images) {
  constexpr int64_t kMostSamples = 100;
  const int64_t samples = std::min(images.size(), kMostSamples);
  ImageSizes sizes;
  std::vector<int64_t> longest;
  std::vector<std::pair<int64_t, int64_t>> found;
  longest.reserve(static_cast<std::size_t>(samples));
  found.reserve(static_cast<std::size_t>(samples));
  for (int64_t i = 0; i < samples; ++i) {
    const auto image = images.image(i * images.size() / samples);
    sizes.channels = std::max<int64_t>(sizes.channels, image.channels);
    longest.push_back(std::max(image.height, image.width));
    found.emplace_back(image.height, image.width);
  }
  std::sort(longest.begin(), longest.end());
  const auto area = [](const auto& size) { return size.first * size.second; };
  sizes.longest = longest[longest.size() / 2];
  sizes.least = std::ranges::min(found, {}, area);
  sizes.most = std::ranges::max(found, {}, area);
  return sizes;
}

void init_images(const InitRequest& request, std::optional<int64_t> white, Draft& draft) {
  const auto& path = request.paths.front();
  const auto images = data::open_images({.path = path, .files = glob_paths(path)}, true);
  const auto sizes = sample_sizes(*images);
  data::ColumnProfile classes;
  for (const auto& label : images->labels()) {
    ++classes.values[label];
  }
  const auto pixels = [](const auto& size) { return str_cat(size.first, " x ", size.second); };
  draft.add_fact(str_cat(path, ": ", counted(images->size(), "image"), ", of ", pixels(sizes.least),
                         sizes.least == sizes.most ? "" : " to " + pixels(sizes.most), " pixels, ",
                         sizes.channels == 1 ? "grey" : "in colour"));
  draft.add_fact("Classes: " + describe_classes(classes));
  const auto longest = sizes.longest;
  const int64_t patch = longest <= 64 ? std::max<int64_t>(2, (longest + 7) / 8) : 16;
  const int64_t size = longest <= 64 ? (longest + patch - 1) / patch * patch : 224;
  draft.write_model(str_cat(
      "model: {preset: vit-mini, image_size: ", size, ", patch_size: ", patch, ", num_channels: ",
      sizes.channels, "}   # trained from scratch; --from MODEL fine-tunes a pretrained model\n"));
  Draft::Item item = {{"path", config::yaml_text(path)}};
  if (white) {
    item.emplace_back("max_pixel_value", std::to_string(*white));
  }
  draft.write_data(item, kSplit);
  draft.write("objective: {type: classify}\n");
  draft.write_training(
      "train:\n"
      "  duration: 30 epochs\n"
      "  batch_sequences: 64\n"
      "  optimizer: {lr: 1e-3, weight_decay: 0.05}\n"
      "  schedule: {type: cosine, warmup: 1 epochs}\n"
      "  evaluate_every: 1 epochs\n");
}

/// A directory with one subdirectory of texts per class.
void init_class_directory(const InitRequest& request, Draft& draft) {
  const auto& path = request.paths.front();
  const auto rows = data::read_labelled_rows({.path = path, .files = {path}}, {});
  data::ColumnProfile classes;
  for (int64_t row = 0; row < rows.size(); ++row) {
    ++classes.values[std::string(rows.labels_of(row).front())];
  }
  draft.add_fact(path + ": a directory with one subdirectory of texts per class");
  draft.add_fact("Classes: " + describe_classes(classes));
  draft.write_model(
      "model: {type: bag_of_words}   # a linear baseline; --from MODEL fine-tunes a pretrained "
      "encoder\n");
  draft.write_data({{"path", config::yaml_text(path)}}, kSplit);
  draft.write("objective: {type: classify}\n");
  draft.write_training(kLinearTraining);
}

}  // namespace

void init_classify(const InitRequest& request, Draft& draft) {
  const auto path = glob_paths(request.paths.front()).front();
  if (has_images(path)) {
    init_images(request, std::nullopt, draft);
  } else if (fs::is_directory(path)) {
    init_class_directory(request, draft);
  } else {
    const auto table = data::profile_table(path, kMaxRows);
    if (has_pixels(table)) {
      init_images(request, low_white(table), draft);
    } else {
      init_labelled(request, table, true, draft);
    }
  }
}

void init_regress(const InitRequest& request, Draft& draft) {
  const auto table = data::profile_table(glob_paths(request.paths.front()).front(), kMaxRows);
  init_labelled(request, table, false, draft);
}

}  // namespace weft::cli
