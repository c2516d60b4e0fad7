#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/split.h"
#include "data/tokenizer.h"
#include "models/inference.h"
#include "models/model.h"
#include "report/page/page.h"
#include "report/run_history.h"
#include "report/run_summary.h"
#include "train/step/evaluate_directory.h"

namespace weft::report {

struct ReportOptions {
  std::vector<std::string> files = {};  // to evaluate on; empty: data.evaluate of the run
  std::optional<data::SplitPart> split = {};
  models::InferenceOptions inference = {};
  bool loads_model = true;                    // false: only what the files of the run say
  std::vector<std::string> bench_files = {};  // output of `weft bench`, results.json
  int64_t examples = 8;                       // that are shown of each kind
  int64_t refresh_seconds = 0;                // after which the page reloads itself; 0: never
};

/// A run, and what its files say.
struct ReportRun {
  RunSummary summary;
  RunHistory history;
};

/// The model of a run on its evaluation data.
struct LoadedRun {
  std::string directory;  // of the model
  std::shared_ptr<models::Model> model = nullptr;
  std::shared_ptr<const data::Tokenizer> tokenizer = nullptr;
  std::shared_ptr<const data::Dataset> train = nullptr;       // null: not available
  std::shared_ptr<const data::Dataset> evaluate = nullptr;    // null: not available
  std::vector<std::string> labels = {};                       // class names
  std::optional<train::DirectoryEvaluation> evaluation = {};  // if it predicts for examples
};

/// What the sections of a page draw from.
struct ReportInput {
  ReportOptions options;
  std::vector<ReportRun> runs = {};
  std::vector<std::string> sweeps =
      {};  // grid.json, seeds.json or folds.json of directories of runs
  std::optional<LoadedRun> loaded = {};  // of a single run
  std::vector<std::string> problems = {};

  /// The data whose examples are shown: those of the evaluation, else of the training; null if
  /// there are none.
  const data::Dataset* dataset() const;
};

/// A section of the page. `add` adds nothing if the run has nothing for it; an error that it throws
/// is shown in its place.
struct SectionDefinition {
  std::string id;
  std::string title;
  std::function<void(const ReportInput& input, Page& page)> add;
};

/// All sections, in the order of the page.
const std::vector<SectionDefinition>& sections();

/// Reads runs and, of a single one, its model and data; a directory of a sweep stands for all of
/// its runs. Damaged and missing files are problems that the page shows. Throws UserError for a
/// directory that has no run.
ReportInput read_report_input(const std::vector<std::string>& directories,
                              const ReportOptions& options);

/// The directory in which a single run was started, on which the paths of its config are based;
/// empty for several runs, and if it is unknown or does not exist any more.
std::string starting_directory(const std::vector<std::string>& runs);

/// The page of these runs.
Page make_page(const ReportInput& input);

/// Writes the page, atomically, and with `figures` also its figures to that directory, as SVG
/// files. Throws FileError.
void write_page(const Page& page, const std::string& path, const std::string& figures = "");

}  // namespace weft::report
