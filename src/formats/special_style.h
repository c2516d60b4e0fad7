#pragma once

namespace weft::formats {

/// Which names and ids the special tokens get, and what the template is: BERT's `[CLS] a [SEP] b
/// [SEP]`, RoBERTa's `<s> a </s></s> b </s>`, or none as GPT-2 has it. Chosen by the model's
/// family.
enum class SpecialStyle {
  kBert,
  kBertNoSegments,  // models that take no segments are not handed any: DistilBERT, ModernBERT
  kRoberta,
  kXlm,         // `<s> a </s> b </s>`, the mask is <special1>
  kXlmRoberta,  // of a unigram model transformers builds XLM-RoBERTa's own tokenizer
  kGpt2,        // byte_level_bpe and characters only
  kQwen2,       // byte_level_bpe only, with composed characters and words of its own
  kT5,          // `a </s>`, sentinels from <extra_id_0> down at the end of the vocabulary
  kEnding,      // the same without sentinels: the Transformer of 2017, Marian
  kMbart,       // `a </s> en_XX`: behind each text its language; unigram only
};

}  // namespace weft::formats
