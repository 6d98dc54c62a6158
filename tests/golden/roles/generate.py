"""A Llama of 16 layers that generates with a KV cache."""
import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

from pytorch_roles import base, done, record_roles

torch.manual_seed(0)
config = LlamaConfig(vocab_size=32000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=2, num_attention_heads=16,
                     num_key_value_heads=8)
model = LlamaForCausalLM(config).to(torch.bfloat16).cuda().eval()


def cache_tensors(cache):
    out = []
    for layer in cache.layers:
        out += [layer.keys, layer.values]
    return out


@torch.no_grad()
def generate(n):
    ids = torch.randint(0, 32000, (8, 512), device="cuda")
    cache = DynamicCache(config=config)
    for i in range(n):
        out = model(input_ids=ids, past_key_values=cache, use_cache=True)
        ids = out.logits[:, -1:].argmax(-1)
        if i in (0, n - 1):
            record_roles("prefill" if i == 0 else "last", dict(base(model), cache=cache_tensors(cache), inputs=[ids], outputs=[out.logits]))


generate(8)
done()
