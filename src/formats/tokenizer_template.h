#pragma once

namespace weft::formats {

/// Names and ids of the special tokens, and the template around the text: BERT's `[CLS] a [SEP] b
/// [SEP]`, RoBERTa's `<s> a </s></s> b </s>`, or none as in GPT-2. Chosen by the model family.
enum class TokenizerTemplate {
  kBert,
  kBertNoSegments,  // no token types, as the models take none: DistilBERT, ModernBERT
  kFunnel,          // `<cls> a <sep> b <sep>`, <cls> has a token type of its own
  kRoberta,
  kXlm,         // `<s> a </s> b </s>`, the mask is <special1>
  kXlmRoberta,  // for a unigram model, transformers builds XLM-RoBERTa's tokenizer class
  kGpt2,        // byte_level_bpe and characters only
  kQwen2,       // byte_level_bpe only, with NFC and its own pre-tokenizer
  kT5,          // `a </s>`, sentinels from <extra_id_0> down at the end of the vocabulary
  kEosOnly,     // `a </s>` without sentinels: the original Transformer (2017), Marian
  kBosEos,      // `<s> a </s>`, without padding and mask: classical language models
  kFastText,    // `a </s>` of fasttext tokenizers, `</s>` being one of the words; else as kEosOnly
  kMbart,       // `a </s> en_XX`: the language code follows each text; unigram only
};

}  // namespace weft::formats
