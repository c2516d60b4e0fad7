#pragma once

#include <string>

namespace weft::train {

/// A new directory among the system's temporary ones, removed with all it holds at the end of the
/// scope.
class TemporaryDirectory {
 public:
  /// `name` begins its name. Throws FileError.
  explicit TemporaryDirectory(const std::string& name);
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace weft::train
