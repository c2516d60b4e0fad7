#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/string_util.h"
#include "config/node.h"
#include "support/program.h"

namespace weft::test {

/// The node at a dotted path of keys; nullptr if there is none.
inline const config::Node* node_at(const config::Node& top, std::string_view path) {
  const auto* node = &top;
  for (const auto key : split(path, '.')) {
    const auto* entry = node->find(key);
    if (entry == nullptr) {
      return nullptr;
    }
    node = &entry->value;
  }
  return node;
}

/// Its text; empty if there is none.
inline std::string text_at(const config::Node& top, std::string_view path) {
  const auto* node = node_at(top, path);
  return node == nullptr ? "" : node->scalar;
}

/// Small files where a recipe expects its own, of the kind that their names, the recipe's keys and
/// its objective determine: texts, tables, parallel lines, images. Files in data/ are shipped.
class RecipeFiles {
 public:
  /// `root`: the working directory of the recipe.
  RecipeFiles(const config::Node& recipe, std::string root)
      : recipe_(recipe), root_(std::move(root)) {}

  void write() const {
    for (const auto& [key, bytes] : {std::pair{"data.train", 3000}, {"data.evaluate", 1500}}) {
      if (const auto* const items = node_at(recipe_, key)) {
        for (const auto& item : items->items) {
          write_item(item, static_cast<std::size_t>(bytes));
        }
      }
    }
  }

 private:
  static constexpr int kRows = 64;
  static constexpr int kClasses = 10;  // of images

  static std::string shipped_text(const std::string& name) {
    return contents(std::string(WEFT_SOURCE_DIR) + "/data/corpus/" + name + ".txt");
  }

  /// Whole lines from the begin of a shipped text, no fewer bytes than that.
  static std::string begin_of(const std::string& name, std::size_t bytes) {
    const auto whole = shipped_text(name);
    return whole.substr(0, whole.find('\n', bytes) + 1);
  }

  /// Lines that are not empty, from one place of a shipped text on.
  static std::vector<std::string> sentences(std::size_t skipped) {
    std::vector<std::string> found;
    const auto whole = shipped_text("nature");
    for (const auto line : split(whole, '\n')) {
      if (!line.empty()) {
        found.emplace_back(line);
      }
    }
    found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(skipped));
    found.resize(kRows);
    return found;
  }

  /// The same, for models that read documents two in each text.
  std::vector<std::string> texts(std::size_t skipped) const {
    auto found = sentences(skipped);
    if (!text_at(recipe_, "model.document.type").empty()) {
      const auto second = sentences(skipped + 1);
      for (std::size_t i = 0; i < found.size(); ++i) {
        found[i] += " " + second[i];
      }
    }
    return found;
  }

  void write_item(const config::Node& item, std::size_t bytes) const {
    const auto path = text_at(item, "path");
    if (path.empty()) {
      write_file(text_at(item, "source"), lines(sentences(0)));
      write_file(text_at(item, "target"), lines(sentences(kRows)));
    } else if (path.starts_with("data/")) {
      return;
    } else if (path.ends_with(".txt") || path.ends_with(".en") || path.ends_with(".de")) {
      write_texts(path, bytes);
    } else if (path.ends_with(".tsv")) {
      write_table(item, path);
    } else if (path.ends_with(".csv")) {
      write_pixels(path, text_at(item, "max_pixel_value"));
    } else if (path.ends_with(".bin")) {
      write_cifar(path, text_at(item, "names_file"));
    } else if (path.ends_with("-images-idx3-ubyte.gz")) {
      write_idx(path);
    } else {
      FAIL() << path << ": no small file of this kind is available";
    }
  }

  /// A pattern gets two files, which are two documents at least.
  void write_texts(const std::string& path, std::size_t bytes) const {
    const auto star = path.find('*');
    if (star == std::string::npos) {
      write_file(path, begin_of("kitchen", bytes));
      return;
    }
    for (const std::string name : {"kitchen", "travel"}) {
      write_file(std::string(path).replace(star, 1, name), begin_of(name, bytes));
    }
  }

