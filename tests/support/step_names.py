"""Kernel names as recorders write them, for each family of the inventory, and whole traces made of an inventory."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.support.recording import Playing, decode_range, prefill_range

from kerntrace.model.inventory import Inventory
from kerntrace.model.kernels import Kernel

NAMES = {
    "cublas.gemm": "nvjet_sm90_tst_128x8_64x12_2x1_v_bz_TNT",
    "cublas.gemm_splitk": "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TNT",
    "cublas.splitk_reduce": "void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, float, __nv_bfloat16>(T1)",
    "fa3.forward": "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int>>>(T1::Params)",
    "fa3.combine": "void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<(int)8>>>>(T1::Params)",
    "fa3.prepare_splits": "void flash::prepare_varlen_num_blocks_kernel<(int)1, (bool)0>(int, int)",
    "fa2.forward": "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>(flash::Flash_fwd_params)",
    "fa2.combine": "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64>>(flash::Flash_fwd_params)",
    "vllm.rms_norm": "void vllm::rms_norm_kernel<c10::BFloat16, (int)8, (int)2, (bool)1>(T1 *, const T1 *, long)",
    "vllm.fused_add_rms_norm": "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, (int)8, (bool)1>(T1 *, long)",
    "vllm.rotary_embedding": "void vllm::rotary_embedding_kernel<c10::BFloat16, c10::BFloat16, (bool)1>(const long *, T1 *)",
    "vllm.reshape_and_cache": "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>(T1 *)",
    "vllm.act_and_mul": "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, (bool)1>(T1 *)",
    "vllm.topk_softmax": "void vllm::moe::topkGating<(int)8, (int)8, (int)4>(const float *)",
    "vllm.moe_align": "moe_align_block_size_kernel",
    "vllm.fused_moe": "fused_moe_kernel",
    "vllm.moe_sum": "void vllm::moe::moe_sum_kernel<c10::BFloat16, (int)2>(T1 *)",
    "vllm.prepare_positions": "_prepare_pos_seq_lens_kernel",
    "vllm.combine_tokens": "_combine_sampled_and_draft_tokens_kernel",
    "vllm.gather_block_tables": "_gather_block_tables_kernel",
    "vllm.slot_mappings": "_compute_slot_mappings_kernel",
    "vllm.bias": "_bias_kernel",
    "vllm.gumbel_sample": "_gumbel_sample_kernel",
    "vllm.count_sampled": "_get_num_sampled_and_rejected_kernel",
    "vllm.post_update": "_post_update_kernel",
    "triton.embedding_rms_norm": "triton_red_fused__to_copy_embedding_rms_norm_0",
    "triton.rms_norm": "triton_red_fused_fused_add_rms_norm_2",
    "triton.act_and_mul": "triton_poi_fused_mul_silu_slice_1",
    "triton.rope": "triton_poi_fused_3",
    "torch.arange": "void <unnamed>::elementwise_kernel_with_index<int, at::native::arange_cuda_out(const c10::Scalar &)>(T1)",
    "torch.fill": "void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<int>>(int, T2, T3)",
    "torch.cast": "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIterator &)>()",
    "torch.index_select": "void at::native::<unnamed>::indexSelectSmallIndex<c10::BFloat16, long, unsigned int>(T1)",
    "torch.index": "void at::native::index_elementwise_kernel<(int)128, (int)4, void at::native::gpu_index_kernel>(int, T3)",
    "torch.elementwise": "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, "
    "at::native::binary_internal::MulFunctor<float> >>(int)",
    "torch.argmax": "void at::native::reduce_kernel<(int)512, at::native::ReduceOp<float, at::native::ArgMaxOps<float>>>(T3)",
    "torch.gather": "void at::native::_scatter_gather_elementwise_kernel<(int)128, (int)8, void at::native::"
    "_cuda_scatter_gather_internal_kernel<(bool)0, at::native::OpaqueType<(int)8>, long>>(int, T3)",
    "graph.copy_node": "memcpy32_post",
}
COPIES = {
    "copy.host_to_device": "HtoD",
    "copy.device_to_host": "DtoH",
    "copy.device_to_device": "DtoD",
    "copy.memset": "memset",
    "graph.copy_node": "DtoD",
}
Length = Callable[[int, Kernel], int]


def play_inventory(inventory: Inventory, length: Length, *, batch: int, steps: int = 5, ranges: bool = True) -> Playing:
    """Steps that run the inventory's kernels, each as long as `length` says, in ns."""
    play = Playing()
    if ranges:
        with play.within(prefill_range(64)):
            play.launch("prefill_only_kernel", 900)
        play.synchronise()
    for _ in range(steps):
        if ranges:
            with play.within(decode_range(batch)):
                play_step(play, inventory, length)
        else:
            play_step(play, inventory, length)
        play.synchronise()
        play.wait(5_000)
    return play


def play_step(play: Playing, inventory: Inventory, length: Length) -> None:
    """One step; the kernels of the model in one replay where they are captured."""
    replayed: list[tuple[str, int]] = []
    for place, kernel in enumerate(inventory.kernels):
        time = length(place, kernel)
        if inventory.captured(kernel) and not kernel.is_copy:
            replayed.append((NAMES[kernel.family], time))
            continue
        if replayed:
            play.replay(replayed, graph=9)
            replayed = []
        if kernel.is_copy:
            play.copy(time, kind=COPIES[kernel.family])
        else:
            play.launch(NAMES[kernel.family], time)


def recorded_families(kernels: Iterable[Kernel]) -> list[str]:
    """How `model.carriers` is given the work of these kernels."""
    from kerntrace.steps.families import family_of

    return [
        f"copy {COPIES[kernel.family]}" if kernel.is_copy and kernel.family in COPIES else family_of(NAMES[kernel.family])
        for kernel in kernels
    ]
