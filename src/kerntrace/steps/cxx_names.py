"""The name of the function in what a tool prints for a kernel: demangled C++, mangled C++, or a plain name. Room: steps.

Demangled names come in two spellings: Kineto's `foo<8, true>(float*)` and Nsight Systems' `foo<(int)8, (bool)1>(T1 *)`. Both
may carry a return type, and may be cut anywhere. Nothing here is a full parser: it finds the function's qualified name and
leaves the rest. Each function looks at a character once or twice, so time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NOISE = frozenset({"native", "detail", "internal", "impl", "kernel", "kernels", "device", "vllm", "std", "v1", "_GLOBAL__N_1"})
_VERSIONED = re.compile(r"(?:CUB|THRUST|ROCPRIM|FLASHINFER)_\w*\d{3}\w*|__\d+")

# templates that only run what their argument says
_TEMPLATES = frozenset({"device_kernel", "global_kernel", "launch_kernel", "kernel", "Kernel", "Kernel2", "_kernel_agent"}) | {
    "kentry",
    "trampoline_kernel",
    "vectorized_elementwise_kernel",
    "unrolled_elementwise_kernel",
    "elementwise_kernel",
    "elementwise_kernel_manual_unroll",
    "elementwise_kernel_with_index",
    "gpu_kernel_impl",
    "gpu_kernel_impl_nocast",
    "AUnaryFunctor",
    "BUnaryFunctor",
    "BinaryFunctor",
    "reduce_kernel",
    "ReduceOp",
    "func_wrapper_t",
    "multi_tensor_apply_kernel",
    "enable_sm80_to_sm89",
    "enable_sm90_or_later",
    "enable_sm90_only",
    "enable_sm100_only",
    "enable_3x_kernel_for_sm90_or_later",
}
_DATA = re.compile(  # arguments that say which data, not which work
    r"[(&\d\-]|(?:const |unsigned |signed )*(?:void|bool|char|short|int|long|float|double|half|true|false"
    r"|__half\w*|__nv_\w+|__hip_\w+|__bf\w+|c10::(?:BFloat16|Half|complex|Float8\w+)|std::array|std::integral_constant"
    r"|at::detail::Array|(?:at::native::)?(?:OpaqueType|TensorListMetadata)|TrivialOffsetCalculator)\b"
)

_ANONYMOUS = re.compile(r"(?:<unnamed>|\(anonymous namespace\)|\{anonymous\}|`anonymous namespace')::")
_LAMBDA = re.compile(r"\{lambda[^{}]{0,400}\}|\[lambda[^\[\]]{0,400}\]|'lambda\d*'")
_OPERATOR = re.compile(r"operator ?\(\)")
_TAIL = re.compile(r"(?: const| \[clone [^\[\]]*\]|\.kd)+$")
_OPEN, _CLOSE = "<(", ">)"
_QUALIFIED = re.compile(r"(?:[^\W\d]|~)\w*(?:::\w+)*\Z")
_FOREIGN = re.compile(r"""["'`;@%?/|\\]""")  # in no C++ name once lambdas are gone
_TILE = re.compile(r"_\d+x\d+(?:x\d+)*(?=_|$)")


def function_family(text: str) -> str | None:
    """A short name for the function that a kernel's printed name speaks of; None where it does not read as one.

    `void at::native::(anonymous namespace)::foo_kernel<float, 4>(float*)` gives `at::foo`, `_my_triton_kernel` `my_triton`.

    Args:
        text: the name, one printable line.
    """
    if text.startswith("_Z"):
        return _shown(*_mangled(text))
    if "(" not in text and "<" not in text:
        plain = _TAIL.sub("", text)
        return _shown(plain, "") if _QUALIFIED.match(plain) else None
    text = _OPERATOR.sub("operator", _LAMBDA.sub("lambda", _ANONYMOUS.sub("", text)))
    return None if _FOREIGN.search(text) else _shown(*(_from_the_end(text) or _from_the_start(text)))


