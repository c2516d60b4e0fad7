"""What the peers train: one row for each task, with the batch that it needs and the model of each library. Another family is another
row."""
import torch

DROPOUT = 0.1
PRESETS = {
    "bert-tiny": dict(dim=128, layers=2, heads=2, width=512),
    "bert-mini": dict(dim=256, layers=4, heads=4, width=1024),
    "bert-small": dict(dim=512, layers=4, heads=8, width=2048),
    "bert-base": dict(dim=768, layers=12, heads=12, width=3072),
}


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


def bert_config(corpus, preset):
    from transformers import BertConfig

    sizes = PRESETS[preset]
    return BertConfig(vocab_size=corpus.vocabulary, hidden_size=sizes["dim"], num_hidden_layers=sizes["layers"],
                      num_attention_heads=sizes["heads"], intermediate_size=sizes["width"], hidden_dropout_prob=DROPOUT,
                      attention_probs_dropout_prob=DROPOUT)


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


def plain_masked(corpus, options):
    import plain_model

    return plain_model.MaskedModel(vocabulary=corpus.vocabulary, dropout=DROPOUT, **PRESETS[options.preset])


def plain_classes(corpus, options):
    import plain_model

    return plain_model.ClassModel(len(corpus.classes), vocabulary=corpus.vocabulary, dropout=DROPOUT, **PRESETS[options.preset])


TASKS = {
    "mlm": dict(labelled=False, batch=masked_batch, transformers=transformers_masked, plain=plain_masked),
    "classify": dict(labelled=True, batch=class_batch, transformers=transformers_classes, plain=plain_classes),
}
