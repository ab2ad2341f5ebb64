"""Projections in 50 digits, each with a certificate that needs no solver.

An oracle maps a list of numbers to (projection, violation). The violation measures the conditions that only the true
projection y of x fulfils: for a cone y in C, x - y in the polar of C and <y, x - y> = 0; for other sets y in C and
<x - y, y> = sup over C of <x - y, c>, or the Karush-Kuhn-Tucker conditions. How y was found does not matter then.
"""

from __future__ import annotations

from mpmath import mp, mpf

mp.dps = 50


def dot(a, b):
    return mp.fsum(p * q for p, q in zip(a, b, strict=True))


def norm(a):
    return mp.sqrt(dot(a, a))


def minus(a, b):
    return [p - q for p, q in zip(a, b, strict=True)]


def scaled(s, a):
    return [s * p for p in a]


def make(name, params):
    """The oracle of a case, its parameters as exact numbers."""
    exact = {
        key: _exact(value.tolist() if hasattr(value, "tolist") else value)
        for key, value in params.items()
        if key != "m"
    }
    function = round_cone if name.startswith("cone") else globals()[name]
    if name == "soc":
        return lambda x, hint: soc([mpf(v) for v in x], hint, **exact)
    return lambda x, hint: function([mpf(v) for v in x], **exact)


def _exact(value):
    return [_exact(v) for v in value] if isinstance(value, list) else mpf(value)


def _conic(x, y, in_cone, in_polar):
    v = minus(x, y)
    return y, max(mpf(0), -in_cone(y), -in_polar(v), abs(dot(y, v)) / (1 + norm(x)))


def _by_support(x, y, outside, support):
    v = minus(x, y)
    return y, max(mpf(0), outside, abs(support(v) - dot(v, y)) / (1 + norm(x)))


def round_cone(x, alpha):
    m = len(x)
    e = [1 / mp.sqrt(m)] * m
    cos, sin = mp.cos(alpha), mp.sin(alpha)

    def coordinates(v):
        t = dot(v, e)
        h = minus(v, scaled(t, e))
        return t, h, norm(h)

    def in_cone(v):
        t, _, n = coordinates(v)
        return t * sin - n * cos

    def in_polar(v):
        t, _, n = coordinates(v)
        return -t * cos - n * sin

    t, h, n = coordinates(x)
    if in_cone(x) >= 0 and t >= 0:
        y = x
    elif in_polar(x) >= 0:
        y = [mpf(0)] * m
    else:
        s = (t + n * mp.tan(alpha)) / (1 + mp.tan(alpha) ** 2)  # the paper's formula
        y = [s * (a + (mp.tan(alpha) * b / n if n else 0)) for a, b in zip(e, h, strict=True)]
    return _conic(x, y, in_cone, in_polar)


def nonnegative(x):
    return _conic(x, [max(v, mpf(0)) for v in x], min, lambda v: -max(v))


def box(x, lower, upper):
    y = [min(max(v, a), b) for v, a, b in zip(x, lower, upper, strict=True)]

    def support(v):
        return mp.fsum(d * (b if d > 0 else a) for d, a, b in zip(v, lower, upper, strict=True) if d)

    outside = max(max(a - v, v - b) for v, a, b in zip(y, lower, upper, strict=True))
    return _by_support(x, y, outside, support)


def linf_ball(x, radius):
    return box(x, [-radius] * len(x), [radius] * len(x))


def l2_ball(x, radius):
    y = x if norm(x) <= radius else scaled(radius / norm(x), x)
    return _by_support(x, y, norm(y) - radius, lambda v: radius * norm(v))


def simplex(x, radius):
    low, high = min(x) - radius, max(x)
    for _ in range(230):
        level = (low + high) / 2
        low, high = (level, high) if mp.fsum(max(v - level, 0) for v in x) > radius else (low, level)
    y = [max(v - high, mpf(0)) for v in x]
    return _by_support(x, y, max(abs(mp.fsum(y) - radius), -min(y)), lambda v: radius * max(v))


def l1_ball(x, radius):
    size = [abs(v) for v in x]
    y = x if mp.fsum(size) <= radius else [mp.sign(v) * p for v, p in zip(x, simplex(size, radius)[0], strict=True)]
    return _by_support(x, y, mp.fsum(abs(v) for v in y) - radius, lambda v: radius * max(abs(p) for p in v))


def hyperplane(x, a, b):
    y = minus(x, scaled((dot(a, x) - b) / dot(a, a), a))
    v = minus(x, y)
    return y, max(abs(dot(a, y) - b), norm(minus(v, scaled(dot(a, v) / dot(a, a), a))))


def halfspace(x, a, b):
    return (x, mpf(0)) if dot(a, x) <= b else hyperplane(x, a, b)


def affine(x, A, b):
    matrix = mp.matrix(A)
    residual = matrix * mp.matrix(x) - mp.matrix(b)
    multiplier = mp.lu_solve(matrix * matrix.T, residual)
    y = list(mp.matrix(x) - matrix.T * multiplier)
    return y, max(abs(v) for v in matrix * mp.matrix(y) - mp.matrix(b))  # x - y is in the row space by construction


