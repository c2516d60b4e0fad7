#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace weft::cli {

/// All commands, in the order in which `weft help` shows them.
const std::vector<Command>& commands();

int run_init(std::vector<std::string> arguments);
int run_compare(std::vector<std::string> arguments);
int run_report(std::vector<std::string> arguments);
int run_list(std::vector<std::string> arguments);
int run_launch(std::vector<std::string> arguments);
int run_train(std::vector<std::string> arguments);
int run_evaluate(std::vector<std::string> arguments);
int run_predict(std::vector<std::string> arguments);
int run_generate(std::vector<std::string> arguments);
int run_score(std::vector<std::string> arguments);
int run_embed(std::vector<std::string> arguments);
int run_export(std::vector<std::string> arguments);
int run_import(std::vector<std::string> arguments);
int run_tokenizer(std::vector<std::string> arguments);
int run_data(std::vector<std::string> arguments);
int run_inspect(std::vector<std::string> arguments);
int run_config(std::vector<std::string> arguments);
int run_forward(std::vector<std::string> arguments);
int run_bench(std::vector<std::string> arguments);
int run_doctor(std::vector<std::string> arguments);

/// docs/support.md: the heads of each family, the objectives that can train it, and its names in
/// `transformers`, from the tables of families and objectives.
std::string support_page();

/// Imports a model that is one file of another program: ARPA, fastText. False: it is not such a
/// file. Throws UsageError for options that do not apply, formats::Error.
bool import_file(const Arguments& arguments, const std::string& output);

}  // namespace weft::cli
