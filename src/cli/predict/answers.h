#pragma once

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "base/file.h"

namespace weft::cli {

/// Where the answers go: a file that appears whole, or standard output.
class Answers {
 public:
  explicit Answers(const std::string& path) {
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

/// A text as one plain line, without its end.
inline std::string plain_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace weft::cli
