"""Solvers as networks: layers, recurrences, learned weights, shapes."""

import pytest
import torch
from torch import nn

from proxact import Projection, project
from proxact.unroll import ADMM, FISTA, PDHG, PGD, ProximalGradient
from proxact.unroll._optimality import balanced

F64 = torch.float64
METHODS = [PGD, ProximalGradient, FISTA, ADMM, PDHG]
WITH_A = [ADMM, PDHG]


def normal(*shape, seed):
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def quadratic(*batch, n, seed=1):
    M = normal(*batch, n, n, seed=seed)
    return M @ M.mT / n + 0.2 * torch.eye(n, dtype=F64)


def soft_threshold(v, step):
    return torch.sign(v) * torch.relu(v.abs() - 0.3 * step)


def shrink_and_clip(v, step):
    return soft_threshold(v, step).clamp(-1, 1)


class SoftThreshold(nn.Module):
    def forward(self, v, step):
        return soft_threshold(v, step)


def test_one_step_is_the_layer_of_the_paper():
    """x1 = ReLU(W x0 + b) with W = I - step P and b = -step q."""
    P, q, x0 = quadratic(n=4), normal(4, seed=2), normal(4, seed=3)
    step = 1.5 / torch.linalg.matrix_norm(P, 2)
    layer = PGD(P, torch.relu, step=step.item(), steps=1, tol=None)
    expected = torch.relu((torch.eye(4, dtype=F64) - step * P) @ x0 - step * q)
    torch.testing.assert_close(layer(q, x0), expected)


@pytest.mark.parametrize("weights", ["fixed", "tied"])
def test_tied_steps_are_an_rnn(weights):
    n, M = 5, 7
    P, q = quadratic(n=n), normal(3, n, seed=2)
    solver = PGD(P, project.nonnegative, steps=M, tol=None, weights=weights)
    rnn = nn.RNN(n, n, nonlinearity="relu", bias=False, batch_first=True, dtype=F64)
    layer = solver._layers()[0]
    with torch.no_grad():
        rnn.weight_ih_l0.copy_(layer["B"])
        rnn.weight_hh_l0.copy_(layer["W"])
    x0 = normal(3, n, seed=4)
    _, hidden = rnn(q[:, None].expand(-1, M, -1), x0[None])
    torch.testing.assert_close(solver(q, x0), hidden[0], rtol=1e-13, atol=1e-14)


ACTIVATIONS = {
    "relu": (torch.relu, nn.ReLU),
    "nonnegative": (project.nonnegative, nn.ReLU),
    "simplex": (project.simplex, Projection),
    "module": (nn.Hardtanh(), nn.Hardtanh),
    "projection": (Projection("l2_ball", radius=0.5), Projection),
    "function": (lambda v: project.box(v, -0.1, 0.2), nn.Module),
}


