"""Which family a kernel name belongs to: the rules, as data, in the order they are tried. Room: steps.

A rule holds where its needle is part of the name and, if it has a pattern, where `re.search` finds that as well; the needle is
there so that most rules cost one substring search. The family may use the pattern's groups (`\\1`), which are written small:
`AllReduce` becomes `all_reduce`. Names that no rule knows get a family made from the function's own name
(`kerntrace.steps.cxx_names`), so a rule is only needed where that name says too little (`device_kernel`) or too much (tiles).

Patterns have no nested repetition, and a name is cut before it is searched: the worst of them takes time linear in the cut.
This is a module and not a TOML file because Python 3.10 reads no TOML, and raw strings need no second layer of backslashes.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """A family for the names that hold the needle and match the pattern."""

    needle: str
    family: str
    pattern: str = ""


COMPILED = (  # made by a compiler for one model: the counter at the end only numbers the kernels of one compilation
    Rule("triton_", r"\1", r"^(triton_(?:poi|red|per|tem|mm|for|unk|split)\w*?)(?:_\d+)?(?:_\d+d\w*)?$"),
    Rule("fusion", r"\1", r"^((?:\w+_)?fusion(?:_dot)?)(?:_\d+)*$"),
)

ATTENTION = (
    Rule("FlashAttnFwdCombine", "attention FA3 combine"),
    Rule("FlashAttnFwd", "attention FA3"),
    Rule("FlashAttnBwd", "attention FA3 backward"),
    Rule("prepare_varlen_num_blocks", "attention FA3 plan"),
    Rule("FlashAttentionForwardCombine", "attention FA4 combine"),
    Rule("FlashAttentionForward", "attention FA4"),
    Rule("splitkv_mla_combine", "attention FlashMLA combine"),
    Rule("splitkv_mla", "attention FlashMLA"),
    Rule("flash_fwd_splitkv_combine", "attention FA2 combine"),
    Rule("flash_fwd_splitkv", "attention FA2 splitKV"),
    Rule("flash_fwd_kernel", "attention FA2"),
    Rule("flash_bwd", r"attention FA2 backward \1", r"flash_bwd_(\w+?)_kernel"),
    Rule("FmhaFwdSplitKVCombine", "attention ck_tile combine"),
    Rule("FmhaFwdSplitKV", "attention ck_tile splitKV"),
    Rule("FmhaFwdPagedKV", "attention ck_tile paged"),
    Rule("FmhaFwd", "attention ck_tile"),
    Rule("paged_attention_ll4mi_reduce", "attention paged ROCm reduce"),
    Rule("paged_attention_ll4mi", "attention paged ROCm"),
    Rule("paged_attention_v2_reduce", "attention paged reduce"),
    Rule("paged_attention_v", r"attention paged \1", r"paged_attention_(v[12])_kernel"),
    Rule("unified_attention", r"attention unified \1", r"unified_attention_([23]d)"),
    Rule("reduce_segments", "attention unified reduce", r"^_?reduce_segments$"),
    Rule("BatchDecodeWithPagedKVCache", "attention flashinfer decode"),
    Rule("WithPagedKVCache", "attention flashinfer prefill", r"PrefillWithPagedKVCache"),
    Rule("WithRaggedKVCache", "attention flashinfer prefill ragged", r"PrefillWithRaggedKVCache"),
    Rule("MergeStates", "attention flashinfer merge", r"flashinfer::\w*MergeStates"),
    Rule("fmha", "attention fmha", r"^(?:void )?(?:\w+::)*fmha(?:Sm|_v2|_cutlassF)"),
)

NORMS_AND_ACTIVATIONS = (
    Rule("add_rmsnorm_quant_kernel", "rms_norm aiter", r"add_rmsnorm_quant_kernelI(?:\w*?)Li\d+ELi\d+ELb0E"),
    Rule("add_rmsnorm_quant_kernel", "fused_add_rms_norm aiter", r"add_rmsnorm_quant_kernelI(?:\w*?)Li\d+ELi\d+ELb1E"),
    Rule("add_rmsnorm_quant_kernel", "rms_norm aiter", r"add_rmsnorm_quant_kernel<[^<>,]*,[^<>,]*, \d+, \d+, false"),
    Rule("add_rmsnorm_quant_kernel", "fused_add_rms_norm aiter", r"add_rmsnorm_quant_kernel<[^<>,]*,[^<>,]*, \d+, \d+, true"),
    Rule("Rmsnorm2dFwd", "rms_norm ck_tile", r"FusedAddEnum(?:E0E|\)0)"),
    Rule("Rmsnorm2dFwd", "fused_add_rms_norm ck_tile", r"FusedAddEnum(?:E[12]E|\)[12])"),
    Rule("FusedAddRMSNormKernel", "fused_add_rms_norm flashinfer"),
    Rule("RMSNormKernel", "rms_norm flashinfer", r"norm::RMSNormKernel"),
    Rule("layer_norm", "layer_norm", r"vectorized_layer_norm_kernel"),
    Rule("act_and_mul", r"act_and_mul quant \1", r"act_and_mul_quant_kernel.{0,400}?(silu|gelu_tanh|gelu)"),
    Rule("act_and_mul", r"act_and_mul \1", r"act_and_mul_kernel.{0,400}?(silu|gelu_tanh|gelu|swiglu|fatrelu|relu)"),
    Rule("swigluoai_and_mul", "act_and_mul swiglu"),
    Rule("ApplyRotaryPosIds", "rotary_embedding flashinfer"),
    Rule("rotary_embedding", "rotary_embedding", r"(?<![a-z_])rotary_embedding_kernel"),
    Rule("bn_", r"batch_norm \1", r"cudnn::bn_(fw|bw)_"),
)

MATRIX_PRODUCTS = (
    Rule("splitKreduce_kernel", "gemm splitK reduce"),
    Rule("ReduceSplitK", "gemm splitK reduce cutlass"),
    Rule("nvjet", "gemm nvjet splitK", r"^nvjet\w*_splitK"),
    Rule("nvjet", "gemm nvjet", r"^nvjet"),
    Rule("Cijk_", "gemm Tensile splitK reduce", r"^Cijk_\w+PostGSU"),
    Rule("Cijk_", "gemm Tensile", r"^Cijk_"),
    Rule("xmma", r"conv cudnn \1", r"xmma_(fprop|dgrad|wgrad)"),
    Rule("cutlass", r"conv cutlass \1", r"cutlass.{0,200}?(fprop|dgrad|wgrad)"),
    Rule("xmma_gemm", "gemm cublas splitK", r"xmma_gemm\w*split_?[kK]"),
    Rule("xmma_gemm", "gemm cublas"),
    Rule("gemm", "gemm cublas splitK", r"^(?:volta|turing|ampere|ada|hopper|maxwell|pascal)_\w*gemm\w*split_?[kK]"),
    Rule("gemm", "gemm cublas", r"^(?:volta|turing|ampere|ada|hopper|maxwell|pascal)_\w*gemm"),
    Rule("gemm", "gemm cublas", r"(?<!\w)(?:gemmSN|gemmk1)_"),
    Rule("gemv", "gemv cublas", r"(?<!\w)gemv(?:2[NT]|NSP|x)"),
    Rule("matmul_ogs", "gemm matmul_ogs swiglu", r"^_?matmul_ogs_\w*swiglu"),
    Rule("matmul_ogs", "gemm matmul_ogs", r"^_?matmul_ogs"),
    Rule("cutlass", "gemm cutlass", r"cutlass.{0,200}?(?:gemm|Gemm)"),
    Rule("winograd", "conv cudnn winograd", r"^cudnn_\w*winograd"),
    Rule("cudnn_", "conv cudnn 3d", r"^cudnn_(?:infer|train)_\w*3dconv"),
    Rule("cudnn_", "conv cudnn strided splitK", r"^cudnn_(?:infer|train)_\w*stridedB_splitK"),
    Rule("cudnn_", "conv cudnn strided", r"^cudnn_(?:infer|train)_\w*stridedB"),
    Rule("cudnn_", "conv cudnn", r"^cudnn_(?:infer|train)_\w*scudnn"),
)

TORCH = (  # its kernels are a few loops over a functor, and the functor is the work
    Rule("multi_tensor_apply_kernel", "foreach copy", r"CopyFunctor|native::Copy<"),
    Rule("multi_tensor_apply_kernel", r"foreach \1", r"std::(plus|minus|multiplies|divides)"),
    Rule("multi_tensor_apply_kernel", r"foreach \1", r"(?<!\w)(\w+?)Functor<"),
    Rule("FillFunctor", "fill"),
    Rule("_copy_kernel_cuda", "copy"),
    Rule("arange_cuda_out", "arange"),
    Rule("index_elementwise_kernel", r"\1", r"(index_put|index_fill|index_copy|take|put|flip)_kernel_impl"),
    Rule("index_elementwise_kernel", "index"),
    Rule("indexSelect", "index_select"),
    Rule("vectorized_gather_kernel", "gather rows"),
    Rule("_scatter_gather_elementwise_kernel", r"scatter \1", r"Reduce(Add|Multiply|Minimum|Maximum|Mean)"),
    Rule("_scatter_gather_elementwise_kernel", "gather", r"_internal_kernel<(?:\(bool\)0|false)"),
    Rule("_scatter_gather_elementwise_kernel", "scatter"),
    Rule("CatArrayBatchedCopy", "cat"),
    Rule("softmax_warp_backward", "softmax backward"),
    Rule("softmax_warp_forward", "log_softmax", r"forward<[^<>,]*,[^<>,]*,[^<>,]*,[^<>,]*, *(?:true|\(bool\)1)"),
    Rule("softmax_warp_forward", "softmax"),
    Rule("LogSoftMaxForward", "log_softmax"),
    Rule("SoftMaxForward", "softmax"),
    Rule("SoftMaxBackward", "softmax backward"),
    Rule("topk::", r"topk \1", r"[sm]btopk::(\w+?)<"),
    Rule("distribution_elementwise", r"random \1", r"(uniform|normal|exponential|geometric|cauchy|bernoulli|random)_"),
    Rule("ArgMaxOps", "argmax"),
    Rule("ArgMinOps", "argmin"),
    Rule("native::reduce_kernel", r"reduce \1", r"(?<!\w)(\w+?)Ops<"),
    Rule("native::reduce_kernel", r"reduce \1", r"(?<!\w)(\w+?)_functor<"),
    Rule("native::reduce_kernel", r"reduce \1", r"(?<!\w)(\w+?)Functor<"),
    Rule("native::reduce_kernel", r"reduce \1", r"(?<!\w)(\w+?)_kernel_(?:cuda|impl)"),
    Rule("elementwise_kernel", r"elementwise \1", r"CUDAFunctor(?:OnSelf|OnOther)?_(\w+)"),
    Rule("elementwise_kernel", r"elementwise \1", r"(?<!\w)(?![AB]UnaryF|BinaryF)(\w+?)Functor<"),
    Rule(
        "elementwise_kernel",
        r"elementwise \1",
        r"(?<!\w)(?!gpu_|opmath_)(\w+?)_kernel(?:_cuda|_impl)?(?:_impl)?(?:<[^<>()]{0,200}>)?\(at::Tensor",
    ),
    Rule("elementwise_kernel", r"elementwise \1", r"(?<!\w)launch_(\w+?)\(at::"),
    Rule("elementwise_kernel", r"elementwise \1", r"(?<!\w)(\w+?)CUDAKernelImpl\("),
)

PRIMITIVES_AND_COMMUNICATION = (
    Rule("cub::", r"cub \1", r"^(?:void )?(?:hip)?cub::(?:\w+::){0,6}Device(\w+?)Kernel"),
    Rule("rocprim::", r"rocprim \1", r"rocprim::.{0,400}?wrapped_(\w+?)_config"),
    Rule("thrust::", r"thrust \1", r"thrust::.{0,400}?__(\w+?)::\w+Agent"),
    Rule("nccl", r"nccl \1", r"^nccl(?:Dev)?Kernel_([A-Za-z]+)"),
    Rule("cross_device_reduce", r"all_reduce custom \1", r"cross_device_reduce_([12]stage)"),
)

RULES: tuple[Rule, ...] = (
    *COMPILED,
    *ATTENTION,
    *NORMS_AND_ACTIVATIONS,
    *MATRIX_PRODUCTS,
    *TORCH,
    *PRIMITIVES_AND_COMMUNICATION,
)
