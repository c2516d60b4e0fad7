#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/init/draft.h"
#include "models/directory.h"

namespace weft::cli {
namespace {

constexpr int kMostArguments = 1000;  // a pattern that the shell expanded gets a message

struct Task {
  std::string name;  // of its objective
  std::string summary;
  void (*write)(const InitRequest& request, Draft& draft);
  std::size_t most_paths = 1;
};

const std::vector<Task>& tasks() {
  static const std::vector<Task> table = {
      {"classify", "classes of texts, text pairs or images", init_classify},
      {"regress", "a number for each text or text pair", init_regress},
      {"tag", "a label for each word (named entities, parts of speech), or sentence of documents",
       init_tag},
      {"seq2seq", "a target text for each source text: translation, summaries", init_seq2seq, 2},
      {"mlm", "pretrain an encoder on running text", init_mlm},
      {"causal", "pretrain a decoder (GPT) on running text", init_causal},
  };
  return table;
}

std::string describe_tasks() {
  std::string text =
      "Writes a short config for a task to standard output, after looking at the data: format, "
      "columns, classes and lengths.\n\nTasks:";
  for (const auto& task : tasks()) {
    text += "\n" + help_row(task.name, 10, task.summary);
  }
  return text;
}

/// `runs/reviews` for `corpora/reviews.csv.gz`, `reviews/train.csv` and `reviews/*.txt`
std::string run_directory_for(const std::string& path) {
  const std::vector<std::string> general = {"", ".", "..", "/", "train", "training", "data"};
  auto rest = std::filesystem::path(path).lexically_normal();
  for (; rest.has_relative_path(); rest = rest.parent_path()) {
    const auto name = rest.filename().string();
    const auto stem = name.substr(0, name.find('.'));
    if (std::ranges::find(general, stem) == general.end() &&
        stem.find_first_of("*?[") == std::string::npos) {
      return "runs/" + stem;
    }
  }
  return "runs/model";
}

void check_files(const std::vector<std::string>& paths) {
  for (const auto& path : paths) {
    if (glob_paths(path).empty()) {
      throw UserError(path + ": no such file");
    }
  }
}

}  // namespace

int run_init(std::vector<std::string> words) {
  Arguments arguments(
      {.usage = "weft init TASK DATA [DATA] [--from MODEL] [--evaluate FILE] > CONFIG",
       .description = describe_tasks(),
       .examples = {"weft init classify reviews.csv --from minilm/ > reviews.yaml",
                    "weft init seq2seq train.en train.de > translate.yaml",
                    "weft init mlm 'corpus/*.txt' > pretrain.yaml"}},
      2, kMostArguments);
  arguments
      .value("from", "MODEL",
             "Directory of a pretrained model to fine-tune. Default: a small model is trained from "
             "scratch")
      .value("evaluate", "FILE",
             "Data to evaluate on, once for each DATA. Default: a part of DATA is held out for it")
      .value("directory", "DIR", "Run directory in the config. Default: runs/NAME of the data");
  if (!arguments.parse(words)) {
    return 0;
  }
  const auto& given = arguments.positional();
  const auto& task = find_entry(tasks(), given[0], "weft init: unknown task");
  const InitRequest request{.paths = {given.begin() + 1, given.end()},
                            .from = arguments.get("from"),
                            .evaluate = arguments.all("evaluate"),
                            .directory = arguments.get("directory", run_directory_for(given[1]))};
  if (request.paths.size() > task.most_paths) {
    arguments.fail(str_cat(task.name, ": found ", request.paths.size(), " files, must be ",
                           task.most_paths == 1 ? "one" : "two at most",
                           ": quote a pattern such as 'corpus/*.txt', and name data to evaluate on "
                           "with --evaluate"));
  }
  check_files(request.paths);
  check_files(request.evaluate);
  if (!request.evaluate.empty() && request.evaluate.size() != request.paths.size()) {
    arguments.fail(str_cat("--evaluate: given ", request.evaluate.size(), " times, must be ",
                           request.paths.size(), ", once for each DATA"));
  }
  if (!request.from.empty()) {
    models::read_model_config(models::model_directory(request.from));  // throws if it is no model
  }
  Draft draft(request);
  task.write(request, draft);
  const auto text = draft.text(join(words, " "));
  if (utf8::first_invalid(text)) {
    throw UserError(str_cat(request.paths.front(),
                            ": names of columns or classes are not UTF-8, convert the file first: "
                            "iconv -f WINDOWS-1252 -t UTF-8"));
  }
  std::cout << text;
  return 0;
}

}  // namespace weft::cli