@pytest.mark.parametrize("weights", ["fixed", "tied", "untied"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_to_fnn_of_pgd_is_linear_and_activation(name, weights):
    g, expected = ACTIVATIONS[name]
    q, x0 = normal(4, seed=2), normal(6, 4, seed=3)
    solver = PGD(quadratic(n=4), g, steps=5, tol=None, weights=weights)
    if weights != "fixed":
        perturb(solver)
    network = solver.to_fnn(q)
    assert len(network) == 10
    assert all(type(layer) is nn.Linear for layer in network[::2])
    assert all(isinstance(layer, expected) for layer in network[1::2])
    assert len({id(layer) for layer in network[::2]}) == (5 if weights == "untied" else 1)
    torch.testing.assert_close(network(x0), solver(q, x0), rtol=1e-13, atol=1e-14)
    assert (network(x0 + 1) != network(x0)).any()


def perturb(solver):
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in solver.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)


@pytest.mark.parametrize("weights", ["fixed", "tied", "untied"])
@pytest.mark.parametrize("g", [project.nonnegative, soft_threshold, SoftThreshold()], ids=["set", "prox", "module"])
@pytest.mark.parametrize("with_A", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_to_fnn_gives_the_same_numbers(method, with_A, g, weights):
    if (with_A and method not in WITH_A) or (method is PGD and g is not project.nonnegative):
        return
    A = (normal(6, 4, seed=5),) if with_A else ()
    q, x0 = normal(4, seed=2), normal(3, 4, seed=3)
    solver = method(quadratic(n=4), g, *A, steps=6, tol=None, weights=weights)
    if weights != "fixed":
        perturb(solver)
    network = solver.to_fnn(q)
    torch.testing.assert_close(network(x0), solver(q, x0), rtol=1e-11, atol=1e-12)
    assert {type(layer) for layer in network[::2]} == {nn.Linear}


@pytest.mark.parametrize("weights", ["tied", "untied"])
@pytest.mark.parametrize("method", METHODS)
def test_learned_weights_start_from_the_solver_and_all_learn(method, weights):
    # Not soft thresholding: homogeneous, it cancels the step of PDHG out.
    g = project.nonnegative if method is PGD else shrink_and_clip
    A = (normal(6, 4, seed=5),) if method in WITH_A else ()
    P, q = quadratic(n=4), normal(8, 4, seed=2)
    fixed = method(P, g, *A, steps=5, tol=None)
    learned = method(P, g, *A, steps=5, tol=None, weights=weights)
    torch.testing.assert_close(learned(q), fixed(q), rtol=1e-12, atol=1e-13)
    assert not list(fixed.parameters())
    untied = 4 if method is ADMM else 5  # the last step of ADMM ends with x, which no learned matrix gives
    assert len(learned.layers) == (untied if weights == "untied" else 1)
    learned(q, normal(8, 4, seed=3)).square().sum().backward()
    unused = {name for name, p in learned.named_parameters() if p.grad is None or not p.grad.abs().any()}
    # PDHG's multipliers start from 0, so the first V has nothing to multiply, and its last step ends with x.
    expected = {"layers.0.V", "layers.4.U", "layers.4.log_step"} if method is PDHG and weights == "untied" else set()
    assert unused == expected


@pytest.mark.parametrize("method", [ProximalGradient, FISTA, ADMM, PDHG])
def test_lista_learns_to_be_faster_than_the_solver(method):
    """Three learned layers come closer to the solutions of a lasso than three steps of the method do."""
    torch.manual_seed(0)
    n = 6
    P = quadratic(n=n)
    train, test = normal(400, n, seed=2), normal(100, n, seed=3)
    target = FISTA(P, soft_threshold, tol=1e-10, steps=5000)
    solved = {id(q): target(q) for q in (train, test)}
    net = method(P, soft_threshold, steps=3, tol=None, weights="untied")
    optimizer = torch.optim.Adam(net.parameters(), 3e-3)

    def loss(q):
        return (net(q) - solved[id(q)]).square().mean()

    before = loss(test).item()
    for _ in range(150):
        optimizer.zero_grad()
        loss(train).backward()
        optimizer.step()
    assert loss(test).item() < before / 2


def test_stands_in_sequential():
    torch.manual_seed(0)
    solver = PGD(quadratic(n=3).float(), project.simplex, gradient="implicit", steps=2000)
    net = nn.Sequential(nn.Linear(5, 3), solver, nn.Linear(3, 2))
    y = net(torch.randn(7, 5))
    assert y.shape == (7, 2)
    y.square().sum().backward()
    assert net[0].weight.grad.abs().max() > 0
    assert "PGD" in repr(net)
    assert "simplex" in repr(net)
    net[1].load_state_dict(net[1].state_dict())


@pytest.mark.parametrize("method", METHODS)
def test_batches_equal_single_problems(method):
    """P alone, q alone, both, and several axes."""
    P, q = quadratic(3, n=4), normal(2, 3, 4, seed=2)
    options = {"steps": 5000, "tol": 1e-11}
    together = method(P, project.nonnegative, **options).solve(q)
    assert together.x.shape == (2, 3, 4)
    assert together.converged.shape == together.iterations.shape == together.residual.shape == (2, 3)
    assert together.history.shape[1:] == (2, 3)
    for i in range(3):
        for j in range(2):
            alone = method(P[i], project.nonnegative, **options)(q[j, i])
            torch.testing.assert_close(together.x[j, i], alone, rtol=1e-8, atol=1e-9)
    shared = method(P[0], project.nonnegative, **options)(q)
    torch.testing.assert_close(shared[:, 0], together.x[:, 0], rtol=1e-8, atol=1e-9)
    single = method(P, project.nonnegative, **options)(q[0, 0])
    assert single.shape == (3, 4)
    torch.testing.assert_close(single[0], together.x[0, 0], rtol=1e-8, atol=1e-9)
    middle = method(P[:, None], project.nonnegative, **options)(q.transpose(0, 1))  # P shared along the second axis
    torch.testing.assert_close(middle, together.x.transpose(0, 1), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_float32_and_empty_batch(method):
    P, q = quadratic(n=4).float(), normal(5, 4, seed=2).float()
    x = method(P, project.nonnegative, steps=5000)(q)
    assert x.dtype == torch.float32
    exact = method(P.double(), project.nonnegative, steps=5000, tol=1e-11)(q.double())
    torch.testing.assert_close(x.double(), exact, rtol=1e-4, atol=1e-5)
    assert method(P, project.nonnegative)(q[:0]).shape == (0, 4)


def test_history_falls_and_iterations_count_to_the_tolerance():
    P, q = quadratic(6, n=4), normal(6, 4, seed=2)
    solver = PGD(P, project.nonnegative, tol=1e-8, steps=5000, every=5)
    result = solver.solve(q)
    assert result.converged.all()
    assert not result.stalled.any()
    assert len(result.history) == 1 + result.iterations.max() // 5
    assert (result.history[-1] <= 1e-8).all()
    assert (result.history[0] > 1e-8).any()
    for i in range(6):
        steps = 0 if result.iterations[i] == 1 else int(result.iterations[i]) // 5
        assert result.history[steps, i] <= 1e-8
        assert steps == 0 or result.history[steps - 1, i] > 1e-8


@pytest.mark.parametrize("method", [PGD, ProximalGradient, FISTA])  # the others start from multipliers of 0
def test_warm_start_saves_steps(method):
    P, q = quadratic(n=6), normal(6, seed=2)
    solver = method(P, lambda v: project.box(v, -0.5, 0.5), tol=1e-8, steps=5000, every=1)
    cold = solver.solve(q)
    warm = solver.solve(q, cold.x)
    assert warm.iterations < cold.iterations


def test_momentum_saves_steps():
    P, q = torch.diag(torch.logspace(0, -3, 8, dtype=F64)), normal(20, 8, seed=2)
    counts = [method(P, torch.relu, tol=1e-8, steps=50_000).solve(q).iterations.max() for method in (PGD, FISTA)]
    assert counts[1] < counts[0] / 5


def test_restarted_momentum_converges_linearly():
    """Equal numbers of digits cost equal numbers of steps; without restarts the last ones cost more and more."""
    P, q = torch.diag(torch.logspace(0, -2, 8, dtype=F64)), normal(20, 8, seed=2)
    few, many = (FISTA(P, torch.relu, tol=tol, steps=5000).solve(q).iterations.max() for tol in (1e-6, 1e-12))
    assert many < 2.2 * few


@pytest.mark.parametrize("g", [project.simplex, soft_threshold], ids=["set", "prox"])
def test_new_penalty_keeps_the_point(g):
    """Another rho: the state changes, the z and the multiplier that it stands for do not."""
    solver = ADMM(quadratic(3, n=4), g)
    v, new = normal(3, 4, seed=2), torch.tensor([0.1, 1.0, 7.0], dtype=F64)
    layer = solver._weights(solver.size)
    moved = solver._resized(v, layer, new)
    before, after = solver._prox(v, layer["step"]), solver._prox(moved, 1 / new)
    torch.testing.assert_close(after, before)
    torch.testing.assert_close(new[:, None] * (moved - after), solver.size[:, None] * (v - before))


def test_penalty_is_one_for_all_problems_that_share_their_matrices():
    primal, dual = torch.tensor([[9.0, 1.0], [16.0, 1.0]]), torch.tensor([[1.0, 1.0], [1.0, 9.0]])
    torch.testing.assert_close(balanced(torch.tensor(1.0), primal[:1], dual[:1]), torch.tensor(1.0))  # sqrt(3) is small
    torch.testing.assert_close(balanced(torch.tensor(3.0), primal[:, 0], dual[:, 0]), torch.tensor(3 * 12**0.5))
    torch.testing.assert_close(balanced(torch.ones(2), primal, dual), torch.tensor([12**0.5, 1.0]))
    torch.testing.assert_close(balanced(torch.ones(2, 1), primal, dual), torch.tensor([[1.0], [1.0]]))
    torch.testing.assert_close(balanced(torch.ones(2, 2), primal, dual), torch.tensor([[3.0, 1.0], [4.0, 1 / 3]]))
    assert balanced(torch.tensor(2.0), torch.tensor(0.0), torch.tensor(1.0)) == 2  # nothing to compare


@pytest.mark.parametrize("method", WITH_A)
def test_penalty_follows_the_problem(method):
    """Badly scaled constraints: the adapted penalty needs fewer steps than one that stays."""
    P, q, A = quadratic(n=4), normal(5, 4, seed=2), 30 * normal(6, 4, seed=3)
    size = {"rho": 1e3} if method is ADMM else {"sigma": 1e3}
    common = {"tol": 1e-6, "steps": 5000}
    adapted = method(P, lambda v: v.clamp(max=1.0), A, **common).solve(q)
    fixed = method(P, lambda v: v.clamp(max=1.0), A, **size, **common).solve(q)
    assert adapted.converged.all()
    assert adapted.iterations.max() < fixed.iterations.max()


def test_network_traces():
    solver = PGD(quadratic(n=4), torch.relu, steps=4, tol=None)
    q = normal(3, 4, seed=2)
    exported = torch.export.export(solver, (q,)).module()
    torch.testing.assert_close(exported(q), solver(q))
