# cause: temporaries
# owner: nucleus|sample
# change: chunk|piece|smaller|top-k|in place|half|batch|slice
# source: the kind of samplers that sort the whole vocabulary for all requests of a batch
import json
import torch

BATCH, WIDTH, VOCAB = 512, 1024, 151936
embed = torch.nn.Embedding(VOCAB, WIDTH, device="cuda", dtype=torch.bfloat16)
mixer = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(4)]).to("cuda", torch.bfloat16)


def forward(tokens):
    return torch.nn.functional.linear(mixer(embed(tokens)), embed.weight)


def nucleus(logits, p=0.9, temperature=0.8):
    scores = logits.float() / temperature
    ordered, index = scores.sort(dim=-1, descending=True)
    probabilities = ordered.softmax(-1)
    outside = probabilities.cumsum(-1) - probabilities > p
    ordered = ordered.masked_fill(outside, float("-inf"))
    scores = torch.full_like(scores, float("-inf")).scatter(-1, index, ordered)
    return torch.multinomial(scores.softmax(-1), 1).squeeze(-1)


@torch.inference_mode()
def generate(steps):
    tokens = torch.randint(VOCAB, (BATCH,), device="cuda")
    before = torch.cuda.memory_allocated()
    for _ in range(steps):
        tokens = nucleus(forward(tokens))
    return torch.cuda.max_memory_allocated() - before


added = generate(16)
one = BATCH * VOCAB * 4
print(json.dumps({"bytes": [added, added - one // 2, one, 2 * one, 3 * one, 4 * one, 5 * one, 6 * one]}))
