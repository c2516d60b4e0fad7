#include "cli/predict/embeddings_writer.h"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>

#include "cli/predict/output_writer.h"
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
  LineWriter(const std::string& path, LineStyle style) : style_(style), writer_(path) {}

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
      writer_.write(line_);
    }
    writer_.flush();
  }

  void commit() override { writer_.commit(); }

 private:
  // Appends the shortest text that parses to the same fp32.
  void add(float value) {
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    line_.append(digits.data(), end);
  }

  LineStyle style_;
  OutputWriter writer_;
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

std::unique_ptr<EmbeddingsWriter> make_embeddings_writer(const Arguments& arguments) {
  const auto path = arguments.get("output", "-");
  // No style: safetensors.
  const auto style = arguments.choice<std::optional<LineStyle>>(
      "format", kJson, {{"jsonl", kJson}, {"tsv", kTabs}, {"safetensors", std::nullopt}});
  if (style) {
    return std::make_unique<LineWriter>(path, *style);
  }
  if (path == "-") {
    arguments.fail("--format safetensors needs --output FILE");
  }
  return std::make_unique<TensorWriter>(path);
}

}  // namespace weft::cli
