// The rules of the source tree that a compiler does not check: which library may include which,
// sizes, forbidden names.
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/string_util.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// What each library may include besides itself. Dependencies never point back.
const std::map<std::string, std::set<std::string>>& allowed() {
  static const std::map<std::string, std::set<std::string>> kAllowed = [] {
    std::map<std::string, std::set<std::string>> result = {
        {"base", {}},
        {"config", {"base"}},
        {"formats", {"base"}},
        {"data", {"formats", "config", "base"}},
        {"metrics", {"formats", "base"}},
        {"kernels", {"base"}},
    };
    const auto extend = [&result](const std::string& library,
                                  const std::vector<std::string>& dependencies) {
      auto& all = result[library];
      for (const auto& dependency : dependencies) {
        all.insert(dependency);
        all.insert(result.at(dependency).begin(), result.at(dependency).end());
      }
    };
    extend("nn", {"kernels", "config"});
    extend("models", {"nn", "formats"});
    extend("batching", {"models", "data"});
    extend("inference", {"batching", "metrics"});
    extend("objectives", {"batching", "metrics"});
    extend("train", {"objectives", "inference"});
    extend("report", {"train"});
    extend("cli", {"report"});
    return result;
  }();
  return kAllowed;
}

struct Source {
  std::string path;  // `src/nn/block.h`
  std::string library;
  std::string content;
};

std::vector<Source> sources() {
  const fs::path root = WEFT_SOURCE_DIR;
  std::vector<Source> result;
  for (const auto& entry : fs::recursive_directory_iterator(root / "src")) {
    const std::string kind = entry.path().extension().string();
    if (kind == ".h" || kind == ".cpp" || kind == ".cu" || kind == ".inc") {
      const fs::path inside = entry.path().lexically_relative(root / "src");
      result.push_back(
          {"src/" + inside.string(), inside.begin()->string(), read_file(entry.path().string())});
    }
  }
  return result;
}

/// The library of a quoted include, or empty if it is not one of ours.
std::string library_of(const std::string& include) {
  const std::string library = include.substr(0, include.find('/'));
  return allowed().count(library) > 0 ? library : std::string();
}

TEST(Includes, FollowTheDependenciesOfTheLibraries) {
  const std::regex form("^\\s*#\\s*include\\s+[\"<]([^\">]+)[\">]");
  const auto files = sources();
  ASSERT_GT(files.size(), 30U);
  for (const auto& file : files) {
    ASSERT_EQ(allowed().count(file.library), 1U) << file.path << " is in no known library";
    for (const auto line : split(file.content, '\n')) {
      std::match_results<std::string_view::const_iterator> match;
      if (!std::regex_search(line.begin(), line.end(), match, form)) {
        continue;
      }
      const std::string include = match[1].str();
      const std::string library = library_of(include);
      EXPECT_TRUE(library.empty() || library == file.library ||
                  allowed().at(file.library).count(library) > 0)
          << file.path << " includes " << include;
      EXPECT_FALSE(include.starts_with("..")) << file.path << " includes " << include;
      const bool is_umbrella = include == "torch/torch.h" || include == "torch/all.h";
      EXPECT_FALSE(is_umbrella) << file.path << " includes " << include;
    }
  }
}

TEST(Includes, OnlyLogIncludesSpdlog) {
  for (const auto& file : sources()) {
    if (file.path != "src/base/log.cpp") {
      EXPECT_EQ(file.content.find("spdlog/"), std::string::npos) << file.path;
    }
  }
}

TEST(Includes, LibrariesBelowKernelsDoWithoutTorch) {
  const std::regex form("#\\s*include\\s+[<\"](torch|ATen|c10)/");
  for (const auto& file : sources()) {
    if (file.library == "base" || file.library == "config" || file.library == "formats" ||
        file.library == "data" || file.library == "metrics") {
      EXPECT_FALSE(std::regex_search(file.content, form)) << file.path;
    }
  }
}

TEST(Sources, StayShortEnoughToRead) {
  constexpr std::size_t kLimit = 400;
  for (const auto& file : sources()) {
    if (file.path.ends_with(".inc")) {
      continue;  // tables of data
    }
    EXPECT_LE(split(file.content, '\n').size() - 1, kLimit) << file.path;
  }
}

// So that faults can be put under everything that Weft writes.
TEST(Sources, ChangeFilesOnlyThroughSystemCalls) {
  const std::regex form(
      "std::ofstream|\\bfopen\\b|\\bfreopen\\b|\\W::(open|write|mkdir|close)\\(|\\bfsync\\(|"
      "\\bunlink\\(|std::rename|std::remove\\(\\w+\\.c_str|\\Wsymlink\\(|"
      "(fs|filesystem)::(remove|remove_all|rename|create_\\w+|copy|copy_file|resize_file)\\(");
  for (const auto& file : sources()) {
    // A descriptor that failed to open may be closed without a check.
    if (file.path != "src/base/system_calls.cpp" && file.path != "src/base/file_descriptor.cpp") {
      std::smatch match;
      EXPECT_FALSE(std::regex_search(file.content, match, form))
          << file.path << ": " << match.str();
    }
  }
}

TEST(Sources, ContainNoForbiddenName) {
  const std::vector<std::pair<std::string, std::string>> forbidden = {
      {"using\\s+namespace", "opens a namespace"},
      {"torch::(save|load)\\b", "uses pickle, safetensors is the only weight format"},
      {"\\bstd::rand\\b|\\bsrand\\b|\\bmt19937|\\brandom_device\\b", "draws outside base/random.h"},
      {"manual_seed", "sets a global random state"},
      {"\\b(TODO|FIXME|XXX)\\b", "is not finished"},
  };
  for (const auto& [pattern, reason] : forbidden) {
    const std::regex form(pattern);
    for (const auto& file : sources()) {
      EXPECT_FALSE(std::regex_search(file.content, form)) << file.path << " " << reason;
    }
  }
}

}  // namespace
}  // namespace weft