def _shown(qualified: str, arguments: str, depth: int = 0) -> str | None:
    """The qualified name as people say it; for a template that only runs its argument, that argument's name."""
    if not _QUALIFIED.match(qualified):
        return None
    *spaces, last = qualified.split("::")
    if last == "operator" and spaces:
        last = spaces.pop()
    if last in _TEMPLATES and arguments and depth < 6:
        for argument in _arguments(arguments):
            inner, its_own = _head(argument)
            name = None if _DATA.match(argument) else _shown(inner, its_own, depth + 1)
            if name:
                return name
    kept = [s for s in spaces if s not in _NOISE and not _VERSIONED.fullmatch(s)]
    return "::".join([*dict.fromkeys([*kept[:1], *kept[-1:]]), _bare(last)])


def _bare(name: str) -> str:
    """A function's name without `_kernel`, leading underscores and tile sizes, as far as something remains."""
    bare = _TILE.sub("", name).lstrip("_")
    for suffix in ("_kernel", "Kernel"):
        bare = bare.removesuffix(suffix)
    return bare or name


def _from_the_end(text: str) -> tuple[str, str] | None:
    """Qualified name and template arguments, read backwards from the parameter list; None if the name was cut before its end.

    A return type may hold any expression (`std::enable_if<(8) > 0, void>::type`), so it is read from the other side and never
    looked into.
    """
    end = len(_TAIL.sub("", text))
    if text[end - 1] not in _CLOSE:
        return None
    if text[end - 1] == ")":
        end = _opening(text, end)
    name_end = _opening(text, end) if text[:end].endswith(">") else end
    start = name_end
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_:~>$."):
        start = _opening(text, start) if text[start - 1] == ">" else start - 1
    if min(end, name_end, start) < 0 or any(text.count(a, 0, start) > text.count(b, 0, start) for a, b in zip(_OPEN, _CLOSE)):
        return None
    return _without_groups(text[start:name_end]), text[name_end:end][1:-1]


def _opening(text: str, end: int) -> int:
    """Where the bracket that closes at `end - 1` opens; -1 if it does not. `<` and `>` inside parentheses are comparisons."""
    angles = parentheses = 0
    for at in range(end - 1, -1, -1):
        char = text[at]
        if char == ")":
            parentheses += 1
        elif char == "(":
            parentheses -= 1
        elif char == ">" and not parentheses and text[at - 1 : at] != "-":
            angles += 1
        elif char == "<" and not parentheses:
            angles -= 1
        if parentheses < 0:
            return -1
        if char in _OPEN and not angles and not parentheses:
            return at
    return -1


def _without_groups(text: str) -> str:
    if "<" not in text:
        return text
    kept, depth = [], 0
    for char in text:
        depth += (char == "<") - (char == ">")
        if depth == 0 and char != ">":
            kept.append(char)
    return "".join(kept)


def _from_the_start(text: str) -> tuple[str, str]:
    """The same for a name that was cut: everything before the first bracket that is not part of the return type."""
    if text.startswith("std::enable_if"):
        text = text.partition(">::type ")[2] or text
    return _head(text)


def _head(text: str) -> tuple[str, str]:
    """A name up to its first bracket, without what stands before its last space, and what follows that bracket."""
    place = re.search(r"[<(]", text)
    at = place.start() if place else len(text)
    return text[:at].strip().rpartition(" ")[2], text[at + 1 :]


def _arguments(text: str) -> Iterator[str]:
    """Template arguments that are not nested, the last one with whatever follows it."""
    depth, start = 0, 0
    for at, char in enumerate(text):
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif char == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    yield text[start:].strip()


def _mangled(text: str) -> tuple[str, str]:
    """Qualified name of an Itanium-mangled name, up to the first template argument list, and those of its arguments that are
    classes (outermost first)."""
    at = re.compile(r"_ZL?(?:N[rVK]*)?").match(text).end()  # type: ignore[union-attr]
    parts: list[str] = []
    while found := re.compile(r"St|(\d{1,4})").match(text, at):
        at = found.end() + int(found[1] or 0)
        parts.append(text[found.end() : at] if found[1] else "std")
    rest = re.sub(r"L[a-z]n?\d+E|DF16[b_]|[ST][0-9A-Z]*_", "", text[at:]) if text[at : at + 1] == "I" else ""
    inner = re.search(r"N(\d{1,4})([^\W\d])", rest)
    return "::".join(parts), rest[inner.start(2) : inner.start(2) + int(inner[1])] if inner else ""
