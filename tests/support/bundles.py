"""Bundles that the tests of the command line read."""

from __future__ import annotations

from pathlib import Path

from tests.support.recording import Playing, decode_range, decode_run, play_step

from kerntrace.trace.bundle import write_bundle

HOSTILE = (
    "[red]boo[/red] [bold]",
    "[/]",
    "<script>alert(1)</script>",
    "two\nlines\r\n\ttab",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "\x9b31mC1",
    "=cmd|' /C calc'!A0",
    "quote\"comma,'semi;",
    "trailing\\",
    "\u202egnp.exe",
    "\N{GREEK SMALL LETTER ALPHA}\N{CJK UNIFIED IDEOGRAPH-6F22}\N{ROCKET}",
    "",
    " ",
    "x" * 1_000_000,
)


def hostile_run() -> Playing:
    """A run whose kernels and ranges bear names made to break what prints them."""
    play = Playing()
    for _ in range(5):
        with play.within(decode_range(1)):
            for name in HOSTILE:
                with play.within(name):
                    play.wait(500)
                    play.launch(name, 30)
        play.synchronise()
    return play


def two_device_run() -> Playing:
    """One run on device 0 in process 7, another on device 1 in process 9."""
    play = Playing()
    for batch, (pid, device) in ((2, (7, 0)), (8, (9, 1))):
        play.pid, play.last_id, play.free = pid, 0, {}
        for _ in range(5):
            play_step(play, batch, graph=False)
        for row in [*play.rows["kernels"], *play.rows["memops"]]:
            if row["pid"] == pid:
                row["device_id"] = device
    return play


def unstepped_run() -> Playing:
    """Kernels that do not repeat, in ranges that are no steps'."""
    play = Playing()
    for name in "abcdefgh":
        with play.within(f"work {name}"):
            play.launch(f"{name}_kernel", 10)
    return play


def write_bundles(where: Path) -> None:
    """Write them all."""
    write_bundle(decode_run(batches=(1, 4)).build(gpu="NVIDIA H200"), where / "eager.ktrace")
    write_bundle(decode_run(batches=(1, 4, 8), graph=True).build(), where / "graph.ktrace")
    write_bundle(decode_run().build(dropped_records=3), where / "refused.ktrace")
    write_bundle(hostile_run().build(), where / "hostile.ktrace")
    write_bundle(two_device_run().build(), where / "devices.ktrace")
    write_bundle(unstepped_run().build(), where / "unstepped.ktrace")
    write_bundle(decode_run(steps=250).build(), where / "many.ktrace")