  /// With the columns that the item names, else with those that are found by their names.
  void write_table(const config::Node& item, const std::string& path) const {
    std::vector<std::pair<std::string, std::vector<std::string>>> columns;
    for (const std::string key : {"label", "text", "text_pair", "source", "target"}) {
      if (const auto column = text_at(item, key); !column.empty()) {
        columns.emplace_back(column, key == "label" ? labels() : texts(columns.size()));
      }
    }
    if (columns.empty()) {
      columns = {{"label", labels()}, {"sentence1", sentences(0)}, {"sentence2", sentences(1)}};
    }
    std::string table;
    for (int row = -1; row < kRows; ++row) {
      for (const auto& [name, values] : columns) {
        table += (name == columns[0].first ? "" : "\t") +
                 (row < 0 ? name : values[static_cast<std::size_t>(row)]);
      }
      table += "\n";
    }
    write_file(path, table);
  }

  /// Of two classes, or numbers.
  std::vector<std::string> labels() const {
    const std::string end = text_at(recipe_, "objective.type") == "regress" ? ".5" : "";
    std::vector<std::string> found;
    for (int row = 0; row < kRows; ++row) {
      found.push_back(std::to_string(row % 2) + end);
    }
    return found;
  }

  int64_t pixels_of_image() const {
    const auto side = std::stoll(text_at(recipe_, "model.image_size"));
    return side * side * std::stoll(text_at(recipe_, "model.num_channels"));
  }

  void write_pixels(const std::string& path, const std::string& white) const {
    const int brightest = white.empty() ? 255 : std::stoi(white);
    std::string table;
    for (int row = 0; row < kRows; ++row) {
      for (int64_t i = 0; i < pixels_of_image(); ++i) {
        table += std::to_string((row * i) % (brightest + 1)) + ",";
      }
      table += std::to_string(row % kClasses) + "\n";
    }
    write_file(path, table);
  }

  static std::string labelled_bytes(int row, int64_t pixels) {
    std::string bytes(1, static_cast<char>(row % kClasses));
    for (int64_t i = 0; i < pixels; ++i) {
      bytes += static_cast<char>(row * i);
    }
    return bytes;
  }

  void write_cifar(const std::string& path, const std::string& names_file) const {
    std::string records;
    for (int row = 0; row < kRows; ++row) {
      records += labelled_bytes(row, 3 * 32 * 32);
    }
    write_file(path, records);
    std::vector<std::string> names;
    for (int label = 0; label < kClasses; ++label) {
      names.push_back("class" + std::to_string(label));
    }
    if (!names_file.empty()) {
      write_file(names_file, lines(names));
    }
  }

  /// Images and their labels in the same directory.
  void write_idx(const std::string& path) const {
    const auto side = std::stoll(text_at(recipe_, "model.image_size"));
    std::string images = idx_head({kRows, side, side});
    std::string labels = idx_head({kRows});
    for (int row = 0; row < kRows; ++row) {
      const auto bytes = labelled_bytes(row, side * side);
      labels += bytes.substr(0, 1);
      images += bytes.substr(1);
    }
    write_packed(path, images);
    write_packed(filled(filled(path, "images", "labels"), "idx3", "idx1"), labels);
  }

  /// Of bytes: the magic number, then each size, the highest byte first.
  static std::string idx_head(const std::vector<int64_t>& sizes) {
    std::string head{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
    for (const auto size : sizes) {
      for (const int shift : {24, 16, 8, 0}) {
        head += static_cast<char>(size >> shift);
      }
    }
    return head;
  }

  static std::string lines(const std::vector<std::string>& texts) {
    return join(texts, "\n") + "\n";
  }

  std::string place(const std::string& path) const {
    const auto whole = root_ + "/" + path;
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    return whole;
  }
  void write_file(const std::string& path, const std::string& content) const {
    test::write(place(path), content);
  }
  void write_packed(const std::string& path, const std::string& content) const {
    const auto file = gzopen(place(path).c_str(), "wb");
    ASSERT_NE(file, nullptr) << path;
    EXPECT_EQ(gzwrite(file, content.data(), static_cast<unsigned>(content.size())),
              static_cast<int>(content.size()));
    gzclose(file);
  }

  const config::Node& recipe_;
  std::string root_;
};

}  // namespace weft::test
