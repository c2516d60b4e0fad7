#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "models/weights/weight_map.h"

namespace weft::models {

/// Weight files of a directory: `model.safetensors`, or shards with their index, and
/// kSeparateTensors where there is one. The constructor checks headers and reads no tensors.
class SafetensorsShards {
 public:
  /// Throws formats::Error; for a pickle file the message says how to convert it.
  explicit SafetensorsShards(const std::string& directory);

  static bool exist_in(const std::string& directory);

  /// Returns nullptr where no file has that name.
  const formats::TensorView* find(const std::string& name) const;
  /// File that contains a tensor, or that should, for messages.
  const std::string& file_of(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  void open_shards(const std::string& directory, const std::string& index);
  void add(formats::SafetensorsFile file);

  std::vector<formats::SafetensorsFile> files_;
  std::map<std::string, std::size_t> shard_of_;
  std::string main_path_;  // the file, or the index
};

/// Assignment of file tensors to model parameters.
struct WeightAssignment {
  struct Pair {
    StoredTensor wanted;
    std::string stored;  // its name in the file
  };
  std::vector<Pair> pairs;
  std::set<std::string> missing_keys;        // parameters that are not in the files
  std::vector<std::string> unexpected_keys;  // tensors of the files without a parameter
};

/// Finds each tensor of the model under any of its name_aliases and checks shapes and dtypes. Parts
/// that may be missing are used only if they are complete and fit; parts that are new are not used
/// at all. Throws formats::Error naming the file and the tensor.
WeightAssignment assign_weights(const SafetensorsShards& files,
                                const ModelOptions& options,
                                const std::set<Part>& may_be_missing,
                                const std::set<Part>& new_parts = {});

}  // namespace weft::models
