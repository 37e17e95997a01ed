"""What the name of a step's range says: kind, batch, prefill tokens. Room: steps.

Known names, in the order in which they are looked for:
    kerntrace.step decode=4 prefill=0 prefill_tokens=0      kerntrace's own, written by its engines
    execute_context_P(p)_generation_N(n)                    vLLM's own: P prefill requests of p tokens, N decode requests
    execute_R_context_P(sqp...)_generation_N(sqn...)        vLLM's with the shapes of attention
"""

from __future__ import annotations

import re
from dataclasses import dataclass

KINDS = ("decode", "prefill", "mixed", "empty", "unknown")
UNKNOWN = -1

KERNTRACE = re.compile(r"^kerntrace\.step((?: \w{1,32}=\d{1,9})*)$")
VLLM = re.compile(
    r"execute_(?:\d+_)?context_(\d{1,9})\((?:sq)?(\d{1,9})[^()]*\)_generation_(\d{1,9})\((?:sq)?(\d{1,9})[^()]*\)"
)


@dataclass(frozen=True, slots=True)
class StepName:
    """What is said of a step.

    Attributes:
        kind: decode, prefill, mixed, empty or unknown.
        batch: sequences decoded, for a decode step of a known batch.
        prefill_tokens: tokens prefilled, where some were.
    """

    kind: str
    batch: int | None = None
    prefill_tokens: int | None = None


def read_step_name(name: str, pattern: re.Pattern[str] | None = None) -> StepName:
    """What a step's range name says; all unknown for a name of neither known form.

    A user's own pattern may name groups `batch` and `prefill_tokens`, which then say the same as the known names.
    """
    if own := KERNTRACE.match(name):
        said = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", own[1])}
        return _of(said.get("prefill", 0), said.get("prefill_tokens", 0), said.get("decode", 0))
    if vllm := VLLM.search(name):
        return _of(int(vllm[1]), int(vllm[2]), int(vllm[3]))
    found = pattern.search(name) if pattern else None
    said = {k: int(v) for k, v in found.groupdict().items() if v and v.isdecimal() and len(v) <= 9} if found else {}
    if "batch" in said or "prefill_tokens" in said:
        tokens = said.get("prefill_tokens", 0)
        return _of(int(tokens > 0), tokens, said.get("batch", 0))
    return StepName("unknown")


def _of(prefills: int, tokens: int, decodes: int) -> StepName:
    if prefills:
        return StepName("mixed" if decodes else "prefill", None, tokens)
    return StepName("decode", decodes) if decodes else StepName("empty")
