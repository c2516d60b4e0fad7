#!/usr/bin/env python3
"""Writes tests/reference/adapters/: LoRA adapters saved by PEFT for tiny random models, and PEFT's outputs with them.

    pip install torch==2.13.0 transformers==5.23.0 peft==0.21.2 safetensors
    python3 scripts/make_adapter_reference.py

Each NAME/ holds base/ (config.json, model.safetensors without a head), adapter/ (adapter_config.json, adapter_model.safetensors) and
outputs.safetensors: input_ids and attention_mask, logits, the merged matrices, and `gradient.<name in the adapter file>` of a loss.
"""
import pathlib
import shutil

import torch
import transformers
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from safetensors.torch import save_file

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/adapters"
SIZES = dict(vocab_size=24, num_labels=3, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
             max_position_embeddings=10, pad_token_id=1, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
DISTILBERT = dict(vocab_size=24, num_labels=3, dim=8, n_layers=2, n_heads=2, hidden_dim=12, max_position_embeddings=10, pad_token_id=1,
                  dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0)
GPT2 = dict(vocab_size=24, num_labels=3, n_embd=8, n_layer=2, n_head=2, n_inner=12, n_positions=10, pad_token_id=1, bos_token_id=0,
            eos_token_id=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
NEOX = {**SIZES, "hidden_dropout": 0.0, "attention_dropout": 0.0, "bos_token_id": 0, "eos_token_id": 2,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}}
CASES = {  # name -> (config, class, LoRA)
    "bert": (transformers.BertConfig(**SIZES), transformers.BertForSequenceClassification,
             dict(r=3, lora_alpha=5, target_modules=["query", "value"])),
    "roberta": (transformers.RobertaConfig(**SIZES, type_vocab_size=1), transformers.RobertaForSequenceClassification,
                dict(r=2, lora_alpha=4, target_modules=["key", "attention.output.dense", "intermediate.dense"])),
    "distilbert": (transformers.DistilBertConfig(**DISTILBERT), transformers.DistilBertForSequenceClassification,
                   dict(r=2, lora_alpha=3, target_modules=["q_lin", "v_lin", "lin2"])),
    "gpt2": (transformers.GPT2Config(**GPT2), transformers.GPT2ForSequenceClassification,
             dict(r=2, lora_alpha=4, target_modules=["c_attn", "c_fc"], rank_pattern={"c_fc": 3})),
    "gpt_neox": (transformers.GPTNeoXConfig(**NEOX), transformers.GPTNeoXForSequenceClassification,
                 dict(r=3, lora_alpha=4, target_modules=["query_key_value", "dense"])),
}


def main():
    shutil.rmtree(TARGET, ignore_errors=True)
    for name, (config, cls, lora) in CASES.items():
        torch.manual_seed(7)
        model = cls(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(0, 0.3)
        whole = TARGET / name
        model.base_model.save_pretrained(whole / "base")
        peft = get_peft_model(model, LoraConfig(task_type="SEQ_CLS", base_model_name_or_path="base", **lora))
        with torch.no_grad():
            for key, parameter in peft.named_parameters():
                if "lora_" in key:
                    parameter.normal_(0, 0.3)
        peft.peft_config["default"].base_model_name_or_path = "base"
        peft.eval()
        ids = torch.randint(4, 24, (3, 6))
        mask = torch.tensor([[1] * 6, [1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0]])
        ids = torch.where(mask == 1, ids, 1)
        logits = peft(input_ids=ids, attention_mask=mask).logits
        torch.nn.functional.cross_entropy(logits, torch.tensor([0, 2, 1])).backward()
        outputs = {"input_ids": ids, "attention_mask": mask, "logits": logits.detach().clone()}
        state = {key: value for key, value in peft.named_parameters() if value.grad is not None}
        for key, value in state.items():
            outputs["gradient." + key.replace(".default", "").replace("modules_to_save.", "")] = value.grad.clone()
        peft.save_pretrained(whole / "adapter")
        (whole / "adapter/README.md").unlink(missing_ok=True)
        merged = peft.merge_and_unload()
        outputs["logits_merged"] = merged(input_ids=ids, attention_mask=mask).logits.detach()
        for key, value in merged.state_dict().items():
            if value.dim() == 2 and ".layer." in key and "norm" not in key.lower():
                outputs["merged." + key] = value.clone()
        save_file({key: value.contiguous() for key, value in outputs.items()}, whole / "outputs.safetensors")


main()
