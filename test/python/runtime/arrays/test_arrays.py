"""Views of arrays without copies, what is refused, and memory for results."""

import ctypes
import gc
import weakref
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from bb.dialects.array import DYNAMIC
from bb.runtime.arrays.limits import allocate, available_memory
from bb.runtime.arrays.views import ArrayView, device_view, input_view, output_view, refuse_overlap, view_of
from bb.runtime.errors import InputError

F32 = np.dtype(np.float32)
BF16 = np.dtype(ml_dtypes.bfloat16)


class Foreign:
    """An array that offers a numpy array's memory by DLPack, in the structures that a test asks for."""

    def __init__(self, array: np.ndarray[Any, Any], **changes: Any):
        self.array = array
        self.changes = changes
        self.freed = 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.changes.get("device", 1), 0

    def __dlpack__(self, **options: Any) -> object:
        if "raises" in self.changes:
            raise self.changes["raises"]
        versioned = self.changes.get("versioned", True)
        if not versioned and options:
            raise TypeError("unexpected keyword argument 'max_version'")
        kind = {"f": 2, "i": 0, "u": 1, "c": 5, "b": 6, "V": 4}[
            "V" if self.array.dtype == BF16 else self.array.dtype.kind
        ]
        size = self.array.dtype.itemsize
        rank = self.array.ndim
        self.shape = (ctypes.c_int64 * rank)(*self.array.shape)
        self.strides = (ctypes.c_int64 * rank)(*(stride // size for stride in self.array.strides))
        offset = self.changes.get("offset", 0)
        words = self.changes.get("compact", False)
        tensor = b"".join(
            [
                (self.array.ctypes.data - offset).to_bytes(8, "little"),
                (1).to_bytes(4, "little") + bytes(4) + rank.to_bytes(4, "little"),
                bytes([self.changes.get("code", kind), self.changes.get("bits", 8 * size)]),
                self.changes.get("lanes", 1).to_bytes(2, "little"),
                ctypes.addressof(self.shape).to_bytes(8, "little"),
                (0 if words else ctypes.addressof(self.strides)).to_bytes(8, "little"),
                offset.to_bytes(8, "little"),
            ]
        )
        if versioned:
            major = self.changes.get("major", 1)
            flags = self.changes.get("flags", 0)
            head = major.to_bytes(4, "little") + bytes(4) + bytes(16) + flags.to_bytes(8, "little")
            data, self.name = head + tensor, ctypes.c_char_p(b"dltensor_versioned")
        else:
            data, self.name = tensor + bytes(16), ctypes.c_char_p(b"dltensor")
        self.block = ctypes.create_string_buffer(data, len(data))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.block), self.name, None)


def matrix() -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8", "?", BF16], ids=str)
def test_numpy_arrays_are_seen_as_they_are(dtype: Any):
    array = np.ones((2, 3), dtype)
    view = view_of(array, "x")
    assert (view.pointer, view.shape, view.strides) == (array.ctypes.data, (2, 3), (3, 1))
    assert view.dtype == array.dtype
    assert view.owner is array
    assert view.writable


@pytest.mark.parametrize(
    "cut",
    [
        lambda a: a.T,
        lambda a: a[::-1, ::2],
        lambda a: a[1:, 2:5],
        lambda a: np.broadcast_to(a[:, None], (4, 3, 6)),
        lambda a: a[2],
        lambda a: a[2, 3:4],
        lambda a: a[..., None],
    ],
)
def test_strided_arrays_are_not_copied(cut: Any):
    array = cut(matrix())
    view = view_of(array, "x")
    assert view.pointer == array.ctypes.data
    assert view.shape == array.shape
    for extent, stride, wanted in zip(array.shape, view.strides, array.strides, strict=True):
        assert extent == 1 or stride * 4 == wanted
    assert np.array_equal(view.numpy(), array)
    assert np.shares_memory(view.numpy(), array)
    steps = zip(np.indices(array.shape), array.strides, strict=True)
    addresses = array.ctypes.data + sum(index * stride for index, stride in steps)
    assert view.byte_range == (addresses.min(), addresses.max() + 4)


