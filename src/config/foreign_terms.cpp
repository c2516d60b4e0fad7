#include <algorithm>
#include <array>
#include <string>

#include "base/string_util.h"
#include "config/reference.h"

namespace weft::config {

namespace {

constexpr std::string_view kLengthForm = "a number with a unit, as in `3 epochs` or `2000 steps`";
constexpr std::string_view kIntervalForm = "a number with a unit, as in `500 steps`, or `never`";
constexpr std::string_view kWarmupForm =
    "a length with a unit or a fraction, as in `500 steps` or `10%`";
constexpr std::string_view kBatchForm = "sequences of a whole step, over all its micro-batches";
constexpr std::string_view kAccumulation =
    "tokens of a micro-batch; the batch size is always that of the whole step";
constexpr std::string_view kPrecision = "fp32, bf16 or auto; there is no fp16";
constexpr std::string_view kFiles = "a list of files, as in [{path: a.txt}]";
constexpr std::string_view kBetas = "both in one list, as in [0.9, 0.999]";
constexpr std::string_view kBest = "the best checkpoints are kept, `best` points to the first";
constexpr std::string_view kMetric = "a metric with its prefix, as in eval_accuracy";
constexpr std::string_view kCharNgrams = "the smallest and the largest size, as in [3, 6]";
constexpr std::string_view kVocabulary = "the model takes the size of its tokenizer";

/// Keys of transformers, then of fairseq, Marian, spaCy and fastText, in lower case with
/// underscores.
constexpr auto kForeignKeys = std::to_array<ForeignKey>({
    {"adam_beta1", "train.optimizer.betas", kBetas},
    {"adam_beta2", "train.optimizer.betas", kBetas},
    {"adam_epsilon", "train.optimizer.epsilon"},
    {"attention_probs_dropout_prob", "model.attention.dropout"},
    {"batch_size", "train.batch_sequences", kBatchForm},
    {"bf16", "train.precision", kPrecision},
    {"block_size", "data.length"},
    {"d_ff", "model.feed_forward.width"},
    {"d_model", "model.dim"},
    {"dataloader_num_workers", "data.num_workers"},
    {"do_lower_case", "tokenizer.lowercase"},
    {"early_stopping_patience", "train.early_stopping.patience"},
    {"early_stopping_threshold", "train.early_stopping.min_delta"},
    {"epochs", "train.duration", kLengthForm},
    {"eval_steps", "train.evaluate_every", kIntervalForm},
    {"eval_strategy", "train.evaluate_every", kIntervalForm},
    {"evaluation_strategy", "train.evaluate_every", kIntervalForm},
    {"ffn_dim", "model.feed_forward.width"},
    {"fp16", "train.precision", kPrecision},
    {"gradient_accumulation_steps", "train.micro_batch_tokens", kAccumulation},
    {"hidden_act", "model.feed_forward.activation"},
    {"hidden_dropout_prob", "model.dropout"},
    {"hidden_size", "model.dim"},
    {"initializer_range", "model.init_std"},
    {"intermediate_size", "model.feed_forward.width"},
    {"label_smoothing_factor", "objective.label_smoothing"},
    {"layer_norm_eps", "model.norm.epsilon"},
    {"learning_rate", "train.optimizer.lr"},
    {"load_best_model_at_end", "run.keep.best", kBest},
    {"logging_steps", "train.log_every", kIntervalForm},
    {"lora_alpha", "train.lora.alpha"},
    {"lora_r", "train.lora.rank"},
    {"lr", "train.optimizer.lr"},
    {"lr_scheduler_type", "train.schedule.type"},
    {"max_grad_norm", "train.clip_norm"},
    {"max_length", "data.length"},
    {"max_position_embeddings", "model.position.length"},
    {"max_seq_length", "data.length"},
    {"max_steps", "train.duration", kLengthForm},
    {"metric_for_best_model", "train.best_by", kMetric},
    {"mixed_precision", "train.precision", kPrecision},
    {"mlm_probability", "objective.mask_fraction"},
    {"model_max_length", "data.length"},
    {"model_name_or_path", "init_from", "a directory"},
    {"n_embd", "model.dim"},
    {"n_head", "model.attention.heads"},
    {"n_layer", "model.layers"},
    {"n_positions", "model.position.length"},
    {"num_attention_heads", "model.attention.heads"},
    {"num_heads", "model.attention.heads"},
    {"num_hidden_layers", "model.layers"},
    {"num_key_value_heads", "model.attention.key_value_heads"},
    {"num_layers", "model.layers"},
    {"num_train_epochs", "train.duration", kLengthForm},
    {"num_warmup_steps", "train.schedule.warmup", kWarmupForm},
    {"optim", "train.optimizer.type"},
    {"output_dir", "run.directory"},
    {"per_device_train_batch_size", "train.batch_sequences", kBatchForm},
    {"problem_type", "objective.type"},
    {"resume_from_checkpoint", "init_from", "`weft train` resumes its run by itself"},
    {"rms_norm_eps", "model.norm.epsilon"},
    {"save_steps", "train.save_every", kIntervalForm},
    {"save_strategy", "train.save_every", kIntervalForm},
    {"save_total_limit", "run.keep.last"},
    {"seed", "run.seed"},
    {"task", "objective.type"},
    {"tokenizer_name", "tokenizer.file", "a directory or file"},
    {"train_file", "data.train", kFiles},
    {"truncation", "data.overflow"},
    {"use_cpu", "run.device"},
    {"validation_file", "data.evaluate", kFiles},
    {"vocab_size", "tokenizer.vocab_size", kVocabulary},
    {"warmup_ratio", "train.schedule.warmup", kWarmupForm},
    {"warmup_steps", "train.schedule.warmup", kWarmupForm},
    {"weight_decay", "train.optimizer.weight_decay"},

    {"activation_fn", "model.feed_forward.activation"},
    {"adam_betas", "train.optimizer.betas"},
    {"adam_eps", "train.optimizer.epsilon"},
    {"arch", "model.preset"},
    {"attention_dropout", "model.attention.dropout"},
    {"criterion", "objective.type"},
    {"decoder_layers", "model.decoder.layers"},
    {"encoder_attention_heads", "model.attention.heads"},
    {"encoder_embed_dim", "model.dim"},
    {"encoder_ffn_embed_dim", "model.feed_forward.width"},
    {"encoder_layers", "model.layers"},
    {"finetune_from_model", "init_from", "a directory"},
    {"keep_last_epochs", "run.keep.last"},
    {"log_interval", "train.log_every", kIntervalForm},
    {"lr_scheduler", "train.schedule.type"},
    {"max_epoch", "train.duration", kLengthForm},
    {"max_sentences", "train.batch_sequences", kBatchForm},
    {"max_tokens", "train.batch_tokens"},
    {"max_update", "train.duration", kLengthForm},
    {"restore_file", "init_from", "a directory"},
    {"save_dir", "run.directory"},
    {"save_interval_updates", "train.save_every", kIntervalForm},
    {"share_all_embeddings", "model.share_encoder_decoder_embeddings"},
    {"tokens_per_sample", "data.length"},
    {"update_freq", "train.micro_batch_tokens", kAccumulation},
    {"warmup_updates", "train.schedule.warmup", kWarmupForm},

    {"after_batches", "train.duration", kLengthForm},
    {"after_epochs", "train.duration", kLengthForm},
    {"cost_type", "objective.type"},
    {"dec_depth", "model.decoder.layers"},
    {"dim_emb", "model.dim"},
    {"disp_freq", "train.log_every", kIntervalForm},
    {"enc_depth", "model.layers"},
    {"exponential_smoothing", "train.ema.decay"},
    {"learn_rate", "train.optimizer.lr"},
    {"lr_warmup", "train.schedule.warmup", kWarmupForm},
    {"mini_batch", "train.batch_sequences", kBatchForm},
    {"mini_batch_words", "train.batch_tokens"},
    {"optimizer_delay", "train.micro_batch_tokens", kAccumulation},
    {"pretrained_model", "init_from", "a directory"},
    {"save_freq", "train.save_every", kIntervalForm},
    {"tied_embeddings_all", "model.share_encoder_decoder_embeddings"},
    {"train_sets", "data.train", kFiles},
    {"transformer_dim_ffn", "model.feed_forward.width"},
    {"transformer_heads", "model.attention.heads"},
    {"valid_freq", "train.evaluate_every", kIntervalForm},
    {"valid_metrics", "train.best_by", kMetric},
    {"valid_sets", "data.evaluate", kFiles},
    {"vocabs", "tokenizer.file", "a directory or file"},

    {"accumulate_gradient", "train.micro_batch_tokens", kAccumulation},
    {"dev_corpus", "data.evaluate", kFiles},
    {"eval_frequency", "train.evaluate_every", kIntervalForm},
    {"grad_clip", "train.clip_norm"},
    {"init_tok2vec", "init_from", "a directory"},
    {"l2", "train.optimizer.weight_decay"},
    {"max_epochs", "train.duration", kLengthForm},
    {"patience", "train.early_stopping.patience"},
    {"train_corpus", "data.train", kFiles},

    {"maxn", "tokenizer.char_ngrams", kCharNgrams},
    {"mincount", "tokenizer.min_frequency"},
    {"minn", "tokenizer.char_ngrams", kCharNgrams},
    {"pretrainedvectors", "pretrained_embeddings", "a file"},
    {"wordngrams", "tokenizer.word_ngrams"},
});

/// Words for choices, in lower case with underscores, by the key that has the choice.
constexpr auto kForeignValues = std::to_array<ForeignValue>({
    {"data.overflow", "truncate", "cut"},
    {"model.feed_forward.activation", "gelu_fast", "gelu_tanh"},
    {"model.feed_forward.activation", "gelu_new", "gelu_tanh"},
    {"model.feed_forward.activation", "gelu_pytorch_tanh", "gelu_tanh"},
    {"model.feed_forward.activation", "swish", "silu"},
    {"model.norm.place", "postnorm", "post"},
    {"model.norm.place", "prenorm", "pre"},
    {"model.norm.type", "layernorm", "layer"},
    {"model.norm.type", "rmsnorm", "rms"},
    {"model.preset", "bert_base_cased", "bert-base"},
    {"model.preset", "bert_base_uncased", "bert-base"},
    {"model.type", "gpt", "gpt2"},
    {"model.type", "xlm_r", "xlm-roberta"},
    {"objective.type", "causal_lm", "causal"},
    {"objective.type", "classification", "classify"},
    {"objective.type", "clm", "causal"},
    {"objective.type", "cross_entropy", "classify"},
    {"objective.type", "distillation", "distill"},
    {"objective.type", "fill_mask", "mlm"},
    {"objective.type", "language_modeling", "causal"},
    {"objective.type", "masked_lm", "mlm"},
    {"objective.type", "ner", "tag"},
    {"objective.type", "regression", "regress"},
    {"objective.type", "sentence_prediction", "classify"},
    {"objective.type", "sequence_classification", "classify"},
    {"objective.type", "single_label_classification", "classify"},
    {"objective.type", "summarization", "seq2seq"},
    {"objective.type", "text_classification", "classify"},
    {"objective.type", "textcat", "classify"},
    {"objective.type", "token_classification", "tag"},
    {"objective.type", "translation", "seq2seq"},
    {"run.device", "cuda:0", "cuda"},
    {"run.device", "gpu", "cuda"},
    {"tokenizer.type", "bbpe", "byte_level_bpe"},
    {"tokenizer.type", "byte_bpe", "byte_level_bpe"},
    {"tokenizer.type", "gpt2", "byte_level_bpe"},
    {"tokenizer.type", "sentencepiece", "unigram"},
    {"train.gradient_checkpointing", "false", "none"},
    {"train.gradient_checkpointing", "true", "layers"},
    {"train.optimizer.type", "adam", "adamw"},
    {"train.optimizer.type", "adamw_hf", "adamw"},
    {"train.optimizer.type", "adamw_torch", "adamw"},
    {"train.optimizer.type", "adamw_torch_fused", "adamw"},
    {"train.precision", "16", "bf16"},
    {"train.precision", "bfloat16", "bf16"},
    {"train.precision", "float16", "bf16"},
    {"train.precision", "float32", "fp32"},
    {"train.precision", "fp16", "bf16"},
    {"train.precision", "half", "bf16"},
    {"train.schedule.type", "constant_with_warmup", "constant"},
    {"train.schedule.type", "noam", "inverse_sqrt"},
    {"train.schedule.type", "polynomial_decay", "polynomial"},
    {"train.schedule.type", "warmup_linear", "linear"},
    {"train.schedule.type", "wsd", "warmup_stable_decay"},
});

/// `--Text-Classification` -> `text_classification`
std::string foreign_spelling(std::string_view word) {
  return fold_name(word.substr(word.starts_with("--") ? 2 : 0));
}

}  // namespace

std::span<const ForeignKey> foreign_keys() { return kForeignKeys; }

std::span<const ForeignValue> foreign_values() { return kForeignValues; }

const ForeignKey* find_foreign_key(std::string_view name) {
  const auto found = std::ranges::find(kForeignKeys, foreign_spelling(name), &ForeignKey::name);
  return found == kForeignKeys.end() ? nullptr : &*found;
}

std::string_view find_foreign_value(std::string_view path, std::string_view word) {
  const auto spelling = foreign_spelling(word);
  const auto found = std::ranges::find_if(kForeignValues, [&](const ForeignValue& value) {
    return value.path == path && value.word == spelling;
  });
  return found == kForeignValues.end() ? std::string_view() : found->choice;
}

std::string suggestion(const ForeignKey& key) {
  return str_cat(", did you mean '", key.path, "'", key.how.empty() ? "" : " (", key.how,
                 key.how.empty() ? "" : ")", "?");
}

}  // namespace weft::config
