#include "train/sweep/sweep_grid.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "base/file.h"
#include "base/string_util.h"
#include "config/reference.h"
#include "train/run/run_config.h"

namespace weft::train {

namespace {

constexpr std::size_t kLongestName = 120;  // of a directory name

/// `data.train.0.weight` is declared as `data.train.*.weight`.
std::string declared_name(std::string_view key) {
  std::vector<std::string> words;
  for (const auto word : split(key, '.')) {
    const bool is_number =
        !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
    words.emplace_back(is_number ? "*" : word);
  }
  return join(words, ".");
}

/// Last `count` components of a dotted key.
std::string end_of(const std::string& key, std::size_t count) {
  const auto words = split(key, '.');
  std::vector<std::string> last;
  for (std::size_t i = words.size() - std::min(count, words.size()); i < words.size(); ++i) {
    last.emplace_back(words[i]);
  }
  return join(last, ".");
}

std::vector<std::string> short_names(const Setting& setting) {
  std::vector<std::string> names;
  for (const auto& [key, value] : setting) {
    std::size_t count = 1;
    const auto is_shared = [&, &own = key] {
      return std::any_of(setting.begin(), setting.end(), [&](const auto& other) {
        return other.first != own && end_of(other.first, count) == end_of(own, count);
      });
    };
    while (is_shared()) {
      ++count;
    }
    names.push_back(end_of(key, count));
  }
  return names;
}

std::string for_path(std::string_view word) {
  std::string result;
  for (const char character : word) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(character)) != 0 ||
                          character == '.' || character == '-' || character == '+' ||
                          character == '_';
    result += is_plain ? character : '-';
  }
  return result;
}

}  // namespace

void check_grid(const config::Section& root, const std::vector<config::GridAxis>& grid) {
  if (grid.empty()) {
    return;
  }
  constexpr std::array kOwn = {
      std::pair{"run.seed", "use `--seeds` instead"},
      std::pair{"run.directory", "each run has its own directory"},
      std::pair{"data.folds", "use `--folds` instead"},
      std::pair{"data.fold", "use `--folds` instead"},
      std::pair{"grid", "grids cannot be nested"},
  };
  std::vector<std::string> known;
  for (const auto& key : config::collect_declarations(describe_run_config).keys) {
    known.push_back(key.path);
  }
  for (const auto& axis : grid) {
    for (const auto& [key, reason] : kOwn) {
      if (axis.key == key) {
        root.fail("grid", str_cat("'", axis.key, "' is not allowed here: ", reason));
      }
    }
    const auto name = declared_name(axis.key);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const auto near = did_you_mean(name, known);
      root.fail("grid", str_cat("unknown key '", axis.key, "'",
                                near.empty() ? ", `weft config explain` lists all keys"
                                             : ", did you mean '" + near + "'?"));
    }
  }
}

std::vector<Setting> combinations(const std::vector<config::GridAxis>& grid) {
  std::vector<Setting> result = {{}};
  for (const auto& axis : grid) {
    std::vector<Setting> longer;
    for (const auto& setting : result) {
      for (const auto& value : axis.values) {
        longer.push_back(setting);
        longer.back().emplace_back(axis.key, value);
      }
    }
    result = std::move(longer);
  }
  return result;
}

std::string name_of(const Setting& setting) {
  const auto names = short_names(setting);
  std::vector<std::string> words;
  bool is_exact = true;
  for (std::size_t i = 0; i < setting.size(); ++i) {
    const auto value = for_path(setting[i].second);
    std::string spaced = setting[i].second;
    std::replace(spaced.begin(), spaced.end(), ' ', '-');
    is_exact = is_exact && value == spaced;
    words.push_back(for_path(names[i]) + "-" + value);
  }
  auto name = join(words, "_");
  if (!is_exact || name.size() > kLongestName) {
    // Characters were dropped, so two settings may have the same name.
    name = name.substr(0, kLongestName) + "_" + to_hex(digest(to_string(setting))).substr(0, 8);
  }
  return name;
}

std::string to_string(const Setting& setting) {
  std::vector<std::string> words;
  for (const auto& [key, value] : setting) {
    words.push_back(str_cat(key, "=", value));
  }
  return join(words);
}

}  // namespace weft::train
