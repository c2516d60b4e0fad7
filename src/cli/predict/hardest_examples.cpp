#include "base/file.h"
#include "cli/predict/evaluate.h"
#include "data/datasets/labelled_dataset.h"
#include "data/datasets/tagged_dataset.h"
#include "formats/json.h"

namespace weft::cli {

namespace {

formats::Json item_line_of(const objectives::ExampleResult& result, const data::Dataset& dataset) {
  formats::Json line = {{"place", dataset.location(0, result.item)}};
  if (const auto* labelled = dynamic_cast<const data::LabelledDataset*>(&dataset)) {
    const auto texts = labelled->texts(0, result.item);
    line["text"] = texts[0];
    if (texts.size() > 1) {
      line["text_pair"] = texts[1];
    }
  }
  if (const auto* tagged = dynamic_cast<const data::TaggedDataset*>(&dataset)) {
    line["words"] = tagged->words(0, result.item);
  }
  line.update(result.fields);
  line["loss"] = result.loss;
  return line;
}

}  // namespace

void write_hardest_examples(const std::string& path,
                            const train::DirectoryEvaluation& done,
                            int64_t count) {
  FileWriter writer(path);
  const auto results = done.evaluation->hardest_examples(count);
  for (const auto& result : results.value()) {
    // Texts may contain bytes that are not UTF-8; JSON must not.
    writer.write(item_line_of(result, *done.dataset)
                     .dump(-1, ' ', false, formats::Json::error_handler_t::replace) +
                 "\n");
  }
  writer.commit();
}

}  // namespace weft::cli
