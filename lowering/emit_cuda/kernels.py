"""One kernel as a `__global__` function: it reads like the kernel's own text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import Operation, SSAValue

from ...dialects import block, kernel
from ...dialects.diagnostics import OpError, location_of
from ...dialects.kernel import Space
from ...passes.kernel_place_cuda.general import lane_padding, tile_bytes, tile_shape
from ...passes.kernel_place_cuda.options import OFFSET_ATTRIBUTE, THREADS_ATTRIBUTE, integer
from ..emit_cpp.names import Names
from ..source_text import comment_text, location_comment, mangle
from .barriers import Place, barriers_of
from .geometry import (
    Array,
    Dim,
    Length,
    Size,
    Window,
    block_length,
    buffer_lengths,
    length_text,
    name_dims,
    tile_type,
    window_of,
)
from .names import cuda_names
from .scalars import element_bytes, storage_type
from .statements import Statements, Tile


def entry_name(kernel_name: str, part: int = 0) -> str:
    """The name with C linkage of a kernel's function; one of several parallel loops has several parts."""
    return f"bbk_{mangle(kernel_name)}" + (f"_part{part}" if part else "")


@dataclass(frozen=True)
class CudaKernel:
    """What the host needs to know to launch one function."""

    entry: str
    threads: int
    shared_bytes: int
    """Of dynamic shared memory."""
    grid: tuple[str, ...]
    """The dims whose blocks are the iterations; the grid has one dimension, their product."""
    dims: Mapping[str, block.DimAttr]
    scratch: tuple[Size, ...]
    """What a block takes in global memory for itself; with any, blocks run several iterations each."""
    passes_strides: bool
    """Whether the strides of arrays are arguments; else arrays lie in row-major order, without gaps."""

    def tasks(self, extents: Mapping[str, int]) -> int:
        """How many iterations there are."""
        return prod(_trips(self.dims[name], extents[name]) for name in self.grid)

    def scratch_bytes(self, extents: Mapping[str, int]) -> int:
        """The bytes of global memory that a block takes for itself."""
        return sum(size.bytes(self.dims, extents) for size in self.scratch)

    @property
    def dynamic_extents(self) -> tuple[str, ...]:
        """The dims whose extents are arguments, in order."""
        return tuple(name for name, dim in self.dims.items() if dim.static_extent is None)


