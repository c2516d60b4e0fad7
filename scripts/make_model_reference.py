#!/usr/bin/env python3
"""Writes tests/reference/models/: tiny random models saved by transformers, and the outputs of transformers with them.

    pip install torch==2.13.0 transformers==5.23.0 safetensors
    python3 scripts/make_model_reference.py

Each NAME/ holds config.json and model.safetensors of one architecture, inputs.safetensors with a ragged padded batch, and
outputs.safetensors with outputs, loss and `gradient.<name in the file>`. tests/cli/forward_test.cpp compares `weft forward` with them.
"""
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import load_file, save_file

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/models"
SEED = 1
VOCABULARY, PAD, LENGTHS = 24, 1, [6, 1, 4]
PREFIXES = [4, 1, 2]
SIZES = dict(vocab_size=VOCABULARY, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
             max_position_embeddings=10, pad_token_id=PAD, bos_token_id=0, eos_token_id=2)
ROBERTA = dict(SIZES, type_vocab_size=1, layer_norm_eps=1e-5)
ELECTRA = dict(SIZES, embedding_size=4)
DISTILBERT = dict(vocab_size=VOCABULARY, dim=8, n_layers=2, n_heads=2, hidden_dim=12, max_position_embeddings=10, pad_token_id=PAD,
                  bos_token_id=0, eos_token_id=2)
MODERNBERT = dict(SIZES, num_hidden_layers=3, local_attention=4, global_attn_every_n_layers=2, cls_token_id=0, sep_token_id=2)
BIASES = dict(norm_bias=True, attention_bias=True, mlp_bias=True, classifier_bias=True, classifier_pooling="mean")
XLM = dict(vocab_size=VOCABULARY, emb_dim=8, n_layers=2, n_heads=2, max_position_embeddings=10, pad_token_id=PAD, bos_token_id=0,
           eos_token_id=2)
LANGUAGES = dict(n_langs=3, lang2id={"de": 0, "en": 1, "fr": 2}, id2lang={0: "de", 1: "en", 2: "fr"})
ALBERT = dict(SIZES, embedding_size=4)
DEBERTA = dict(SIZES, type_vocab_size=0, relative_attention=True, position_buckets=4, position_biased_input=False,
               norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type="p2c|c2p", layer_norm_eps=1e-7)
DEBERTA_OWN = dict(SIZES, type_vocab_size=0, num_labels=3, relative_attention=True, position_biased_input=True, max_relative_positions=4,
                   share_att_key=False, pos_att_type=["p2c", "c2p"])
DEBERTA_V1 = dict(SIZES, type_vocab_size=0, relative_attention=True, position_biased_input=False, pos_att_type="c2p|p2c", layer_norm_eps=1e-7)
LONGFORMER = dict(ROBERTA, attention_window=4)
BIG_BIRD = dict(SIZES, attention_type="block_sparse", block_size=4, num_random_blocks=1)   # short texts have full attention
NYSTROMFORMER = dict(SIZES, num_landmarks=2, segment_means_seq_len=6, conv_kernel_size=3)
REFORMER = dict(vocab_size=VOCABULARY, hidden_size=8, num_attention_heads=2, attention_head_size=6, feed_forward_size=12,
                attn_layers=["local", "lsh", "local"], local_attn_chunk_length=2, lsh_attn_chunk_length=6, axial_pos_shape=(2, 3),
                axial_pos_embds_dim=(3, 5), max_position_embeddings=6, hidden_dropout_prob=0.0, local_attention_probs_dropout_prob=0.0,
                pad_token_id=PAD, bos_token_id=0, eos_token_id=2, use_cache=False)
HASHED = dict(REFORMER, lsh_attn_chunk_length=2, num_hashes=2, hash_seed=7)   # its result depends on the length of the padded batch
FUNNEL = dict(vocab_size=VOCABULARY, d_model=8, n_head=2, d_head=4, d_inner=12, block_sizes=[1, 2, 1], num_decoder_layers=1,
              attention_type="factorized", max_position_embeddings=16, type_vocab_size=3, pad_token_id=PAD, bos_token_id=0, eos_token_id=2)
