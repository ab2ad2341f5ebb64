"""proxact try: metrics, as scripts print and log them."""

import math
import os

import pytest

from proxact.trials import run as launcher
from proxact.trials.metric import MetricError, choose, guess_better, read_metric, read_printed


class TestPrinted:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("val_acc: 0.91", [0.91]),
            ("val_acc=0.91", [0.91]),
            ("val_acc = 0.91,", [0.91]),
            ("{'loss': 0.1, 'val_acc': 0.91}", [0.91]),
            ('{"val_acc":0.91}', [0.91]),
            ("{'val_acc': '0.91'}", [0.91]),  # transformers 5 prints strings
            ("val_acc 91.3 %", [91.3]),
            ("val_acc (%): 91.3", [91.3]),
            ("val_acc -> 9.13e-1", [0.913]),
            ("{'val_acc': tensor(0.9100)} {'val_acc': np.float64(0.92)}", [0.91, 0.92]),
            ("│   val_acc    │    0.9100000262260437   │", [0.9100000262260437]),  # Lightning's table
            ("2024-01-01 12:00:00 INFO epoch 3: val_acc=.5", [0.5]),
            ("100%|###| 3/3 [val_acc=0.1]\r100%|###| 3/3 [val_acc=0.2]", [0.1, 0.2]),  # tqdm
            ("\x1b[1mval_acc\x1b[0m: \x1b[32m0.91\x1b[0m", [0.91]),
            ("val_acc: -3", [-3.0]),
            ("val_acc: 1_000", [1000.0]),
            ("best_val_acc: 0.99 val_acc_top5: 0.98 train/val_acc 0.9 val_acc/x 0.8 val_acc.x: 0.7", []),
            ("val_acc\n0.91", []),
            ("val_acc improved at epoch 3", []),
            ("valXacc: 0.91", []),
        ],
    )
    def test_values(self, text, expected):
        assert read_printed(text, "val_acc") == expected

    def test_names_are_no_patterns(self):
        assert read_printed("valXacc: 1 val.acc: 2", "val.acc") == [2.0]
        assert read_printed("Val Acc@1: 3", "Val Acc@1") == [3.0]

    def test_not_finite(self):
        nan, inf = read_printed("loss: nan loss: -inf", "loss")
        assert math.isnan(nan)
        assert inf == -math.inf

    def test_only_the_last_attempt(self, tmp_path):
        log = f"{launcher.START}a\nval_acc 0.1\n{launcher.START}a with val_acc 7\nval_acc 0.2\n"
        (tmp_path / "log.txt").write_text(log)
        assert read_metric(tmp_path, "val_acc") == [0.2]

    @pytest.mark.parametrize(
        ("metric", "better"),
        [
            ("val_loss", "lower"),
            ("test/MSE", "lower"),
            ("val-error", "lower"),
            ("perplexity", "lower"),
            ("val_acc", "higher"),
            ("glossary_score", "higher"),
            ("f1", "higher"),
        ],
    )
    def test_direction(self, metric, better):
        assert guess_better(metric) == better

    def test_choice(self):
        values = [0.2, math.nan, 0.5, 0.3]
        assert choose(values, "last", "higher") == 0.3
        assert choose(values, "best", "higher") == 0.5
        assert choose(values, "best", "lower") == 0.2
        assert math.isnan(choose([math.nan], "best", "higher"))


class TestLogged:
    def test_csv(self, tmp_path):
        """As Lightning writes it: cells are empty where a step has no such metric."""
        path = tmp_path / "lightning_logs" / "version_0" / "metrics.csv"
        path.parent.mkdir(parents=True)
        path.write_text("epoch,loss,val/acc\n0,1.5,\n0,,0.8\n1,,0.9\n")
        assert read_metric(tmp_path, "val/acc") == [0.8, 0.9]

    def test_json_lines(self, tmp_path):
        (tmp_path / "metrics.jsonl").write_text('{"val_acc": 0.8}\n[1]\n{"loss": 1}\n{"val_acc": 0.9}\n{"val_a')
        assert read_metric(tmp_path, "val_acc") == [0.8, 0.9]

    def test_tensorboard(self, tmp_path):
        pytest.importorskip("tensorboard")
        from torch.utils.tensorboard import SummaryWriter

        with SummaryWriter(str(tmp_path / "tb")) as writer:
            for step, value in enumerate([0.25, 0.5]):
                writer.add_scalar("val/acc", value, step)
                writer.add_scalar("val/loss", 1.0, step, new_style=True)
        assert read_metric(tmp_path, "val/acc") == [0.25, 0.5]
        assert read_metric(tmp_path, "val/loss") == [1.0, 1.0]

    def test_newest_file_and_print_first(self, tmp_path):
        for name, value, age in (("old", 0.1, 10), ("new", 0.2, 0)):
            path = tmp_path / f"{name}.csv"
            path.write_text(f"val_acc\n{value}\n")
            os.utime(path, (1e9 - age, 1e9 - age))
        assert read_metric(tmp_path, "val_acc") == [0.2]
        (tmp_path / "log.txt").write_text("val_acc: 0.3")
        assert read_metric(tmp_path, "val_acc") == [0.3]

    def test_missing(self, tmp_path):
        (tmp_path / "log.txt").write_text("epoch: 1 val_accuracy: 0.3, at 12:30")
        (tmp_path / "a.csv").write_text("val_f1\n0.1\n")
        with pytest.raises(MetricError, match=r"metric 'val_acc' was neither .* one: val_accuracy, val_f1, epoch"):
            read_metric(tmp_path, "val_acc")
