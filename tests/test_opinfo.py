"""PyTorch's own operator test machinery over the projections, as an outside package."""

import torch
from cases import SMOOTH_CASES, points
from torch.testing._internal import composite_compliance
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_dtype import floating_types_and
from torch.testing._internal.common_utils import TestCase, noncontiguous_like
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.testing._internal.optests import aot_autograd_check, fake_check, make_fx_check


def tensors(params):
    return {name: value for name, value in params.items() if isinstance(value, torch.Tensor)}


def sample_inputs(case):
    def samples(op, device, dtype, requires_grad, **kwargs):
        rows = points(case, 80, seed=4)[:8]
        for shape in ((case.n,), (5, case.n), (2, 3, case.n)):
            count = rows.new_empty(shape).numel() // case.n
            x = rows[:count].reshape(shape).to(device=device, dtype=dtype, copy=True)
            yield SampleInput(x.requires_grad_(requires_grad), kwargs=tensors(case.params_for(dtype)))

    return samples


class _Function:
    """A case as a function with the name that the machinery asks for."""

    def __init__(self, case):
        self.case, self.__name__ = case, case.name.replace("@", "_").replace(".", "_")

    def __call__(self, x, **params):
        return self.case.call(x, **{**self.case.params, **params})


DATABASE = [
    OpInfo(
        _Function(case).__name__,
        op=_Function(case),
        dtypes=floating_types_and(torch.bfloat16, torch.float16),
        sample_inputs_func=sample_inputs(case),
        supports_out=False,
        supports_forward_ad=True,
        supports_fwgrad_bwgrad=True,
    )
    for case in SMOOTH_CASES
]


class TestProjections(TestCase):
    @ops(DATABASE)
    def test_dtypes(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            y = op(sample.input, **sample.kwargs)
            self.assertEqual((y.dtype, y.shape), (dtype, sample.input.shape))

    @ops(DATABASE, allowed_dtypes=(torch.float64,))
    def test_noncontiguous(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype, requires_grad=True):
            strided = noncontiguous_like(sample.input.detach()).requires_grad_()
            y, z = op(sample.input, **sample.kwargs), op(strided, **sample.kwargs)
            self.assertEqual(y, z)
            y.sum().backward()
            z.sum().backward()
            self.assertEqual(sample.input.grad, strided.grad)

    # The sets that are solved call an operator of their own, which this check does not look into.
    @ops(
        [op for op in DATABASE if op.name not in ("polyhedron", "soc", "exponential")], allowed_dtypes=(torch.float64,)
    )
    def test_composite_compliance(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype, requires_grad=True):
            args, kwargs = (sample.input,), sample.kwargs
            composite_compliance.check_forward_ad_formula(op.get_op(), args, kwargs, None, self.assertEqual)
            composite_compliance.check_backward_formula(op.get_op(), args, kwargs, None, None, self.assertEqual)

    @ops(DATABASE, allowed_dtypes=(torch.float64,))
    def test_tracing(self, device, dtype, op):
        *_, sample = op.sample_inputs(device, dtype, requires_grad=True)  # a graph takes seconds: one shape
        args, kwargs = (sample.input,), sample.kwargs
        fake_check(op.get_op(), args, kwargs)
        make_fx_check(op.get_op(), (sample.input.detach(),), kwargs, "symbolic")
        for dynamic in (False, True):
            aot_autograd_check(op.get_op(), args, kwargs, dynamic, check_gradients=True)


instantiate_device_type_tests(TestProjections, globals(), only_for="cpu")