# The other form of attention fails in transformers for such short texts.
FUNNEL_LENGTHS = {None: [8, 5, 1], "masked": [9, 3, 2], "class": [7, 1, 4], "token": [11, 2, 6], "span": [13, 1, 4], "replaced": [10, 5, 7]}
GPT2 = dict(vocab_size=VOCABULARY, n_embd=8, n_layer=2, n_head=2, n_positions=10, pad_token_id=PAD, bos_token_id=0, eos_token_id=2)
LLAMA = dict(SIZES, num_attention_heads=4, num_key_value_heads=2, head_dim=6, max_position_embeddings=16)
MIXTRAL = dict(LLAMA, num_local_experts=3, num_experts_per_tok=2)
LINEAR = dict(rope_type="linear", rope_theta=500.0, factor=4.0)
STRETCHED = dict(rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                 original_max_position_embeddings=16)
T5 = dict(vocab_size=VOCABULARY, d_model=8, d_kv=3, d_ff=12, num_layers=2, num_decoder_layers=1, num_heads=2,
          relative_attention_num_buckets=6, relative_attention_max_distance=9, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
SWITCH = dict(vocab_size=VOCABULARY, d_model=8, d_kv=3, d_ff=12, num_layers=4, num_decoder_layers=2, num_heads=2, num_experts=3,
              num_sparse_encoder_layers=2, num_sparse_decoder_layers=1, relative_attention_num_buckets=6, relative_attention_max_distance=9,
              pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
BART = dict(vocab_size=VOCABULARY, d_model=8, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=2,
            encoder_ffn_dim=12, decoder_ffn_dim=10, max_position_embeddings=10, pad_token_id=PAD, bos_token_id=0, eos_token_id=2,
            forced_eos_token_id=2, decoder_start_token_id=2)
MARIAN = dict(BART, decoder_start_token_id=PAD, scale_embedding=True)
VIT = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12, image_size=8, patch_size=4, num_channels=3,
           encoder_stride=4)
GENERATION = ("logits", "loss", "last_hidden_state")
MANY = dict(num_labels=3, problem_type="multi_label_classification")

CASES = {  # name -> (architecture, config, kind of targets)
    "bert-model": ("BertModel", SIZES, None),
    "bert-masked-lm": ("BertForMaskedLM", dict(SIZES, hidden_act="gelu_new"), "masked"),
    "bert-pretraining": ("BertForPreTraining", SIZES, "pretraining"),
    "bert-sequence": ("BertForSequenceClassification", dict(SIZES, num_labels=3), "class"),
    "bert-token": ("BertForTokenClassification", dict(SIZES, num_labels=3), "token"),
    "roberta-masked-lm": ("RobertaForMaskedLM", ROBERTA, "masked"),
    "roberta-regression": ("RobertaForSequenceClassification", dict(ROBERTA, num_labels=1, problem_type="regression"), "value"),
    "roberta-pre-norm": ("RobertaPreLayerNormForMaskedLM", ROBERTA, "masked"),
    "roberta-span": ("RobertaForQuestionAnswering", ROBERTA, "span"),
    "xlm-roberta-model": ("XLMRobertaModel", ROBERTA, None),
    "xlm-roberta-masked-lm": ("XLMRobertaForMaskedLM", ROBERTA, "masked"),
    "xlm-roberta-sequence": ("XLMRobertaForSequenceClassification", dict(ROBERTA, num_labels=3), "class"),
    "xlm-roberta-token": ("XLMRobertaForTokenClassification", dict(ROBERTA, num_labels=3), "token"),
    "longformer-model": ("LongformerModel", LONGFORMER, None),
    "longformer-masked-lm": ("LongformerForMaskedLM", LONGFORMER, "masked"),
    "longformer-sequence": ("LongformerForSequenceClassification", dict(LONGFORMER, num_labels=3), "class"),
    "longformer-token": ("LongformerForTokenClassification", dict(LONGFORMER, num_labels=3), "token"),
    "albert-model": ("AlbertModel", dict(ALBERT, num_hidden_layers=3, num_hidden_groups=2), None),
    "albert-masked-lm": ("AlbertForMaskedLM", ALBERT, "masked"),
    "albert-sequence": ("AlbertForSequenceClassification", dict(ALBERT, num_labels=3), "class"),
    "albert-token": ("AlbertForTokenClassification", dict(ALBERT, num_labels=3), "token"),
    "albert-span": ("AlbertForQuestionAnswering", ALBERT, "span"),
    "deberta-model": ("DebertaV2Model", DEBERTA, None),
    "deberta-masked-lm": ("DebertaV2ForMaskedLM", DEBERTA, "masked"),
    "deberta-sequence": ("DebertaV2ForSequenceClassification", DEBERTA_OWN, "class"),
    "deberta-token": ("DebertaV2ForTokenClassification", dict(DEBERTA_OWN, pos_att_type=["c2p"], position_biased_input=False), "token"),
    "deberta-span": ("DebertaV2ForQuestionAnswering", dict(DEBERTA, relative_attention=False, pos_att_type=None, norm_rel_ebd="none",
                     position_biased_input=True), "span"),
    "deberta-convolution": ("DebertaV2ForMaskedLM", dict(DEBERTA, conv_kernel_size=3, conv_act="gelu"), "masked"),
    "deberta-grouped-convolution": ("DebertaV2ForSequenceClassification", dict(DEBERTA_OWN, conv_kernel_size=5, conv_groups=2,
                                    num_hidden_layers=1), "class"),
    "deberta-v1-model": ("DebertaModel", dict(DEBERTA_V1, max_relative_positions=3), None),
    "deberta-v1-masked-lm": ("DebertaForMaskedLM", DEBERTA_V1, "masked"),
    "deberta-v1-sequence": ("DebertaForSequenceClassification", dict(DEBERTA_V1, num_labels=3, position_biased_input=True,
                            max_relative_positions=4), "class"),
    "deberta-v1-token": ("DebertaForTokenClassification", dict(DEBERTA_V1, num_labels=3, pos_att_type=["p2c"]), "token"),
    "deberta-v1-span": ("DebertaForQuestionAnswering", dict(DEBERTA_V1, relative_attention=False, pos_att_type=None,
                        position_biased_input=True), "span"),
    "big-bird-model": ("BigBirdModel", BIG_BIRD, None),
    "big-bird-masked-lm": ("BigBirdForMaskedLM", dict(BIG_BIRD, attention_type="original_full"), "masked"),
    "big-bird-sequence": ("BigBirdForSequenceClassification", dict(BIG_BIRD, num_labels=3), "class"),
    "big-bird-token": ("BigBirdForTokenClassification", dict(BIG_BIRD, num_labels=3), "token"),
    "nystromformer-model": ("NystromformerModel", NYSTROMFORMER, None),
    "nystromformer-masked-lm": ("NystromformerForMaskedLM", dict(NYSTROMFORMER, segment_means_seq_len=2), "masked"),   # full attention
    "nystromformer-sequence": ("NystromformerForSequenceClassification", dict(NYSTROMFORMER, num_labels=3), "class"),
    "nystromformer-token": ("NystromformerForTokenClassification", dict(NYSTROMFORMER, num_labels=3), "token"),
    "nystromformer-span": ("NystromformerForQuestionAnswering", dict(NYSTROMFORMER, num_landmarks=3), "span"),
    "funnel-model": ("FunnelModel", FUNNEL, None),
    "funnel-base": ("FunnelBaseModel", FUNNEL, None),
    "funnel-one-block": ("FunnelModel", dict(FUNNEL, block_sizes=[2], num_decoder_layers=0), None),
    "funnel-masked-lm": ("FunnelForMaskedLM", dict(FUNNEL, block_sizes=[2, 1], block_repeats=[1, 2], num_decoder_layers=2), "masked"),
    "funnel-untied": ("FunnelForMaskedLM", dict(FUNNEL, d_head=3, pooling_type="max", separate_cls=False, block_repeats=[2, 1, 1],
                      hidden_act="relu", tie_word_embeddings=False), "masked"),
    "funnel-pretraining": ("FunnelForPreTraining", dict(FUNNEL, attention_type="relative_shift"), "replaced"),
    "funnel-sequence": ("FunnelForSequenceClassification", dict(FUNNEL, num_labels=3), "class"),
    "funnel-sequence-pooled-keys": ("FunnelForSequenceClassification", dict(FUNNEL, num_labels=3, pool_q_only=False), "class"),
    "funnel-token": ("FunnelForTokenClassification", dict(FUNNEL, num_labels=3, truncate_seq=False), "token"),
    "funnel-span": ("FunnelForQuestionAnswering", dict(FUNNEL, separate_cls=False, pool_q_only=False), "span"),
    "distilbert-model": ("DistilBertModel", DISTILBERT, None),
    "distilbert-masked-lm": ("DistilBertForMaskedLM", DISTILBERT, "masked"),
    "distilbert-untied": ("DistilBertForMaskedLM", dict(DISTILBERT, activation="relu", tie_word_embeddings=False), "masked"),
    "distilbert-sequence": ("DistilBertForSequenceClassification", dict(DISTILBERT, num_labels=3), "class"),
    "distilbert-many-labels": ("DistilBertForSequenceClassification", dict(DISTILBERT, **MANY), "many"),
    "distilbert-token": ("DistilBertForTokenClassification", dict(DISTILBERT, num_labels=3), "token"),
    "distilbert-span": ("DistilBertForQuestionAnswering", DISTILBERT, "span"),
    "electra-model": ("ElectraModel", ELECTRA, None),
    "electra-masked-lm": ("ElectraForMaskedLM", dict(ELECTRA, hidden_act="relu"), "masked"),
    "electra-pretraining": ("ElectraForPreTraining", dict(SIZES, embedding_size=8), "replaced"),
    "electra-sequence": ("ElectraForSequenceClassification", dict(ELECTRA, num_labels=3), "class"),
    "electra-regression": ("ElectraForSequenceClassification", dict(ELECTRA, num_labels=1, problem_type="regression"), "value"),
    "electra-token": ("ElectraForTokenClassification", dict(ELECTRA, num_labels=3), "token"),
    "electra-span": ("ElectraForQuestionAnswering", ELECTRA, "span"),
    "modernbert-model": ("ModernBertModel", MODERNBERT, None),
    "modernbert-masked-lm": ("ModernBertForMaskedLM", MODERNBERT, "masked"),
    "modernbert-untied": ("ModernBertForMaskedLM", dict(MODERNBERT, **BIASES, decoder_bias=False, tie_word_embeddings=False,
                          classifier_activation="silu", hidden_activation="relu"), "masked"),
    "modernbert-sequence": ("ModernBertForSequenceClassification", dict(MODERNBERT, num_labels=3, classifier_pooling="mean"), "class"),
    "modernbert-many-labels": ("ModernBertForSequenceClassification", dict(MODERNBERT, **MANY), "many"),
    "modernbert-token": ("ModernBertForTokenClassification", dict(MODERNBERT, num_labels=3, layer_types=["sliding_attention",
                         "full_attention", "full_attention"]), "token"),
    "modernbert-span": ("ModernBertForQuestionAnswering", MODERNBERT, "span"),
    "xlm-model": ("XLMModel", dict(XLM, sinusoidal_embeddings=True), None),
    "xlm-masked-lm": ("XLMWithLMHeadModel", dict(XLM, **LANGUAGES), "masked"),
    "xlm-untied": ("XLMWithLMHeadModel", dict(XLM, gelu_activation=False, tie_word_embeddings=False), "masked"),
    "xlm-sequence": ("XLMForSequenceClassification", dict(XLM, **LANGUAGES, num_labels=3), "class"),
    "xlm-token": ("XLMForTokenClassification", dict(XLM, n_langs=3, use_lang_emb=False, num_labels=3), "token"),
    "xlm-span": ("XLMForQuestionAnsweringSimple", XLM, "span"),
    "reformer-model": ("ReformerModel", REFORMER, None),
    "reformer-causal-lm": ("ReformerModelWithLMHead", dict(REFORMER, is_decoder=True), "causal"),
    "reformer-masked-lm": ("ReformerForMaskedLM", dict(REFORMER, chunk_size_feed_forward=2, hidden_act="gelu"), "masked"),
    "reformer-learned-positions": ("ReformerForMaskedLM", dict(REFORMER, axial_pos_embds=False, local_num_chunks_after=1), "masked"),
    "reformer-hashed": ("ReformerForMaskedLM", dict(HASHED, attn_layers=["lsh", "lsh"], num_buckets=4), "masked"),
    "reformer-hashed-causal": ("ReformerModelWithLMHead", dict(HASHED, num_buckets=[2, 4], num_hashes=1, is_decoder=True), "causal"),
    "reformer-sequence": ("ReformerForSequenceClassification", dict(REFORMER, num_labels=3), "class"),
    "reformer-span": ("ReformerForQuestionAnswering", REFORMER, "span"),
    "gpt2-model": ("GPT2Model", GPT2, None),
    "gpt2-causal-lm": ("GPT2LMHeadModel", dict(GPT2, scale_attn_by_inverse_layer_idx=True, n_inner=12), "causal"),
    "gpt2-untied": ("GPT2LMHeadModel", dict(GPT2, activation_function="relu", tie_word_embeddings=False), "causal"),
    "gpt2-prefix-lm": ("GPT2LMHeadModel", GPT2, "prefix"),
    "gpt2-sequence": ("GPT2ForSequenceClassification", dict(GPT2, num_labels=3), "class"),
    "llama-causal-lm": ("LlamaForCausalLM", dict(LLAMA, tie_word_embeddings=True, rope_parameters=LINEAR), "causal"),
    "llama-prefix-lm": ("LlamaForCausalLM", dict(LLAMA, rope_parameters=STRETCHED), "prefix"),
    "llama-biases": ("LlamaForCausalLM", dict(LLAMA, attention_bias=True, mlp_bias=True, rope_parameters=STRETCHED), "causal"),
    "mistral-causal-lm": ("MistralForCausalLM", dict(LLAMA, sliding_window=3), "causal"),
    "mixtral-causal-lm": ("MixtralForCausalLM", dict(MIXTRAL, sliding_window=3), "causal"),
    "mixtral-sequence": ("MixtralForSequenceClassification", dict(MIXTRAL, num_labels=3), "class"),
    "mixtral-token": ("MixtralForTokenClassification", dict(MIXTRAL, num_experts_per_tok=1, num_labels=3), "token"),
    "qwen2-causal-lm": ("Qwen2ForCausalLM", dict(SIZES, num_key_value_heads=1, use_sliding_window=True, sliding_window=3,
                        max_window_layers=1), "causal"),
    "qwen2-token": ("Qwen2ForTokenClassification", dict(SIZES, num_key_value_heads=1, num_labels=3), "token"),
    "gpt-neox-causal-lm": ("GPTNeoXForCausalLM", dict(SIZES, rope_parameters=dict(rope_type="default", rope_theta=500.0,
                           partial_rotary_factor=0.5)), "causal"),
    "t5-encoder": ("T5EncoderModel", dict(T5, feed_forward_proj="gated-silu"), None),
    "t5-generation": ("T5ForConditionalGeneration", T5, "pair"),
    "t5-gated": ("T5ForConditionalGeneration", dict(T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False), "shifted"),
    "mt5-generation": ("MT5ForConditionalGeneration", dict(T5, feed_forward_proj="gated-gelu"), "pair"),
    "switch-encoder": ("SwitchTransformersEncoderModel", SWITCH, None),
    "switch-generation": ("SwitchTransformersForConditionalGeneration", dict(SWITCH, expert_capacity=2), "pair"),
    "switch-all-layers": ("SwitchTransformersForConditionalGeneration", dict(SWITCH, num_sparse_encoder_layers=0, num_sparse_decoder_layers=2),
                          "shifted"),
    "bart-generation": ("BartForConditionalGeneration", BART, "pair"),
    "bart-sequence": ("BartForSequenceClassification", dict(BART, num_labels=3), "class"),
    "mbart-generation": ("MBartForConditionalGeneration", dict(BART, scale_embedding=True), "shifted"),
    "marian-generation": ("MarianMTModel", dict(MARIAN, activation_function="swish"), "pair"),
    "marian-untied": ("MarianMTModel", dict(MARIAN, share_encoder_decoder_embeddings=False, tie_word_embeddings=False,
                      activation_function="relu"), "shifted"),
    "marian-two-vocabularies": ("MarianMTModel", dict(MARIAN, share_encoder_decoder_embeddings=False, vocab_size=30,
                                decoder_vocab_size=VOCABULARY), "pair"),
    "vit-model": ("ViTModel", dict(VIT, qkv_bias=False, hidden_act="relu"), None),
    "vit-image": ("ViTForImageClassification", dict(VIT, num_labels=3, num_channels=1), "image"),
    "vit-other-size": ("ViTForImageClassification", dict(VIT, num_labels=3), "wide image"),
    "vit-masked-image": ("ViTForMaskedImageModeling", VIT, "hidden patches"),
    "deit-model": ("DeiTModel", VIT, None),
    "deit-image": ("DeiTForImageClassification", dict(VIT, num_labels=3), "image"),
    "deit-taught-image": ("DeiTForImageClassificationWithTeacher", dict(VIT, num_labels=3), None),
    "deit-masked-image": ("DeiTForMaskedImageModeling", VIT, "hidden patches"),
}


def make(architecture, config):
    """A model whose weights are all alive: no bias at zero, no norm at one."""
    cls = getattr(transformers, architecture)
    model = cls(cls.config_class(**config)).eval()
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:  # sinusoids are computed, not stored
                continue
            noise = torch.randn(parameter.shape, generator=generator)
            is_scale = parameter.dim() == 1 and name.endswith("weight")
            parameter.copy_(0.4 * noise + (1.0 if is_scale else 0.0))
        for name, buffer in model.named_buffers():
            if name == "final_logits_bias":
                buffer.copy_(torch.randn(buffer.shape, generator=generator))
    return model


def image_inputs(model, kind):
    generator = torch.Generator().manual_seed(SEED + 1)
    height, width = (12, 16) if kind == "wide image" else (8, 8)
    inputs = {"pixel_values": torch.randn(3, model.config.num_channels, height, width, generator=generator)}
    if kind == "hidden patches":
        inputs["bool_masked_pos"] = torch.tensor([[1, 0, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1]])
    elif kind is not None:
        inputs["labels"] = torch.tensor([2, 0, 1])
    return inputs


def prefix_mask(inputs):
    """Additive attention mask (B, 1, L, L): a token attends to real tokens up to itself and to the whole prefix."""
    place = torch.arange(inputs["input_ids"].shape[1])
    is_seen = (place <= place[:, None]) | (place < inputs["prefix_lengths"][:, None, None])
    is_real = inputs["attention_mask"].bool()
    is_seen = is_seen & is_real[:, None, :] | (~is_real[:, :, None] & (place == place[:, None]))
    return torch.zeros(is_seen.shape).masked_fill(~is_seen, torch.finfo(torch.float32).min)[:, None]


def one_by_one(model, inputs):
    """Outputs for texts without padding, which Funnel-Transformer would pool, padded with zeros; the loss is the mean over all targets."""
    results, targets = [], []
    for row, length in enumerate(inputs["attention_mask"].sum(1).tolist()):
        own = {key: value[row : row + 1, :length] if value.shape[:2] == inputs["input_ids"].shape else value[row : row + 1]
               for key, value in inputs.items()}
        labels = own.get("labels", torch.zeros(1))
        if (labels == -100).all():  # no loss
            labels = own.pop("labels")
        results.append(model(**own))
        targets.append((labels != -100).sum().item())
    padded = {}
    for key in results[0]:
        if key != "loss":
            rows = [result[key][0] for result in results]
            padded[key] = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True) if rows[0].dim() else torch.stack(rows)
    if any("loss" in result for result in results):
        padded["loss"] = sum(result.loss * count for result, count in zip(results, targets) if "loss" in result) / sum(targets)
    return transformers.utils.ModelOutput(padded)


