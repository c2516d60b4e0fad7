#include "cli/predict/embeddings_writer.h"

#include <array>
#include <charconv>
#include <iostream>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>

#include "base/file.h"
#include "base/string_util.h"
#include "cli/verb.h"
#include "formats/safetensors.h"
#include "models/weights/tensors.h"

namespace weft::cli {

namespace {

/// Delimiters around the numbers of a line.
struct LineStyle {
  std::string_view begin;
  std::string_view between;
  std::string_view end;
};

constexpr LineStyle kJson = {"{\"embedding\": [", ", ", "]}\n"};
constexpr LineStyle kTabs = {"", "\t", "\n"};

class LineWriter : public EmbeddingsWriter {
 public:
  LineWriter(const std::string& path, LineStyle style) : style_(style) {
    if (path != "-") {
      file_ = std::make_unique<FileWriter>(path);
    }
  }

  void write(const at::Tensor& vectors) override {
    const auto rows = vectors.contiguous();
    const auto* values = rows.const_data_ptr<float>();
    for (int64_t row = 0; row < rows.size(0); ++row, values += rows.size(1)) {
      line_.assign(style_.begin);
      for (int64_t i = 0; i < rows.size(1); ++i) {
        line_ += i > 0 ? style_.between : "";
        add(values[i]);
      }
      line_ += style_.end;
      put();
    }
    std::cout.flush();
  }

  void commit() override {
    if (file_) {
      file_->commit();
    }
  }

 private:
  // Appends the shortest text that parses to the same fp32.
  void add(float value) {
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    line_.append(digits.data(), end);
  }

  void put() {
    if (file_) {
      file_->write(line_);
    } else {
      std::cout << line_;
    }
  }

  LineStyle style_;
  std::unique_ptr<FileWriter> file_;
  std::string line_;
};

class TensorWriter : public EmbeddingsWriter {
 public:
  explicit TensorWriter(std::string path) : path_(std::move(path)) {}

  void write(const at::Tensor& vectors) override { blocks_.push_back(vectors); }

  void commit() override {
    const auto all =
        blocks_.empty() ? at::empty({0, 0}) : at::cat(blocks_).to(at::kFloat).contiguous();
    formats::write_safetensors(path_, {{"embeddings", models::view_of(all)}});
  }

 private:
  std::string path_;
  std::vector<at::Tensor> blocks_;
};

}  // namespace

std::unique_ptr<EmbeddingsWriter> make_embeddings_writer(const std::string& format,
                                                         const std::string& path) {
  if (format == "jsonl") {
    return std::make_unique<LineWriter>(path, kJson);
  }
  if (format == "tsv") {
    return std::make_unique<LineWriter>(path, kTabs);
  }
  if (format != "safetensors") {
    throw UsageError(
        str_cat("weft embed: --format: '", format, "' is not one of jsonl, tsv, safetensors"));
  }
  if (path == "-") {
    throw UsageError("weft embed: --format safetensors needs --output FILE");
  }
  return std::make_unique<TensorWriter>(path);
}

}  // namespace weft::cli
