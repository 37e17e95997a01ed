"""Models by name: a preset becomes a directory with a config.json that an engine can load. Room: engines.

The presets' sizes are those of `kerntrace/models/*.json`. Weights are never part of a preset.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kerntrace.errors import UsageError

_PRESETS = Path(__file__).parent.parent / "models"
_OURS = ("hub_names", "source", "date")  # keys that are not of the model's config.json
_CLASSES = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "mixtral": "MixtralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "gemma3_text": "Gemma3ForCausalLM",
    "phi3": "Phi3ForCausalLM",
}


def preset_names() -> tuple[str, ...]:
    """The presets there are."""
    return tuple(sorted(path.stem for path in _PRESETS.glob("*.json")))


def preset_config(name: str) -> dict[str, Any] | None:
    """The config.json of a preset, by its own name or a hub name that it stands for; None for any other name."""
    for file in sorted(_PRESETS.glob("*.json")):
        said: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if name.casefold() in {file.stem.casefold(), *(hub.casefold() for hub in said.get("hub_names", ()))}:
            config = {key: value for key, value in said.items() if key not in _OURS}
            return config | {"architectures": [_CLASSES[config["model_type"]]]}
    return None


def model_directory(name: str, scratch: Path) -> str:
    """What an engine is given as its model: a directory for a preset or a path, else the name, taken for a hub's.

    Args:
        scratch: where a preset's directory is made; it must outlive the engine.

    Raises:
        UsageError: if it is a directory without a config.json.
    """
    path = Path(name)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise UsageError(f"{path} holds no config.json", "Name a model's directory, a preset or a hub name.")
        return str(path.resolve())
    config = preset_config(name)
    if config is None:
        if "/" not in name:
            raise UsageError(
                f"no model {name!r}", f"Presets: {', '.join(preset_names())}; or a directory, or a hub name OWNER/NAME."
            )
        return name
    directory = scratch / name.rsplit("/", 1)[-1].casefold()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    return str(directory)
