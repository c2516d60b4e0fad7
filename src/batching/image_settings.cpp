#include "batching/image_settings.h"

#include "data/images/image_format.h"

namespace weft::batching {

data::ImageSettings image_settings(const models::ModelOptions& model,
                                   const data::ImageOptions& options,
                                   const data::Tokenizer& pixels) {
  const auto& vision = model.vision;
  data::ImageSettings settings;
  settings.format =
      data::make_preprocessor_config(options, data::preprocessor_config_of(pixels),
                                     {vision.image_size, vision.grid(), vision.channels});
  settings.patch = vision.patch_size;
  settings.has_class_token = vision.has_class_token;
  settings.has_distillation_token = vision.has_distillation_token;
  return settings;
}

}  // namespace weft::batching
