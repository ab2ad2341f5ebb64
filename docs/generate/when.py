"""A sentence or two on when to use each activation, set and prox, and formulas for what torch defines."""

from __future__ import annotations

WHEN = {
    # sets
    "affine": "When outputs must satisfy linear equations exactly: balances, sums, boundary values.",
    "box": "When each output has bounds of its own; with equal ones it is `clip`.",
    "cone": "The paper's set. As a layer it is [`MPU`](../activations/mpu.md), which learns the angle.",
    "exponential": "For entropies, logarithms and logistic losses inside a solver layer. Too slow for an activation.",
    "halfspace": "For one linear inequality. Several at once are a `polyhedron`.",
    "hyperplane": "For one linear equation, such as entries that sum to a given number. Several at once are `affine`.",
    "l1_ball": "To make a vector sparse with a fixed budget, where `soft_threshold` has a fixed threshold.",
    "l2_ball": "To bound the length of a vector and keep its direction: clipping of gradients or features.",
    "linf_ball": "To bound every entry by the same size. It is `hardtanh` with a radius.",
    "lorentz": "For second-order cone constraints in a solver layer. As an activation take the `cone`, which "
    "treats all channels alike.",
    "nonnegative": "Where ReLU stands in an optimisation problem: the projection in projected gradient descent.",
    "polyhedron": "For any linear inequalities. It is solved by iteration: use one of the special sets where it fits.",
    "psd": "For matrices that must be covariances, kernels or metrics. It costs an eigendecomposition.",
    "rotated_lorentz": "For constraints with a product, such as |w|² ≤ 2uv, in a solver layer.",
    "simplex": "For weights that are nonnegative and sum to one, with exact zeros: sparse attention, mixtures.",
    "soc": "For a second-order constraint in general form: ellipsoids, paraboloids, tilted cones. Solved by iteration.",
    # elementwise proxes
    "relu": "The default to compare with. Everything in this library is a generalisation of it.",
    "clip": "When outputs have to stay in an interval and are exact inside it.",
    "relu6": "Where ReLU's outputs must stay small: networks that will be quantised.",
    "hardtanh": "Where tanh is meant but must be cheap, and exact in the middle.",
    "hardsigmoid": "A gate without an exponential, as in MobileNetV3.",
    "leaky_relu": "When units that are 0 for all inputs are a trouble: some gradient always passes.",
    "soft_threshold": "For sparse codes and unrolled ISTA; the layer learns the threshold.",
    "sigmoid": "For gates and probabilities. In the middle of deep networks its small slope stops gradients.",
    "tanh": "For outputs in (-1, 1) around zero, in recurrent cells and small control networks.",
    "tanhshrink": "When small inputs are noise and large ones should pass almost unchanged, smoothly.",
    "atan": "Like tanh, with tails that flatten slowly: large inputs still get gradients.",
    "softsign": "Like tanh without an exponential and with slow tails.",
    "isru": "Like tanh without an exponential; its slope falls off like 1/x³.",
    "isrlu": "Like ELU without an exponential.",
    "bent_identity": "When no input should lose its gradient: the slope is between 0 and 1 and nowhere 0.",
    "geman_mcclure": "When large inputs are outliers whose influence should be bounded.",
    "asinh": "To compress inputs of very different sizes and signs, smoothly and without a bound.",
    "symlog": "To compress rewards or targets of unknown scale; the identity near zero.",
    "elu": "When outputs should have a mean near zero; smooth at zero for a = 1.",
    "celu": "ELU that is smooth at zero for every a.",
    "softplus": "For outputs that must be positive, such as scales and rates.",
    "logsigmoid": "In losses, as the logarithm of a probability. Hardly ever inside a network.",
    # proxes of vectors
    "softmax": "For weights that sum to one and are all positive: attention, class probabilities.",
    "sparsemax": "For weights that sum to one, many of them exactly zero.",
    "entmax": "Between softmax and sparsemax, by alpha, which can be learnt.",
    "group_soft_threshold": "To switch whole groups of channels off together.",
    "modrelu": "For complex numbers: the phase stays, the size is thresholded.",
    "squash": "For capsules: the direction of a vector says what, its length between 0 and 1 how surely.",
    "linf_norm": "To cut off the largest entries at a common level; the dual of `l1_ball`.",
    # activations
    "mpu": "Where ReLU stands. At m = 2 it starts as exactly ReLU and can only learn away from it; larger m mixes more "
    "channels.",
    "leaky_mpu": "As `mpu`, when groups that fall into the polar cone should still get a gradient.",
    "identity": "To take an activation away without changing the rest of a model.",
    "gelu": "The default of transformers. No prox: it is not monotone.",
    "silu": "The default of many convolutional networks (also called swish). No prox: it is not monotone.",
    "mish": "A smoother relative of SiLU, in some detection networks.",
    "hardswish": "SiLU without an exponential, for phones.",
    "selu": "In plain fully connected networks with its own initialisation, instead of normalisation.",
    "prelu": "Leaky ReLU whose slope is learnt. A prox as long as the slope stays in (0, 1].",
    "softshrink": "Torch's `soft_threshold`, with a fixed threshold.",
    "wta": "One of the paper's baselines: sparse by competition between channels.",
    "maxout": "One of the paper's baselines: learns a convex function from pieces; halves the channels.",
    "crelu": "One of the paper's baselines: keeps both signs; doubles the channels.",
}

FORMULAS = {
    "identity": "$f(x) = x$",
    "gelu": "$f(x) = x\\,\\Phi(x)$, where $\\Phi$ is the distribution function of the standard normal.",
    "silu": "$f(x) = \\frac{x}{1 + e^{-x}}$",
    "mish": "$f(x) = x \\tanh(\\ln(1 + e^x))$",
    "hardswish": "$f(x) = \\tfrac16 x\\,\\min(\\max(x + 3, 0), 6)$",
    "selu": "$f(x) = s\\,x$ for $x > 0$, else $s\\,a\\,(e^x - 1)$, with $s = 1.0507$ and $a = 1.6733$.",
    "prelu": "$f(x) = x$ for $x > 0$, else $a\\,x$; the slope $a$ is a parameter of the layer and starts at 0.25.",
    "softshrink": "$f(x) = \\mathrm{sgn}(x)\\,\\max(|x| - \\lambda, 0)$ with $\\lambda = 0.5$, the function of "
    "[`soft_threshold`](../prox/soft_threshold.md).",
}
