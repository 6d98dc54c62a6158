"""A frozen Llama in bfloat16 with small trainable adapters at its projections."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from pytorch_roles import base, done, saved, record_roles


class Adapter(torch.nn.Module):
    def __init__(self, linear, rank=8):
        super().__init__()
        self.base = linear
        self.down = torch.nn.Parameter(torch.randn(rank, linear.in_features, device="cuda") * 0.01)
        self.up = torch.nn.Parameter(torch.zeros(linear.out_features, rank, device="cuda"))

    def forward(self, x):
        return self.base(x) + ((x.float() @ self.down.t()) @ self.up.t()).to(x.dtype)


torch.manual_seed(0)
config = LlamaConfig(vocab_size=32000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=2, num_attention_heads=16,
                     num_key_value_heads=16, use_cache=False)
model = LlamaForCausalLM(config).to(torch.bfloat16).cuda()
model.requires_grad_(False)
for layer in model.model.layers:
    layer.self_attn.q_proj = Adapter(layer.self_attn.q_proj)
    layer.self_attn.v_proj = Adapter(layer.self_attn.v_proj)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
for step in range(1, 5):
    ids = torch.randint(0, 32000, (4, 512), device="cuda")
    out = model(input_ids=ids, labels=ids)
    if step == 3:
        record_roles("boundary", dict(base(model, optimizer), inputs=[ids], outputs=[out.logits, out.loss], saved=saved(out.loss.grad_fn)))
    out.loss.backward()
    if step == 3:
        record_roles("backward", dict(base(model, optimizer), inputs=[ids], outputs=[out.logits, out.loss]))
    optimizer.step()
    if step == 3:
        record_roles("step", dict(base(model, optimizer), inputs=[ids], outputs=[out.logits, out.loss]))
    optimizer.zero_grad()
done()
