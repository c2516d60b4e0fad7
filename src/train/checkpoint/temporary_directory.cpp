#include "train/checkpoint/temporary_directory.h"

#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace weft::train {

TemporaryDirectory::TemporaryDirectory(const std::string& name)
    : path_((std::filesystem::temp_directory_path() / (name + "-XXXXXX")).string()) {
  if (::mkdtemp(path_.data()) == nullptr) {
    throw FileError(path_ + ": cannot create a temporary directory");
  }
}

TemporaryDirectory::~TemporaryDirectory() {
  try {
    remove_tree(path_);
  } catch (const FileError&) {
    // A leftover temporary directory does no harm.
  }
}

}  // namespace weft::train
