#include "models/vision.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "formats/image.h"
#include "models/config/family_definition.h"
#include "models/config/presets.h"
#include "models/directory.h"
#include "nn/embedding/patch_embeddings.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

ModelOptions vision_tiny(Family family, Head head) {
  auto options = family_defaults(family);
  options.head = head;
  options.dim = 8;
  options.layers = 2;
  options.heads = 2;
  options.width = 12;
  options.vision.image_size = 4;
  options.vision.patch_size = 2;
  options.vision.channels = 1;
  options.labels = {"a", "b", "c"};
  options.init_std = 0.3;
  return options;
}

/// Images of these grids with made-up pixels, ids and a pass.
struct Images {
  Images(const std::vector<nn::PatchGrid>& grids, bool has_distillation) {
    std::vector<int64_t> ids;
    std::vector<int64_t> offsets = {0};
    int64_t patches = 0;
    for (const auto& grid : grids) {
      ids.push_back(formats::kClassToken);
      if (has_distillation) {
        ids.push_back(formats::kDistillationToken);
      }
      for (int64_t row = 0; row < grid.rows; ++row) {
        for (int64_t column = 0; column < grid.columns; ++column) {
          ids.push_back(formats::patch_id(row, column));
          ++patches;
        }
      }
      offsets.push_back(static_cast<int64_t>(ids.size()));
    }
    input = {.ids = at::tensor(ids, at::kLong),
             .patches = at::arange(patches * 4, at::kFloat).mul(0.7).sin().view({patches, 4})};
    context.layout = kernels::Layout::from_offsets(offsets, at::kCPU);
  }

  TextInput input;
  nn::ForwardContext context;
};

int64_t vision_parameters_of(std::string_view name, int64_t classes) {
  for (const auto& preset : presets()) {
    if (preset.name == name) {
      auto options = preset.options;
      options.head = Head::kImage;
      options.labels.assign(static_cast<std::size_t>(classes), "x");
      int64_t count = 0;
      for (const auto& tensor : weight_map(options)) {
        int64_t size = 1;
        for (const auto length : tensor.shape) {
          size *= length;
        }
        count += size;
      }
      return count;
    }
  }
  return 0;
}

TEST(Vision, PresetsHaveThePublishedSizes) {
  EXPECT_EQ(vision_parameters_of("vit-tiny", 1000), 5'717'416);
  EXPECT_EQ(vision_parameters_of("vit-small", 1000), 22'050'664);
  EXPECT_EQ(vision_parameters_of("vit-base", 1000), 86'567'656);
  EXPECT_EQ(vision_parameters_of("vit-large", 1000), 304'326'632);
  EXPECT_EQ(vision_parameters_of("deit-base", 1000), 86'567'656 + 2 * 768);
}

TEST(Vision, LogitsAreThoseOfTheHiddenStates) {
  for (const auto family : {family_named("vit"), family_named("deit")}) {
    const auto model = make_model(vision_tiny(family, Head::kImage), 3);
    const Images images({{2, 2}, {2, 2}}, family == family_named("deit"));
    const auto hidden = model->hidden(images.input, images.context);
    EXPECT_TRUE(test::near(model->classify(images.input, images.context),
                           model->class_logits(hidden, images.context)));
  }
}

TEST(Vision, DistilledModelsAverageBothHeads) {
  const auto model = make_model(vision_tiny(family_named("deit"), Head::kDistilledImage), 3);
  const Images images({{2, 2}, {1, 2}}, true);
  const auto hidden = model->hidden(images.input, images.context);
  const auto parameters = model->named_parameters();
  const auto by = [&](const std::string& head, int64_t place) {
    const auto rows = at::stack({hidden[place], hidden[6 + place]});
    return at::linear(rows, parameters[head + ".weight"], parameters[head + ".bias"]);
  };
  EXPECT_TRUE(test::near(model->classify(images.input, images.context),
                         (by("head", 0) + by("distillation_head", 1)) / 2));
}