def test_strides_that_are_never_taken_are_row_major():
    array = np.lib.stride_tricks.as_strided(matrix(), (1, 4, 1), (777, 24, 3))
    assert view_of(array, "x").strides == (4, 6, 1)


def test_scalars_have_rank_0():
    assert view_of(np.float32(3), "x").numpy() == 3
    assert view_of(np.array(3.0), "x").shape == ()


def test_a_view_keeps_its_memory():
    array = matrix()
    gone = weakref.ref(array)
    seen = view_of(array, "x").numpy()
    del array
    gc.collect()
    assert seen.sum() == np.arange(24).sum()
    assert gone() is not None
    del seen
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "?", "u1", "c8", BF16], ids=str)
def test_dlpack_arrays_are_not_copied(versioned: bool, dtype: Any):
    array = np.ones((4, 6), dtype)[::2, 1:]
    foreign = Foreign(array, versioned=versioned)
    view = view_of(foreign, "x")
    assert (view.pointer, view.shape, view.strides) == (array.ctypes.data, (2, 5), (12, 1))
    assert view.dtype == array.dtype
    assert view.writable
    assert np.array_equal(view.numpy(), array)


def test_dlpack_without_strides_and_with_an_offset():
    array = matrix()
    view = view_of(Foreign(array, compact=True, offset=16), "x")
    assert (view.pointer, view.strides) == (array.ctypes.data, (6, 1))


def test_dlpack_arrays_live_as_long_as_their_view():
    foreign = Foreign(matrix())
    gone = weakref.ref(foreign)
    view = view_of(foreign, "x")
    del foreign
    gc.collect()
    assert view.numpy()[3, 5] == 23
    del view
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": 2}, "x is on another device (CUDA), expected an array in the CPU's memory"),
        ({"device": 99}, "x is on another device (DLPack device type 99), expected"),
        (
            {"raises": BufferError("it requires gradients")},
            "x cannot be read by DLPack: it requires gradients",
        ),
        ({"major": 2}, "x has DLPack version 2, at most 1 can be read"),
        ({"lanes": 4}, "x has an element type that cannot be used (DLPack code 2, 32 bits)"),
        ({"code": 17, "bits": 4}, "x has an element type that cannot be used (DLPack code 17, 4 bits)"),
        ({"bits": 24}, "x has an element type that cannot be used (DLPack code 2, 24 bits)"),
    ],
)
def test_dlpack_refusals(changes: dict[str, Any], message: str):
    with pytest.raises(InputError) as error:
        view_of(Foreign(matrix(), **changes), "x")
    assert str(error.value).startswith(message)


def test_what_gives_no_capsule_is_refused():
    class Liar(Foreign):
        def __dlpack__(self, **options: Any) -> object:
            return "capsule"

    with pytest.raises(InputError, match="x gives no DLPack capsule"):
        view_of(Liar(matrix()), "x")


@pytest.mark.parametrize(("flags", "why"), [(1, "read-only"), (2, "read-only")])
def test_dlpack_copies_and_constants_take_no_results(flags: int, why: str):
    with pytest.raises(InputError, match=why):
        output_view(Foreign(matrix(), flags=flags), "out", F32, (4, 6))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, 2.0], "x is of type 'list', expected a numpy array or one with __dlpack__"),
        (None, "x is of type 'NoneType', expected a numpy array or one with __dlpack__"),
        (matrix().astype(">f4"), "x has dtype >f4, whose byte order is not this machine's"),
        (np.array([object()]), "x has dtype object, expected numbers"),
        (np.ma.masked_array(matrix()), "x is a masked array, whose mask would be lost; pass an ordinary one"),
        (
            np.ones(4, np.dtype([("a", "i1"), ("b", "f4")]))["b"],
            "x has a stride of 5 bytes on axis 0, expected a multiple of the item size of 4",
        ),
        (
            np.frombuffer(bytes(17), np.uint8)[1:].view(np.float32),
            "x starts at an address that is no multiple of 4 bytes",
        ),
    ],
)
def test_what_has_no_view_is_refused(value: object, message: str):
    with pytest.raises(InputError) as error:
        view_of(value, "x")
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.ones((4, 6)), "argument %x of 'f' has dtype float64, expected float32"),
        (np.ones((4, 6), BF16), "argument %x of 'f' has dtype bfloat16, expected float32"),
        (np.ones(24, np.float32), "argument %x of 'f' has rank 1, expected 2: [?, 6]"),
        (np.ones((4, 5), np.float32), "argument %x of 'f' has extent 5 on axis 1, expected 6: [?, 6]"),
        (np.ones((0, 6), np.float32), "argument %x of 'f' has extent 0 on axis 0, expected at least 1"),
    ],
)
def test_what_does_not_fit_an_argument_is_refused(value: object, message: str):
    with pytest.raises(InputError) as error:
        input_view(value, "argument %x of 'f'", F32, (DYNAMIC, 6))
    assert str(error.value) == message


