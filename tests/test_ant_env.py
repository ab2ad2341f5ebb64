"""The ant: its model, what it observes and earns on states made by hand, what happens when a simulation blows up."""

import math

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("gymnasium")

from proxact.envs import AntVec
from proxact.envs.ant import FALLEN_REWARD, is_unstable, observe, potential_of, reward_of
from proxact.envs.ant_model import CONTROL_SECONDS, EFFORT, joint_limits


@pytest.fixture
def env():
    made = AntVec(8, threads=2)
    yield made
    made.close()


def random_actions(count, steps, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (steps, count, 8))


def test_the_model_is_isaac_gyms(env):
    model = env.model
    assert model.body_mass.sum() == pytest.approx(0.911, abs=5e-4)
    assert 2 * model.opt.timestep == pytest.approx(CONTROL_SECONDS)
    degrees = np.degrees(model.jnt_range[1:])
    np.testing.assert_allclose(degrees[0::2], [[-40, 40]] * 4)
    np.testing.assert_allclose(degrees[1::2], [[30, 100], [-100, -30], [-100, -30], [30, 100]])
    assert set(model.dof_armature[6:]) == {0.01}
    assert set(model.dof_damping[6:]) == {0.1}
    assert set(model.actuator_gear[:, 0]) == {EFFORT}
    low, high = joint_limits()
    np.testing.assert_allclose(np.stack([low, high], 1), model.jnt_range[1:])


def test_bent_ankles_reach_the_floor(env):
    """The limits bend every lower leg downwards: the feet are the lowest points."""
    import mujoco

    data = mujoco.MjData(env.model)
    low, high = joint_limits()
    data.qpos[7:] = np.where(np.arange(8) % 2, (low + high) / 2, 0)
    mujoco.mj_forward(env.model, data)
    assert (data.site_xpos[:, 2] < data.qpos[2] - 0.3).all()


