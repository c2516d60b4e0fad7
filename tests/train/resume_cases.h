#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "train/small_run.h"

namespace weft::test {

/// A config whose resume is tested. A new objective is one line of kResumeCases.
struct ResumeCase {
  std::string name;
  std::string objective;
  std::string
      data;  // file of the training data, without its ending; what it is measured on: held_out
  std::string ending;
  std::vector<std::string> overrides = {};
  bool is_fine_tuned = false;  // from the weights of a run in `base`
  std::string item = {};       // more keys of the items of data: `, language: en`
};

/// The name without what a test's name may not have.
inline std::string resume_case_name(const ::testing::TestParamInfo<ResumeCase>& info) {
  std::string name;
  for (const char letter : info.param.name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      name += letter;
    }
  }
  return name;
}

inline const std::string kXlmModel =
    "model={type: xlm, dim: 16, layers: 2, attention: {heads: 2}, position: {length: 32}, "
    "languages: [de, en]}";

/// A tiny model with a layer of each of these attention types.
inline std::string model_with_attention(const std::string& type, const std::string& layers) {
  const auto count = std::count(layers.begin(), layers.end(), '{');
  return "model={type: " + type + ", dim: 16, layers: " + std::to_string(count) +
         ", dropout: 0.1, attention: [" + layers + "], position: {length: 32}}";
}

inline const std::string kTinyElectra =
    "model={type: electra, dim: 16, embedding_size: 8, layers: 2, attention: {heads: 2}, "
    "position: {length: 32}, feed_forward: {width: 32}}";

/// A tiny model of documents, with these keys.
inline std::string document_model(const std::string& keys) {
  return "model={type: bert, dim: 16, layers: 2, dropout: 0.1, attention: {heads: 2}, position: "
         "{length: 16}, document: {" +
         keys + ", layers: 1, sentences: 4, sentence_length: 16}}";
}

