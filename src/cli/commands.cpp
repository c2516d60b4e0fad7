#include "cli/commands.h"

namespace weft::cli {

namespace {

constexpr auto kTrain = "Train";
constexpr auto kUse = "Use a model";
constexpr auto kData = "Data";
constexpr auto kInspect = "Inspect";
constexpr bool kOnRanks = true;

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> table{
      {kTrain, "init", "write a config for a task after looking at the data", run_init},
      {kTrain, "train", "pretrain or fine-tune a model from a config", run_train, kOnRanks},
      {kTrain, "launch", "train or use a model on several ranks, of one or several machines",
       run_launch},
      {kTrain, "list", "runs in a directory: objective, model, progress, best metric", run_list},
      {kTrain, "compare", "config and metrics of runs, with paired bootstrap intervals",
       run_compare},
      {kTrain, "report", "one HTML page about runs: curves, predictions, attention, data",
       run_report},
      {kUse, "evaluate", "evaluate a model: loss and metrics on data files", run_evaluate,
       kOnRanks},
      {kUse, "predict", "predict classes, values or masked tokens for JSON lines of text",
       run_predict, kOnRanks},
      {kUse, "generate", "generate text or translations: greedy, sampling, beam search",
       run_generate, kOnRanks},
      {kUse, "score", "log-likelihoods of texts and choices; BLEU, chrF and ROUGE of files",
       run_score, kOnRanks},
      {kUse, "embed", "sentence embeddings", run_embed, kOnRanks},
      {kUse, "export", "export a model directory without training state, in the given dtype",
       run_export},
      {kUse, "import", "convert a Hugging Face directory of any version to the current format",
       run_import},
      {kData, "data",
       "build and inspect token stores, preview examples, split tables, make shortlists", run_data},
      {kData, "tokenizer", "train, encode, decode, inspect and benchmark tokenizers",
       run_tokenizer},
      {kInspect, "config", "check, show and explain configs", run_config},
      {kInspect, "inspect", "parameters, FLOPs and memory of a config or a model", run_inspect},
      {kInspect, "forward", "one forward pass on given tensors, to compare with other libraries",
       run_forward},
      {kInspect, "bench", "benchmark a config's training step, by parts", run_bench},
      {kInspect, "doctor", "describe this machine and suggest how to make training faster",
       run_doctor},
  };
  return table;
}

}  // namespace weft::cli