def test_only_the_floor_is_touched(env):
    import mujoco

    floor = env.model.geom("floor").id
    env.reset(seed=0)
    data = mujoco.MjData(env.model)
    for actions in random_actions(8, 30):
        env.step(actions)
        for state in env._state:
            mujoco.mj_setState(env.model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
            mujoco.mj_forward(env.model, data)
            for contact in data.contact:
                assert floor in contact.geom


def test_observation_by_hand():
    state = np.zeros((1, 30))
    yaw, roll = 0.7, 0.0
    state[0, 1:4] = 3.0, -2.0, 0.5
    state[0, 4:8] = math.cos(yaw / 2), 0, 0, math.sin(yaw / 2)
    state[0, 16:19] = 1.0, 2.0, 3.0
    state[0, 19:22] = 0.1, 0.2, 0.3
    state[0, 22:30] = np.arange(8)
    joints, sensors, actions = np.full((1, 8), 0.25), np.arange(24.0)[None], np.full((1, 8), -0.5)
    seen = observe(state, joints, sensors, actions)[0]
    assert seen.shape == (60,)
    c, s = math.cos(yaw), math.sin(yaw)
    assert seen[0] == 0.5
    np.testing.assert_allclose(seen[1:4], [c + 2 * s, -s + 2 * c, 3], rtol=1e-6)
    np.testing.assert_allclose(seen[4:7], [0.1, 0.2, 0.3], rtol=1e-6)
    assert seen[7] == pytest.approx(yaw)
    assert seen[8] == pytest.approx(roll)
    assert seen[9] == pytest.approx(math.atan2(-0.5, 997) - yaw)  # the height in place of y
    assert seen[10] == pytest.approx(1)
    towards = np.array([997.0, 2.0]) / math.hypot(997, 2)
    assert seen[11] == pytest.approx(towards @ [c, s])
    np.testing.assert_allclose(seen[12:20], 0.25)
    np.testing.assert_allclose(seen[20:28], 0.2 * np.arange(8), rtol=1e-6)
    np.testing.assert_allclose(seen[28:52], 0.1 * np.arange(24), rtol=1e-6)
    np.testing.assert_allclose(seen[52:60], -0.5)


def test_roll_and_yaw_are_in_0_to_2_pi():
    state = np.zeros((2, 30))
    state[0, 4:8] = math.cos(-0.2), math.sin(-0.2), 0, 0  # rolled by -0.4
    state[1, 4:8] = math.cos(-0.2), 0, 0, math.sin(-0.2)  # turned by -0.4
    seen = observe(state, np.zeros((2, 8)), np.zeros((2, 24)), np.zeros((2, 8)))
    assert seen[0, 8] == pytest.approx(2 * math.pi - 0.4)
    assert seen[1, 7] == pytest.approx(2 * math.pi - 0.4)
    assert seen[0, 10] == pytest.approx(math.cos(0.4))  # how upright


def test_reward_by_hand():
    seen = np.zeros((3, 60), dtype=np.float32)
    seen[:, 10] = 0.95, 0.9, 0.95  # upright
    seen[:, 11] = 0.9, 0.4, 0.9  # heading
    seen[:, 12] = 1.0  # one joint at its limit
    seen[:, 20] = 0.5  # scaled joint velocity
    seen[:, 52] = -1.0  # its action
    found = reward_of(seen, np.array([2.0, 2.0, 2.0]), np.array([0.5, 0.5, 0.3]))
    costs = 0.005 * 1 + 0.05 * 0.5 + 0.1
    np.testing.assert_allclose(found, [2 + 0.5 + 0.1 + 0.5 - costs, 2 + 0.5 + 0.25 - costs, FALLEN_REWARD], rtol=1e-6)


def test_progress_is_the_speed_towards_the_target():
    before, after = np.array([[0.0, 0.0, 0.5]]), np.array([[0.1, 0.0, 0.4]])
    assert potential_of(after) - potential_of(before) == pytest.approx(0.1 / CONTROL_SECONDS)


def test_episodes_start_as_described(env):
    observation, _ = env.reset(seed=3)
    assert env.observation_space.contains(observation)
    np.testing.assert_allclose(observation[:, 0], 0.44)
    assert (np.abs(observation[:, 12:20]) <= 1).all()
    assert (np.abs(observation[:, 20:28]) <= 0.2 * 0.1 + 1e-9).all()
    assert not observation[:, 28:].any()


def test_a_fallen_ant_starts_anew(env):
    env.reset(seed=0)
    env._state[2, 3] = 0.2
    observation, reward, terminated, truncated, info = env.step(np.zeros((8, 8)))
    assert terminated.tolist() == [i == 2 for i in range(8)]
    assert not truncated.any()
    assert reward[2] == FALLEN_REWARD
    assert info["final_obs"][2, 0] < 0.31
    assert observation[2, 0] == pytest.approx(0.44)


def test_an_episode_is_cut_off_after_1000_steps(env):
    env.reset(seed=0)
    env._steps[:] = 998
    assert not env.step(np.zeros((8, 8)))[3].any()
    assert env.step(np.zeros((8, 8)))[3].all()
    assert not env._steps.any()


@pytest.mark.parametrize("damage", ["nan", "fast", "spinning"])
def test_an_unstable_simulation_is_ended_and_never_seen(damage):
    clean, broken = AntVec(4, threads=1), AntVec(4, threads=1)
    clean.reset(seed=5)
    before, _ = broken.reset(seed=5)
    index, value = {"nan": (8, np.nan), "fast": (16, 1e9), "spinning": (25, 1e7)}[damage]
    broken._state[1, index] = value
    for step, actions in enumerate(random_actions(4, 20)):
        expected = clean.step(actions)
        seen, reward, terminated, _, info = broken.step(actions)
        assert np.isfinite(seen).all()
        others = [0, 2, 3]
        np.testing.assert_array_equal(seen[others], expected[0][others])  # nobody else notices
        np.testing.assert_array_equal(reward[others], expected[1][others])
        if step == 0:
            assert terminated[1]
            assert reward[1] == FALLEN_REWARD
            np.testing.assert_array_equal(info["final_obs"][1], before[1])
            assert seen[1, 0] == pytest.approx(0.44)
    assert broken.unstable == 1
    assert clean.unstable == 0
    clean.close()
    broken.close()


def test_what_counts_as_unstable():
    state = np.zeros((5, 30))
    state[1, 0] = np.inf
    state[2, 16] = 51
    state[3, 29] = -501
    state[4, 16:19], state[4, 22:] = 20, 100
    assert is_unstable(state).tolist() == [False, True, True, True, False]


def test_threads_do_not_matter():
    found = []
    for threads in (1, 2):
        env = AntVec(130, threads=threads)
        seen = [env.reset(seed=7)[0]]
        for actions in random_actions(130, 40):
            observation, reward, *_ = env.step(actions)
            seen += [observation, reward]
        found.append(seen)
        env.close()
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_other_seeds_differ(env):
    first, second = env.reset(seed=1)[0], env.reset(seed=2)[0]
    assert not np.array_equal(first, second)


def test_wrong_arguments(env):
    with pytest.raises(ValueError, match=r"num_envs must be an int >= 1, got 0"):
        AntVec(0)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"actions must have shape \(8, 8\), got \(8, 7\)"):
        env.step(np.zeros((8, 7)))


@pytest.mark.slow
def test_no_nan_in_two_million_random_steps():
    env = AntVec(4096)
    observation, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(2_000_000 // 4096 + 1):
        observation, reward, *_ = env.step(rng.uniform(-1, 1, (4096, 8)))
        assert np.isfinite(observation).all()
        assert np.isfinite(reward).all()
    env.close()
