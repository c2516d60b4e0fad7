#include "cli/verbs.h"

namespace weft::cli {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> table{
      {"train", "pretrain or fine-tune a model from a config", run_train},
      {"evaluate", "loss and metrics of a model on data files", run_evaluate},
      {"predict", "classes, values or fills for JSON lines of text", run_predict},
      {"generate", "go on with texts, answer or translate them: greedy, sampling, beams",
       run_generate},
      {"score", "how likely a model finds texts and choices; BLEU, chrF and ROUGE of files",
       run_score},
      {"embed", "vectors of sentences", run_embed},
      {"export", "a model directory without training state, in a dtype of choice", run_export},
      {"import", "a Hugging Face directory of any age, checked and written as a current one",
       run_import},
      {"tokenizer", "train, encode, decode, inspect", run_tokenizer},
      {"data", "build token stores, inspect them, preview what a model will see", run_data},
      {"inspect", "parameters, FLOPs and memory of a config or a model", run_inspect},
      {"config", "check, show and explain configs", run_config},
      {"forward", "one forward pass, tensors in and out, for checking against other libraries",
       run_forward},
      {"bench", "speed of a config's training step, by parts", run_bench},
      {"doctor", "what this machine can do, and what would make it faster", run_doctor},
  };
  return table;
}

}  // namespace weft::cli