TEST(Vision, MixedSizesInOneBatchAreAsEachAlone) {
  const auto model = make_model(vision_tiny(family_named("vit"), Head::kImage), 3);
  const Images both({{2, 2}, {3, 1}}, false);
  const auto logits = model->classify(both.input, both.context);
  const Images first({{2, 2}}, false);
  EXPECT_TRUE(test::near(logits[0], model->classify(first.input, first.context)[0]));
  Images second({{3, 1}}, false);
  second.input.patches = both.input.patches.narrow(0, 4, 3);
  EXPECT_TRUE(test::near(logits[1], model->classify(second.input, second.context)[0]));
}

TEST(Vision, MaskedPatchesHideTheirPixels) {
  const auto model = make_model(vision_tiny(family_named("vit"), Head::kMaskedImage), 3);
  test::fill_parameters(*model);
  Images images({{2, 2}}, false);
  images.input.types = at::tensor({0, 0, 1, 0, 0}, at::kLong);
  const auto before = model->hidden(images.input, images.context);
  images.input.patches = images.input.patches.clone();
  images.input.patches[1].add_(5);
  EXPECT_TRUE(test::near(model->hidden(images.input, images.context), before, 0));
  images.input.patches[0].add_(5);
  EXPECT_FALSE(test::near(model->hidden(images.input, images.context), before));
  EXPECT_EQ(model->token_features(before).sizes(), (at::IntArrayRef{5, 4}));
}

TEST(Vision, BrokenGridsAreRefused) {
  const auto model = make_model(vision_tiny(family_named("vit"), Head::kImage), 3);
  Images images({{2, 2}}, false);
  images.input.ids = images.input.ids.clone();
  images.input.ids[4] = formats::patch_id(2, 1);
  EXPECT_THROW(model->hidden(images.input, images.context), c10::Error);
}

TEST(Vision, DirectoryGivesTheSameModelBack) {
  const test::Folder folder;
  const auto model = make_model(vision_tiny(family_named("vit"), Head::kImage), 5);
  save_model(folder.path(), *model, formats::DType::kF32);
  const auto options = read_model_config(folder.path());
  EXPECT_EQ(options.vision, model->options().vision);
  EXPECT_EQ(options.labels, model->options().labels);
  const auto again = load_model(folder.path(), options, 0);
  EXPECT_TRUE(again.missing_keys.empty());
  const Images images({{2, 2}}, false);
  EXPECT_TRUE(test::near(again.model->classify(images.input, images.context),
                         model->classify(images.input, images.context), 0));
}

/// Fine-tuning at another resolution: all weights are kept, the positions interpolated.
TEST(Vision, AnotherImageSizeInterpolatesThePositions) {
  const test::Folder folder;
  const auto model = make_model(vision_tiny(family_named("vit"), Head::kImage), 5);
  save_model(folder.path(), *model, formats::DType::kF32);
  auto options = read_model_config(folder.path());
  options.vision.image_size = 6;
  const auto loaded = load_model(folder.path(), options, 0);
  EXPECT_TRUE(loaded.missing_keys.empty());
  EXPECT_EQ(loaded.model->options().vision.grid(), 3);
  const auto from = model->named_parameters();
  for (const auto& parameter : loaded.model->named_parameters()) {
    const auto expected = parameter.key() == "embeddings.position"
                              ? nn::interpolate_positions(from[parameter.key()], 1, {3, 3})
                              : from[parameter.key()];
    EXPECT_TRUE(test::near(parameter.value(), expected, 0)) << parameter.key();
    EXPECT_TRUE(parameter.value().requires_grad());
  }
  // The larger model's position grid equals the interpolated grid of the smaller one.
  const Images images({{3, 3}}, false);
  EXPECT_TRUE(test::near(loaded.model->classify(images.input, images.context),
                         model->classify(images.input, images.context)));
}

}  // namespace
}  // namespace weft::models
