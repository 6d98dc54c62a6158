"""NVTX ranges of Lightning's steps: Trainer(callbacks=[StepRanges()]).

As a program it trains a small model on a GPU and prints PyTorch's own peak, for comparison with memprof's.
"""
import torch
from lightning.pytorch import Callback, LightningModule, Trainer

nvtx = torch.cuda.nvtx


class StepRanges(Callback):
    """Ranges: step > forward, backward, optimizer; and validation outside of steps.

    Ranges that are open at an exception or at the end of an epoch are closed, so that no later step is inside this one.
    """

    def __init__(self):
        self.depth = 0

    def enter(self, *names):
        for name in names:
            nvtx.range_push(name)
            self.depth += 1

    def leave(self, depth=0):
        while self.depth > depth:
            nvtx.range_pop()
            self.depth -= 1

    def on_train_batch_start(self, *_):
        self.leave()
        self.enter("step", "forward")

    def on_before_backward(self, *_):
        self.leave(1)
        self.enter("backward")

    def on_after_backward(self, *_):
        self.leave(1)

    def on_before_optimizer_step(self, *_):
        self.leave(1)
        self.enter("optimizer")

    def on_train_batch_end(self, *_):
        self.leave()

    def on_validation_start(self, *_):
        self.enter("validation")

    def on_validation_end(self, *_):
        self.leave()

    def on_train_epoch_end(self, *_):
        self.leave()

    def on_exception(self, *_):
        self.leave()


class Regression(LightningModule):
    def __init__(self, width=2048, layers=8):
        super().__init__()
        self.net = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)])

    def training_step(self, batch, _):
        return self.net(batch[0]).square().mean()

    def validation_step(self, batch, _):
        self.net(batch[0])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


def main():
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(2048, 2048)), batch_size=256)
    trainer = Trainer(accelerator="gpu", devices=1, max_epochs=2, callbacks=[StepRanges()], logger=False,
                      enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Regression(), data, data)
    torch.cuda.synchronize()
    print(f"allocated {torch.cuda.memory_stats()['allocated_bytes.all.peak']} B at most", flush=True)


if __name__ == "__main__":
    main()
