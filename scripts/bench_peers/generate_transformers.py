"""transformers as a library of generate.py."""
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
import transformers


def load(options, prompts):
    torch.set_num_threads(options.threads)
    model = transformers.AutoModelForCausalLM.from_pretrained(options.model).eval()
    if options.precision == "bf16":
        model.to(torch.bfloat16)
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = None, 0
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    inputs = torch.tensor(prompts)

    def generate(new):
        with torch.inference_mode():
            told = model.generate(inputs, attention_mask=torch.ones_like(inputs), max_new_tokens=new, min_new_tokens=new, do_sample=False)
        return [(tokenizer.decode(ids, clean_up_tokenization_spaces=False), len(ids)) for ids in told[:, inputs.shape[1]:].tolist()]
    return generate
