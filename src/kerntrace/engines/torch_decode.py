"""A decode loop that needs only torch: for machines without vLLM, and as a workload of known launches. Room: engines."""

from __future__ import annotations

import importlib
from typing import Any

from kerntrace.engines.protocol import EngineSpec, StepRanges, step_name
from kerntrace.engines.torch_model import Decoder, read_shape
from kerntrace.errors import KerntraceError, UsageError

MODES = ("eager", "graph")
_WARM_STEPS = 3  # before a capture: libraries choose their kernels and allocate


class TorchEngine:
    """A started decoder.

    Attributes:
        step_ranges: where steps are marked; hooks set it.
    """

    def __init__(self, spec: EngineSpec, device: str = "cuda") -> None:
        """Make the weights.

        Raises:
            KerntraceError: if torch is missing.
            UsageError: if the mode is not one of MODES or the model has no config.json.
        """
        if spec.mode not in MODES:
            raise UsageError(f"--engine torch has no mode {spec.mode}", f"Its modes: {', '.join(MODES)}; or use --engine vllm.")
        try:
            import torch
        except ImportError as error:
            raise KerntraceError(
                f"torch cannot be imported: {error}", "Install it with `pip install kerntrace[torch]`."
            ) from None
        self.step_ranges: StepRanges | None = None
        self._spec, self._torch, self._device = spec, torch, device
        self._decoder = Decoder(read_shape(spec.model), device, getattr(torch, spec.dtype), spec.seed)
        self._graphs: dict[tuple[int, int], _Captured] = {}
        self._index = 0
        self._hooks = _made(spec.hooks)

    def generate(self, batch: int, context: int, tokens: int) -> None:
        length = self._spec.context + self._spec.tokens
        with self._torch.inference_mode():
            self._generate(self._state(batch, length), batch, context, tokens)
        self._synchronize()

    def call(self, verb: str, argument: dict[str, Any]) -> list[Any]:
        return [] if self._hooks is None else [self._hooks.kerntrace_call(verb, argument, worker=self)]

    def facts(self) -> dict[str, str]:
        said = {"torch": self._torch.__version__, "cuda": str(self._torch.version.cuda)}
        for (batch, _), captured in sorted(self._graphs.items()):
            if captured.kernels is not None:
                said[f"graph_kernels_{batch}"] = str(captured.kernels)
        return said

    def close(self) -> None:
        self._graphs.clear()

    def _state(self, batch: int, length: int) -> _Captured:
        key = (batch, length)
        if key not in self._graphs:
            self._graphs[key] = _Captured(self._decoder, batch, length)
            if self._device == "cuda":  # in eager mode too: the graph is then only counted
                self._graphs[key].capture(self._torch, keep=self._spec.mode == "graph")
        return self._graphs[key]

    def _generate(self, state: _Captured, batch: int, context: int, tokens: int) -> None:
        torch = self._torch
        ids = torch.randint(10, 500, (batch, context), device=self._device)
        self._begin(step_name(0, batch, batch * context))
        first = self._decoder.step(ids, torch.arange(context, device=self._device), state.cache, state.rotation)
        state.ids.copy_(first)
        state.position.fill_(context)
        self._end()
        for _ in range(tokens - 1):
            self._begin(step_name(batch, 0, 0, context))
            state.run()
            self._end()

    def _begin(self, name: str) -> None:
        if self.step_ranges is not None:
            self.step_ranges.push(name, self._index)
            self._index += 1

    def _end(self) -> None:
        if self.step_ranges is not None:
            self.step_ranges.pop()

    def _synchronize(self) -> None:
        if self._device == "cuda":
            self._torch.cuda.synchronize()


class _Captured:
    """One batch's buffers and, once captured, its graph. The step reads and advances the buffers in place."""

    def __init__(self, decoder: Decoder, batch: int, length: int) -> None:
        import torch

        self.decoder = decoder
        self.cache, self.rotation = decoder.cache(batch, length), decoder.rotation(length)
        self.ids = torch.zeros(batch, 1, dtype=torch.long, device=decoder.device)
        self.position = torch.zeros(1, dtype=torch.long, device=decoder.device)
        self.graph: Any = None
        self.kernels: int | None = None

    def run(self) -> None:
        """One decode step."""
        if self.graph is None:
            self._step()
        else:
            self.graph.replay()

    def capture(self, torch: Any, *, keep: bool) -> None:
        """Capture the step, count the graph's kernels where torch and the CUDA runtime say them, and replay it if kept."""
        from kerntrace.engines.graph_nodes import count_kernel_nodes

        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(_WARM_STEPS):
                self._step()
        torch.cuda.current_stream().wait_stream(aside)
        keeps = hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph")  # before torch 2.8 a captured graph could not be looked at
        graph = torch.cuda.CUDAGraph(keep_graph=True) if keeps else torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step()
        if keeps:
            self.kernels = count_kernel_nodes(graph.raw_cuda_graph())
        if keep:
            if keeps:
                graph.instantiate()
            self.graph = graph

    def _step(self) -> None:
        self.ids.copy_(self.decoder.step(self.ids, self.position, self.cache, self.rotation))
        self.position.add_(1)


def _made(hooks: str | None) -> Any:
    if hooks is None:
        return None
    module, _, name = hooks.rpartition(".")
    return getattr(importlib.import_module(module), name)()
