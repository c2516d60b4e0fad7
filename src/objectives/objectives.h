#pragma once

#include <memory>
#include <string>

#include "config/section.h"
#include "data/datasets/corruption.h"
#include "data/datasets/masked_sentences.h"
#include "data/datasets/masking.h"
#include "data/images/image_options.h"
#include "objectives/data/text_datasets.h"
#include "objectives/distill_options.h"
#include "objectives/loss/class_options.h"
#include "objectives/objective.h"
#include "objectives/replaced_token_options.h"

namespace weft::objectives {

/// Type bidirectional_lm: predicts the next token from left to right, and apart from that the token
/// before from right to left (ELMo, arXiv:1802.05365, section 3.1). The terms `forward` and
/// `backward` are averaged. Evaluation adds eval_forward_loss and eval_backward_loss.
std::unique_ptr<Objective> make_bidirectional_lm();
std::unique_ptr<Objective> read_bidirectional_lm(config::Section& section);

/// Type causal: predicts the next token from all tokens before it in the sequence. Its evaluation
/// adds metrics that do not depend on the tokenizer: eval_word_perplexity, eval_bits_per_byte and
/// eval_bits_per_character, if the data count the text of their tokens, and the counts used for
/// these.
std::unique_ptr<Objective> make_causal_lm();
std::unique_ptr<Objective> read_causal_lm(config::Section& section);

/// Type classify: one class for each text, pair of texts or image (loss term `classify`), or, of
/// texts, any number of classes (loss term `multi_label`).
std::unique_ptr<Objective> make_classify(const ClassOptions& options = {});
std::unique_ptr<Objective> read_classify(config::Section& section);

/// Type denoise: BART's objective, whose target is the text before the noise (arXiv:1910.13461,
/// section 2.2).
std::unique_ptr<Objective> make_denoise(const data::DenoisingOptions& options = {});
std::unique_ptr<Objective> read_denoise(config::Section& section);

/// Type distill: knowledge distillation (arXiv:1503.02531; arXiv:1910.01108, section 3). The terms
/// are `soft`, the divergence from the teacher's distribution, both at a temperature, times its
/// square, or for classifiers the cross-entropy with the teacher's class (arXiv:2012.12877);
/// `hard`, the loss of the student objective; and, on input tokens, `hidden`, the cosine distance
/// of the last hidden states, and `attention`, the divergence of attention
/// (objectives/loss/attention_distillation.h). Those of weight 0 are left out. The teacher is
/// loaded on first use. Evaluation is the student objective's.
std::unique_ptr<Objective> make_distill(const DistillOptions& options);
std::unique_ptr<Objective> read_distill(config::Section& section);

/// Type masked_image: predicts the pixels of masked patches (SimMIM, arXiv:2111.09886); mean
/// absolute error.
std::unique_ptr<Objective> make_masked_image(const data::MaskedImageOptions& mask = {});
std::unique_ptr<Objective> read_masked_image(config::Section& section);

/// Type masked_sentence: predicts the tokens of masked sentences of documents from left to right,
/// given the states of the sentences (HIBERT, arXiv:1905.06566, section 3.2). The model must read
/// documents sentence by sentence (ModelOptions::document).
std::unique_ptr<Objective> make_masked_sentence(const data::MaskedSentenceOptions& options = {});
std::unique_ptr<Objective> read_masked_sentence(config::Section& section);

/// Type prefix_lm: the rest of a text after a prefix with bidirectional attention
/// (arXiv:1910.10683, section 3.2.1). An encoder-decoder reads the prefix in its encoder; a decoder
/// also learns the targets of pairs, whose source is the prefix.
std::unique_ptr<Objective> make_prefix_lm();
std::unique_ptr<Objective> read_prefix_lm(config::Section& section);

/// Type regress: one or more numbers for each text or pair of texts; squared error. `r_drop`:
/// weight of R-Drop's divergence (loss/r_drop.h).
std::unique_ptr<Objective> make_regress(double r_drop = 0);
std::unique_ptr<Objective> read_regress(config::Section& section);

/// Type replaced_token: ELECTRA (arXiv:2003.10555, section 2): masked tokens are replaced by
/// samples of a generator; the model, a discriminator, predicts for every token whether it differs
/// from the original. The terms are `generator` and, times its weight, `discriminator`. Sampling
/// passes no gradient. The model must have a generator (models/generator.h).
std::unique_ptr<Objective> make_replaced_token(const ReplacedTokenOptions& options = {});
std::unique_ptr<Objective> read_replaced_token(config::Section& section);

struct Seq2SeqOptions {
  double label_smoothing = 0;
  PairOptions pairs = {};
};

/// Type seq2seq: a target text for a source text (conditional_lm.h), of pairs of texts.
std::unique_ptr<Objective> make_seq2seq(const Seq2SeqOptions& options = {});
std::unique_ptr<Objective> read_seq2seq(config::Section& section);

/// Type span_corruption: T5's objective. Sentinels replace spans of the text, and the target is the
/// spans (arXiv:1910.10683, section 3.1.4).
std::unique_ptr<Objective> make_span_corruption(const data::SpanCorruptionOptions& options = {});
std::unique_ptr<Objective> read_span_corruption(config::Section& section);

/// Type tag: one tag for each word, such as named entities or parts of speech; with a model that
/// reads documents one for each sentence, such as an extractive summary (arXiv:1905.06566, section
/// 3.3). `label_all_tokens`: in training every token of a word has its tag, else only the first.
std::unique_ptr<Objective> make_tag(bool label_all_tokens = false);
std::unique_ptr<Objective> read_tag(config::Section& section);

/// Type translation_lm: masked language modelling on parallel lines, each pair one sequence
/// (arXiv:1901.07291, section 3.3).
std::unique_ptr<Objective> make_translation_lm(const data::MaskOptions& mask = {});
std::unique_ptr<Objective> read_translation_lm(config::Section& section);

}  // namespace weft::objectives
