"""Lightning: the angle is a parameter like any other; here it is also logged."""

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import proxact


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), proxact.MPU(), nn.Linear(32, 30), proxact.MPU(3), nn.Linear(30, 1))

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss)
        for name, module in self.net.named_modules():
            if isinstance(module, proxact.MPU):
                self.log(f"alpha/{name}", module.alpha.detach().squeeze())
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


lightning.seed_everything(0, verbose=False)
x = torch.randn(512, 4)
data = DataLoader(TensorDataset(x, x.norm(dim=1, keepdim=True)), batch_size=64)
model = Regression()
trainer = lightning.Trainer(
    max_epochs=5,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(model, data)
for name, value in sorted(trainer.callback_metrics.items()):
    print(f"{name}: {value.item():.4f}")
