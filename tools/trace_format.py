#!/usr/bin/env python3
"""Make docs/trace-format.md from the schema in kerntrace.trace.schema.

python tools/trace_format.py            rewrite it
python tools/trace_format.py --check    say whether it would change; exit status 1 if so
"""

from __future__ import annotations

import sys
from pathlib import Path

from kerntrace.trace.schema import FORMAT_MAJOR, FORMAT_MINOR, TABLES, TableSchema

PAGE = Path(__file__).parent.parent / "docs" / "trace-format.md"

HEAD = f"""# The trace bundle, format {FORMAT_MAJOR}.{FORMAT_MINOR}

`NAME.ktrace/` is a directory: `manifest.json` and one zstd-compressed Parquet file a table. Any Parquet tool reads it:

```python
import pandas
kernels = pandas.read_parquet("traces/h200-eager.ktrace/kernels.parquet")
(kernels.end_ns - kernels.start_ns).groupby(kernels.name).sum()
```

```sql
-- duckdb
SELECT name, count(*), sum(end_ns - start_ns) FROM 'traces/h200-eager.ktrace/kernels.parquet' GROUP BY name ORDER BY 3 DESC;
```

Times are int64 nanoseconds since the manifest's `epoch_ns` (CLOCK_REALTIME of the first event, null where the source does not
say). Null means unknown; it is never written as 0 or -1. Steps and ledgers are derived, never stored.

* **Launches.** One API call launches one to many kernels that share its `correlation_id`; eager launch and graph replay are one
  case. Join on `(pid, correlation_id)`. Where a runtime call and the driver call inside it share an id, the outermost is the launch.
* **Order.** Rows stand in the order named under each table, so that equal traces are equal files.
* **Writing.** Files are written to a temporary directory, flushed, and renamed; an existing bundle is only replaced on `--force`.
* **Versions.** A newer *major* is refused. A newer *minor* only adds nullable columns or manifest keys, which an older reader
  leaves alone. An older major is brought up by a chain of migrations. Each Parquet file repeats the version in its metadata.
* **Privacy.** There is no field for environment variables, command lines, paths, host names or user names.

## manifest.json

| key | meaning |
|---|---|
| `format` | `name` ("kerntrace"), `major`, `minor` |
| `producer` | program and version that made the records |
| `epoch_ns`, `clock` | CLOCK_REALTIME ns of time 0, and the clock the times were read from |
| `environment` | `gpu`, `gpu_count`, `sm_count`, `l2_bytes`, `memory_bytes`, `memory_bytes_per_s`, `compute_capability`, `driver`, `cuda`, `cupti`, `torch`, `vllm`, `python`, `cpu`, `profiler`; those that are known |
| `capture` | `collector`, `source` (file format it was read from), `kinds`, `graph_granularity` (node or graph), `whole_graph_replays`, `dropped_records`, `buffer_bytes`, `sessions`, `truncated` |
| `workload` | `engine`, `model`, `mode`, `dtype`, `batches`, `context`, `tokens`; those that are known |
| `tables` | for each table its `rows` and the `sha256` of its file, which `kerntrace check` compares |
"""


def section(table: TableSchema) -> str:
    """A table's columns as Markdown."""
    lines = [f"\n## {table.name}", f"\nA row is {table.about}. Order: {', '.join(f'`{name}`' for name in table.order)}.\n"]
    lines += ["| column | type | meaning |", "|---|---|---|"]
    for column in table.columns:
        kind = "text" if str(column.type).startswith("dictionary") else str(column.type)
        lines.append(f"| `{column.name}` | {kind} | {column.about}{' (a source must have it)' if column.required else ''} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    page = HEAD + "".join(section(table) for table in TABLES.values())
    if "--check" in sys.argv[1:]:
        same = PAGE.exists() and PAGE.read_text() == page
        print("docs/trace-format.md is up to date" if same else "it differs: run python tools/trace_format.py")
        return int(not same)
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
