"""FLOPs and bytes against values worked out by hand for Llama-3.1-8B, batch 1 and 2048 keys unless said otherwise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.model import operations as op
from kerntrace.model.architecture import Experts, load_model

LLAMA = load_model("llama-3.1-8b")


@pytest.mark.parametrize(
    ("outputs", "inputs", "flops", "dram", "l2"),
    [
        (6144, 4096, 50_331_648, 50_331_648, 20_480),  # qkv: 32 + 8 + 8 heads of 128
        (4096, 4096, 33_554_432, 33_554_432, 16_384),  # output projection
        (28_672, 4096, 234_881_024, 234_881_024, 65_536),  # gate and up
        (4096, 14_336, 117_440_512, 117_440_512, 36_864),  # down
        (128_256, 4096, 1_050_673_152, 1_050_673_152, 264_704),  # output projection of the vocabulary
    ],
)
def test_a_product_of_one_row(outputs: int, inputs: int, flops: int, dram: int, l2: int) -> None:
    found = op.gemm("x", 0, 1, outputs, inputs, 2)
    assert (found.flops, found.dram_bytes, found.l2_bytes) == (flops, dram, l2)


def test_a_bias_is_added_and_read() -> None:
    plain, biased = op.gemm("x", 0, 3, 8, 4, 2), op.gemm("x", 0, 3, 8, 4, 2, bias=True)
    assert (biased.flops - plain.flops, biased.dram_bytes - plain.dram_bytes) == (24, 16)


def test_decode_attention_reads_keys_and_values_of_the_kv_heads_only() -> None:
    found = op.attention(0, 1, 2048, LLAMA, 14, 2)
    assert found.flops == 33_554_432  # 4 x 32 x 128 x 2048
    assert found.dram_bytes == 8_388_608  # 2 x 2048 x 8 x 128 x 2 bytes, not 32 heads
    # queries and output 16384, block table 512, partial results 4 x 14 x 32 x 129
    assert found.l2_bytes == 16_384 + 512 + 231_168
    assert op.attention(0, 1, 2048, LLAMA, 1, 2).l2_bytes == 16_384 + 512


def test_combining_parts() -> None:
    found = op.attention_combine(0, 1, LLAMA, 14)
    assert (found.flops, found.dram_bytes, found.l2_bytes) == (114_688, 0, 239_360)  # 231168 + 8192
    assert op.attention_combine(0, 16, LLAMA, 1).bytes == 0  # launched, and nothing to do


def test_norms_rotation_cache_write_and_activation() -> None:
    assert (op.norm("n", 0, 1, 4096, True).flops, op.norm("n", 0, 1, 4096, True).bytes) == (20_480, 40_960)
    assert (op.norm("n", 0, 1, 4096, False).flops, op.norm("n", 0, 1, 4096, False).bytes) == (16_384, 24_576)
    rope = op.rope(0, 1, LLAMA)
    assert (rope.flops, rope.bytes) == (15_360, 20_744)  # 3 x 40 x 128; 4 x 40 x 128 + 2 x 128 + 8
    write = op.kv_write(0, 1, LLAMA, 2)
    assert (write.flops, write.dram_bytes, write.l2_bytes) == (0, 4096, 4104)  # 8 x 8 x 128 + 8 together
    act = op.gated_activation(0, 1, 14_336)
    assert (act.flops, act.bytes) == (71_680, 86_016)


def test_rows_read_from_the_embedding_not_the_table() -> None:
    assert op.embedding(16, 4096).bytes == 4 * 16 * 4096 + 8 * 16


def test_a_split_product_writes_and_reads_its_slices() -> None:
    of = op.gemm("o_proj", 3, 2, 4096, 4096, 2)
    found = op.gemm_reduce(of, 2)
    assert (found.name, found.layer, found.flops) == ("o_proj.reduce", 3, 2 * 2 * 4096)
    assert found.l2_bytes == 2 * 4 * 2 * 2 * 4096 + 2 * 2 * 4096


MIXTRAL = Experts(count=8, active=2, intermediate=14_336)


def test_experts_reached_by_a_batch() -> None:
    assert op.expected_experts(MIXTRAL, 1) == pytest.approx(2)
    assert op.expected_experts(MIXTRAL, 2) == pytest.approx(3.5)  # 8 (1 - (3/4)^2)
    assert op.expected_experts(MIXTRAL, 16) == pytest.approx(7.92, abs=0.01)


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 100))
def test_experts_reached_are_at_least_one_tokens_and_at_most_all(count: int, active: int, rows: int) -> None:
    experts = Experts(count, min(active, count), 8)
    found = op.expected_experts(experts, rows)
    assert experts.active - 1e-9 <= found <= min(experts.count, rows * experts.active) + 1e-9


def test_grouped_products_read_the_experts_reached() -> None:
    found = op.grouped_gemm("up", 0, 1, 28_672, 4096, MIXTRAL, 2)
    assert found.dram_bytes == 2 * 2 * 28_672 * 4096
    assert found.flops == 2 * 2 * 28_672 * 4096  # two experts, one row each


@given(st.integers(1, 64), st.integers(1, 4096))
def test_attention_intensity_is_heads_per_kv_head_whatever_the_shape(rows: int, length: int) -> None:
    found = op.attention(0, rows, length, LLAMA, 1, 2)
    assert found.flops / found.dram_bytes == pytest.approx(4)
