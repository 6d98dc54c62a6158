# cause: holder
# owner: load_index|load_shard
# change: half|fp16|quantiz|host|smaller|shard|needed|dtype|reduce
# source: the kind of retrieval services that keep a float32 index on the GPU
import json
import torch

ROWS, WIDTH, SHARDS = 1 << 20, 256, 8


def load_shard(number):
    generator = torch.Generator(device="cuda").manual_seed(number)
    shard = torch.randn(ROWS, WIDTH, device="cuda", generator=generator)
    return shard.div_(shard.norm(dim=1, keepdim=True))


def load_index():
    return [load_shard(number) for number in range(SHARDS)]


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.mix, self.out = torch.nn.Embedding(32000, 512), torch.nn.GRU(512, 512, batch_first=True), torch.nn.Linear(512, WIDTH)

    def forward(self, tokens):
        return torch.nn.functional.normalize(self.out(self.mix(self.embed(tokens))[0][:, -1]), dim=-1)


@torch.inference_mode()
def search(encoder, index, tokens, k=10):
    query = encoder(tokens)
    best = [(query @ shard.T).topk(k, dim=-1) for shard in index]
    return torch.cat([found.values for found in best], -1).topk(k, dim=-1).values


encoder = Encoder().cuda().eval()
index = load_index()
for _ in range(40):
    search(encoder, index, torch.randint(32000, (16, 48), device="cuda")).sum().item()
one = ROWS * WIDTH * 4
print(json.dumps({"bytes": [SHARDS * one, one]}))
