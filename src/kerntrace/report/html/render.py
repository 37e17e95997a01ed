"""From values to the one file: templates with autoescape, styles, scripts and their data inline. Room: report."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerntrace import __version__
from kerntrace.errors import KerntraceError

if TYPE_CHECKING:
    from jinja2 import Environment

MISSING = "pip install 'kerntrace[report]'"
_HERE = Path(__file__).parent


def require_report() -> None:
    """See to it that what draws a page is installed.

    Raises:
        KerntraceError: naming the extra.
    """
    missing = [name for name in ("jinja2", "bokeh") if find_spec(name) is None]
    if missing:
        raise KerntraceError(f"the report needs {missing[0]}, which is not installed", f"Install it: {MISSING}")


def render(
    template: str, context: Mapping[str, Any], figures: Mapping[str, Any], data: Mapping[str, Any], scripts: list[str]
) -> str:
    """The page.

    Args:
        figures: Bokeh figures by the id of the element that holds their JSON.
        data: documents for the page's scripts by the id of the element that holds them.
        scripts: names of the page's own scripts in `static`, in order.
    """
    from bokeh.embed import json_item
    from markupsafe import Markup

    from kerntrace.report.html.pack import script_json

    library = [_bokeh()] if figures else []
    sources = [_inline(text) for text in (*(_static(name) for name in scripts), *library, "kerntrace.begin();")]
    held = [(id_, script_json(document)) for id_, document in data.items()]
    held += [(id_, script_json(json_item(figure))) for id_, figure in figures.items()]
    return (
        _environment()
        .get_template(template)
        .render(
            **context,
            version=__version__,
            css=Markup(_static("report.css")),
            data=held,
            scripts=[Markup(text) for text in sources],
            script_sources=" ".join(f"'sha256-{_hash(text)}'" for text in sources),
        )
    )


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _static(name: str) -> str:
    return (_HERE / "static" / name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _bokeh() -> str:
    """Bokeh's script as its wheel ships it."""
    from bokeh.resources import Resources

    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


def _inline(script: str) -> str:
    """A script that an HTML parser takes for one script, whatever strings are in it."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _hash(script: str) -> str:
    """What the page's Content-Security-Policy knows a script by."""
    return b64encode(sha256(script.encode()).digest()).decode()