def test_saved_bfloat16_is_recognised(tmp_path: Path):
    np.save(tmp_path / "x.npy", np.ones((2, 3), BF16))
    loaded = np.load(tmp_path / "x.npy")
    assert input_view(loaded, "x", BF16, (2, 3)).dtype == BF16
    with pytest.raises(InputError, match="dtype"):
        input_view(loaded, "x", np.dtype(np.float16), (2, 3))


def test_outputs_are_writable_and_have_one_place_for_each_element():
    array = matrix()
    assert output_view(array[::-1, ::2], "out", F32, (4, 3)).writable
    assert output_view(array.T, "out", F32, (6, 4)).writable
    frozen = array.copy()
    frozen.flags.writeable = False
    with pytest.raises(InputError, match="out is read-only, expected an array that can be written to"):
        output_view(frozen, "out", F32, (4, 6))
    for strides in [(0, 4), (4, 4), (8, 4), (-4, 4)]:
        shared = np.lib.stride_tricks.as_strided(array[2:], (2, 3), strides)
        with pytest.raises(InputError, match="elements of out share memory"):
            output_view(shared, "out", F32, (2, 3))


def views(**arrays: Any) -> list[ArrayView]:
    return [view_of(array, name) for name, array in arrays.items()]


def test_overlap_is_refused():
    array = matrix()
    with pytest.raises(InputError, match="out shares memory with x, expected an array of its own"):
        refuse_overlap(views(out=array), views(y=matrix(), x=array))
    with pytest.raises(InputError, match="out shares memory with x"):
        refuse_overlap(views(out=array[:3]), views(x=array[2:, ::-1]))
    with pytest.raises(InputError, match="out shares memory with x"):
        refuse_overlap(views(out=array), views(x=Foreign(array[3:, 5:])))
    with pytest.raises(InputError, match="second shares memory with first"):
        refuse_overlap(views(first=array[0], second=array[0, 5:]), [])


