#include "cli/command.h"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include <cxxopts.hpp>

#include "base/string_util.h"

namespace weft::cli {

namespace {

struct OptionGroup {
  std::string title;
  HelpLevel level = HelpLevel::kHelp;
  int64_t size = 0;
};

}  // namespace

struct Arguments::State {
  cxxopts::Options options{"weft", ""};
  cxxopts::ParseResult result;
  std::vector<std::string> names{"help", "help-all"};
  std::string command;
  std::vector<OptionGroup> groups{{.title = "Options"}};
  std::size_t group = 0;  // of the next option

  cxxopts::OptionAdder add() {
    ++groups[group].size;
    return options.add_options(groups[group].title);
  }
};

namespace {

template <class Number>
Number parsed(const std::string& command,
              const std::string& name,
              const std::string& value,
              Number min,
              Number max) {
  Number number{};
  const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (failure != std::errc{} || end != value.data() + value.size() ||
      !(number >= min && number <= max)) {
    throw UsageError(str_cat("weft ", command, ": --", name, ": '", value,
                             "' is not a number from ", min, " to ", max));
  }
  return number;
}

/// The option of `names` meant by `word`: its name here if earlier versions or other tools use
/// another, otherwise the nearest one; empty if none is near.
std::string nearest_option(const std::string& word, const std::vector<std::string>& names) {
  static const std::vector<std::pair<std::string_view, std::string>> kOtherNames = {
      {"repeat", "reproduce"},
      {"errors", "hardest"},
      {"errors-limit", "hardest-limit"},
      {"best", "top-k"},
      {"length", "max-length"},
      {"words", "word-count"},
      {"stems", "stemmer"},
      {"no-repeat", "no-repeat-ngram-size"},
      {"diversity", "diversity-penalty"},
      {"ban", "bad-word"},
      {"vocabulary", "allowed-words"},
      {"first-token", "forced-bos-token"},
      {"batch", "batch-size"},
      {"max-tokens", "max-new"},
      {"max-length", "max-new"},
      {"max-len-b", "max-new"},
      {"n-predict", "max-new"},
      {"beam", "beams"},
      {"beam-size", "beams"},
      {"lenpen", "length-penalty"},
      {"dtype", "precision"},
      {"fp16", "precision"},
      {"bf16", "precision"},
      {"quantize", "int8"},
      {"load-in-8bit", "int8"},
      {"num-threads", "threads"},
      {"cpu-threads", "threads"},
      {"gpu", "device"},
      {"cuda", "device"},
      {"input-file", "input"},
      {"output-file", "output"},
      {"output-dir", "output"},
      {"resume-from-checkpoint", "resume"},
  };
  const auto folded = fold_name(word);
  for (const auto& [other, name] : kOtherNames) {
    if (fold_name(other) == folded && std::ranges::find(names, name) != names.end()) {
      return name;
    }
  }
  return did_you_mean(word, names);
}

/// The lines of a group without the usage and the title that cxxopts puts before them.
std::string group_help(const cxxopts::Options& options, const std::string& title) {
  const auto text = options.help({title});
  const auto begin = text.find(" options:\n");
  return text.substr(text.find_first_not_of('\n', begin + std::string_view(" options:").size()));
}

}  // namespace

Arguments::Arguments(HelpText help, std::size_t min, std::size_t max)
    : state_(std::make_unique<State>()),
      help_(std::move(help)),
      min_positional_(min),
      max_positional_(max) {
  state_->command = command_of(help_.usage);
  state_->options.set_width(help_width());
  state_->add()("h,help", "Show this help");
  state_->add()("help-all", "Show all options");
  // Unknown ones are handled below, where the nearest valid one can be suggested.
  state_->options.allow_unrecognised_options();
}

Arguments::~Arguments() = default;

Arguments& Arguments::group(const std::string& title, HelpLevel level) {
  auto& groups = state_->groups;
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const auto& each) { return each.title == title; });
  state_->group = static_cast<std::size_t>(found - groups.begin());
  if (found == groups.end()) {
    groups.push_back({.title = title, .level = level});
  }
  return *this;
}

