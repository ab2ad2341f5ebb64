"""PPO on the ant: goes on exactly where it was saved, every layer has its own activation, outliers do no harm."""

import numpy as np
import pytest
import torch

pytest.importorskip("mujoco")
pytest.importorskip("rl_games")

from proxact import MPU
from proxact.envs import AntVec
from proxact.experiments.ant import Ant, asdict, run, score
from proxact.experiments.ppo import Ppo

SMALL = Ant("mpu2", epochs=4, num_envs=64, minibatch=512, preset="small")


def make(tmp_path, ant=SMALL):
    return Ppo(AntVec(ant.num_envs, threads=1), ant.activation, ant.seed, settings(ant), tmp_path)


def settings(ant):
    return {**asdict(ant), "units": (32, 16), "device": "cpu"}


def weights(ppo):
    return torch.cat([value.detach().flatten().double() for value in ppo.model.state_dict().values()])


def test_it_goes_on_exactly_where_it_was_saved(tmp_path):
    whole = make(tmp_path / "whole")
    rows = [whole.epoch() for _ in range(4)]
    first = make(tmp_path / "first")
    first.epoch(), first.epoch()
    state = first.state()
    first.epoch()  # what comes after the checkpoint must not leak into it
    torch.save(state, tmp_path / "state.pt")
    second = make(tmp_path / "second")
    second.load(torch.load(tmp_path / "state.pt", weights_only=True))
    again = [second.epoch() for _ in range(2)]
    for row, expected in zip(again, rows[2:], strict=True):
        for name in ("epoch", "return", "length", "learning_rate", "unstable"):
            assert row[name] == expected[name]
    assert torch.equal(weights(second), weights(whole))


def test_every_layer_has_its_own_angle(tmp_path):
    ppo = make(tmp_path)
    units = [module for module in ppo.model.modules() if isinstance(module, MPU)]
    assert len(units) == 2
    assert units[0] is not units[1]
    ppo.epoch()
    assert all(unit.theta.item() != 0 for unit in units)  # they learn


def test_an_outlier_changes_nothing(tmp_path):
    clean, broken = make(tmp_path / "clean"), make(tmp_path / "broken")
    clean.epoch()
    broken.epoch()
    broken.env._state[3, 16] = 1e12
    row = broken.epoch()
    assert row["unstable"] == 1
    statistics = broken.model.running_mean_std
    assert statistics.running_mean.abs().max() <= SMALL.clip_observations
    assert statistics.running_var.max() <= SMALL.clip_observations**2
    assert torch.isfinite(weights(broken)).all()


def test_observations_are_clipped_and_finite(tmp_path):
    ppo = make(tmp_path)
    wild = np.array([[np.nan, np.inf, -np.inf, 1e30, 2.0]], dtype=np.float32)
    assert ppo.agent.vec_env._seen(wild).tolist() == [[0.0, 5.0, -5.0, 5.0, 2.0]]


def test_a_run_leaves_its_summary(tmp_path):
    summary = run(SMALL, tmp_path / "run")
    assert [row["epoch"] for row in summary["curve"]] == [1, 2, 3, 4]
    assert set(summary["metrics"]) == {"score", "best_return", "last_return", "unstable"}
    assert {"angle0", "angle1", "angle2"} <= set(summary["curve"][-1])


def test_the_score_is_the_mean_of_the_last_tenth():
    rows = [{"return": float(i), "unstable": 0} for i in range(100)]
    assert score(rows)["score"] == pytest.approx(94.5)
    assert score(rows)["best_return"] == 99
