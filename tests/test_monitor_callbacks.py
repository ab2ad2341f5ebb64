"""The monitor in the real training loops of Lightning and transformers."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import proxact
from proxact.monitor import hf_callback, lightning_callback, read_rows

STEPS = 6


def data():
    torch.manual_seed(0)
    x = torch.randn(4 * STEPS, 8)
    return x, x[:, :4].abs()


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 12), proxact.MPU(), nn.Linear(12, 4))


@pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec.:FutureWarning")  # Lightning's use of torch
@pytest.mark.filterwarnings("ignore:The '.*_dataloader' does not have many workers")
@pytest.mark.filterwarnings("ignore:The number of training batches")
def test_lightning(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")

    class Fits(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = network()

        def training_step(self, batch, index):
            return (self.net(batch[0]) - batch[1]).square().mean()

        def validation_step(self, batch, index):
            self.net(100 * batch[0])  # what happens in evaluation is not recorded

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    def fit(model, steps, accumulate=1, checkpoint=None):
        callback = lightning_callback(every=2, path=tmp_path / "angles.jsonl")
        trainer = lightning.Trainer(
            max_steps=steps,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
            callbacks=[callback],
            accumulate_grad_batches=accumulate,
        )
        loader = DataLoader(TensorDataset(*data()), batch_size=4)
        trainer.fit(model, loader, loader, ckpt_path=checkpoint)
        return trainer, callback.monitor

    model = Fits()
    trainer, monitor = fit(model, STEPS)  # one epoch
    assert [row["step"] for row in monitor.rows] == [1, 2, 4, 6]
    assert {row["site"] for row in monitor.rows} == {"net.1"}
    assert all(row["zero"] is not None for row in monitor.rows)
    assert monitor.rows[-1]["angle"] == pytest.approx(model.net[1].alpha.item(), abs=1e-6)
    assert not model.net[1]._forward_hooks
    assert read_rows(tmp_path / "angles.jsonl") == monitor.rows
    trainer.save_checkpoint(tmp_path / "epoch.ckpt")
    _, again = fit(Fits(), STEPS + 2, checkpoint=tmp_path / "epoch.ckpt")
    assert [row["step"] for row in again.rows] == [7, 8]
    assert [row["step"] for row in read_rows(tmp_path / "angles.jsonl")] == [1, 2, 4, 6, 7, 8]
    _, accumulated = fit(Fits(), 2, accumulate=3)  # three batches for a step
    assert [row["step"] for row in accumulated.rows] == [1, 2]


def test_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")

    class Fits(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = network()

        def forward(self, x, y):
            found = self.net(x)
            return {"loss": (found - y).square().mean(), "found": found}

    model, (x, y) = Fits(), data()
    callback = hf_callback(every=2, path=tmp_path / "angles.jsonl")
    settings = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=5,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        learning_rate=0.1,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    rows = [{"x": a, "y": b} for a, b in zip(x, y, strict=True)]
    transformers.Trainer(model, settings, train_dataset=rows, callbacks=[callback]).train()
    monitor = callback.monitor
    assert [row["step"] for row in monitor.rows] == [1, 2, 4]
    assert {row["site"] for row in monitor.rows} == {"net.1"}
    assert all(row["zero"] is not None for row in monitor.rows)
    assert monitor.rows[0]["angle"] != monitor.rows[-1]["angle"]
    assert not model.net[1]._forward_hooks
    assert read_rows(tmp_path / "angles.jsonl") == monitor.rows


@pytest.mark.parametrize(("make", "package"), [(lightning_callback, "lightning"), (hf_callback, "transformers")])
def test_what_is_missing_is_named(make, package, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=f"pip install {package}"):
        make()
