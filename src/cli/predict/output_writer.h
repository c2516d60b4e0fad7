#pragma once

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "base/file.h"

namespace weft::cli {

/// Output: a file that is written atomically, or standard output.
class OutputWriter {
 public:
  explicit OutputWriter(const std::string& path) {
    if (path != "-") {
      file_ = std::make_unique<FileWriter>(path);
    }
  }
  void write(const std::string& line) {
    if (file_) {
      file_->write(line);
    } else {
      std::cout << line;
    }
  }
  void flush() { std::cout.flush(); }
  void commit() {
    if (file_) {
      file_->commit();
    }
  }

 private:
  std::unique_ptr<FileWriter> file_;
};

/// Returns the text as one plain line, without line end.
inline std::string plain_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace weft::cli