def test_neighbours_do_not_overlap():
    array = matrix()
    refuse_overlap(views(out=array[:2]), views(x=array[2:]))
    refuse_overlap(views(out=array[:, :3], other=array[:, 5:]), views(x=array[:, 3:5]))
    refuse_overlap(views(out=array[::2], other=array[1::2]), views(x=matrix(), y=matrix()[:0]))
    # Inputs may share what they like.
    refuse_overlap(views(out=matrix()), views(x=array, y=array))


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (7, 1, 2), (0, 4)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "?", BF16], ids=str)
def test_results_are_aligned(shape: tuple[int, ...], dtype: Any):
    arrays = [allocate("result", shape, np.dtype(dtype)) for _ in range(5)]
    for array in arrays:
        assert array.size == 0 or array.ctypes.data % 64 == 0
        assert (array.shape, array.dtype, array.flags.c_contiguous) == (shape, np.dtype(dtype), True)
        array[...] = 1
    refuse_overlap([view_of(array, f"result {n}") for n, array in enumerate(arrays)], [])


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2**62, 2), "y of shape [4611686018427387904, 2] is too large: its offsets do not fit into 64 bits"),
        ((2**40, 2**40, 2**40), "is too large: its offsets do not fit into 64 bits"),
        ((2**48,), "y of shape [281474976710656] needs 1.0 PiB, but only "),
        ((3, -1), "y has shape [3, -1], expected no negative extents"),
    ],
)
def test_sizes_are_refused_before_allocation(
    shape: tuple[int, ...], message: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(np, "empty", None)
    with pytest.raises(InputError) as error:
        allocate("y", shape, F32)
    assert message in str(error.value)


def test_small_results_do_not_wait_for_the_system(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bb.runtime.arrays.limits.available_memory", lambda: 0)
    assert allocate("y", (64, 64), F32).shape == (64, 64)
    with pytest.raises(InputError, match=r"y of shape \[4194304\] needs 16.0 MiB, but only 0 bytes"):
        allocate("y", (2**22,), F32)


def test_available_memory_is_that_of_the_container(tmp_path: Path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9000 kB\nMemAvailable:    4000 kB\n")
    own = tmp_path / "own"
    own.write_text("0::/job\n")
    job = tmp_path / "cgroup" / "job"
    job.mkdir(parents=True)
    root = tmp_path / "cgroup"
    assert available_memory(meminfo, root, own) == 4000 * 1024
    (job / "memory.max").write_text("max\n")
    (job / "memory.current").write_text("500000\n")
    (job / "memory.stat").write_text("anon 1\ninactive_file 200000\n")
    assert available_memory(meminfo, root, own) == 4000 * 1024
    (job / "memory.max").write_text("1000000\n")
    assert available_memory(meminfo, root, own) == 700000
    (job / "memory.max").write_text("100000\n")
    assert available_memory(meminfo, root, own) == 0


def test_this_machine_has_memory():
    available = available_memory()
    assert available is not None
    assert available > 2**20


@pytest.mark.parametrize(("query", "what"), [("is_neg", "negated"), ("is_conj", "conjugated")])
def test_views_that_are_changed_when_they_are_read_are_refused(query: str, what: str):
    """As torch's `torch.conj(c).imag` is: DLPack gives the memory before the change."""

    class Lazy(Foreign):
        answer = True

    setattr(Lazy, query, lambda self: self.answer)
    lazy = Lazy(np.ones(3, np.float32))
    with pytest.raises(InputError, match=rf"^x is a view that is {what} when it is read, .*resolve_"):
        view_of(lazy, "x")
    with pytest.raises(InputError, match=what):
        device_view(lazy, "x", stream=1)
    lazy.answer = False
    assert view_of(lazy, "x").shape == (3,)


def test_torch_tensors_are_not_copied():
    torch = pytest.importorskip("torch")
    for dtype, wanted in [
        (torch.float32, F32),
        (torch.bfloat16, BF16),
        (torch.float16, np.float16),
        (torch.float64, np.float64),
    ]:
        tensor = torch.arange(24).reshape(4, 6).to(dtype)
        for part in (tensor, tensor.t(), tensor[1:, ::2]):
            view = input_view(part, "x", np.dtype(wanted), tuple(part.shape))
            assert view.pointer == part.data_ptr()
            assert [n * s for n, s in zip(view.shape, view.strides, strict=True) if n > 1] == [
                n * s for n, s in zip(part.shape, part.stride(), strict=True) if n > 1
            ]
            assert np.array_equal(view.numpy().astype(np.float64), part.to(torch.float64).numpy())
    output = torch.zeros(4, 6)
    output_view(output, "out", F32, (4, 6)).numpy()[...] = 3
    assert float(output.sum()) == 72


def test_torch_refusals():
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match=r"x cannot be read by DLPack: .*grad"):
        view_of(torch.ones(3, requires_grad=True), "x")
    with pytest.raises(InputError, match="x "):
        view_of(torch.ones(3, device="meta"), "x")
    negated = torch.conj(torch.ones(3, dtype=torch.complex64)).imag
    with pytest.raises(InputError, match="x is a view that is negated when it is read"):
        view_of(negated, "x")
    assert np.array_equal(view_of(negated.resolve_neg(), "x").numpy(), negated.numpy(force=True))
