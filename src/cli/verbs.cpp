#include "cli/verbs.h"

namespace weft::cli {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> table{
      {"init", "write a config for a task after looking at the data", run_init},
      {"train", "pretrain or fine-tune a model from a config", run_train},
      {"launch", "train on several ranks, of this or of several machines", run_launch},
      {"evaluate", "evaluate a model: loss and metrics on data files", run_evaluate},
      {"predict", "predict classes, values or masked tokens for JSON lines of text", run_predict},
      {"generate", "generate text or translations: greedy, sampling, beam search", run_generate},
      {"score", "log-likelihoods of texts and choices; BLEU, chrF and ROUGE of files", run_score},
      {"embed", "sentence embeddings", run_embed},
      {"list", "runs in a directory: objective, model, progress, best metric", run_list},
      {"compare", "config and metrics of runs, with paired bootstrap intervals", run_compare},
      {"export", "export a model directory without training state, in the given dtype", run_export},
      {"import", "convert a Hugging Face directory of any version to the current format",
       run_import},
      {"tokenizer", "train, encode, decode, inspect and benchmark tokenizers", run_tokenizer},
      {"data",
       "build and inspect token stores, preview examples as the model sees them, split tables",
       run_data},
      {"inspect", "parameters, FLOPs and memory of a config or a model", run_inspect},
      {"config", "check, show and explain configs", run_config},
      {"forward", "one forward pass on given tensors, to compare with other libraries",
       run_forward},
      {"bench", "benchmark a config's training step, by parts", run_bench},
      {"doctor", "describe this machine and suggest how to make training faster", run_doctor},
  };
  return table;
}

}  // namespace weft::cli
