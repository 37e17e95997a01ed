"""Which operation of the inventory a recorded kernel may carry: the rules, as data, in the order they are tried.

Room: accounting | model. The left side is a family as `steps.families` names it, matched whole; the right side the inventory's
families, the likeliest first. Several stand there because one kernel name serves several operations (a cast, a fill, Inductor's
`triton_poi_fused`); which one it was, order tells (`model.join`). Inductor writes the operations it fused into the name; the
rotation is the one it leaves unnamed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from kerntrace.model.operations import Kind


class Carrier(NamedTuple):
    """What kernels of a family carry.

    Attributes:
        pattern: of the recorded family, matched whole.
        carries: families of the inventory.
        kind: what such a kernel does, also where the inventory has none like it.
    """

    pattern: str
    carries: tuple[str, ...]
    kind: Kind


_PRODUCTS = ("cublas.gemm", "cublas.gemm_splitk")
_SPLIT_PRODUCTS = ("cublas.gemm_splitk", "cublas.gemm")
_NORMS = ("vllm.rms_norm", "vllm.fused_add_rms_norm")
_SUMMED_NORMS = ("vllm.fused_add_rms_norm", "vllm.rms_norm")

MATRIX_PRODUCTS = (
    Carrier(r"gemm .*splitK reduce.*", ("cublas.splitk_reduce",), Kind.GEMM_REDUCE),
    Carrier(r"gem[mv] .*splitK.*", _SPLIT_PRODUCTS, Kind.GEMM),
    Carrier(r"gem[mv] .*", _PRODUCTS, Kind.GEMM),
    Carrier(r"triton_tem_fused\w*", _PRODUCTS, Kind.GEMM),
    Carrier(r"fused_moe\w*", ("vllm.fused_moe",), Kind.GEMM),
)

ATTENTION = (
    Carrier(r"attention FA3 plan", ("fa3.prepare_splits",), Kind.METADATA),
    Carrier(r"attention FA3 combine", ("fa3.combine",), Kind.ATTENTION_COMBINE),
    Carrier(r"attention FA3", ("fa3.forward",), Kind.ATTENTION),
    Carrier(r"attention FA[24] combine", ("fa2.combine",), Kind.ATTENTION_COMBINE),
    Carrier(r"attention FA[24].*", ("fa2.forward",), Kind.ATTENTION),
    Carrier(r"attention .*(?:reduce|merge|combine)", ("fa2.combine", "fa3.combine"), Kind.ATTENTION_COMBINE),
    Carrier(r"attention .*", ("fa2.forward", "fa3.forward"), Kind.ATTENTION),
    Carrier(r"reshape_and_cache\w*", ("vllm.reshape_and_cache",), Kind.KV_WRITE),
    Carrier(r"rotary_embedding.*", ("vllm.rotary_embedding",), Kind.ROPE),
)

NORMS_AND_ACTIVATIONS = (
    Carrier(r"triton_\w*embedding\w*(?:rms_norm|rsqrt)\w*", ("triton.embedding_rms_norm", "triton.rms_norm"), Kind.NORM),
    Carrier(r"triton_\w*(?:rms_norm|rsqrt)\w*", ("triton.rms_norm", "triton.embedding_rms_norm"), Kind.NORM),
    Carrier(r"triton_\w*(?:silu|gelu|sigmoid)\w*", ("triton.act_and_mul",), Kind.ACTIVATION),
    Carrier(r"triton_poi_fused\w*", ("triton.rope", "triton.act_and_mul"), Kind.ROPE),
    Carrier(r"fused_add_rms_norm.*", _SUMMED_NORMS, Kind.NORM),
    Carrier(r"rms_norm.*", _NORMS, Kind.NORM),
    Carrier(r"act_and_mul.*", ("vllm.act_and_mul",), Kind.ACTIVATION),
)

EXPERTS = (
    Carrier(r"moe::topk\w*|topk_softmax\w*", ("vllm.topk_softmax",), Kind.ROUTING),
    Carrier(r"(?:moe::)?(?:\w*_)?moe_align\w*|count_and_sort_expert_tokens", ("vllm.moe_align",), Kind.ROUTING),
    Carrier(r"(?:moe::)?moe_sum\w*", ("vllm.moe_sum",), Kind.ROUTING),
)

SAMPLER_AND_BOOKKEEPING = (
    Carrier(r"bias", ("vllm.bias",), Kind.SAMPLER),
    Carrier(r"gumbel_sample", ("vllm.gumbel_sample",), Kind.SAMPLER),
    Carrier(r"argmax", ("torch.argmax",), Kind.SAMPLER),
    Carrier(r"gather", ("torch.gather",), Kind.SAMPLER),
    Carrier(r"(?:log_)?softmax|topk.*|cub .*sort.*|random .*", (), Kind.SAMPLER),
    Carrier(r"prepare_pos_seq_lens", ("vllm.prepare_positions",), Kind.METADATA),
    Carrier(r"combine_sampled_and_draft_tokens", ("vllm.combine_tokens",), Kind.METADATA),
    Carrier(r"gather_block_tables", ("vllm.gather_block_tables",), Kind.METADATA),
    Carrier(r"compute_slot_mappings?", ("vllm.slot_mappings",), Kind.METADATA),
    Carrier(r"get_num_sampled_and_rejected", ("vllm.count_sampled",), Kind.METADATA),
    Carrier(r"post_update", ("vllm.post_update",), Kind.METADATA),
    Carrier(r"prepare_\w+|apply_write|compute_\w+", (), Kind.METADATA),
)

TORCH = (
    Carrier(r"arange", ("torch.arange",), Kind.METADATA),
    Carrier(r"fill", ("torch.fill",), Kind.METADATA),
    Carrier(r"copy", ("torch.cast",), Kind.ELEMENTWISE),
    Carrier(r"index_select", ("torch.index_select", "torch.index"), Kind.EMBEDDING),
    # PyTorch picks rows with one kernel or the other, by how many there are.
    Carrier(r"index|gather rows", ("torch.index", "torch.index_select"), Kind.EMBEDDING),
    Carrier(r"elementwise .*", ("torch.elementwise",), Kind.ELEMENTWISE),
    Carrier(r"cat|reduce .*|scatter.*|index_\w+|foreach .*", (), Kind.ELEMENTWISE),
)

COPIES = (
    Carrier(r"memcpy\w*_post", ("graph.copy_node",), Kind.COPY),
    Carrier(r"copy HtoD", ("copy.host_to_device",), Kind.COPY),
    Carrier(r"copy DtoH", ("copy.device_to_host",), Kind.COPY),
    # Nsight Systems records a small copy node of a graph as a copy, where CUPTI records the kernel that it runs as.
    Carrier(r"copy DtoD in a graph", ("graph.copy_node", "copy.device_to_device"), Kind.COPY),
    Carrier(r"copy DtoD", ("copy.device_to_device",), Kind.COPY),
    Carrier(r"copy memset.*", ("copy.memset",), Kind.COPY),
    Carrier(r"copy .*", (), Kind.COPY),
)

CARRIERS: tuple[Carrier, ...] = (
    *MATRIX_PRODUCTS,
    *ATTENTION,
    *NORMS_AND_ACTIVATIONS,
    *EXPERTS,
    *SAMPLER_AND_BOOKKEEPING,
    *TORCH,
    *COPIES,
)


@lru_cache(maxsize=4096)
def carrier_of(family: str) -> Carrier | None:
    """The first rule for a recorded family, or None where none knows it.

    Args:
        family: of a kernel as `steps.families` names it; of a copy or memset `copy`, its kind, and `in a graph` where it was.
    """
    return next((carrier for carrier in CARRIERS if re.fullmatch(carrier.pattern, family)), None)
