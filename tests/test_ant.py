"""PPO on the ant: goes on exactly where it was saved, every layer has its own activation, outliers do no harm."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

pytest.importorskip("mujoco")
pytest.importorskip("rl_games")

from PIL import Image

from proxact import MPU
from proxact.envs import AntVec
from proxact.experiments.ant import Ant, asdict, make_env, plan, run, score
from proxact.experiments.ppo import Ppo
from proxact.experiments.runs import RunError
from proxact.project import cone

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


def test_a_trained_policy_is_filmed(tmp_path):
    play = pytest.importorskip("proxact.experiments.play")
    run(SMALL, tmp_path / "run")
    try:
        found = play.play(tmp_path / "run", tmp_path / "film.gif", seconds=0.5)
    except (AttributeError, ImportError, RuntimeError) as error:  # how MuJoCo says that there is no OpenGL
        pytest.skip(f"no offscreen rendering here: {error}")
    assert 1 <= found["steps"] <= 30
    with Image.open(tmp_path / "film.gif") as film:
        assert film.size == (play.WIDTH, play.HEIGHT)
        assert film.n_frames >= found["steps"] // 3
        first = np.asarray(film.convert("RGB"))
    assert first.std() > 10  # something is to be seen


def test_the_command_films_without_a_screen(tmp_path):
    """In a process of its own: the settings of the tests must not be what makes it work."""
    run(SMALL, tmp_path / "run")
    here = {name: value for name, value in os.environ.items() if name not in ("MUJOCO_GL", "DISPLAY")}
    command = [sys.executable, "-m", "proxact", "play", str(tmp_path / "run"), "--seconds", "0.2"]
    done = subprocess.run(command, env=here, capture_output=True, text=True)
    if "EGL" in done.stderr:
        pytest.skip(f"no offscreen rendering here: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "play.gif").exists()


def test_the_film_shows_the_policy_that_was_trained(tmp_path):
    play = pytest.importorskip("proxact.experiments.play")
    run(SMALL, tmp_path / "run")
    ant, weights = play._read(tmp_path / "run")
    env = AntVec(1, threads=1)
    act = play._policy(ant, env, weights)
    observation, _ = env.reset(seed=3)
    seen = torch.from_numpy(observation).double().clamp(-5, 5)
    mean, variance = (weights[f"running_mean_std.running_{name}"].double() for name in ("mean", "var"))
    x = ((seen - mean) / (variance + 1e-5).sqrt()).clamp(-5, 5)
    for i in (0, 2, 4):
        x = x @ weights[f"a2c_network.actor_mlp.{i}.weight"].double().T + weights[f"a2c_network.actor_mlp.{i}.bias"]
        x = cone(x, float(torch.pi / 4 + weights[f"a2c_network.actor_mlp.{i + 1}.theta"]), 2, dim=-1)
    x = x @ weights["a2c_network.mu.weight"].double().T + weights["a2c_network.mu.bias"]
    np.testing.assert_allclose(act(observation), x.clamp(-1, 1).numpy(), atol=1e-5)


def test_play_names_what_is_missing(tmp_path):
    play = pytest.importorskip("proxact.experiments.play")
    with pytest.raises(RunError, match=r"config\.json"):
        play.play(tmp_path, tmp_path / "film.gif")
    with pytest.raises(ValueError, match=r"\.gif or \.webp, got 'film\.mp4'"):
        play.play(tmp_path, tmp_path / "film.mp4")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model": "cnn"}, "model must be one of mlp, mlp\\+, got 'cnn'"),
        ({"minibatch": 1000}, "minibatch must divide num_envs x horizon = 65536, got 1000"),
        ({"activation": "mpu_2"}, "known activation"),
    ],
)
def test_settings_are_checked(changed, message):
    with pytest.raises(ValueError, match=message):
        Ant(**{"activation": "relu", **changed})


@pytest.mark.parametrize(
    ("name", "message"), [("Nope-v5", "'ant' or a Gymnasium environment"), ("CartPole-v1", "Box of one axis")]
)
def test_environments_are_checked(name, message):
    with pytest.raises(ValueError, match=message):
        make_env(name, 2)


def test_the_paper_preset_is_only_for_the_papers_settings():
    assert [(one.activation, one.seed) for one in plan(["relu", "elu"], [1, 2], {})] == [
        ("relu", 1),
        ("elu", 1),
        ("relu", 2),
        ("elu", 2),
    ]
    assert {one.preset for one in plan(["relu"], [1], {"model": "mlp+", "epochs": 500})} == {"paper"}
    assert {one.preset for one in plan(["relu"], [1], {"epochs": 400})} == {"own"}


def test_a_gymnasium_environment_trains_and_goes_on(tmp_path):
    ant = Ant("mpu2", env="Pendulum-v1", epochs=2, num_envs=2, horizon=16, minibatch=16, preset="own")
    env = make_env(ant.env, ant.num_envs)
    first = Ppo(env, ant.activation, ant.seed, settings(ant), tmp_path / "first")
    first.epoch()
    state = first.state()
    second = Ppo(env, ant.activation, ant.seed, settings(ant), tmp_path / "second")
    second.load(state)
    assert torch.equal(weights(second), weights(first))
    row = second.epoch()
    assert row["epoch"] == 2
    assert torch.isfinite(weights(second)).all()
    env.close()
