"""transformers as a library of encode.py. Its model, with what follows it, is also what the other libraries convert."""
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
import transformers


class Classifier(torch.nn.Module):
    def __init__(self, folder, attention):
        super().__init__()
        self.model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation=attention)

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits


class Embedder(torch.nn.Module):
    """The mean of the last states, divided by its length, as sentence-transformers computes it."""

    def __init__(self, folder, attention):
        super().__init__()
        self.model = transformers.AutoModel.from_pretrained(folder, attn_implementation=attention)

    def forward(self, input_ids, attention_mask):
        states = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(states.dtype)
        return torch.nn.functional.normalize((states * weights).sum(1) / weights.sum(1), dim=-1)


def model_of(options, attention="sdpa"):
    return dict(classify=Classifier, embed=Embedder)[options.task](options.model, attention).eval()


def load(options):
    torch.set_num_threads(options.threads)
    model = model_of(options)
    if options.precision == "bf16":
        model.to(torch.bfloat16)

    def answer(batches):
        with torch.inference_mode():
            return [model(torch.from_numpy(ids), torch.from_numpy(mask)).float().numpy() for ids, mask in batches]
    return answer
