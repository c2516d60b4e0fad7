// Config files and the values of --set: the input is a file, or after a line `-----` overrides, one
// a line.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/string_util.h"
#include "config/section.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

namespace {

void read_one(config::Section& section) {
  int64_t number = 1;
  double share = 0.5;
  bool truth = false;
  std::string word;
  config::Duration duration{};
  std::vector<double> numbers;
  std::vector<std::string> words;
  config::NamedNumbers weights;
  std::vector<config::GridAxis> axes;
  section.read("number", number, {.help = "A number.", .range = config::between(0, 1e6)});
  section.read("share", share, {.help = "A share.", .range = config::between(0, 1)});
  section.read("truth", truth, {.help = "A truth."});
  section.read("word", word, {.help = "A word."});
  section.read("duration", duration, {.help = "A duration."});
  section.read("numbers", numbers, {.help = "Numbers."});
  section.read("words", words, {.help = "Words."});
  section.read("weights", weights, {"balanced"}, {.help = "Weights."});
  section.read_grid("grid", axes, {.help = "Axes."});
}

void read_all(config::Section section) {
  read_one(section);
  auto part = section.section("part", {.help = "A part."});
  read_one(part);
  part.reject_unread();
  for (auto& item : section.sections("items", {.help = "Items."})) {
    read_one(item);
    item.reject_unread();
  }
  section.reject_unread();
}

}  // namespace

void yaml(std::string_view input) {
  const auto file = part_of(input, 0);
  const auto lines = part_of(input, 1);
  std::vector<std::string> overrides;
  for (const auto line : split(lines, '\n')) {
    if (!line.empty()) {
      overrides.emplace_back(line);
    }
  }
  try_reading([&] {
    const auto document = config::Document::parse(file, "fuzzed.yaml", overrides);
    read_all(document.root());
    const auto again = config::Document::parse(document.resolved(), "again.yaml");
    read_all(again.root());
    if (again.resolved() != document.resolved()) {
      throw std::logic_error("the resolved config does not read back to itself");
    }
  });
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(yaml)
