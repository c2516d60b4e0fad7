#pragma once

#include <string>

namespace weft::train {

/// A new directory in the system's temporary directory, removed with its contents at the end of the
/// scope.
class TemporaryDirectory {
 public:
  /// `name`: prefix of the directory name. Throws FileError.
  explicit TemporaryDirectory(const std::string& name);
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace weft::train
