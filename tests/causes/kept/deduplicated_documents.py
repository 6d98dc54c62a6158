# cause: fragmentation
# owner: load_documents|embed_document|drop_duplicates|pack
# change: expandable_segments|fragment|max_split|preallocate
# source: sgl-project/SpecForge#739 (kind), pytorch/pytorch#96995
import json
import torch

TOKENS, WIDTH, DOCUMENTS = 4096, 512, 800


def embed_document(table):
    return table[torch.randint(table.shape[0], (TOKENS,), device="cuda")]


def load_documents(table):
    """Each document is followed by its mirror, which differs only in its address."""
    return [embed_document(table) for _ in range(DOCUMENTS)]


def drop_duplicates(documents):
    return [document for number, document in enumerate(documents) if number % 2 == 0]


def pack(documents, rows):
    batch = torch.zeros(rows, TOKENS, WIDTH, device="cuda")
    for row, document in enumerate(documents[:rows]):
        batch[row] = document
    return batch


def train_step(model, batch):
    with torch.no_grad():
        return model(batch).mean().item()


torch.cuda.set_per_process_memory_fraction(8.5 * 2**30 / torch.cuda.get_device_properties(0).total_memory)
table = torch.randn(8000, WIDTH, device="cuda")
model = torch.nn.Linear(WIDTH, 8).cuda()
documents = drop_duplicates(load_documents(table))
unused = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
try:
    for first in range(0, len(documents), 256):
        train_step(model, pack(documents[first:], 256))
except torch.OutOfMemoryError as error:
    print(error)
print(json.dumps({"bytes": [unused, DOCUMENTS // 2 * TOKENS * WIDTH * 4, 256 * TOKENS * WIDTH * 4]}))