inline const std::vector<ResumeCase> kResumeCases = {
    {"mlm", "{type: mlm}", "train", ".txt"},
    {"mlm bf16", "{type: mlm}", "train", ".txt", {"train.precision=bf16"}},
    {"mlm accumulated", "{type: mlm}", "train", ".txt", {"train.micro_batch_tokens=24"}},
    {"mlm accumulated bf16",
     "{type: mlm}",
     "train",
     ".txt",
     {"train.micro_batch_tokens=24", "train.precision=bf16", "train.optimizer.type=sgd"}},
    {"mlm recomputed", "{type: mlm}", "train", ".txt", {"train.gradient_checkpointing=layers"}},
    {"replaced token",
     "{type: replaced_token, generator: {size_ratio: 0.5}}",
     "train",
     ".txt",
     {kTinyElectra, "train.micro_batch_tokens=40", "train.evaluate_every=4 steps"}},
    {"replaced token bf16",
     "{type: replaced_token, mask_fraction: 0.3}",
     "train",
     ".txt",
     {kTinyElectra, "model.dropout=0.1", "train.precision=bf16", "train.ema={decay: 0.9}"}},
    {"replaced token with disentangled embeddings",
     "{type: replaced_token, generator: {embedding_sharing: gradient_disentangled}}",
     "train",
     ".txt",
     {kTinyElectra, "train.precision=bf16", "train.ema={decay: 0.9}",
      "train.micro_batch_tokens=40"}},
    {"next sentence", "{type: mlm, next_sentence: true}", "train", ".txt"},
    {"sentence order bf16",
     "{type: mlm, sentence_order: true}",
     "train",
     ".txt",
     {"train.precision=bf16", "train.micro_batch_tokens=40"}},
    {"classify", "{type: classify}", "train", ".tsv", {"train.evaluate_every=4 steps"}},
    {"classify bf16", "{type: classify}", "train", ".tsv", {"train.precision=bf16"}},
    {"documents",
     "{type: classify}",
     "documents",
     ".tsv",
     {document_model("type: hibert"), "train.micro_batch_tokens=40",
      "train.evaluate_every=4 steps"}},
    {"documents bf16",
     "{type: classify}",
     "documents",
     ".tsv",
     {document_model("type: hi_transformer, stacks: 1"), "train.precision=bf16",
      "train.micro_batch_tokens=40", "train.gradient_checkpointing=layers"}},
    {"tags of sentences",
     "{type: tag}",
     "sentences",
     ".jsonl",
     {document_model("type: hibert"), "train.micro_batch_tokens=40",
      "train.evaluate_every=4 steps"}},
    {"tags of sentences bf16",
     "{type: tag}",
     "sentences",
     ".jsonl",
     {document_model("type: hi_transformer, stacks: 1"), "train.precision=bf16",
      "train.micro_batch_tokens=40", "train.gradient_checkpointing=layers"}},
    {"masked sentences",
     "{type: masked_sentence, mask_sentence_fraction: 0.4}",
     "stories",
     ".txt",
     {document_model("type: hibert"), "train.micro_batch_tokens=40",
      "train.evaluate_every=4 steps"}},
    {"masked sentences bf16",
     "{type: masked_sentence}",
     "stories",
     ".txt",
     {document_model("type: hi_transformer, stacks: 1, decoder_layers: 1"), "train.precision=bf16",
      "train.micro_batch_tokens=40", "train.gradient_checkpointing=layers"}},
    {"R-Drop", "{type: classify, r_drop: 1.0}", "train", ".tsv", {"model.dropout=0.1"}},
    {"R-Drop bf16",
     "{type: classify, r_drop: 1.0}",
     "train",
     ".tsv",
     {"train.precision=bf16", "train.micro_batch_tokens=30", "model.dropout=0.1"}},
    {"average",
     "{type: classify}",
     "train",
     ".tsv",
     {"train.ema={decay: 0.9}", "train.evaluate_every=4 steps",
      "train.early_stopping={patience: 99}", "train.optimizer={lr: 1e-3, layer_decay: 0.8}",
      "train.freeze=[embeddings]"}},
    {"rates by parameter",
     "{type: classify}",
     "train",
     ".tsv",
     {"train.optimizer={lr: 1e-2, scale_parameter: true}", "train.precision=bf16"}},
    {"two optimizers",
     "{type: classify}",
     "train",
     ".tsv",
     {"train.optimizer={lr: 1e-2, groups: [{parameters: '*.bias', type: sgd, lr: 1e-3}]}",
      "train.precision=bf16"}},
    {"lion and adamw",
     "{type: mlm}",
     "train",
     ".txt",
     {"train.optimizer={type: lion, lr: 1e-3, groups: [{parameters: embeddings, type: adamw, "
      "lr: 1e-2}, {parameters: layers.0, weight_decay: 0}]}",
      "train.schedule={type: cosine_with_restarts, num_cycles: 2, warmup: 4 steps}"}},
    {"regress", "{type: regress}", "numbers", ".tsv", {"tokenizer.vocab_size=50"}},
    {"regress bf16",
     "{type: regress}",
     "numbers",
     ".tsv",
     {"tokenizer.vocab_size=50", "train.precision=bf16"}},
    {"tag", "{type: tag, label_all_tokens: true}", "tags", ".conll", {"tokenizer.vocab_size=50"}},
    {"tag bf16",
     "{type: tag, label_all_tokens: true}",
     "tags",
     ".conll",
     {"tokenizer.vocab_size=50", "train.precision=bf16"}},
    {"languages", "{type: mlm}", "train", ".txt", {kXlmModel}, false, ", language: en"},
    {"translation",
     "{type: translation_lm}",
     "pairs",
     ".tsv",
     {kXlmModel, "tokenizer.vocab_size=50"},
     false,
     ", language: en, target_language: de"},
    {"translation bf16",
     "{type: translation_lm}",
     "pairs",
     ".tsv",
     {kXlmModel, "tokenizer.vocab_size=50", "train.precision=bf16", "train.micro_batch_tokens=40"},
     false,
     ", language: en, target_language: de"},
    {"prefix",
     "{type: prefix_lm}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 2, attention: {heads: 2}, position: {length: 32}}",
      "tokenizer={type: characters, vocab_size: 80}"}},
    {"prefix bf16",
     "{type: prefix_lm}",
     "train",
     ".txt",
     {"model={type: llama, dim: 16, layers: 2, attention: {heads: 2, key_value_heads: 1}, "
      "position: {length: 32}}",
      "tokenizer={type: characters, vocab_size: 80}", "train.precision=bf16",
      "train.micro_batch_tokens=40"}},
    {"adaptive softmax",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: feed_forward_lm, dim: 8, hidden: 12, output: {type: adaptive, cutoffs: [5, "
      "9]}}",
      "tokenizer={type: word_level, min_frequency: 1}", "train.batch_tokens=70",
      "train.micro_batch_tokens=40"}},
    {"adaptive embeddings with the weights of the softmax",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 1, dropout: 0.1, attention: {heads: 2}, block: rf, "
      "recurrent: {cell: lstm, width: 12}, position: {type: none}, embedding: {type: adaptive, "
      "cutoffs: [5, 9]}, output: {type: adaptive, cutoffs: [5, 9]}}",
      "tokenizer={type: word_level, min_frequency: 1}", "train.micro_batch_tokens=40",
      "train.ema={decay: 0.9}"}},
    {"adaptive embeddings with the projections of the softmax bf16",
     "{type: seq2seq}",
     "pairs",
     ".tsv",
     {"model={type: bart, dim: 16, layers: 1, dropout: 0.1, attention: {heads: 2}, position: "
      "{length: 32}, embedding: {type: adaptive, cutoffs: [5, 9], factor: 2}, output: {type: "
      "adaptive, cutoffs: [5, 9], factor: 2, tie_projections: true}}",
      "tokenizer={type: word_level, min_frequency: 1}", "train.batch_tokens=130",
      "train.micro_batch_tokens=40", "train.precision=bf16"}},
    {"adaptive embeddings that are frozen",
     "{type: mlm}",
     "train",
     ".txt",
     {"model={type: bert, dim: 16, layers: 1, attention: {heads: 2}, embedding: {type: adaptive, "
      "cutoffs: [5, 9], factor: 2}, tie_word_embeddings: false}",
      "train.micro_batch_tokens=40", "train.freeze=[embeddings.word]"}},
    {"sampled softmax bf16",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 1, attention: {heads: 2}, position: {length: 32}, "
      "output: {type: sampled, samples: 6}}",
      "tokenizer={type: characters, vocab_size: 80}", "train.precision=bf16",
      "train.micro_batch_tokens=40"}},
    {"streams of a recurrent model",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 2, attention: {heads: 2}, block: r, recurrent: {cell: "
      "lstm, width: 12, weight_dropout: 0.3, variational_dropout: 0.3}, position: {type: none}}",
      "tokenizer={type: characters, vocab_size: 80}", "data.pack=stream", "data.streams=3",
      "data.shuffle=false", "data.length=8", "train.batch_tokens=null", "train.batch_sequences=3",
      "train.micro_batch_tokens=10"}},
    {"streams of plain recurrent layers bf16",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 2, dropout: 0.2, attention: {heads: 2}, block: r, "
      "residual: {type: none}, norm: {place: none}, position: {type: none}, recurrent: [{cell: "
      "lstm, width: 12, output_projection: false, weight_dropout: 0.3}, {cell: gru, reset: before, "
      "output_projection: false, variational_dropout: 0.3}]}",
      "tokenizer={type: characters, vocab_size: 80}", "data.pack=stream", "data.streams=3",
      "data.shuffle=false", "data.length=8", "train.batch_tokens=null", "train.batch_sequences=3",
      "train.micro_batch_tokens=10", "train.precision=bf16"}},
    {"streams with the memory of Transformer-XL",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 2, attention: {heads: 2, type: transformer_xl, memory: "
      "12}, position: {type: transformer_xl}}",
      "tokenizer={type: characters, vocab_size: 80}", "data.pack=stream", "data.streams=3",
      "data.shuffle=false", "data.length=8", "train.batch_tokens=null", "train.batch_sequences=3",
      "train.micro_batch_tokens=10", "train.precision=bf16"}},
    {"streams with a compressed memory",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 2, attention: {heads: 2, type: compressive, memory: "
      "6, compressed_memory: 4, compression_rate: 3}, position: {type: transformer_xl}}",
      "tokenizer={type: characters, vocab_size: 80}", "data.pack=stream", "data.streams=3",
      "data.shuffle=false", "data.length=8", "train.batch_tokens=null", "train.batch_sequences=3",
      "train.micro_batch_tokens=10"}},
    {"streams with memory slots",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 2, dropout: 0.1, attention: {heads: 2}, block: amf, "
      "memory: {slots: 3, segment: 3, unroll: 2, replay: true, temperature: 0.5}, position: {type: "
      "rotary}}",
      "tokenizer={type: characters, vocab_size: 80}", "data.pack=stream", "data.streams=3",
      "data.shuffle=false", "data.length=8", "train.batch_tokens=null", "train.batch_sequences=3",
      "train.micro_batch_tokens=10", "train.gradient_checkpointing=layers"}},
    {"streams with memory slots bf16",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 2, dropout: 0.1, attention: {heads: 2}, block: amf af, "
      "memory: {slots: 3, segment: 4, unroll: 2, write: gru}, position: {type: rotary}}",
      "tokenizer={type: characters, vocab_size: 80}", "data.pack=stream", "data.streams=3",
      "data.shuffle=false", "data.length=8", "train.batch_tokens=null", "train.batch_sequences=3",
      "train.micro_batch_tokens=10", "train.precision=bf16"}},
    {"memory slots of single texts",
     "{type: mlm}",
     "train",
     ".txt",
     {"model={type: bert, dim: 16, layers: 2, dropout: 0.1, attention: {heads: 2}, block: amf, "
      "drop_path_rate: 0.2, memory: {slots: 3, segment: 4, unroll: 3, replay: true}}",
      "train.micro_batch_tokens=40"}},
    {"bidirectional recurrent language models",
     "{type: bidirectional_lm}",
     "train",
     ".txt",
     {"model={type: elmo, dim: 12, dropout: 0.2, embedding: {type: characters, filter_widths: "
      "[1, 2], filters: [4, 6], max_characters: 8}, output: {type: hierarchical}}",
      "train.micro_batch_tokens=40"}},
    {"bidirectional language models with projected states",
     "{type: bidirectional_lm}",
     "train",
     ".txt",
     {"model={type: elmo, dim: 12, dropout: 0.2, recurrent: {cell: lstm, width: 10, projection: 6, "
      "cell_clip: 1, projection_clip: 0.5}}",
      "train.micro_batch_tokens=40"}},
    {"recurrent translation",
     "{type: seq2seq}",
     "pairs",
     ".tsv",
     {"model={type: seq2seq_rnn, dim: 8, recurrent: {cell: lstm, width: 6}, layers: 2, "
      "attention: {coverage: fertility}, dropout: 0.2, output: {type: hierarchical}}",
      "tokenizer={type: word_level, min_frequency: 1}", "train.batch_tokens=130",
      "train.micro_batch_tokens=40"}},
    {"recurrent translation bf16",
     "{type: seq2seq}",
     "pairs",
     ".tsv",
     {"model={type: seq2seq_rnn, dim: 8, recurrent: {width: 6, bidirectional: false}, "
      "attention: {score: general, when: after, input_feeding: true}, dropout: 0.2, output: "
      "{type: class_based}}",
      "tokenizer={type: word_level, min_frequency: 1}", "train.batch_tokens=130",
      "train.precision=bf16"}},
    {"recurrent translation with predicted windows and residual connections",
     "{type: seq2seq}",
     "pairs",
     ".tsv",
     {"model={type: seq2seq_rnn, dim: 8, recurrent: {cell: lstm, width: 6, residual: true}, "
      "layers: "
      "3, attention: {score: general, when: after, local: predictive, window: 4}, dropout: 0.2}",
      "tokenizer={type: word_level, min_frequency: 1}", "train.batch_tokens=130",
      "train.micro_batch_tokens=40"}},
    {"recurrent translation with monotonic windows bf16",
     "{type: seq2seq}",
     "pairs",
     ".tsv",
     {"model={type: seq2seq_rnn, dim: 8, recurrent: {width: 6, residual: true}, layers: 2, "
      "attention: {local: monotonic, window: 6, coverage: sum}, dropout: 0.2}",
      "tokenizer={type: word_level, min_frequency: 1}", "train.batch_tokens=130",
      "train.precision=bf16"}},
    {"gates",
     "{type: mlm}",
     "train",
     ".txt",
     {"model.residual.gate={hidden: 8, warmup: 30, budgets: [0.25, 1]}",
      "train.micro_batch_tokens=40", "model.dropout=0.1"}},
    {"gates bf16",
     "{type: mlm}",
     "train",
     ".txt",
     {"model.residual.gate={hidden: 8, warmup: 30, budgets: [0.5]}", "train.precision=bf16",
      "train.gradient_checkpointing=layers"}},
    {"a mixture of experts",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: mixtral, dim: 16, layers: 2, attention: {heads: 2, key_value_heads: 1}, "
      "feed_forward: {width: 12, experts: 3, z_loss: 0.01, jitter: 0.1, capacity: 1}}",
      "tokenizer={type: characters, vocab_size: 80}", "train.precision=bf16",
      "train.micro_batch_tokens=40"}},
    {"a mixture of experts in encoder and decoder",
     "{type: seq2seq}",
     "pairs",
     ".tsv",
     {"model={type: switch_transformers, dim: 16, layers: 2, dropout: 0.1, attention: {heads: 2}, "
      "head_dim: 8, feed_forward: {width: 12, experts: 3, sparse_layers: 1, sparse_decoder_layers: "
      "1}}",
      "tokenizer={type: word_level, min_frequency: 1}", "train.batch_tokens=130",
      "train.micro_batch_tokens=40"}},
    {"a mixture of experts with recomputed layers",
     "{type: mlm}",
     "train",
     ".txt",
     {"model={type: bert, dim: 16, layers: 2, attention: {heads: 2}, feed_forward: [{type: "
      "standard, width: 12}, "
      "{type: mixture_of_experts, experts: 3}]}",
      "train.gradient_checkpointing=layers", "train.micro_batch_tokens=40"}},
    {"layers that share their parameters",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 4, attention: {heads: 2}, sharing: {layers: 2, cycle: "
      "true}}",
      "tokenizer={type: characters, vocab_size: 80}", "train.micro_batch_tokens=40",
      "train.gradient_checkpointing=layers"}},
    {"a Conformer",
     "{type: mlm}",
     "train",
     ".txt",
     {"model={type: bert, dim: 16, layers: 2, attention: {heads: 2}, block: favfn, norm: {place: "
      "pre}, convolution: {kernel_size: 5}, residual: {type: constant}}",
      "train.micro_batch_tokens=40"}},
    {"layers of different sub-layers",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 4, attention: {heads: 2}, block: a*2 vf f, norm: "
      "{place: "
      "none}, convolution: {kernel_size: 5}, residual: {type: rezero}, feed_forward: {type: "
      "maxout}}",
      "tokenizer={type: characters, vocab_size: 80}", "train.precision=bf16"}},
    {"reversible layers",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 4, attention: [{heads: 2, type: reformer, chunk: 4, "
      "buckets: 4}, {type: full}], dropout: 0.1, residual: {type: reversible, merge: concatenate}, "
      "tie_word_embeddings: false, layerdrop: 0.2, drop_path_rate: 0.1, feed_forward: [{type: "
      "standard, width: 24}, {type: mixture_of_experts, experts: 3}]}",
      "tokenizer={type: characters, vocab_size: 80}", "train.micro_batch_tokens=40",
      "train.precision=bf16"}},
    {"attention over patterns",
     "{type: mlm}",
     "train",
     ".txt",
     {model_with_attention(
          "bert",
          "{heads: 2, type: block_local, block: 3}, {type: strided, stride: 3}, {type: dilated}, "
          "{type: sparse_transformer, stride: 3, mix: merged}, {type: multi_scale, windows: [3, "
          "all]}, {type: big_bird, block: 1, random_blocks: 1}"),
      "train.micro_batch_tokens=40"}},
    {"attention with other scores",
     "{type: mlm}",
     "train",
     ".txt",
     {model_with_attention("bert",
                           "{heads: 2, type: talking_heads}, {type: gaussian, form: local}, {type: "
                           "synthesizer, scores: [dense, random]}, {type: realformer}, {type: "
                           "realformer}, {type: longformer, window: 2}"),
      "model.position={type: shaw, max_distance: 3}", "train.precision=bf16"}},
    {"attention to fewer keys",
     "{type: mlm}",
     "train",
     ".txt",
     {model_with_attention(
          "bert",
          "{heads: 2, type: linformer, landmarks: 3, length: 32}, {type: nystrom, landmarks: 3}, "
          "{type: memory_compressed}, {type: induced, points: 3}, {type: clustered, clusters: 3, "
          "top: 2}, {type: routing, clusters: 3, commitment: 0.1}, {type: informer, factor: 1}, "
          "{type: lite_transformer, kernel_size: 3}"),
      "train.micro_batch_tokens=40"}},
    {"causal attention in linear time",
     "{type: causal}",
     "train",
     ".txt",
     {model_with_attention(
          "gpt2",
          "{heads: 2, type: linear}, {type: performer, redraw_every: 3}, {type: "
          "reformer, chunk: 2, buckets: 4, rounds: 2}, {type: routing, clusters: 3, "
          "window: 4}, {type: memory_compressed}, "
          "{type: lite_transformer, convolution: dynamic, kernel_size: 3}"),
      "tokenizer={type: characters, vocab_size: 80}", "train.micro_batch_tokens=40"}},
    {"DeLighT",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 3, dropout: 0.1, attention: {heads: 1, type: delight, "
      "groups: 4, dextra_dropout: 0.2}, feed_forward: {width: 4}, position: {length: 32}}",
      "tokenizer={type: characters, vocab_size: 80}", "train.precision=bf16",
      "train.micro_batch_tokens=40", "train.gradient_checkpointing=layers"}},
    {"DeLighT with an encoder",
     "{type: seq2seq}",
     "pairs",
     ".tsv",
     {"model={type: t5, dim: 16, layers: 2, dropout: 0.1, head_dim: 8, attention: {heads: 1, type: "
      "delight, depth: [2, 3], groups: 2}, feed_forward: {width: 4}}",
      "tokenizer.vocab_size=50", "train.batch_tokens=130", "train.micro_batch_tokens=40"}},
    {"causal attention with relative positions",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 2, attention: {heads: 2, type: strided, stride: 3}, "
      "position: {type: transformer_xl}}",
      "tokenizer={type: characters, vocab_size: 80}", "train.precision=bf16"}},
    {"disentangled attention and a convolution",
     "{type: mlm}",
     "train",
     ".txt",
     {"model={type: deberta-v2, dim: 16, layers: 2, attention: {heads: 2}, position: {buckets: 4, "
      "max_distance: 8, share_projections: false}, input_convolution: {kernel_size: 3, groups: 2}}",
      "train.precision=bf16", "train.micro_batch_tokens=40",
      "train.gradient_checkpointing=layers"}},
    {"distances without buckets, keys without a bias",
     "{type: mlm}",
     "train",
     ".txt",
     {"model={type: deberta, dim: 16, layers: 2, attention: {heads: 2}, position: {max_distance: "
      "8}}",
      "train.micro_batch_tokens=40"}},
    {"pooled blocks",
     "{type: mlm}",
     "train",
     ".txt",
     {"model={type: funnel, dim: 16, block_sizes: [1, 1, 1], block_repeats: [1, 2, 1], "
      "num_decoder_layers: 1, attention: {heads: 2}, dropout: 0.1}",
      "train.micro_batch_tokens=40", "train.gradient_checkpointing=layers"}},
    {"pooled blocks bf16",
     "{type: classify}",
     "train",
     ".tsv",
     {"model={type: funnel, dim: 16, block_sizes: [1, 1], attention: {heads: 2}, dropout: 0.1}",
      "train.precision=bf16", "train.micro_batch_tokens=30"}},
    {"attention over a binary tree",
     "{type: mlm}",
     "train",
     ".txt",
     {"model.attention={heads: 2, type: binary_tree, neighbours: 1}", "model.dropout=0.1",
      "train.precision=bf16", "train.micro_batch_tokens=30",
      "train.gradient_checkpointing=layers"}},
    {"causal attention to a tree",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 2, dropout: 0.1, attention: {heads: 2, type: "
      "binary_tree, neighbours: 1}, position: {length: 32}}",
      "train.micro_batch_tokens=30"}},
    {"transparent attention",
     "{type: seq2seq}",
     "pairs",
     ".tsv",
     {"model={type: bart, dim: 16, layers: 2, decoder: {layers: 3}, attention: {heads: 2}, "
      "position: {length: 32}, mix: {type: transparent, weight_dropout: 0.2}}",
      "tokenizer.vocab_size=50", "train.precision=bf16", "train.micro_batch_tokens=40",
      "train.gradient_checkpointing=layers"}},
    {"a mix of all layers",
     "{type: classify}",
     "train",
     ".tsv",
     {"model.mix={type: transparent}", "model.dropout=0.1", "train.micro_batch_tokens=30"}},
    {"positions that all layers share",
     "{type: mlm}",
     "train",
     ".txt",
     {"model.position=[{type: tupe}, {type: shaw, max_distance: 3, share_layers: true}]",
      "train.precision=bf16", "train.micro_batch_tokens=40",
      "train.gradient_checkpointing=layers"}},
    {"stochastic depth",
     "{type: mlm}",
     "train",
     ".txt",
     {"model.drop_path_rate=0.4", "model.drop_path_schedule=constant", "model.layerdrop=0.3",
      "model.dropout=0.1", "train.micro_batch_tokens=24"}},
    {"stochastic depth bf16",
     "{type: classify}",
     "train",
     ".tsv",
     {"model.drop_path_rate=0.4", "model.dropout=0.1", "train.precision=bf16",
      "train.gradient_checkpointing=layers", "train.micro_batch_tokens=30"}},
    {"early exit",
     "{type: classify, r_drop: 0.5}",
     "train",
     ".tsv",
     {"model.early_exit={type: entropy, threshold: 0.6}", "model.dropout=0.1",
      "train.micro_batch_tokens=30", "train.evaluate_every=4 steps"}},
    {"early exit added",
     "{type: classify}",
     "train",
     ".tsv",
     {"model.early_exit={type: patience, patience: 1, loss_weights: equal}", "train.precision=bf16",
      "train.freeze=[backbone, pooler]"},
     true},
    {"adaptive computation time",
     "{type: mlm}",
     "train",
     ".txt",
     {"model.layers=4", "model.sharing.layers=1", "model.halting={type: act}",
      "model.step_embedding=sinusoidal", "model.dropout=0.1", "train.micro_batch_tokens=24"}},
    {"adaptive computation time without dropout",
     "{type: causal}",
     "train",
     ".txt",
     {"model={type: gpt2, dim: 16, layers: 3, dropout: 0, attention: {heads: 2}, position: "
      "{length: 32}, halting: {type: act, initial_bias: 0}, step_embedding: learned}",
      "tokenizer={type: characters, vocab_size: 80}", "train.precision=bf16",
      "train.gradient_checkpointing=layers", "train.micro_batch_tokens=40"}},
    {"attention pooling",
     "{type: classify}",
     "train",
     ".tsv",
     {"model.block=r", "model.recurrent={bidirectional: true}",
      "model.classifier_pooling=attention"}},
    {"convolutional positions",
     "{type: classify}",
     "train",
     ".tsv",
     {"model.position=[{type: convolutional, groups: 4}, {type: alibi}]",
      "model.classifier_pooling=multihead_attention", "train.precision=bf16"}},
    {"hard attention",
     "{type: classify}",
     "train",
     ".tsv",
     {"model.attention={type: hard, heads: 2}", "model.dropout=0.1",
      "train.micro_batch_tokens=30"}},
    {"hard attention bf16",
     "{type: classify}",
     "train",
     ".tsv",
     {"model.attention=[{type: hard, heads: 2}, {type: full}]", "train.precision=bf16",
      "train.gradient_checkpointing=layers"}},
    {"distilling",
     "{type: classify}",
     "train",
     ".tsv",
     {"model={type: bert, dim: 16, layers: 3, dropout: 0.1, attention: {heads: 2, type: informer, "
      "factor: 1}, block: afd*2 af, position: {length: 32}}",
      "train.gradient_checkpointing=layers", "train.micro_batch_tokens=30"}},
    {"distilling bf16",
     "{type: classify}",
     "train",
     ".tsv",
     {"model={type: bert, dim: 16, layers: 2, dropout: 0.1, attention: {heads: 2}, block: afd af, "
      "distilling: {norm: instance, padding_mode: circular}, position: {length: 32}}",
      "model.classifier_pooling=mean", "train.precision=bf16"}},
    {"LoRA", "{type: classify}", "train", ".tsv", {"train.lora={rank: 2, alpha: 4}"}, true},
    {"LoRA bf16",
     "{type: classify}",
     "train",
     ".tsv",
     {"train.lora={rank: 2, alpha: 4, dropout: 0.1}", "train.precision=bf16",
      "train.micro_batch_tokens=30"},
     true},
};

