#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "models/weights/names.h"

namespace weft::models {

/// The weight files of a directory: `model.safetensors`, or shards with their index. Headers are
/// checked, nothing is read yet.
class WeightFiles {
 public:
  /// Throws formats::Error; where there is only a pickle file, it says how to convert it.
  explicit WeightFiles(const std::string& directory);

  static bool are_in(const std::string& directory);

  /// Nothing where no file has that name.
  const formats::TensorView* find(const std::string& name) const;
  /// The file that holds a tensor, or that which would, for messages.
  const std::string& file_of(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  void open_shards(const std::string& directory, const std::string& index);
  void add(formats::TensorFile file);

  std::vector<formats::TensorFile> files_;
  std::map<std::string, std::size_t> where_;
  std::string main_;  // the file, or the index
};

/// How the tensors of files and the parameters of a model belong together.
struct Assignment {
  struct Pair {
    StoredTensor wanted;
    std::string stored;  // its name in the file
  };
  std::vector<Pair> pairs;
  std::set<std::string> fresh;      // parameters that the files do not have
  std::vector<std::string> unused;  // tensors of the files that no parameter asks for
};

/// Finds each tensor that the options ask for, under any of its spellings. Shapes and dtypes are
/// checked. Parts that may be `fresh` are taken only where they are there whole and fit. Throws
/// formats::Error naming the file and the tensor.
Assignment assign(const WeightFiles& files,
                  const ModelOptions& options,
                  const std::set<Part>& may_be_fresh);

}  // namespace weft::models
