"""GPT-2 small (Hugging Face's, random weights) with AdamW. The program itself opens no ranges."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from pytorch_roles import base, done, saved, record_roles

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(n_layer=2, use_cache=False)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(1, 5):
    ids = torch.randint(0, 50257, (4, 512)).cuda()
    out = model(ids, labels=ids)
    loss = out.loss
    if step == 3:
        record_roles("boundary", dict(base(model, optimizer), inputs=[ids], outputs=[out.logits, loss], saved=saved(loss.grad_fn)))
    loss.backward()
    if step == 3:
        record_roles("backward", dict(base(model, optimizer), inputs=[ids], outputs=[out.logits, loss]))
    optimizer.step()
    if step == 3:
        record_roles("step", dict(base(model, optimizer), inputs=[ids], outputs=[out.logits, loss]))
    optimizer.zero_grad()
done()
