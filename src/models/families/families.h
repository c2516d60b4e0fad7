#pragma once

#include <cstdint>

#include "models/config/family_definition.h"

/// The built-in families, for the table in models/config/family_table.cpp.
namespace weft::models {

FamilyDefinition bert();           // arXiv:1810.04805
FamilyDefinition roberta();        // arXiv:1907.11692
FamilyDefinition xlm_roberta();    // arXiv:1911.02116
FamilyDefinition distilbert();     // arXiv:1910.01108
FamilyDefinition electra();        // arXiv:2003.10555
FamilyDefinition modernbert();     // arXiv:2412.13663
FamilyDefinition longformer();     // arXiv:2004.05150
FamilyDefinition big_bird();       // arXiv:2007.14062
FamilyDefinition nystromformer();  // arXiv:2102.03902
FamilyDefinition albert();         // arXiv:1909.11942
FamilyDefinition deberta_v1();     // arXiv:2006.03654
FamilyDefinition deberta();        // version 2 and 3, arXiv:2006.03654, arXiv:2111.09543
FamilyDefinition funnel();         // arXiv:2006.03236
FamilyDefinition xlm();            // arXiv:1901.07291
FamilyDefinition reformer();       // arXiv:2001.04451

FamilyDefinition bag_of_words();            // a linear classifier of word counts
FamilyDefinition fasttext();                // mean of embeddings, arXiv:1607.01759
FamilyDefinition decomposable_attention();  // over two texts, arXiv:1606.01933

FamilyDefinition ngram();            // a smoothed n-gram language model
FamilyDefinition feed_forward_lm();  // of a fixed context

FamilyDefinition elmo();  // recurrent language models in both directions, arXiv:1802.05365

FamilyDefinition seq2seq_rnn();  // recurrent encoder and decoder, with or without attention

FamilyDefinition gpt2();
FamilyDefinition gpt_neox();
FamilyDefinition llama();    // arXiv:2302.13971
FamilyDefinition mistral();  // Llama with a window, arXiv:2310.06825
FamilyDefinition mixtral();  // Llama with a mixture of experts, arXiv:2401.04088
FamilyDefinition qwen2();    // Llama with biases of queries, keys and values, arXiv:2407.10671

/// T5 (arXiv:1910.10683) and its version 1.1, with a gated feed-forward, an untied output matrix
/// and unscaled decoder outputs.
FamilyDefinition t5();
FamilyDefinition switch_transformers();  // T5 with a mixture of experts, arXiv:2101.03961
FamilyDefinition mt5();                  // multilingual version 1.1, arXiv:2010.11934
FamilyDefinition bart();                 // arXiv:1910.13461
FamilyDefinition mbart();   // pre-norm, with a final norm after each stack, arXiv:2001.08210
FamilyDefinition marian();  // translation models with sinusoidal positions, arXiv:1804.00344
/// The original Transformer (arXiv:1706.03762). Stored as a Marian model, whose class in
/// transformers computes the same. (Its sinusoids have all sines first, the paper's alternate: only
/// the order of the features differs.)
FamilyDefinition transformer();

FamilyDefinition vit();   // arXiv:2010.11929
FamilyDefinition deit();  // arXiv:2012.12877

}  // namespace weft::models
