"""A module's variables from launch to launch, printf, and denormals, in both tiers."""

from __future__ import annotations

import numpy as np
import pytest
from bb.runtime.cuda.compile import cuda_compiler_problem
from bb.runtime.cuda.emulator import EmulatedModule, EmulatorBuildError
from bb.runtime.cuda.ptx import PtxModule
from cuda_kernels import source_of

Module = EmulatedModule | PtxModule


@pytest.fixture(params=["source", "ptx"])
def module(request: pytest.FixtureRequest) -> Module:
    if request.param == "source":
        return EmulatedModule(source_of("variables"), check=True, file_name="variables.cu")
    if cuda_compiler_problem() is not None:
        pytest.skip("needs NVRTC")
    return PtxModule(source_of("variables"), check=True, file_name="variables.cu")


def test_variables_keep_their_values(module: Module) -> None:
    counter, weights = (module.get_global(name) for name in ("counter", "weights"))
    assert counter.view(np.int32).tolist() == [5]
    assert weights.view(np.float32).tolist() == [1, 2, 3, 4]
    assert module.get_global("never_used").view(np.int32).tolist() == [0]
    y, kernel = np.zeros(4, np.float32), module.get_function("count")
    kernel((1,), (4,), (y,))
    assert y.tolist() == [11, 22, 13, 24]
    assert counter.view(np.int32).tolist() == [9]
    # Another kernel object of the module sees the same variables, and what Python writes to them.
    weights.view(np.float32)[:] = 0.5
    module.get_global("_ZN5inner5shiftE").view(np.int16)[:] = (100, 0)
    module.get_function("count")((1,), (4,), (y,))
    assert y.tolist() == [111.5, 22.5, 113.5, 24.5]
    assert np.array_equal(module.get_global("sums").view(np.float32), y)
    assert counter.view(np.int32).tolist() == [13]
    # A launch that does not come to its end changes nothing.
    assert not module.get_function("stops").launch((1,), (1,), ()).ok
    assert counter.view(np.int32).tolist() == [13]
    with pytest.raises(EmulatorBuildError, match=r"there is no variable 'nothing' in variables.cu: it has '"):
        module.get_global("nothing")


def test_variables_beside_large_buffers() -> None:
    module = EmulatedModule(source_of("variables"), check=True, file_name="variables.cu")
    y = np.zeros(20 << 20, np.float32)  # more than a kernel may print
    module.get_function("count")((1,), (4,), (y,))
    assert module.get_global("counter").view(np.int32).tolist() == [9]


def test_modules_do_not_share_variables() -> None:
    one, other = (EmulatedModule(source_of("variables"), check=True, file_name="variables.cu") for _ in "12")
    one.get_function("count")((1,), (4,), (np.zeros(4, np.float32),))
    assert one.get_global("counter").view(np.int32).tolist() == [9]
    assert other.get_global("counter").view(np.int32).tolist() == [5]


def test_printf(module: Module) -> None:
    report = module.get_function("prints").launch((1,), (2,), (np.array([1.5, 2.25], np.float32),))
    assert report.ok
    line = "-3| 1.50|7   |word|x|%|1099511627776|0000beef|2.250000e+00|   5"
    assert sorted(report.output.splitlines()) == sorted(["none", "none", line])


def test_denormals(module: Module) -> None:
    tiny = np.float32(1e-40)
    x, y, total = np.full(2, tiny), np.zeros(10, np.float32), np.zeros(1, np.float32)
    module.get_function("denormals")((1,), (1,), (x, y, total))
    assert y[0] == 0
    assert y[1] == tiny
    assert total[0] == 0
    if isinstance(module, PtxModule):
        assert y[2] == tiny
        assert y[3] == tiny / 2
        assert y[4:9].tolist() == [0, 2 * tiny, 1, 1, 0]
        assert y[9] == 0
        assert np.signbit(y[9])
