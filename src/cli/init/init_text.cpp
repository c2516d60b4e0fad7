#include <algorithm>
#include <map>

#include "base/file.h"
#include "base/string_util.h"
#include "cli/init/column_choice.h"
#include "cli/init/draft.h"
#include "config/yaml.h"
#include "data/rows/tagged_rows.h"

namespace weft::cli {
namespace {

constexpr int64_t kMaxPairs = 200'000;  // that are looked at

/// `2 files, 17 MB`
std::string describe_files(const std::string& path) {
  const auto files = glob_paths(path);
  int64_t bytes = 0;
  for (const auto& file : files) {
    bytes += bytes_of_files(file);
  }
  return str_cat(path, ": ", files.size(), files.size() == 1 ? " file, " : " files, ",
                 format_bytes(static_cast<double>(bytes)));
}

/// The high learning rate of training from scratch would destroy what a pretrained model knows.
constexpr std::string_view kContinuedPretraining =
    "train:\n"
    "  duration: 3 epochs\n"
    "  optimizer: {lr: 5e-5}   # low, as the model is pretrained\n"
    "  schedule: {type: linear, warmup: 10%}\n";

void init_running_text(const InitRequest& request,
                       const std::string& from_scratch,
                       std::string_view objective,
                       std::string_view training,
                       Draft& draft) {
  const auto& path = request.paths.front();
  draft.add_fact(describe_files(path));
  draft.write_model(from_scratch);
  draft.write_data(
      {{"path", config::yaml_text(path)}},
      "  # evaluate: [{path: held_out.txt}]   # text that is not in the training data\n");
  draft.write(objective);
  draft.write(draft.is_from_scratch() ? training : kContinuedPretraining);
}

}  // namespace

void init_tag(const InitRequest& request, Draft& draft) {
  const auto& path = request.paths.front();
  const data::DataItem item{.path = path, .files = glob_paths(path)};
  const auto unit = data::find_tagged_unit(item.files.front());
  const bool has_documents = unit == data::TaggedUnit::kSentence;
  const auto rows = data::read_tagged_rows(item, unit);
  data::ColumnProfile tags;
  const int64_t words = rows.begin(rows.size());
  for (int64_t word = 0; word < words; ++word) {
    ++tags.values[rows.names()[static_cast<std::size_t>(rows.tag(word))].name];
  }
  draft.add_fact(str_cat(path, ": ", counted(rows.size(), has_documents ? "document" : "sentence"),
                         ", ", counted(words, has_documents ? "sentence" : "word")));
  draft.add_fact("Tags: " + describe_classes(tags));
  draft.write_model(
      str_cat("model: {preset: bert-mini", has_documents ? ", document: {type: hibert}" : "",
              "}   # trained from scratch; --from MODEL fine-tunes a pretrained encoder\n"));
  if (has_documents && !draft.is_from_scratch()) {
    draft.write("model: {document: {type: hibert}}   # reads each sentence by itself\n");
  }
  draft.write_data({{"path", config::yaml_text(path)}}, kSplit);
  draft.write("objective: {type: tag}\n");
  draft.write_training(kEncoderTraining);
}

void init_seq2seq(const InitRequest& request, Draft& draft) {
  Draft::Item item;
  if (request.paths.size() == 2) {
    draft.add_fact(describe_files(request.paths[0]));
    draft.add_fact(describe_files(request.paths[1]));
    item = {{"source", config::yaml_text(request.paths[0])},
            {"target", config::yaml_text(request.paths[1])}};
  } else {
    const auto& path = request.paths.front();
    const auto table = data::profile_table(glob_paths(path).front(), kMaxPairs);
    const auto columns = choose_parallel_columns(table);
    if (columns.text == nullptr || columns.text_pair == nullptr) {
      throw UserError(path + ": no two columns of texts found, one source and one target");
    }
    draft.describe(path, table);
    draft.add_fact("Sources: " + describe_lengths(*columns.text));
    draft.add_fact("Targets: " + describe_lengths(*columns.text_pair));
    item = {{"path", config::yaml_text(path)}};
    if (!table.options.has_header) {
      item.emplace_back("header", "false");
    }
    item.emplace_back("source", config::yaml_text(columns.text->name));
    item.emplace_back("target", config::yaml_text(columns.text_pair->name));
  }
  draft.write_model(
      "model:   # a small Transformer, trained from scratch\n"
      "  preset: transformer-base\n"
      "  dim: 256\n"
      "  layers: 4\n"
      "  attention: {heads: 4}\n"
      "  feed_forward: {width: 512}\n"
      "  dropout: 0.2\n"
      "tokenizer: {type: unigram, vocab_size: 8000, character_coverage: 1.0}\n");
  draft.write_data(item, "");
  draft.write(
      "  length: 128   # tokens; longer texts are truncated\nobjective: {type: seq2seq, "
      "label_smoothing: 0.1}\n");
  draft.write_training(
      "train:\n"
      "  duration: 20 epochs\n"
      "  batch_tokens: 4096\n"
      "  optimizer: {lr: 1.5e-3, betas: [0.9, 0.98], epsilon: 1e-9}\n"
      "  schedule: {type: cosine, warmup: 1 epochs}\n"
      "  evaluate_every: 1 epochs\n");
}

void init_mlm(const InitRequest& request, Draft& draft) {
  init_running_text(request,
                    "model: {preset: bert-mini}   # 4 layers of 256\n"
                    "tokenizer: {type: wordpiece, vocab_size: 8192}\n",
                    "objective: {type: mlm}\n",
                    "train:\n"
                    "  duration: 10 epochs\n"
                    "  optimizer: {lr: 1e-3}\n"
                    "  schedule: {type: linear, warmup: 1 epochs}\n",
                    draft);
}

void init_causal(const InitRequest& request, Draft& draft) {
  init_running_text(request,
                    "model: {preset: gpt-mini}   # 6 layers of 384\n"
                    "tokenizer: {type: byte_level_bpe, vocab_size: 8192}\n",
                    "  pack: stream\n"
                    "objective: {type: causal}\n",
                    "train:\n"
                    "  duration: 10 epochs\n"
                    "  optimizer: {lr: 1e-3, betas: [0.9, 0.95], weight_decay: 0.1}\n"
                    "  schedule: {type: cosine, warmup: 1 epochs, min_lr_ratio: 0.1}\n",
                    draft);
}

}  // namespace weft::cli