def passed(model, inputs):
    if model.config.model_type == "reformer":  # whose layers have gradients in training only; nothing is dropped
        model.train()
    if model.config.model_type == "funnel":
        return one_by_one(model, inputs)
    if "prefix_lengths" in inputs:
        return model(input_ids=inputs["input_ids"], labels=inputs["labels"], attention_mask=prefix_mask(inputs))
    if model.main_input_name != "pixel_values":
        return model(**inputs)
    inputs = dict(inputs)
    if "bool_masked_pos" in inputs:
        inputs["bool_masked_pos"] = inputs["bool_masked_pos"].bool()
    return model(**inputs, interpolate_pos_encoding=True)


def inputs_of(model, kind):
    if model.main_input_name == "pixel_values":
        return image_inputs(model, kind)
    generator = torch.Generator().manual_seed(SEED + 1)
    lengths = [6, 6, 6] if kind == "span" else LENGTHS  # its loss counts padding as an answer: so none there
    if getattr(model.config, "hash_seed", None) is not None:
        lengths = [6, 6, 6]
    if model.config.model_type == "nystromformer":  # its convolution and landmarks see padding and other texts
        lengths = [6]
    if model.config.model_type == "funnel":
        lengths = FUNNEL_LENGTHS[kind]
    rows, columns = len(lengths), max(lengths)
    mask = (torch.arange(columns) < torch.tensor(lengths)[:, None]).long()
    ids = torch.randint(3, VOCABULARY, (rows, columns), generator=generator).masked_fill(mask == 0, PAD)
    inputs = {"input_ids": ids, "attention_mask": mask}
    if getattr(model.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = (torch.arange(columns) >= 2).long().expand_as(ids) * mask
    if model.config.model_type == "funnel":  # the first token has a type of its own
        inputs["token_type_ids"][:, 0] = 2
    if getattr(model.config, "n_langs", 1) > 1:  # positions restart at the third token
        inputs["position_ids"] = (torch.arange(columns) - 2 * (torch.arange(columns) >= 2)).expand_as(ids) * mask
        if model.config.use_lang_emb:
            inputs["langs"] = ((torch.arange(columns) + torch.arange(rows)[:, None]) % 3) * mask
    if model.config.model_type == "bart":  # whose classifier looks at the end of the text
        ids[torch.arange(rows), torch.tensor(lengths) - 1] = model.config.eos_token_id
    some = (torch.rand(ids.shape, generator=generator) < 0.5) & (mask == 1)
    some[0, 1] = True
    tokens = torch.where(some, torch.randint(3, VOCABULARY, ids.shape, generator=generator), -100)
    targets = {
        None: {},
        "masked": {"labels": tokens},
        "causal": {"labels": ids.masked_fill(mask == 0, -100)},
        "prefix": {"labels": ids.masked_fill((mask == 0) | (torch.arange(columns) < torch.tensor(PREFIXES)[:, None]), -100),
                   "prefix_lengths": torch.tensor(PREFIXES)},
        "pretraining": {"labels": tokens, "next_sentence_label": torch.tensor([0, 1, 1])},
        "class": {"labels": torch.tensor([2, 0, 1])},
        "token": {"labels": torch.where(some, tokens % 3, -100)},
        "value": {"labels": torch.tensor([0.5, -1.0, 2.0])},
        "many": {"labels": torch.tensor([[1.0, 0, 1], [0, 0, 0], [0, 1, 1]])},
        "replaced": {"labels": (ids % 2).masked_fill(mask == 0, -100)},
        "span": {"start_positions": torch.tensor([1, 0, 2]), "end_positions": torch.tensor([4, 0, 3])},
    }
    if kind in ("pair", "shifted"):
        return {**inputs, **decoder_inputs(model, generator, kind == "shifted")}
    return {**inputs, **{key: value[:rows] for key, value in targets[kind].items()}}


def decoder_inputs(model, generator, is_shifted):
    """What the decoder reads and is to say; `is_shifted`: the second alone."""
    lengths = torch.tensor([2, 5, 1])
    mask = (torch.arange(5) < lengths[:, None]).long()
    ids = torch.randint(3, VOCABULARY, (2, 3, 5), generator=generator).masked_fill(mask == 0, model.config.pad_token_id)
    labels = ids[0].masked_fill(mask == 0, -100)
    return {"labels": labels} if is_shifted else {"labels": labels, "decoder_input_ids": ids[1], "decoder_attention_mask": mask}


def write(name, architecture, config, kind):
    folder = TARGET / name
    model = make(architecture, config)
    model.save_pretrained(folder)
    inputs = inputs_of(model, kind)
    result = passed(model, inputs)
    mask = inputs.get("attention_mask", torch.ones(0)).bool()
    if kind in ("pair", "shifted"):
        mask = inputs["labels"] != -100
    outputs = {}
    for key, value in result.items():
        if not torch.is_tensor(value) or key in ("cls_logits", "distillation_logits"):  # others: the caches of keys and values
            continue
        if model.config.is_encoder_decoder and key not in GENERATION:
            continue
        value = value.detach().clone(memory_format=torch.contiguous_format)
        if value.shape[:2] == mask.shape and (value.dim() > 2 or kind in ("replaced", "span")):
            value[~mask] = 0
        outputs[key] = value
    if kind is not None:
        result.loss.backward()
        with torch.no_grad():  # saved in place of the weights, gradients take the names that the file uses
            for parameter in model.parameters():
                parameter.copy_(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)
        model.save_pretrained(folder / "gradients")
        stored = load_file(folder / "gradients/model.safetensors")
        if "final_logits_bias" in stored:
            stored["final_logits_bias"].zero_()  # a buffer
        if model.config.model_type == "reformer" and "lm_head.decoder.bias" in stored:  # since transformers 5.24 the only one in use
            stored.pop("lm_head.bias")
        outputs.update({f"gradient.{key}": value for key, value in stored.items()})
        shutil.rmtree(folder / "gradients")
    save_file(inputs, folder / "inputs.safetensors")
    save_file(outputs, folder / "outputs.safetensors")


# Compared by scripts/parity/models.py alone: stored references stay below 3 MB.
LIVE_ONLY = {
    "deberta-convolution",
    "deberta-grouped-convolution",
    "deberta-v1-masked-lm",
    "deberta-v1-model",
    "deberta-v1-sequence",
    "deberta-v1-span",
    "deberta-v1-token",
    "funnel-base",
    "funnel-masked-lm",
    "funnel-one-block",
    "funnel-pretraining",
    "funnel-sequence",
    "funnel-sequence-pooled-keys",
    "funnel-span",
    "funnel-token",
    "funnel-untied",
    "reformer-causal-lm",
    "reformer-hashed-causal",
    "reformer-learned-positions",
    "reformer-masked-lm",
    "reformer-model",
    "reformer-sequence",
    "reformer-span",
    "switch-all-layers",
}


def main():
    transformers.utils.logging.disable_progress_bar()
    shutil.rmtree(TARGET, ignore_errors=True)
    for name, (architecture, config, kind) in CASES.items():
        if name in LIVE_ONLY:
            continue
        write(name, architecture, config, kind)


if __name__ == "__main__":
    main()