def _trips(dim: block.DimAttr, extent: int) -> int:
    if dim.is_whole:
        return 1
    return extent if dim.block_size is None else -(-extent // dim.block_size)


@dataclass
class KernelEmitter:
    """Writes one parallel loop of a kernel."""

    function: kernel.FuncOp
    parallel: kernel.ParallelOp
    part: int = 0
    dense: bool = True
    names: Names = field(default_factory=cuda_names)
    dims: dict[str, Dim] = field(default_factory=dict[str, Dim])
    arrays: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])
    tiles: dict[SSAValue, Tile] = field(default_factory=dict[SSAValue, Tile])
    windows: dict[SSAValue, Window] = field(default_factory=dict[SSAValue, Window])
    scratch: list[Size] = field(default_factory=list[Size])
    shared_bytes: int = 0

    @property
    def threads(self) -> int:
        """Threads of a block."""
        found = integer(self.parallel, THREADS_ATTRIBUTE)
        if found is None:
            raise OpError(self.parallel, "has no places for its tiles yet; run kernel-place-cuda first")
        return found

    @property
    def entry(self) -> str:
        return entry_name(self.function.sym_name.data, self.part)

    @property
    def launch(self) -> CudaKernel:
        """How the function is launched; known once its source is written."""
        return CudaKernel(
            self.entry,
            self.threads,
            self.shared_bytes,
            self.parallel.dim_names,
            self._declared,
            tuple(self.scratch),
            not self.dense,
        )

    @property
    def _declared(self) -> dict[str, block.DimAttr]:
        return block.parse_dims(self.function.attributes[block.DIMS])

    def source(self) -> str:
        """The function, as CUDA C++ text. Raises OpError for what a GPU kernel cannot do."""
        threads = self.threads
        self.dims = name_dims(self.names, self._declared)
        parameters = self._parameters()
        tiles = self._tiles()
        body = self._positions()
        statements = Statements(self.tiles, self.windows, self.dims, self.names, threads)
        waits = barriers_of(self.parallel.body.block.ops, self._place)
        body += self._body(self.parallel.body.block.ops, statements, waits)
        if self.scratch:
            parameters += ["unsigned char* __restrict__ scratch", "long long scratch_bytes", "int tasks"]
            tiles.insert(
                0, "unsigned char* const own_scratch = scratch + (long long)blockIdx.x * scratch_bytes;"
            )
            body = [
                "for (int task = blockIdx.x; task < tasks; task += gridDim.x) {",
                *(f"  {line}" for line in body),
                "  __syncthreads();  // the next iteration uses the same tiles",
                "}",
            ]
        else:
            body.insert(0, "const int task = blockIdx.x;")
        over = "".join(f"[{comment_text(dim)}]" for dim in self.parallel.dim_names)
        lines = [f"// kernel {comment_text(self.function.sym_name.data)}"]
        lines.append(
            f"// {over} in parallel: a block of {threads} threads does one iteration" if over else ""
        )
        lines.append(f'extern "C" __global__ void __launch_bounds__({threads}) {self.entry}(')
        lines += _parameter_lines(parameters)
        lines.append(") {")
        inner = [f"constexpr int THREADS = {threads};"]
        if any("warp" in line or "lane" in line for line in body):
            inner.append("const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;")
        for name, dim in self.dims.items():
            inner += dim.declarations()
            if not dim.declared.is_batch and not dim.declared.is_whole and self._is_first(name):
                inner.append(dim.first_block())
        lines += [f"  {line}" for line in [*inner, *tiles, *body]]
        lines.append("}")
        return "\n".join(line for line in lines if line) + "\n"

    def _is_first(self, name: str) -> bool:
        """Whether the block at hand of a dim is needed where no loop is over it."""
        return not any(
            isinstance(op, kernel.ForOp | kernel.ParallelOp) and name in op.dim_names
            for op in self.parallel.parent_op().walk()  # pyright: ignore[reportOptionalMemberAccess]
        )

    # Arguments

    def _parameters(self) -> list[str]:
        arguments = self.function.body.block.args
        first_output = len(arguments) - self.function.output_count
        pointers: list[str] = []
        strides: list[str] = []
        for number, argument in enumerate(arguments):
            type = argument.type
            assert isinstance(type, kernel.ArrayType)
            if type.packed is not None:
                raise OpError(self.function, "reads or writes a packed array, which has no form on a GPU")
            rank = len(type.extents)
            suffixes = [f"_s{axis}" for axis in range(rank)]
            name = self.names.claim(argument.name_hint or "array", *suffixes)
            const = "const " if number < first_output else ""
            pointers.append(f"{const}{storage_type(type.element_type)}* __restrict__ {name}")
            if self.dense:
                own = self._dense_strides(argument, type)
            else:
                own = [f"{name}{suffix}" for suffix in suffixes]
                strides += [f"long long {stride}" for stride in own]
            self.arrays[argument] = Array(name, tuple(own))
        extents = [f"int {dim.extent}" for dim in self.dims.values() if not dim.is_static]
        return [*pointers, *strides, *extents]

    def _dense_strides(self, argument: SSAValue, type: kernel.ArrayType) -> list[str]:
        """The strides of an array in row-major order."""
        cursor = next(
            (use.operation for use in argument.uses if isinstance(use.operation, kernel.CursorOp)), None
        )
        lengths: list[list[str]] = []
        for axis, extent in enumerate(type.extents):
            if extent is not None:
                lengths.append([str(extent)])
            elif cursor is None:
                lengths.append(["0"])
            else:
                item = cursor.result.type
                assert isinstance(item, kernel.CursorType)
                lengths.append(
                    [
                        self.dims[name].extent if name in item.dims else self.dims[name].trips
                        for name in cursor.axis_dims[axis]
                    ]
                )
        return [_product(lengths[axis + 1 :]) for axis in range(len(lengths))]

    # Memory

    def _tiles(self) -> list[str]:
        """The lines that say where tiles and buffers lie."""
        lines: list[str] = []
        for op in self.parallel.walk():
            if isinstance(op, kernel.TileOp) and op.result.uses:
                lines += self._tile(op)
            elif isinstance(op, kernel.BufferOp):
                lines += self._buffer(op)
        return lines

    def _tile(self, op: kernel.TileOp) -> list[str]:
        type = tile_type(op.result)
        element = storage_type(type.element_type)
        width = element_bytes(type.element_type)
        outer, lane = tile_shape(type)
        lengths: list[Length] = [
            block_length(name, self._declared) for name in (outer, lane) if name is not None
        ]
        stride = ""
        name = self.names.claim(op.result.name_hint or "tile", "_ld", "_at")
        lines: list[str] = []
        if len(lengths) == 2:
            stride = f"{name}_ld"
            if isinstance(lengths[1], int):
                lengths[1] = lane_padding(lengths[1], width)
                lines.append(f"constexpr int {stride} = {lengths[1]};")
            else:
                lines.append(f"const int {stride} = {length_text(lengths[1], self.dims)};")
        what = f"[{', '.join(comment_text(dim) for dim in type.dims)}]"
        if type.rows_in_lanes:
            what += ", rows contiguous"
        if type.space.data is Space.Shared:
            offset = integer(op, OFFSET_ATTRIBUTE)
            size = tile_bytes(op.result, self._declared)
            if offset is None or size is None:
                raise OpError(op, "is in shared memory, but has no offset there or no known size")
            self.shared_bytes = max(self.shared_bytes, offset + -(-size // 16) * 16)
            where = f"bb_shared + {offset}"
        elif type.space.data is Space.Scratch:
            where = f"own_scratch + {self._far(name, Size((*lengths, width)), lines)}"
            what += ", in global memory"
        else:
            raise OpError(op, "is in registers, where the threads of a block would have to share it out")
        lines.append(f"{element}* const {name} = ({element}*)({where});  // {what}")
        self.tiles[op.result] = Tile(name, stride, type)
        return lines

    def _far(self, name: str, size: Size, lines: list[str]) -> str:
        """Room in the block's own global memory; gives the offset."""
        previous = f"{self._far_end}" if self.scratch else "0"
        self.scratch.append(size)
        lines.append(f"const long long {name}_at = {previous};")
        self._far_end = f"{name}_at + {size.text(self.dims)}"
        return f"{name}_at"

    _far_end: str = "0"

    def _buffer(self, op: kernel.BufferOp) -> list[str]:
        type = op.result.type
        assert isinstance(type, kernel.ArrayType)
        lengths = buffer_lengths(op, self._declared)
        name = self.names.claim(op.result.name_hint or "list", "_at")
        texts = [length_text(length, self.dims) for length in lengths]
        strides = tuple(_product([[text] for text in texts[axis + 1 :]]) for axis in range(len(texts)))
        lines: list[str] = []
        element = storage_type(type.element_type)
        offset = self._far(name, Size((*lengths, element_bytes(type.element_type))), lines)
        axes = ", ".join(comment_text(dim) for dim in op.axis_dims)
        lines.append(f"{element}* const {name} = ({element}*)(own_scratch + {offset});  // list [{axes}]")
        self.arrays[op.result] = Array(name, strides)
        return lines

    def _place(self, value: SSAValue) -> Place | None:
        """Where a tile or the array of a cursor lies."""
        if isinstance(value.owner, kernel.CursorOp):
            array = value.owner.array
            return None if kernel.is_input(array) else (array, 0, 1)
        type = tile_type(value)
        offset = integer(value.owner, OFFSET_ATTRIBUTE) if isinstance(value.owner, Operation) else None
        size = tile_bytes(value, self._declared)
        if type.space.data is Space.Shared and offset is not None and size is not None:
            return ("shared", offset, offset + size)
        return (value, 0, 1)

    # Code

    def _positions(self) -> list[str]:
        """Which blocks an iteration has at hand."""
        names = self.parallel.dim_names
        if not names:
            return ["(void)task;"]
        longest_last = {inner.until_dim for inner in self.parallel.walk() if isinstance(inner, kernel.ForOp)}
        lines: list[str] = []
        rest = "task"
        for position, name in reversed(list(enumerate(names))):
            dim = self.dims[name]
            number = rest if position == 0 else f"{rest} % {dim.trips}"
            if name in longest_last:
                number = f"{dim.trips} - 1 - {number}"
            comment = "  // the longest first" if name in longest_last else ""
            lines.append(f"const int {dim.number} = {number};{comment}")
            rest = f"{rest} / {dim.trips}" if rest == "task" else f"({rest}) / {dim.trips}"
            lines += dim.position()
        return lines

    def _body(self, ops: Iterable[Operation], statements: Statements, waits: set[Operation]) -> list[str]:
        lines: list[str] = []
        last = ""
        for op in ops:
            written = self._statement(op, statements, waits)
            where = location_of(op)
            comment = (
                ""
                if where is None
                else location_comment(f"{where.filename.data}:{where.line.data}:{where.column.data}")
            )
            if op in waits:
                lines.append("__syncthreads();")
            if written and comment and comment != last and not isinstance(op, kernel.ForOp):
                lines.append(comment)
                last = comment
            lines += written
        return lines

    def _statement(self, op: Operation, statements: Statements, waits: set[Operation]) -> list[str]:
        match op:
            case kernel.TileOp() | kernel.BufferOp():
                return []
            case kernel.CursorOp():
                name = self.names.claim(op.result.name_hint or "block")
                self.windows[op.result], lines = window_of(op, self.arrays[op.array], self.dims, name)
                return lines
            case kernel.ForOp():
                return self._for(op, statements, waits)
            case _:
                return statements.lines(op)

    def _for(self, op: kernel.ForOp, statements: Statements, waits: set[Operation]) -> list[str]:
        dim = self.dims[op.dim_names[0]]
        count, trips = dim.number, dim.trips
        lines: list[str] = []
        end = None
        if op.until_dim is not None:
            last = self.dims[op.until_dim]
            after = f"{last.number} + 1" if last.declared.is_batch else f"{last.start} + {last.width}"
            if op.until_offset:
                after += f" + {op.until_offset}"
            end = self.names.claim(f"{dim.extent}end")
            lines.append(f"const int {end} = min({dim.extent}, {after});  // the rest is masked")
            trips = end if dim.declared.is_batch else f"({end} + {dim.size} - 1) / {dim.size}"
        inner = [*dim.position(end), *self._body(op.body.block.ops, statements, waits)]
        return [
            *lines,
            f"for (int {count} = 0; {count} < {trips}; {count}++) {{",
            *(f"  {line}" for line in inner),
            "}",
        ]


def _product(lengths: Iterable[Iterable[str]]) -> str:
    """A product of extents; numbers are multiplied."""
    constant, factors = 1, list[str]()
    for axis in lengths:
        for factor in axis:
            if factor.isdecimal():
                constant *= int(factor)
            else:
                factors.append(factor)
    if not factors:
        return str(constant)
    known = [str(constant)] if constant != 1 else []
    return f"(long long){' * '.join([*factors, *known])}" if len(factors) + len(known) > 1 else factors[0]


def _parameter_lines(parameters: list[str]) -> list[str]:
    lines = [""]
    for number, parameter in enumerate(parameters):
        text = parameter + ("," if number + 1 < len(parameters) else "")
        if lines[-1] and len(lines[-1]) + len(text) > 100:
            lines.append("")
        lines[-1] += f" {text}" if lines[-1] else f"    {text}"
    return lines