/// What a row that is fine-tuned begins with: a run of a few steps, in `base`.
inline const ResumeCase kBaseCase = {"base",
                                     "{type: mlm}",
                                     "train",
                                     ".txt",
                                     {"train.duration=2 steps", "train.schedule.warmup=1 steps"}};

/// Files of the rows that SmallRun does not write itself.
inline void write_case_files(const SmallRun& small) {
  std::string numbers = "text\tlabel\n";
  std::string tags;
  std::string pairs = "source\ttarget\n";
  std::string documents = "text\tlabel\n";
  std::string sentences;
  std::string stories;
  for (int i = 0; i < 64; ++i) {
    const auto color = i % 3 == 0 ? std::string("red") : std::string("green");
    const auto animal = i % 2 == 0 ? std::string("fox") : std::string("bird");
    numbers += "the " + color + " " + animal + " sees a hill " + std::string(i % 7 + 1, 'x') +
               "\t" + std::to_string(0.1 * (i % 5)) + "\n";
    pairs += "the " + color + " " + animal + " sees a hill\tein " + animal + " sieht " +
             std::string(i % 5 + 1, 'x') + " " + color + "\n";
    documents += "The " + color + " " + animal + " sees a hill. ";
    documents += i % 3 == 1 ? "Some rain! " : "";
    documents += "A " + animal + std::string(i % 5 + 1, 'x') + " runs.\t" + color + "\n";
    stories += "The " + color + " " + animal + " sees a hill. Some rain!\n" +
               (i % 3 == 1 ? "The sky is " + color + ".\n" : "") + "A " + animal +
               std::string(i % 5 + 1, 'x') + " runs.\n\n";
    sentences += R"({"sentences": ["The )" + color + " " + animal + R"( sees a hill.")" +
                 (i % 3 == 1 ? R"(, "Some rain!")" : "") + R"(, "A )" + animal +
                 std::string(i % 5 + 1, 'x') + R"( runs."], "labels": [0, )" +
                 (i % 3 == 1 ? "0, " : "") + (color == "red" ? "1" : "0") + "]}\n";
    tags += "the O\n" + color + " B-X\n" + animal + " I-X\nsees O\n" +
            (i % 4 == 0 ? "some O\n" : "") + "rain B-Y\n\n";
  }
  small.folder().write("numbers.tsv", numbers);
  small.folder().write("tags.conll", tags);
  small.folder().write("documents.tsv", documents);
  small.folder().write("sentences.jsonl", sentences);
  small.folder().write("stories.txt", stories);
  small.folder().write("pairs.tsv", pairs);
}

