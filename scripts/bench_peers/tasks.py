"""Training tasks of the peers: one entry per task, with its data format, its batch and the model of each library. A new
family is a new entry."""
import torch

import corpus as forms

PRESETS = {
    "bert-tiny": dict(dim=128, layers=2, heads=2, width=512, dropout=0.1),
    "bert-mini": dict(dim=256, layers=4, heads=4, width=1024, dropout=0.1),
    "bert-small": dict(dim=512, layers=4, heads=8, width=2048, dropout=0.1),
    "bert-base": dict(dim=768, layers=12, heads=12, width=3072, dropout=0.1),
    "gpt2": dict(dim=768, layers=12, heads=12, width=3072, dropout=0.0),
    "gpt-mini": dict(dim=384, layers=6, heads=6, width=1536, dropout=0.1),
    "lstm": dict(dim=256, layers=2, width=512, dropout=0.1),
    "char-gpt": dict(dim=128, layers=4, heads=4, width=512, dropout=0.0),
    "transformer-multi30k": dict(dim=256, layers=4, heads=4, width=512, dropout=0.2, attention_dropout=0.0),
    "vit-mini": dict(dim=192, layers=6, heads=3, width=768, dropout=0.0),
}
PATCH = 4   # pixels of each side


def masked_batch(corpus, rows):
    """15 % of the tokens that are not special: 8 of 10 hidden, 1 of 10 exchanged."""
    ids, seen = corpus.padded(rows)
    special = torch.isin(ids, torch.tensor(corpus.special))
    labels, draw = ids.clone(), torch.rand(ids.shape)
    chosen = (torch.rand(ids.shape) < 0.15) & ~special
    labels[~chosen] = -100
    ids = torch.where(chosen & (draw < 0.8), torch.full_like(ids, corpus.mask), ids)
    ids = torch.where(chosen & (draw >= 0.8) & (draw < 0.9), torch.randint(5, corpus.vocabulary, ids.shape), ids)
    return dict(input_ids=ids, attention_mask=seen, labels=labels)


def class_batch(corpus, rows):
    ids, seen = corpus.padded(rows)
    return dict(input_ids=ids, attention_mask=seen, labels=corpus.labels[rows])


def causal_batch(corpus, rows):
    """`transformers` shifts the labels itself and therefore predicts one token less, unless the labels are shifted before."""
    ids, next_ids = corpus.streamed(rows)
    return dict(input_ids=ids, labels=next_ids, shift_labels=next_ids)


def pair_batch(corpus, rows):
    """The target starts with the padding token, and padding is not predicted."""
    ids, seen = corpus.source.padded(rows)
    targets, is_there = corpus.target.padded(rows)
    begun = torch.cat([torch.full((len(rows), 1), corpus.pad), targets[:, :-1]], 1)
    return dict(input_ids=ids, attention_mask=seen, decoder_input_ids=begun, labels=targets.masked_fill(is_there == 0, -100))


def image_batch(corpus, rows):
    return dict(pixel_values=corpus.normalised(rows), labels=corpus.labels[rows])


def encoder_sizes(preset):
    """A preset in the words of BertConfig and ViTConfig."""
    sizes = PRESETS[preset]
    return dict(hidden_size=sizes["dim"], num_hidden_layers=sizes["layers"], num_attention_heads=sizes["heads"],
                intermediate_size=sizes["width"], hidden_dropout_prob=sizes["dropout"], attention_probs_dropout_prob=sizes["dropout"])


def bert_config(corpus, preset):
    from transformers import BertConfig

    return BertConfig(vocab_size=corpus.vocabulary, **encoder_sizes(preset))


def named_classes(config, corpus):
    config.num_labels = len(corpus.classes)
    config.id2label = dict(enumerate(corpus.classes))
    config.label2id = {name: number for number, name in enumerate(corpus.classes)}
    return config


def transformers_masked(corpus, options):
    from transformers import BertForMaskedLM

    return BertForMaskedLM(bert_config(corpus, options.preset))


