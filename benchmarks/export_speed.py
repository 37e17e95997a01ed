"""How long `kerntrace export` takes on a large bundle, and how much memory: every format, eager and graph.

python benchmarks/export_speed.py                                  1 M kernels, all formats
python benchmarks/export_speed.py --steps 228 --formats chrome     fewer
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from bench import MODES, kerntrace, line, made, measured

ENDINGS = {
    "nsys-sqlite": ".sqlite",
    "chrome": ".json.gz",
    "nvtxt": ".nvtxt",
    "perfetto": ".pftrace",
    "parquet": "_parquet",
    "csv": "_csv",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=2_284, help="of 438 kernels; 2284 are 1 M kernels")
    parser.add_argument("--runs", type=int, default=3, help="of each command")
    parser.add_argument("--formats", nargs="+", choices=ENDINGS, default=list(ENDINGS))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kerntrace-export.") as folder:
        for mode in MODES:
            bundle = Path(folder) / f"{mode}.ktrace"
            facts = made(bundle, asked.steps, "--mode", mode)
            for name in asked.formats:
                target = Path(folder) / f"out{ENDINGS[name]}"
                command = kerntrace("export", bundle, "--format", name, "-o", target, "--force")
                row = measured(f"export --format {name}, {mode}", command, asked.runs)
                row.more.update({"kernels": facts["kernels"], "calls": facts["calls"], "file_bytes": written(target)})
                print(line(row), flush=True)
            shutil.rmtree(bundle)


def written(target: Path) -> int:
    """The bytes of what was written, if anything was."""
    files = list(target.iterdir()) if target.is_dir() else [target]
    return sum(file.stat().st_size for file in files if file.exists())


if __name__ == "__main__":
    main()