/// The row's config in `directory`; 40 steps; the 20th is not the end of an epoch.
inline train::RunConfig case_config(const SmallRun& small,
                                    const ResumeCase& row,
                                    const std::string& directory,
                                    const std::vector<std::string>& more = {}) {
  const auto model =
      "model: {preset: bert-tiny, dim: 16, layers: 2, attention: {type: full, heads: 2}, "
      "position: {type: learned, length: 32}, feed_forward: {width: 32}}\n"
      "tokenizer: {type: wordpiece, vocab_size: 70, train_on: data}\n";
  const auto held_out = row.data == "train" ? "held_out" : row.data;
  const auto yaml = (row.is_fine_tuned ? "init_from: " + small.path("base") + "\n" : model) +
                    "data: {train: [{path: " + small.path(row.data + row.ending) + row.item +
                    "}], evaluate: [{path: " + small.path(held_out + row.ending) + row.item +
                    "}], cache_dir: " + small.path("cache") + "}\nobjective: " + row.objective +
                    "\n"
                    "train:\n"
                    "  duration: 40 steps\n"
                    "  batch_tokens: 96\n"
                    "  optimizer: {lr: 1e-2}\n"
                    "  schedule: {type: cosine, warmup: 4 steps}\n"
                    "  precision: fp32\n"
                    "  log_every: 3 steps\n"
                    "  evaluate_every: never\n"
                    "  save_every: 8 steps\n"
                    "  threads: 1\n"
                    "run: {directory: " +
                    small.path(directory) + ", seed: 7, device: cpu, keep: {best: 1, last: 3}}\n";
  auto overrides = row.overrides;
  overrides.insert(overrides.end(), more.begin(), more.end());
  return train::read_run_config(config::Document::parse(yaml, row.name + ".yaml", overrides));
}

}  // namespace weft::test
