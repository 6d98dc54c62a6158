"""NVTX ranges of the steps of Transformers' Trainer: Trainer(..., callbacks=[StepRanges()]).

As a program it trains a small GPT-2 on a GPU and prints PyTorch's own peak, for comparison with memprof's.
"""
import tempfile
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

nvtx = torch.cuda.nvtx


class StepRanges(TrainerCallback):
    """Ranges: step, with all of its accumulated batches, and in it the optimizer.

    Trainer has no callback between forward and backward; PyTorch's own ranges separate them.
    """

    def __init__(self):
        self.depth = 0

    def enter(self, name):
        nvtx.range_push(name)
        self.depth += 1

    def leave(self, depth=0):
        while self.depth > depth:
            nvtx.range_pop()
            self.depth -= 1

    def on_step_begin(self, *_, **__):
        self.leave()
        self.enter("step")

    def on_pre_optimizer_step(self, *_, **__):
        self.enter("optimizer")

    def on_optimizer_step(self, *_, **__):
        self.leave(1)

    def on_step_end(self, *_, **__):
        self.leave()

    def on_epoch_end(self, *_, **__):
        self.leave()


def main():
    model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=512, n_head=8, vocab_size=8192))
    texts = [{"input_ids": t, "labels": t} for t in torch.randint(8192, (160, 256))]
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(output_dir=folder, max_steps=10, per_device_train_batch_size=8,
                                     gradient_accumulation_steps=2, report_to="none", save_strategy="no",
                                     logging_strategy="no", disable_tqdm=True)
        Trainer(model=model, args=settings, train_dataset=texts, callbacks=[StepRanges()]).train()
    torch.cuda.synchronize()
    print(f"allocated {torch.cuda.memory_stats()['allocated_bytes.all.peak']} B at most", flush=True)


if __name__ == "__main__":
    main()
