#include <iostream>
#include <utility>

#include "base/string_util.h"
#include "cli/commands.h"
#include "config/reference.h"
#include "config/section.h"
#include "train/run/run_config.h"

namespace weft::cli {
namespace {

using Words = std::vector<std::string>;

HelpText help() {
  return {
      .usage =
          "weft config check FILE [--set key=value]...\n"
          "       weft config show FILE [--set key=value]...\n"
          "       weft config explain [KEY]\n"
          "       weft config reference | schema | support",
      .description =
          "Checks, shows and explains configs.\n\n"
          "  check      validates a config and the files that it names, as train does before it "
          "starts, with a line for each mistake; writes nothing\n"
          "  show       prints the config with all defaults filled in\n"
          "  explain    describes one key, also by its name in other trainers; without KEY: lists "
          "all keys\n"
          "  reference  prints docs/config.md\n"
          "  schema     prints a JSON schema for editors\n"
          "  support    prints docs/support.md: which families, heads and objectives go together",
      .examples = {"weft config check configs/quickstart_pretrain.yaml",
                   "weft config show configs/quickstart_pretrain.yaml --set run.seed=2",
                   "weft config explain train.optimizer.lr"}};
}

/// Arguments after the action; `min` to `max` of them.
Words rest_of(const Words& positional, std::size_t min, std::size_t max, std::string_view form) {
  const std::size_t given = positional.size() - 1;
  if (given < min || given > max) {
    throw UsageError(str_cat("weft config ", positional[0], ": ",
                             counted(static_cast<int64_t>(given), "argument"),
                             ", must be: ", form));
  }
  return {positional.begin() + 1, positional.end()};
}

void reject_set(const Arguments& arguments, const std::string& action) {
  if (arguments.has("set")) {
    throw UsageError(str_cat("weft config ", action, ": --set works only with check and show"));
  }
}

config::Document load(const Arguments& arguments, const std::string& action) {
  const Words files = rest_of(arguments.positional(), 1, 1,
                              str_cat("weft config ", action, " FILE [--set key=value]"));
  return config::Document::load(files[0], arguments.all("set"));
}

void check(const Arguments& arguments) {
  train::check_run_config(load(arguments, "check"));
  std::cout << arguments.positional()[1] << ": ok\n";
}

void show(const Arguments& arguments) {
  std::cout << train::read_run_config(load(arguments, "show")).resolved;
}

void explain(const Arguments& arguments) {
  reject_set(arguments, "explain");
  const Words keys = rest_of(arguments.positional(), 0, 1, "weft config explain [KEY]");
  const auto declarations = config::collect_declarations(train::describe_run_config);
  std::cout << (keys.empty() ? config::explain_all(declarations)
                             : config::explain(declarations, keys[0]));
}

void reference(const Arguments& arguments) {
  reject_set(arguments, "reference");
  rest_of(arguments.positional(), 0, 0, "weft config reference");
  std::cout << config::reference_page(config::collect_declarations(train::describe_run_config));
}

void schema(const Arguments& arguments) {
  reject_set(arguments, "schema");
  rest_of(arguments.positional(), 0, 0, "weft config schema");
  std::cout << config::json_schema(config::collect_declarations(train::describe_run_config));
}

void support(const Arguments& arguments) {
  reject_set(arguments, "support");
  rest_of(arguments.positional(), 0, 0, "weft config support");
  std::cout << support_page();
}

struct Action {
  std::string name;
  void (*run)(const Arguments& arguments);
};

const std::vector<Action> kActions = {{"check", check},     {"show", show},
                                      {"explain", explain}, {"reference", reference},
                                      {"schema", schema},   {"support", support}};

}  // namespace

int run_config(std::vector<std::string> words) {
  Arguments arguments(help(), 1, 2);
  arguments.value("set", "KEY=VALUE", "Override a config key; may be repeated");
  if (!arguments.parse(words)) {
    return 0;
  }
  find_entry(kActions, arguments.positional()[0], "weft config: unknown action").run(arguments);
  return 0;
}

}  // namespace weft::cli
