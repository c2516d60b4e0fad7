#pragma once

#include "models/family_definition.h"

/// What ViT and DeiT share: sizes, keys, names.
namespace weft::models::vision_family {

ModelOptions defaults(Family family);
ModelOptions sized(Family family, int64_t layers, int64_t dim, int64_t heads);

void read_keys(config::Section& section, ModelOptions& options, const ModelOptions* base);
void read_json(const JsonFields& fields, ModelOptions& options);
void write_json(formats::Json& json, const ModelOptions& options);
std::vector<StoredTensor> tensors(const ModelOptions& options);
bool is_harmless(std::string_view name, const ModelOptions& options);
InitialValues initial(const std::string& parameter, const ModelOptions& options);
std::shared_ptr<Model> make(const ModelOptions& options);

}  // namespace weft::models::vision_family
