#include "data/images/image_dataset.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "data/error.h"
#include "data/images/augment.h"
#include "data/images/image_format.h"
#include "data/images/image_source.h"
#include "formats/image.h"
#include "support/folder.h"

namespace weft::data {
namespace {

/// A grey PGM file whose pixels all have one value.
std::string pgm(int height, int width, int value) {
  std::string bytes = "P5 " + std::to_string(width) + " " + std::to_string(height) + " 255\n";
  bytes += std::string(static_cast<std::size_t>(height * width), static_cast<char>(value));
  return bytes;
}

class ImageDatasetTest : public ::testing::Test {
 protected:
  static ImageSettings settings(int64_t size, int64_t patch) {
    ImageSettings settings;
    settings.format = {.size = size, .channels = 1, .image_mean = {0.5}, .image_std = {0.5}};
    settings.patch = patch;
    return settings;
  }

  void write(const std::string& name, int height, int width, int value) {
    const auto path = folder_.path(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    test::Folder::write_to(path, pgm(height, width, value));
  }

  DataItem item(const std::string& name) const {
    DataItem item;
    item.path = folder_.path(name);
    item.files = {item.path};
    return item;
  }

  template <class Read>
  std::string message_of(const Read& read) const {
    try {
      read();
    } catch (const UserError& error) {
      const std::string message = error.what();
      const auto at = message.find(folder_.path());
      return at == std::string::npos
                 ? message
                 : message.substr(0, at) + message.substr(at + folder_.path().size() + 1);
    }
    return "";
  }

  test::Folder folder_;
};

TEST_F(ImageDatasetTest, FoldersAreClassesSorted) {
  write("data/dog/1.pgm", 4, 4, 255);
  write("data/cat/deep/2.pgm", 4, 4, 0);
  write("data/cat/3.pgm", 8, 8, 51);
  folder_.write("data/cat/notes.txt", "no image");
  folder_.write("data/cat/photo.gif", "not decoded");
  const auto data = make_image_dataset({item("data")}, settings(4, 2));
  EXPECT_EQ(data->labels(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(data->class_counts(), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(data->size(0), 3);
  EXPECT_EQ(data->length(0, 0), 5);
  ASSERT_EQ(data->remarks().size(), 1U);
  EXPECT_TRUE(data->remarks()[0].ends_with(
      "data: 2 files without the name of a PNG, JPEG, WebP, PPM or PGM image were skipped: 1 .gif, "
      "1 .txt"))
      << data->remarks()[0];
  const auto last = data->example(0, 2);
  EXPECT_EQ(last.label, 1);
  EXPECT_EQ(last.patch_width, 4);
  EXPECT_EQ(last.patches, std::vector<float>(16, 1.0F));
  EXPECT_EQ(last.ids, (std::vector<int64_t>{formats::kClassToken, 0, 1, formats::patch_id(1, 0),
                                            formats::patch_id(1, 1)}));
}

TEST_F(ImageDatasetTest, PatchesGoRowByRow) {
  folder_.write("p.csv", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,0\n");
  auto plain = settings(4, 2);
  plain.format.image_mean = {0};
  plain.format.image_std = {1.0 / 255};
  const auto result = make_image_dataset({item("p.csv")}, plain)->example(0, 0);
  std::vector<int> found;
  for (const float value : result.patches) {
    found.push_back(static_cast<int>(std::lround(value)));
  }
  EXPECT_EQ(found, (std::vector<int>{1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16}));
}

TEST_F(ImageDatasetTest, MistakesNameTheirPlace) {
  write("data/1.pgm", 4, 4, 0);
  EXPECT_EQ(message_of([&] { make_image_dataset({item("data")}, settings(4, 2)); }),
            "data/1.pgm: image file outside of the class folders, must be in one of them");
  std::filesystem::create_directories(folder_.path("empty"));
  EXPECT_EQ(message_of([&] { make_image_dataset({item("empty")}, settings(4, 2)); }),
            "empty: no images found, must have one folder per class with PNG, JPEG, WebP, PPM or "
            "PGM files");
  folder_.write("empty/photo.gif", "x");
  EXPECT_EQ(message_of([&] { make_image_dataset({item("empty")}, settings(4, 2)); }),
            "empty: no images found, must have one folder per class with PNG, JPEG, WebP, PPM or "
            "PGM files; found 1 .gif");
  folder_.write("rows.csv", "image,label\nnone.pgm,a\n");
  EXPECT_EQ(message_of([&] { make_image_dataset({item("rows.csv")}, settings(4, 2)); }),
            "rows.csv:2: 'none.pgm': image not found");
  write("other/new/1.pgm", 4, 4, 0);
  auto known = settings(4, 2);
  known.labels = {"old", "older"};
  EXPECT_EQ(message_of([&] { make_image_dataset({item("other")}, known); }).substr(0, 21),
            "other/new/1.pgm: 'new");
  known.may_replace_labels = true;
  EXPECT_EQ(make_image_dataset({item("other")}, known)->labels(), std::vector<std::string>{"new"});
  folder_.write("x.bin2", "abc");
  EXPECT_NE(message_of([&] { make_image_dataset({item("x.bin2")}, settings(4, 2)); }), "");
}

TEST_F(ImageDatasetTest, TablesNameImagesBesideThem) {
  write("pictures/a.pgm", 4, 4, 10);
  write("pictures/b.pgm", 4, 4, 20);
  folder_.write("pictures/rows.jsonl",
                "{\"image\": \"b.pgm\", \"label\": \"y\"}\n{\"image\": \"a.pgm\", \"label\": 1}\n");
  const auto data = make_image_dataset({item("pictures/rows.jsonl")}, settings(4, 2));
  EXPECT_EQ(data->labels(), (std::vector<std::string>{"1", "y"}));
  EXPECT_EQ(data->example(0, 0).label, 1);
  EXPECT_TRUE(data->location(0, 0).ends_with("pictures/b.pgm"));
}

TEST_F(ImageDatasetTest, ImagesMayKeepTheirShape) {
  write("data/a/1.pgm", 4, 8, 1);
  write("data/b/2.pgm", 8, 2, 1);
  write("data/b/3.pgm", 40, 40, 1);
  auto kept = settings(4, 2);
  kept.format.max_patches = 9;
  const auto data = make_image_dataset({item("data")}, kept);
  EXPECT_EQ(data->length(0, 0), 1 + 2 * 4);
  EXPECT_EQ(data->length(0, 1), 1 + 4 * 1);
  EXPECT_EQ(data->length(0, 2), 1 + 3 * 3);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(static_cast<int64_t>(data->example(0, i).ids.size()), data->length(0, i));
  }
  EXPECT_EQ(data->example(0, 1).ids.back(), formats::patch_id(3, 0));
}

AugmentOptions everything() {
  AugmentOptions options;
  options.crop_scale = std::array{0.3, 1.0};
  options.flip = 0.5;
  options.randaugment_num_ops = 2;
  options.brightness = options.contrast = options.saturation = 0.4;
  options.hue = 0.1;
  options.erase = 0.5;
  options.mixup = 0.8;
  options.cutmix = 1;
  return options;
}

std::string noisy_rows() {
  std::string rows;
  Random random(3, RandomPurpose::kSample, 0, 0);
  for (int row = 0; row < 12; ++row) {
    for (int i = 0; i < 3 * 64; ++i) {
      rows += std::to_string(random.uniform_int(256)) + ",";
    }
    rows += std::to_string(row % 3) + "\n";
  }
  return rows;
}

/// Augmentation depends only on seed, epoch and item.
TEST_F(ImageDatasetTest, ChangesAreFunctionsOfSeedEpochAndItem) {
  folder_.write("p.csv", noisy_rows());
  auto changed = settings(8, 4);
  changed.format.channels = 3;
  changed.format.image_mean = changed.format.image_std = {0.5, 0.5, 0.5};
  changed.augment = everything();
  const auto data = make_image_dataset({item("p.csv")}, changed);
  const auto again = make_image_dataset({item("p.csv")}, changed);
  changed.seed = 2;
  const auto other = make_image_dataset({item("p.csv")}, changed);
  int same_epoch = 0;
  int same_seed = 0;
  for (int64_t i = 11; i >= 0; --i) {
    const auto result = data->example(1, i);
    EXPECT_EQ(result.patches, again->example(1, i).patches);
    EXPECT_EQ(result.values, again->example(1, i).values);
    same_epoch += result.patches == data->example(2, i).patches ? 1 : 0;
    same_seed += result.patches == other->example(1, i).patches ? 1 : 0;
  }
  EXPECT_EQ(same_epoch, 0);
  EXPECT_EQ(same_seed, 0);
}

TEST_F(ImageDatasetTest, MixedImagesShareTheirClasses) {
  folder_.write("p.csv", noisy_rows());
  auto mixed = settings(8, 4);
  mixed.format.channels = 3;
  mixed.format.image_mean = mixed.format.image_std = {0.5, 0.5, 0.5};
  mixed.augment.emplace();
  mixed.augment->cutmix = 1;
  mixed.augment->mix_off_epoch = 1;
  const auto data = make_image_dataset({item("p.csv")}, mixed);
  mixed.augment.reset();
  const auto plain = make_image_dataset({item("p.csv")}, mixed);
  for (int64_t i = 0; i < 12; ++i) {
    const auto result = data->example(0, i);
    EXPECT_NEAR(std::accumulate(result.values.begin(), result.values.end(), 0.0), 1, 1e-12);
    const auto own = plain->example(0, i);
    int64_t kept = 0;
    for (std::size_t k = 0; k < own.patches.size(); ++k) {
      kept += own.patches[k] == result.patches[k] ? 1 : 0;
    }
    // The weight of its own class is at least its remaining area.
    const double share = result.values[static_cast<std::size_t>(result.label)];
    EXPECT_GE(share, static_cast<double>(kept) / static_cast<double>(own.patches.size()) - 0.2);
    EXPECT_TRUE(data->example(1, i).values.empty());
    EXPECT_EQ(data->example(1, i).patches, own.patches);
  }
}

TEST_F(ImageDatasetTest, MasksAreWholeSquares) {
  write("data/1.pgm", 16, 16, 9);
  auto masked = settings(16, 2);
  masked.mask = MaskedImageOptions{.fraction = 0.5, .unit = 2};
  masked.augment = AugmentOptions{};
  const auto data = make_image_dataset({item("data")}, masked);
  const auto result = data->example(0, 0);
  EXPECT_EQ(result.label, kIgnoreIndex);
  EXPECT_EQ(std::accumulate(result.token_type_ids.begin(), result.token_type_ids.end(), int64_t{0}),
            32);
  EXPECT_EQ(result.target_positions.size(), 32U);
  std::set<int64_t> squares;
  for (const int64_t id : result.targets) {
    squares.insert(formats::patch_row(id) / 2 * 4 + formats::patch_column(id) / 2);
  }
  EXPECT_EQ(squares.size(), 8U);
  EXPECT_NE(result.token_type_ids, data->example(1, 0).token_type_ids);
}

TEST(Augment, BoxesHaveTheirAreaAndRatio) {
  const AugmentOptions options{.crop_scale = std::array{0.25, 0.5}};
  Random random(1, RandomPurpose::kAugment, 0, 0);
  for (int i = 0; i < 200; ++i) {
    const auto box = random_crop_box({100, 80}, options, random);
    EXPECT_LE(box.top + box.height, 100);
    EXPECT_LE(box.left + box.width, 80);
    const double area = static_cast<double>(box.height * box.width) / 8000;
    EXPECT_GT(area, 0.23);
    EXPECT_LT(area, 0.52);
    const double ratio = static_cast<double>(box.width) / static_cast<double>(box.height);
    EXPECT_GT(ratio, 0.7);
    EXPECT_LT(ratio, 1.4);
  }
}

TEST(Augment, MixupSharesFollowBeta) {
  AugmentOptions options;
  options.mixup = 0.4;
  Random random(1, RandomPurpose::kAugment, 0, 0);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const double share = sample_mix(options, {8, 8}, random).lambda;
    sum += share;
    squares += share * share;
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 0.5, 0.01);
  EXPECT_NEAR(squares / kDraws - mean * mean, 0.25 / (2 * 0.4 + 1), 0.005);  // of Beta(a, a)
}

TEST(Augment, ErasingSetsOneRectangleToTheMean) {
  std::vector<float> planes(2 * 64, 1);
  Random random(5, RandomPurpose::kAugment, 0, 0);
  random_erase(planes, {8, 8}, 1, random);
  const auto zeros = std::count(planes.begin(), planes.begin() + 64, 0.0F);
  EXPECT_GT(zeros, 0);
  EXPECT_LE(zeros, 30);
  EXPECT_TRUE(std::equal(planes.begin(), planes.begin() + 64, planes.begin() + 64));
}

TEST(ImagePreprocessorConfig, SurvivesItsFile) {
  const test::Folder folder;
  const ImagePreprocessorConfig format{.size = 224,
                                       .channels = 3,
                                       .image_mean = {0.485, 0.456, 0.406},
                                       .image_std = {0.229, 0.224, 0.225},
                                       .resample = Resample::kBicubic,
                                       .crop_pct = 0.875};
  write_preprocessor_config(folder.path(), format);
  EXPECT_EQ(read_preprocessor_config(folder.path(), 3), format);
  EXPECT_EQ(preprocessor_config_of(*load_tokenizer(folder.path())), format);
  std::vector<int32_t> ids;
  EXPECT_THROW(load_tokenizer(folder.path())->encode("text", ids), Error);
}

TEST(ImagePreprocessorConfig, DamagedFilesAreErrors) {
  const test::Folder folder;
  const auto path = folder.path("preprocessor_config.json");
  for (const auto* content :
       {"", "[]", "{}", "{\"size\": {\"height\": 4, \"width\": 5}}",
        "{\"size\": 4, \"image_mean\": [1, \"a\", 2], \"image_std\": [1, 1, 1]}",
        "{\"size\": 4, \"image_mean\": [1, 1, 1], \"image_std\": [1, 0, 1]}",
        "{\"size\": 4, \"resample\": 7}", "{\"size\": -4}"}) {
    test::Folder::write_to(path, content);
    EXPECT_THROW(read_preprocessor_config(folder.path(), 3), UserError) << content;
  }
}

}  // namespace
}  // namespace weft::data
