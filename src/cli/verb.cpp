#include "cli/verb.h"

#include <charconv>
#include <iostream>
#include <utility>

#include <cxxopts.hpp>

#include "base/text.h"

namespace weft::cli {

struct Arguments::State {
  cxxopts::Options options{"weft", ""};
  cxxopts::ParseResult result;
  std::vector<std::string> names{"help"};
  std::string verb;
};

namespace {

std::string verb_of(const std::string& usage) {
  const auto words = split(usage, ' ');
  return std::string(words.size() > 1 ? words[1] : words[0]);
}

template <class Number>
Number parsed(const std::string& verb,
              const std::string& name,
              const std::string& value,
              Number least,
              Number most) {
  Number number{};
  const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (failure != std::errc{} || end != value.data() + value.size() ||
      !(number >= least && number <= most)) {
    throw UsageError(text("weft ", verb, ": --", name, ": '", value, "' is not a number from ",
                          least, " to ", most));
  }
  return number;
}

}  // namespace

Arguments::Arguments(HelpText help, std::size_t least, std::size_t most)
    : state_(std::make_unique<State>()), help_(std::move(help)), least_(least), most_(most) {
  state_->verb = verb_of(help_.usage);
  state_->options.add_options()("h,help", "Show this help");
  // Unknown ones are looked at below, where the nearest right one can be named.
  state_->options.allow_unrecognised_options();
}

Arguments::~Arguments() = default;

Arguments& Arguments::flag(const std::string& name, const std::string& help) {
  state_->options.add_options()(name, help);
  state_->names.push_back(name);
  return *this;
}

Arguments& Arguments::value(const std::string& name,
                            const std::string& placeholder,
                            const std::string& help) {
  state_->options.add_options()(name, help, cxxopts::value<std::string>(), placeholder);
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
    throw UsageError(text("weft ", state_->verb, ": ", failure.what()));
  }
  if (state_->result.count("help") > 0) {
    std::cout << "Usage: " << help_.usage << "\n\n" << help_.about << "\n";
    const auto options = state_->options.help({""});
    std::cout << "\n"
              << options.substr(options.find_first_not_of("\n", options.find("]\n") + 2)) << "\n";
    std::cout << "Examples:\n";
    for (const auto& example : help_.examples) {
      std::cout << "  " << example << "\n";
    }
    return false;
  }
  for (const auto& argument : state_->result.unmatched()) {
    if (argument.size() > 1 && argument[0] == '-') {
      const auto name = argument.substr(argument.find_first_not_of('-') == std::string::npos
                                            ? 0
                                            : argument.find_first_not_of('-'));
      const auto word = name.substr(0, name.find('='));
      const auto near = nearest(word, state_->names);
      throw UsageError(text("weft ", state_->verb, ": unknown option '", argument, "'",
                            near.empty() ? "" : ", did you mean '--" + near + "'?",
                            near.empty() ? ", see `weft " + state_->verb + " --help`" : ""));
    }
    positional_.push_back(argument);
  }
  if (positional_.size() < least_ || positional_.size() > most_) {
    throw UsageError(text("weft ", state_->verb, ": ", positional_.size(), " arguments, ",
                          positional_.size() < least_ ? "too few" : "too many", ": ", help_.usage));
  }
  return true;
}

bool Arguments::has(const std::string& name) const { return state_->result.count(name) > 0; }

std::string Arguments::get(const std::string& name, const std::string& otherwise) const {
  return has(name) ? all(name).back() : otherwise;
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
                           int64_t otherwise,
                           int64_t least,
                           int64_t most) const {
  return has(name) ? parsed<int64_t>(state_->verb, name, get(name), least, most) : otherwise;
}

double Arguments::number(const std::string& name,
                         double otherwise,
                         double least,
                         double most) const {
  return has(name) ? parsed<double>(state_->verb, name, get(name), least, most) : otherwise;
}

void Arguments::refuse(const std::string& message) const {
  throw UsageError(text("weft ", state_->verb, ": ", message));
}

}  // namespace weft::cli
