"""The formats that a trace is exported to: what each is called, what its readers show, and what they cannot. Room: export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kerntrace.accounting.analysis import Analysis
from kerntrace.export.chrome import write_chrome
from kerntrace.export.findings import Findings
from kerntrace.export.nsys_sqlite import write_nsys_sqlite
from kerntrace.export.nvtxt import write_nvtxt
from kerntrace.export.perfetto_trace import write_perfetto
from kerntrace.export.tables import NAMES, write_csv, write_parquet
from kerntrace.trace.model import Trace


@dataclass(frozen=True, slots=True)
class Export:
    """What is exported: the trace or a part of it, the findings of that part, and the analysis they come from."""

    trace: Trace
    findings: Findings
    analysis: Analysis


Writer = Callable[[Export, Path], None]


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        ending: of the file's or directory's name.
        write: writes the export to a path where nothing is yet; None for a report, which more than one file makes up.
        shows: what programs read it, and what they show.
        lacks: what they cannot show.
        inside: the files of a directory; empty for a single file.
    """

    ending: str
    write: Writer | None
    shows: str
    lacks: str
    inside: tuple[str, ...] = ()


_RANGES_ONLY = (
    "every row is a range: no launch arrows, grids or registers, and the GUI's Stats view stays empty. First-class CUDA rows"
    " need a report that nsys recorded: kerntrace record --collector nsys"
)
_NATIVE = "kernels, copies, API calls and NVTX ranges as native rows"

FORMATS = {
    "nsys-sqlite": Format(
        ".sqlite",
        lambda export, path: write_nsys_sqlite(export.trace, export.findings, path),
        f"nsys stats, nsys analyze, sqlite3 and DuckDB read it as an export of nsys: {_NATIVE}; steps, idle causes and phases"
        " as NVTX ranges of the domain kerntrace",
        "the Nsight Systems GUI opens no SQLite (use nsys-rep); synchronisation, graph creation and samples are absent",
    ),
    "nvtxt": Format(
        ".nvtxt",
        lambda export, path: write_nvtxt(export.trace, export.findings, path),
        "NVIDIA's ImportNvtxt makes a report for the Nsight Systems GUI: ImportNvtxt --cmd create -n FILE -o OUT.nsys-rep",
        _RANGES_ONLY,
    ),
    "nsys-rep": Format(
        ".nsys-rep",
        None,
        "the Nsight Systems GUI opens the .nsys-rep: steps, idle by cause, kernels a stream, NVTX and API calls a thread; nsys"
        " stats reads the .sqlite beside it, which has native rows",
        _RANGES_ONLY,
    ),
    "chrome": Format(
        ".json.gz",
        lambda export, path: write_chrome(export.trace, export.findings, path),
        f"ui.perfetto.dev, HTA and others read it as a trace of torch.profiler: {_NATIVE}, an arrow from each launch to all"
        " that it launched, counters; steps, idle causes and phases as tracks of their own",
        "HTA takes one kernel a launch, so it counts those of graph replays too low; there are no CPU operators or shapes",
    ),
    "perfetto": Format(
        ".pftrace",
        lambda export, path: write_perfetto(export.trace, export.findings, path),
        "ui.perfetto.dev and trace_processor read it: tracks for streams, threads, steps and idle causes, arrows, counters",
        "only Perfetto's programs read it, and kerntrace does not read it back",
    ),
    "parquet": Format(
        "_parquet",
        lambda export, path: write_parquet(export.trace, export.findings, export.analysis, path),
        "pandas, DuckDB, Polars and Spark read each table: the trace's, steps (the ledger), gaps by cause, phases",
        "nothing draws it",
        tuple(f"{name}.parquet" for name in NAMES),
    ),
    "csv": Format(
        "_csv",
        lambda export, path: write_csv(export.trace, export.findings, export.analysis, path),
        "spreadsheets and scripts read each table: the trace's, steps (the ledger), gaps by cause, phases",
        "nothing draws it; a name that begins like a formula has an apostrophe before it",
        tuple(f"{name}.csv" for name in NAMES),
    ),
}