def transformers_classes(corpus, options):
    from transformers import AutoConfig, AutoModelForSequenceClassification, BertForSequenceClassification

    if options.pretrained:
        config = named_classes(AutoConfig.from_pretrained(options.pretrained), corpus)
        return AutoModelForSequenceClassification.from_pretrained(options.pretrained, config=config)
    return BertForSequenceClassification(named_classes(bert_config(corpus, options.preset), corpus))


def transformers_causal(corpus, options):
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = PRESETS[options.preset]
    return GPT2LMHeadModel(GPT2Config(
        vocab_size=corpus.vocabulary, n_positions=corpus.length, n_embd=sizes["dim"], n_layer=sizes["layers"], n_head=sizes["heads"],
        n_inner=sizes["width"], resid_pdrop=sizes["dropout"], embd_pdrop=sizes["dropout"], attn_pdrop=sizes["dropout"],
        activation_function="gelu_pytorch_tanh",   # the usual gelu_new, as one operation
        use_cache=False, bos_token_id=corpus.end, eos_token_id=corpus.end))


def transformers_translation(corpus, options):
    from transformers import MarianConfig, MarianMTModel

    sizes = PRESETS[options.preset]
    sides = {f"{side}_{name}": sizes[key] for side in ("encoder", "decoder")
             for name, key in (("layers", "layers"), ("ffn_dim", "width"), ("attention_heads", "heads"))}
    return MarianMTModel(MarianConfig(
        vocab_size=corpus.vocabulary, d_model=sizes["dim"], **sides, dropout=sizes["dropout"], attention_dropout=sizes["attention_dropout"],
        activation_function="relu", scale_embedding=True, init_std=sizes["dim"] ** -0.5, max_position_embeddings=256, pad_token_id=corpus.pad,
        decoder_start_token_id=corpus.pad, eos_token_id=corpus.end, forced_eos_token_id=corpus.end))


def transformers_images(corpus, options):
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(image_size=corpus.SIDE, patch_size=PATCH, **encoder_sizes(options.preset))
    return ViTForImageClassification(named_classes(config, corpus))


def plain_masked(corpus, options):
    import plain_model

    return plain_model.MaskedModel(vocabulary=corpus.vocabulary, **PRESETS[options.preset])


def plain_classes(corpus, options):
    import plain_model

    return plain_model.ClassModel(len(corpus.classes), vocabulary=corpus.vocabulary, **PRESETS[options.preset])


def plain_causal(corpus, options):
    import plain_pre_norm

    return plain_pre_norm.CausalModel(corpus.vocabulary, corpus.length, **PRESETS[options.preset])


def plain_recurrent(corpus, options):
    import plain_recurrent

    return plain_recurrent.CausalModel(corpus.vocabulary, **PRESETS[options.preset])


def plain_translation(corpus, options):
    import plain_translation

    return plain_translation.TranslationModel(corpus.vocabulary, **PRESETS[options.preset])


def plain_images(corpus, options):
    import plain_pre_norm

    return plain_pre_norm.ImageModel(len(corpus.classes), corpus.SIDE, PATCH, **PRESETS[options.preset])


TASKS = {
    "mlm": dict(corpus=forms.Texts, batch=masked_batch, transformers=transformers_masked, plain=plain_masked),
    "classify": dict(corpus=forms.Table, batch=class_batch, transformers=transformers_classes, plain=plain_classes),
    "causal": dict(corpus=forms.Stream, batch=causal_batch, transformers=transformers_causal, plain=plain_causal),
    "recurrent": dict(corpus=forms.Stream, batch=causal_batch, plain=plain_recurrent),
    "translate": dict(corpus=forms.Pairs, batch=pair_batch, transformers=transformers_translation, plain=plain_translation),
    "images": dict(corpus=forms.Images, batch=image_batch, transformers=transformers_images, plain=plain_images),
}
