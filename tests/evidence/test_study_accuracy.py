"""Predictions beside a study, and published numbers that enter none of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support.studies import H100, H200, Truth, make_study

from kerntrace.errors import UnreadableError
from kerntrace.evidence import published, study_evidence
from kerntrace.evidence.hypotheses import weigh
from kerntrace.evidence.prediction_table import Predicted, from_document
from kerntrace.evidence.published import REFERENCES, Reference
from kerntrace.evidence.study_evidence import Question, gather
from kerntrace.report.study_document import study_document

SMALL = Truth(batches=(1, 4, 16), contexts=(512, 2048), traced=((1, 512),), resamples=300)


def _predicted(gpu: str, batch: int, context: int, ns: float) -> Predicted:
    return Predicted(gpu, "eager", batch, context, "mine", ns)


def test_errors_are_of_the_studys_medians() -> None:
    study = make_study(replace(SMALL, gpus=(H200, H100)))
    table = tuple(_predicted(gpu, n, c, 10e6 + 1e5 * n) for gpu in (H200, H100) for n in SMALL.batches for c in SMALL.contexts)
    evidence = gather(study, Question(predictions=table))
    rows = {one.gpu: one for one in evidence.accuracy}
    assert set(rows) == {H200, H100, "pooled"}
    for gpu, host in ((H200, "host0"), (H100, "host1")):
        cells = [cell for cell in evidence.cells if cell.place.host == host]
        measured = np.array([cell.arms["eager"].median for cell in cells])
        predicted = np.array([10e6 + 1e5 * cell.place.batch for cell in cells])
        found = rows[gpu].accuracy
        assert found.mape_of_measured == pytest.approx(np.mean(np.abs(predicted - measured) / measured))
        assert found.mape_of_predicted == pytest.approx(np.mean(np.abs(predicted - measured) / predicted))
        assert found.bias == pytest.approx(np.mean((predicted - measured) / measured))
        assert found.median_log_ratio == pytest.approx(np.median(np.log(predicted / measured)))
        interval = rows[gpu].mape_interval
        assert interval is not None
        assert interval.low <= found.mape_of_measured <= interval.high
    pooled = np.mean([rows[gpu].accuracy.mape_of_measured for gpu in (H200, H100)])
    assert rows["pooled"].accuracy.mape_of_measured == pytest.approx(pooled)


def test_the_model_predicts_the_studys_grid_by_both_readings() -> None:
    evidence = gather(make_study(SMALL))
    rows = {(one.of, one.source): one.accuracy.count for one in evidence.accuracy}
    for reading in ("dispatch", "published"):
        for of in ("eager", "graph", "graph-nocompile", "gap (total)"):
            assert rows[of, f"{reading}, affine"] == 6
    assert rows["gap (residual)", "published, affine"] == 6


def test_an_unknown_gpu_or_model_has_no_prediction_and_says_so() -> None:
    study = make_study(replace(SMALL, gpus=("Some GPU",)))
    evidence = gather(study)
    assert evidence.accuracy == ()
    assert "no prediction for Some GPU" in evidence.notes[0]


def _cell(**changes: Any) -> dict[str, Any]:
    terms = {"step_by_reading_ns": {"dispatch": 5e6, "published": 6e6}, "gap_total_ns": 1, "gap_residual_ns": 2}
    return {
        "gpu": "H200",
        "mode": "graph",
        "batch": 1,
        "context": 512,
        "profile": "affine",
        "reading": "dispatch",
        "terms": terms,
    } | changes


def test_predictions_are_read_from_a_document() -> None:
    document = {"schema": "kerntrace.predict/1", "cells": [_cell(), _cell(gpu="L4")]}
    found = from_document(document, [H200], "p.json")
    assert {(one.gpu, one.of, one.source, one.ns) for one in found} == {
        (H200, "graph", "dispatch, affine", 5e6),
        (H200, "graph", "published, affine", 6e6),
        (H200, "gap (total)", "dispatch, affine", 1.0),
        (H200, "gap (residual)", "dispatch, affine", 2.0),
    }


@pytest.mark.parametrize(
    "document",
    [[], {}, {"schema": "kerntrace.predict/1"}, {"schema": "kerntrace.predict/1", "cells": [{}]},
     {"schema": "kerntrace.predict/1", "cells": [_cell(gpu="L4")]}, {"schema": "kerntrace.predict/1", "cells": [5]}],
)  # fmt: skip
def test_a_document_of_another_kind_is_refused(document: object) -> None:
    with pytest.raises(UnreadableError, match=r"p\.json"):
        from_document(document, [H200], "p.json")


def test_published_numbers_enter_nothing_but_their_own_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(SMALL)

    def document() -> dict[str, Any]:
        evidence = gather(study, Question(published=True))
        return study_document(evidence, weigh(evidence))

    before = document()
    invented = tuple(Reference(one.gpus, 7.77, 0.999) for one in REFERENCES)
    monkeypatch.setattr(study_evidence, "REFERENCES", invented)
    monkeypatch.setattr(published, "REFERENCES", invented)
    after = document()
    assert [row["gap_median_ns"] for row in before["reference"]] == [5_070_000, 3_390_000, 4_360_000]
    assert [row["benefit"] for row in before["reference"]] == [0.267, 0.342, 0.46]
    assert {row["kind"] for row in before["reference"]} == {"reference"}
    assert after["reference"] != before["reference"]
    for found in (before, after):
        del found["reference"]
        for claim in found["hypotheses"]:
            claim["details"] = [detail for detail in claim["details"] if not detail.startswith("reference, published")]
    assert after == before


def test_without_being_asked_for_no_published_row_is_shown() -> None:
    evidence = gather(make_study(SMALL))
    assert evidence.references == ()
    other = gather(make_study(SMALL), Question(published=True))
    assert len(other.references) == 3