def polyhedron(x, H, r):
    """All active sets of at most three rows are tried until one meets the conditions."""
    from itertools import combinations

    best = None
    for count in range(len(x) + 1):
        for rows in combinations(range(len(H)), count):
            y, multipliers = list(x), []
            if rows:
                matrix = mp.matrix([H[i] for i in rows])
                gram = matrix * matrix.T
                if abs(mp.det(gram)) < mpf(10) ** -20:
                    continue
                multipliers = mp.lu_solve(gram, matrix * mp.matrix(x) - mp.matrix([r[i] for i in rows]))
                y = list(mp.matrix(x) - matrix.T * multipliers)
            infeasible = max(dot(h, y) - b for h, b in zip(H, r, strict=True))
            violation = max(mpf(0), infeasible, *[-v for v in multipliers])
            if best is None or violation < best[1]:
                best = (y, violation)
            if violation < mpf(10) ** -40:
                return y, violation
    return best


def lorentz(x):
    t, h = x[0], x[1:]
    n = norm(h)
    if n <= t:
        y = x
    elif n <= -t:
        y = [mpf(0)] * len(x)
    else:
        y = [(t + n) / 2, *[(t + n) / 2 * v / n for v in h]]
    return _conic(x, y, lambda v: v[0] - norm(v[1:]), lambda v: -v[0] - norm(v[1:]))


def rotated_lorentz(x):
    def rotate(v):
        return [(v[0] + v[1]) / mp.sqrt(2), (v[0] - v[1]) / mp.sqrt(2), *v[2:]]

    y = rotate(lorentz(rotate(x))[0])

    def in_cone(v):  # both factors and the product, the latter at the scale of v
        size = norm(v) or 1
        return min(v[0], v[1], (2 * v[0] * v[1] - dot(v[2:], v[2:])) / size)

    return _conic(x, y, in_cone, lambda v: in_cone(scaled(-1, v)))


def soc(x, hint, A, d, r, c):
    n = len(x)
    matrix, x_vector, row = mp.matrix(A), mp.matrix(x), mp.matrix(r)

    def slack(y):
        return dot(r, y) + c - norm(list(matrix * mp.matrix(y) + mp.matrix(d)))

    if slack(x) >= 0:
        return x, mpf(0)
    # Newton's method on y - x + multiplier (A'w - r) = 0, slack(y) = 0, from the result under test.
    y = mp.matrix([mpf(v) for v in hint])
    multiplier = None
    for _ in range(6):
        image = matrix * y + mp.matrix(d)
        length = mp.norm(image)
        w = image / length
        gradient = matrix.T * w - row
        if multiplier is None:
            multiplier = dot(minus(x, list(y)), list(gradient)) / dot(list(gradient), list(gradient))
        system = mp.matrix(n + 1, n + 1)
        curvature = multiplier / length * (matrix.T * matrix - (matrix.T * w) * (matrix.T * w).T)
        for i in range(n):
            for j in range(n):
                system[i, j] = curvature[i, j] + (1 if i == j else 0)
            system[i, n] = system[n, i] = gradient[i]
        right = mp.matrix([*(y - x_vector + multiplier * gradient), length - dot(r, list(y)) - c])
        step = mp.lu_solve(system, right)
        y -= step[:n]
        multiplier -= step[n]
    image = matrix * y + mp.matrix(d)
    gradient = matrix.T * (image / mp.norm(image)) - row
    stationarity = mp.norm(y - x_vector + multiplier * gradient)
    return list(y), max(abs(slack(list(y))), stationarity, -multiplier)


def psd(x):
    side = mp.sqrt(len(x))
    matrix = mp.matrix(int(side), int(side))
    for i in range(int(side)):
        for j in range(int(side)):
            matrix[i, j] = (x[i * int(side) + j] + x[j * int(side) + i]) / 2
    values, vectors = mp.eigsy(matrix)
    y = vectors * mp.diag([max(v, mpf(0)) for v in values]) * vectors.T

    def smallest(flat):
        square = mp.matrix(int(side), int(side))
        for i, v in enumerate(flat):
            square[i // int(side), i % int(side)] = v
        return min(mp.eigsy((square + square.T) / 2, eigvals_only=True))

    return _conic(list(matrix), list(y), smallest, lambda v: smallest(scaled(-1, v)))


def exponential(x):
    a, b, c = x
    zero = mpf(0)

    def in_cone(v):
        p, q, s = v
        if q <= 0:
            return min(q, -p, s)
        return s - q * mp.exp(p / q)

    def in_polar(v):
        p, q, s = v
        if p <= 0:
            return min(p, -q, -s)
        return -s - p * mp.exp(q / p - 1)

    if in_cone(x) >= 0:
        y = x
    elif in_polar(x) >= 0:
        y = [zero] * 3
    elif a <= 0 and b <= 0:
        y = [a, zero, max(c, zero)]
    else:
        low = 1 - b / a if a > 0 else a / b - 5000
        high = a / b if b > 0 else low + 5000

        def weights(rho):
            determinant = rho * rho - rho + 1
            return ((rho - 1) * a + b) / determinant, (a - rho * b) / determinant

        for _ in range(190):
            rho = (low + high) / 2
            primal, dual = weights(rho)
            low, high = (rho, high) if primal * mp.exp(rho) - dual * mp.exp(-rho) < c else (low, rho)
        primal, dual = weights(rho)
        y = [rho * primal, primal, primal * mp.exp(rho)] if rho < 0 else _steep(rho, c + dual * mp.exp(-rho))
    return _conic(x, y, in_cone, in_polar)


def _steep(rho, high):
    return [rho * mp.exp(-rho) * high, mp.exp(-rho) * high, high]