void Arguments::print_help(bool shows_all) const {
  std::cout << "Usage: " << help_.usage << "\n\n"
            << wrap_lines(help_.description, help_width()) << "\n";
  std::vector<std::string> hidden;
  int64_t hidden_options = 0;
  for (const auto& group : state_->groups) {
    if (group.size == 0) {
      continue;
    }
    if (group.level == HelpLevel::kHelpAll && !shows_all) {
      hidden.push_back(group.title);
      hidden_options += group.size;
      continue;
    }
    std::cout << "\n" << group.title << ":\n" << group_help(state_->options, group.title);
  }
  std::cout << "\nExamples:\n";
  for (const auto& example : help_.examples) {
    std::cout << "  " << example << "\n";
  }
  if (hidden_options > 0) {
    std::cout << "\n"
              << wrap_lines(str_cat("weft ", state_->command, " --help-all shows ",
                                    counted(hidden_options, "more option"), ": ", join(hidden)),
                            help_width())
              << "\n";
  }
}

Arguments& Arguments::flag(const std::string& name, const std::string& help) {
  state_->add()(name, help);
  state_->names.push_back(name);
  return *this;
}

Arguments& Arguments::value(const std::string& name,
                            const std::string& placeholder,
                            const std::string& help) {
  state_->add()(name, help, cxxopts::value<std::string>(), placeholder);
  state_->names.push_back(name);
  return *this;
}

bool Arguments::parse(const std::vector<std::string>& arguments) {
  std::vector<const char*> raw{"weft"};
  for (const auto& argument : arguments) {
    raw.push_back(argument.c_str());
  }
  try {
    state_->result = state_->options.parse(static_cast<int>(raw.size()), raw.data());
  } catch (const cxxopts::exceptions::exception& failure) {
    throw UsageError(str_cat("weft ", state_->command, ": ", failure.what()));
  }
  const bool shows_all = state_->result.count("help-all") > 0;
  if (shows_all || state_->result.count("help") > 0) {
    print_help(shows_all);
    return false;
  }
  for (const auto& argument : state_->result.unmatched()) {
    if (argument.size() > 1 && argument[0] == '-') {
      const auto name = argument.substr(argument.find_first_not_of('-') == std::string::npos
                                            ? 0
                                            : argument.find_first_not_of('-'));
      const auto word = name.substr(0, name.find('='));
      const auto near = nearest_option(word, state_->names);
      const bool has_config_keys = std::ranges::find(state_->names, "set") != state_->names.end();
      throw UsageError(str_cat("weft ", state_->command, ": unknown option '", argument, "'",
                               near.empty() ? "" : ", did you mean '--" + near + "'?",
                               near.empty()
                                   ? str_cat(has_config_keys ? "; keys of the config are set with "
                                                               "--set KEY=VALUE"
                                                             : "",
                                             ", see `weft ", state_->command, " --help-all`")
                                   : ""));
    }
    positional_.push_back(argument);
  }
  if (positional_.size() < min_positional_ || positional_.size() > max_positional_) {
    throw UsageError(str_cat("weft ", state_->command, ": ",
                             counted(static_cast<int64_t>(positional_.size()), "argument"), ", ",
                             positional_.size() < min_positional_ ? "too few" : "too many", ": ",
                             help_.usage));
  }
  return true;
}

bool Arguments::has(const std::string& name) const { return state_->result.count(name) > 0; }

std::string Arguments::get(const std::string& name, const std::string& fallback) const {
  return has(name) ? all(name).back() : fallback;
}

std::vector<std::string> Arguments::all(const std::string& name) const {
  std::vector<std::string> values;
  for (const auto& argument : state_->result.arguments()) {
    if (argument.key() == name) {
      values.push_back(argument.value());
    }
  }
  return values;
}

int64_t Arguments::integer(const std::string& name,
                           int64_t fallback,
                           int64_t min,
                           int64_t max) const {
  return has(name) ? parsed<int64_t>(state_->command, name, get(name), min, max) : fallback;
}

double Arguments::number(const std::string& name, double fallback, double min, double max) const {
  return has(name) ? parsed<double>(state_->command, name, get(name), min, max) : fallback;
}

std::size_t Arguments::find_choice(const std::string& name,
                                   const std::string& word,
                                   const std::vector<std::string>& words) const {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) {
    const auto near = did_you_mean(word, words);
    fail(str_cat("--", name, ": '", word, "' is not one of ", join(words),
                 near.empty() ? "" : ", did you mean '" + near + "'?"));
  }
  return static_cast<std::size_t>(found - words.begin());
}

void Arguments::fail(const std::string& message) const {
  throw UsageError(str_cat("weft ", state_->command, ": ", message));
}

void reject_name(std::string_view where,
                 const std::string& name,
                 const std::vector<std::string>& names) {
  const auto near = did_you_mean(name, names);
  throw UsageError(str_cat(where, " '", name, "', ",
                           near.empty() ? "" : "did you mean '" + near + "'? ",
                           "allowed: ", join(names)));
}

}  // namespace weft::cli
