"""A profile as the text of a TOML file that `model.profile.load_profile` reads back. Room: accounting | model."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from kerntrace.model.profile import Profile


def profile_text(profile: Profile, comment: str = "") -> str:
    """The profile as TOML.

    Args:
        comment: lines that stand before it.
    """
    said: dict[str, Any] = msgspec.to_builtins(profile)
    entries = [(name, entry) for name in ("constant", "residual") for entry in said.pop(name, ())]
    tables = {key: said.pop(key) for key in ("machine", "measured") if key in said}
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    lines += [f"{key} = {_value(value)}" for key, value in said.items()]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in table.items())]
    for table_name, entry in entries:
        lines += ["", f"[[{table_name}]]", *(f"{key} = {_value(value)}" for key, value in entry.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, int):
        return repr(value)
    # A JSON string is a TOML string but for DEL, which JSON leaves as it is.
    return json.dumps(value).replace("\x7f", "\\u007f") if isinstance(value, str) else repr(float(value))


def _key(key: str) -> str:
    return key if key.isidentifier() and key.isascii() else _value(key)
