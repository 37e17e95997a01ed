# ruff: noqa: E501 - kernel names are as long as their compilers make them
"""Families: what a kernel's name is taken for. Each expected family was judged by a person who looked at the name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerntrace.steps.families import LONGEST, NAMELESS, families, family_of

# fmt: off
# every kernel that two vLLM runs of Llama-3.1-8B on an H200 launched, as Nsight Systems and as torch.profiler spell it
H200 = [
    ("act_and_mul silu", "void vllm::act_and_mul_kernel<c10::BFloat16, __nv_bfloat162, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&, float)), &(__nv_bfloat162 vllm::packed_silu_kernel<__nv_bfloat162>(__nv_bfloat162 const&, float)), true, true, false, false>(c10::BFloat16*, c10::BFloat16 const*, int, float, float, float)"),
    ("act_and_mul silu", "void vllm::act_and_mul_kernel<c10::BFloat16, __nv_bfloat162, &vllm::silu_kernel<c10::BFloat16>, &vllm::packed_silu_kernel<__nv_bfloat162>, (bool)1, (bool)1, (bool)0, (bool)0>(T1 *, const T1 *, int, float, float, float)"),
    ("apply_write", "_apply_write_kernel"),
    ("arange", "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out(c10::Scalar const&, c10::Scalar const&, c10::Scalar const&, at::Tensor&)::{lambda()#1}::operator()() const::{lambda()#3}::operator()() const::{lambda(long)#1}>(int, at::native::arange_cuda_out(c10::Scalar const&, c10::Scalar const&, c10::Scalar const&, at::Tensor&)::{lambda()#1}::operator()() const::{lambda()#3}::operator()() const::{lambda(long)#1}, function_traits<at::native::arange_cuda_out(c10::Scalar const&, c10::Scalar const&, c10::Scalar const&, at::Tensor&)::{lambda()#1}::operator()() const::{lambda()#3}::operator()() const::{lambda(long)#1}>::result_type*)"),
    ("arange", "void <unnamed>::elementwise_kernel_with_index<int, at::native::arange_cuda_out(const c10::Scalar &, const c10::Scalar &, const c10::Scalar &, at::Tensor &)::[lambda() (instance 1)]::operator ()() const::[lambda() (instance 3)]::operator ()() const::[lambda(long) (instance 1)]>(T1, T2, function_traits<T2>::result_type *)"),
    ("argmax", "void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, (int)4, (int)4>>(T3)"),
    ("argmax", "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4> >(at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>)"),
    ("attention FA3", "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<(int)2, cute::tuple<cute::C<(int)1>, cute::C<(int)1>, cute::C<(int)1>>, cute::tuple<cute::C<(int)64>, cute::C<(int)128>, cute::C<(int)128>>, (int)128, cutlass::bfloat16_t, float, cutlass::arch::Sm90, (bool)1, (bool)0, (bool)0, (bool)1, (bool)1, (bool)0, (bool)0, (bool)1, (bool)1, (bool)1, (bool)0, (bool)0, cutlass::bfloat16_t, (int)1>, flash::CollectiveEpilogueFwd<cute::tuple<cute::C<(int)64>, cute::C<(int)128>, cute::C<(int)128>>, cute::tuple<cute::C<(int)1>, cute::C<(int)1>, cute::C<(int)1>>, cutlass::bfloat16_t, cutlass::arch::Sm90, (int)128, (bool)1, (bool)1, (bool)0, (bool)0, (int)1>, flash::VarlenDynamicPersistentTileScheduler<(int)64, (int)128, (int)128, (int)128, (bool)0, (bool)1, (bool)1, (bool)1, (bool)0, (bool)1>>>>(T1::Params)"),
    ("attention FA3", "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<(int)2, cute::tuple<cute::C<(int)1>, cute::C<(int)1>, cute::C<(int)1>>, cute::tuple<cute::C<(int)64>, cute::C<(int)128>, cute::C<(int)128>>, (int)128, cutlass::bfloat16_t, float, cutlass::arch::Sm90, (bool)1, (bool)0, (bool)0, (bool)1, (bool)1, (bool)0, (bool)0, (bool)1, (bool)1, (bool)1, (bool)1, (bool)0, cutlass::bfloat16_t, (int)1>, flash::CollectiveEpilogueFwd<cute::tuple<cute::C<(int)64>, cute::C<(int)128>, cute::C<(int)128>>, cute::tuple<cute::C<(int)1>, cute::C<(int)1>, cute::C<(int)1>>, cutlass::bfloat16_t, cutlass::arch::Sm90, (int)128, (bool)1, (bool)1, (bool)1, (bool)0, (int)1>, flash::VarlenDynamicPersistentTileScheduler<(int)64, (int)128, (int)128, (int)128, (bool)1, (bool)1, (bool)1, (bool)1, (bool)0, (bool)1>>>>(T1::Params)"),
    ("attention FA3", "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cute::tuple<cute::C<64>, cute::C<128>, cute::C<128> >, 128, cutlass::bfloat16_t, float, cutlass::arch::Sm90, true, false, false, true, true, false, false, true, true, true, false, false, cutlass::bfloat16_t, 1>, flash::CollectiveEpilogueFwd<cute::tuple<cute::C<64>, cute::C<128>, cute::C<128> >, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cutlass::bfloat16_t, cutlass::arch::Sm90, 128, true, true, false, false, 1>, flash::VarlenDynamicPersistentTileScheduler<64, 128, 128, 128, false, true, true, true, false, true> > > >(flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cute::tuple<cute::C<64>, cute::C<128>, cute::C<128> >, 128, cutlass::bfloat16_t, float, cutlass::arch::Sm90, true, false, false, true, true, false, false, true, true, true, false, false, cutlass::bfloat16_t, 1>, flash::CollectiveEpilogueFwd<cute::tuple<cute::C<64>, cute::C<128>, cute::C<128> >, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cutlass::bfloat16_t, cutlass::arch::Sm90, 128, true, true, false, false, 1>, flash::VarlenDynamicPersistentTileScheduler<64, 128, 128, 128, false, true, true, true, false, true> > >::Params)"),
    ("attention FA3", "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cute::tuple<cute::C<64>, cute::C<128>, cute::C<128> >, 128, cutlass::bfloat16_t, float, cutlass::arch::Sm90, true, false, false, true, true, false, false, true, true, true, true, false, cutlass::bfloat16_t, 1>, flash::CollectiveEpilogueFwd<cute::tuple<cute::C<64>, cute::C<128>, cute::C<128> >, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cutlass::bfloat16_t, cutlass::arch::Sm90, 128, true, true, true, false, 1>, flash::VarlenDynamicPersistentTileScheduler<64, 128, 128, 128, true, true, true, true, false, true> > > >(flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cute::tuple<cute::C<64>, cute::C<128>, cute::C<128> >, 128, cutlass::bfloat16_t, float, cutlass::arch::Sm90, true, false, false, true, true, false, false, true, true, true, true, false, cutlass::bfloat16_t, 1>, flash::CollectiveEpilogueFwd<cute::tuple<cute::C<64>, cute::C<128>, cute::C<128> >, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cutlass::bfloat16_t, cutlass::arch::Sm90, 128, true, true, true, false, 1>, flash::VarlenDynamicPersistentTileScheduler<64, 128, 128, 128, true, true, true, true, false, true> > >::Params)"),
    ("attention FA3 combine", "void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<(int)8>, cute::C<(int)128>>, (int)5, (int)256, (int)1, (bool)0, (bool)1, cutlass::bfloat16_t, float, cutlass::arch::Sm90>>(T1::Params)"),
    ("attention FA3 combine", "void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8>, cute::C<128> >, 5, 256, 1, false, true, cutlass::bfloat16_t, float, cutlass::arch::Sm90> >(flash::FlashAttnFwdCombine<cute::tuple<cute::C<8>, cute::C<128> >, 5, 256, 1, false, true, cutlass::bfloat16_t, float, cutlass::arch::Sm90>::Params)"),
    ("attention FA3 plan", "void flash::prepare_varlen_num_blocks_kernel<(int)1, (bool)0>(int, int, int, const int *, const int *, const int *, const int *, const int *, const int *, int, int, int, int, int, cutlass::FastDivmod, cutlass::FastDivmod, int *, int *, int *, int *, int *, bool, bool, bool, int)"),
    ("attention FA3 plan", "void flash::prepare_varlen_num_blocks_kernel<1, false>(int, int, int, int const*, int const*, int const*, int const*, int const*, int const*, int, int, int, int, int, cutlass::FastDivmod, cutlass::FastDivmod, int*, int*, int*, int*, int*, bool, bool, bool, int)"),
    ("bias", "_bias_kernel"),
    ("combine_sampled_and_draft_tokens", "_combine_sampled_and_draft_tokens_kernel"),
    ("compute_slot_mappings", "_compute_slot_mappings_kernel"),
    ("copy", "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::[lambda() (instance 4)]::operator ()() const::[lambda(long) (instance 1)], std::array<char *, (unsigned long)2>, (int)4, TrivialOffsetCalculator<(int)1, unsigned int>, TrivialOffsetCalculator<(int)1, unsigned int>, at::native::memory::LoadWithCast<(int)1>, at::native::memory::StoreWithCast<(int)1>>(int, T1, T2, T4, T5, T6, T7)"),
    ("copy", "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::[lambda() (instance 7)]::operator ()() const::[lambda(float) (instance 1)], std::array<char *, (unsigned long)2>, (int)4, TrivialOffsetCalculator<(int)1, unsigned int>, TrivialOffsetCalculator<(int)1, unsigned int>, at::native::memory::LoadWithCast<(int)1>, at::native::memory::StoreWithCast<(int)1>>(int, T1, T2, T4, T5, T6, T7)"),
    ("copy", "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#4}::operator()() const::{lambda(long)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#4}::operator()() const::{lambda(long)#1}, std::array<char*, 2ul>, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1>)"),
    ("copy", "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1>)"),
    ("fill", "void at::native::unrolled_elementwise_kernel<at::native::FillFunctor<int>, std::array<char *, (unsigned long)1>, (int)4, TrivialOffsetCalculator<(int)0, unsigned int>, TrivialOffsetCalculator<(int)1, unsigned int>, at::native::memory::LoadWithoutCast, at::native::memory::StoreWithoutCast>(int, T1, T2, T4, T5, T6, T7)"),
    ("fill", "void at::native::unrolled_elementwise_kernel<at::native::FillFunctor<int>, std::array<char*, 1ul>, 4, TrivialOffsetCalculator<0, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithoutCast, at::native::memory::StoreWithoutCast>(int, at::native::FillFunctor<int>, std::array<char*, 1ul>, TrivialOffsetCalculator<0, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithoutCast, at::native::memory::StoreWithoutCast)"),
    ("fill", "void at::native::unrolled_elementwise_kernel<at::native::FillFunctor<long>, std::array<char *, (unsigned long)1>, (int)4, TrivialOffsetCalculator<(int)0, unsigned int>, TrivialOffsetCalculator<(int)1, unsigned int>, at::native::memory::LoadWithoutCast, at::native::memory::StoreWithoutCast>(int, T1, T2, T4, T5, T6, T7)"),
    ("fill", "void at::native::unrolled_elementwise_kernel<at::native::FillFunctor<long>, std::array<char*, 1ul>, 4, TrivialOffsetCalculator<0, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithoutCast, at::native::memory::StoreWithoutCast>(int, at::native::FillFunctor<long>, std::array<char*, 1ul>, TrivialOffsetCalculator<0, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithoutCast, at::native::memory::StoreWithoutCast)"),
    ("fill", "void at::native::vectorized_elementwise_kernel<(int)2, at::native::FillFunctor<long>, std::array<char *, (unsigned long)1>>(int, T2, T3)"),
    ("fill", "void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<int>, std::array<char *, (unsigned long)1>>(int, T2, T3)"),
    ("fill", "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul> >(int, at::native::FillFunctor<int>, std::array<char*, 1ul>)"),
    ("fused_add_rms_norm", "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8, true>(c10::BFloat16*, long, c10::BFloat16*, c10::BFloat16 const*, float, int, int)"),
    ("fused_add_rms_norm", "std::enable_if<T2>(int)0&&vllm::_typeConvert<T1>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, (int)8, (bool)1>(T1 *, long, T1 *, const T1 *, float, int, int)"),
    ("gather", "void at::native::_scatter_gather_elementwise_kernel<(int)128, (int)8, void at::native::_cuda_scatter_gather_internal_kernel<(bool)0, at::native::OpaqueType<(int)8>, long>::operator ()<at::native::TensorAssign>(at::TensorIterator &, long, long, long, const T1 &)::[lambda(int) (instance 1)]>(int, T3)"),
    ("gather", "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<false, at::native::OpaqueType<8>, long>::operator()<at::native::TensorAssign>(at::TensorIterator&, long, long, long, at::native::TensorAssign const&)::{lambda(int)#1}>(int, at::native::_cuda_scatter_gather_internal_kernel<false, at::native::OpaqueType<8>, long>::operator()<at::native::TensorAssign>(at::TensorIterator&, long, long, long, at::native::TensorAssign const&)::{lambda(int)#1})"),
    ("gather rows", "void at::native::vectorized_gather_kernel<(int)16, long>(char *, char *, T2 *, int, long, long, long, long, bool)"),
    ("gather_block_tables", "_gather_block_tables_kernel"),
    ("gemm nvjet", "nvjet_sm90_tst_128x16_64x11_2x1_v_bz_TNT"),
    ("gemm nvjet", "nvjet_sm90_tst_128x64_64x8_1x2_h_bz_TNT"),
    ("gemm nvjet", "nvjet_sm90_tst_128x8_64x12_2x1_v_bz_TNT"),
    ("gemm nvjet", "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"),
    ("gemm nvjet", "nvjet_sm90_tst_256x16_64x6_2x1_v_bz_TNT"),
    ("gemm nvjet", "nvjet_sm90_tst_256x8_64x6_2x1_v_bz_TNT"),
    ("gemm nvjet", "nvjet_sm90_tst_64x16_64x16_4x1_v_bz_TNT"),
    ("gemm nvjet", "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"),
    ("gemm nvjet", "nvjet_sm90_tst_96x128_64x7_2x1_v_bz_TNN"),
    ("gemm nvjet splitK", "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_splitK_TNT"),
    ("gemm nvjet splitK", "nvjet_sm90_tst_128x16_64x11_2x1_v_bz_splitK_TNT"),
    ("gemm nvjet splitK", "nvjet_sm90_tst_128x8_64x12_2x1_v_bz_splitK_TNT"),
    ("gemm nvjet splitK", "nvjet_sm90_tst_64x16_64x16_2x1_v_bz_splitK_TNT"),
    ("gemm nvjet splitK", "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TNT"),
    ("gemm splitK reduce", "void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, float, __nv_bfloat16, float, __nv_bfloat16, (bool)0, float, __nv_bfloat16, __nv_bfloat16, (bool)1, (bool)0, (bool)0, (bool)0>(cublasLt::cublasSplitKParams<T6>, const T4 *, const T10 *, T9 *, T5 *, const T6 *, const T6 *, const T11 *, const T4 *, T11 *, void *, long, T6 *, int *, T6 *, T6 *, const T6 *, const T6 *, const T6 *, const T6 *, const T6 *)"),
    ("gemm splitK reduce", "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, false, float, __nv_bfloat16, __nv_bfloat16, true, false, false, false>(cublasLt::cublasSplitKParams<float>, float const*, __nv_bfloat16 const*, float*, __nv_bfloat16*, float const*, float const*, __nv_bfloat16 const*, float const*, __nv_bfloat16*, void*, long, float*, int*, float*, float*, float const*, float const*, float const*, float const*, float const*)"),
    ("get_num_sampled_and_rejected", "_get_num_sampled_and_rejected_kernel"),
    ("gumbel_sample", "_gumbel_sample_kernel"),
    ("index", "void at::native::index_elementwise_kernel<(int)128, (int)4, void at::native::gpu_index_kernel<void at::native::index_kernel_impl<at::native::OpaqueType<(int)2>>(at::TensorIteratorBase &, c10::ArrayRef<long>, c10::ArrayRef<long>)::[lambda(char *, const char *, long) (instance 1)]>(at::TensorIteratorBase &, c10::ArrayRef<long>, c10::ArrayRef<long>, const T1 &, bool)::[lambda(int) (instance 1)]>(long, T3)"),
    ("index", "void at::native::index_elementwise_kernel<(int)128, (int)4, void at::native::gpu_index_kernel<void at::native::index_kernel_impl<at::native::OpaqueType<(int)4>>(at::TensorIteratorBase &, c10::ArrayRef<long>, c10::ArrayRef<long>)::[lambda(char *, const char *, long) (instance 1)]>(at::TensorIteratorBase &, c10::ArrayRef<long>, c10::ArrayRef<long>, const T1 &, bool)::[lambda(int) (instance 1)]>(long, T3)"),
    ("index", "void at::native::index_elementwise_kernel<(int)128, (int)4, void at::native::gpu_index_kernel<void at::native::index_kernel_impl<at::native::OpaqueType<(int)8>>(at::TensorIteratorBase &, c10::ArrayRef<long>, c10::ArrayRef<long>)::[lambda(char *, const char *, long) (instance 1)]>(at::TensorIteratorBase &, c10::ArrayRef<long>, c10::ArrayRef<long>, const T1 &, bool)::[lambda(int) (instance 1)]>(long, T3)"),
    ("index", "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<2> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1}>(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>, at::native::index_kernel_impl<at::native::OpaqueType<2> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1} const&, bool)::{lambda(int)#1}>(long, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<2> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1}>(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>, at::native::index_kernel_impl<at::native::OpaqueType<2> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1} const&, bool)::{lambda(int)#1})"),
    ("index", "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<4> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1}>(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>, at::native::index_kernel_impl<at::native::OpaqueType<4> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1} const&, bool)::{lambda(int)#1}>(long, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<4> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1}>(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>, at::native::index_kernel_impl<at::native::OpaqueType<4> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1} const&, bool)::{lambda(int)#1})"),
    ("index", "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<8> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1}>(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>, at::native::index_kernel_impl<at::native::OpaqueType<8> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1} const&, bool)::{lambda(int)#1}>(long, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<8> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1}>(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>, at::native::index_kernel_impl<at::native::OpaqueType<8> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1} const&, bool)::{lambda(int)#1})"),
    ("index_select", "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, 2, -2>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, at::cuda::detail::TensorInfo<long const, unsigned int>, int, int, unsigned int, long)"),
    ("index_select", "void at::native::<unnamed>::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, (int)2, (int)2, (int)-2>(at::cuda::detail::TensorInfo<T1, T3>, at::cuda::detail::TensorInfo<const T1, T3>, at::cuda::detail::TensorInfo<const T2, T3>, int, int, T3, long)"),
    ("memcpy32_post", "memcpy32_post"),
    ("post_update", "_post_update_kernel"),
    ("prepare_pos_seq_lens", "_prepare_pos_seq_lens_kernel"),
    ("prepare_prefill_inputs", "_prepare_prefill_inputs_kernel"),
    ("reshape_and_cache_flash", "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*, __nv_bfloat16 const*, __nv_bfloat16*, __nv_bfloat16*, long const*, long, long, long, long, long, int, int, int, float const*, float const*, int)"),
    ("reshape_and_cache_flash", "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(const T1 *, const T1 *, T2 *, T2 *, const long *, long, long, long, long, long, int, int, int, const float *, const float *, int)"),
    ("rms_norm", "void vllm::rms_norm_kernel<c10::BFloat16, (int)8, (int)2, (bool)1>(T1 *, const T1 *, long, long, long, long, long, const T1 *, float, int, int)"),
    ("rms_norm", "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2, true>(c10::BFloat16*, c10::BFloat16 const*, long, long, long, long, long, c10::BFloat16 const*, float, int, int)"),
    ("rotary_embedding", "void vllm::rotary_embedding_kernel<c10::BFloat16, c10::BFloat16, (bool)1>(const long *, T1 *, T1 *, const T2 *, int, long, long, long, int, int, int, long, bool)"),
    ("rotary_embedding", "void vllm::rotary_embedding_kernel<c10::BFloat16, c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, int, long, long, long, int, int, int, long, bool)"),
    ("triton_poi_fused", "triton_poi_fused_1"),
    ("triton_poi_fused", "triton_poi_fused_2"),
    ("triton_poi_fused", "triton_poi_fused_3"),
    ("triton_poi_fused", "triton_poi_fused_4"),
    ("triton_poi_fused_mul_silu_slice", "triton_poi_fused_mul_silu_slice_1"),
    ("triton_red_fused__to_copy_embedding_rms_norm", "triton_red_fused__to_copy_embedding_rms_norm_0"),
    ("triton_red_fused_fused_add_rms_norm", "triton_red_fused_fused_add_rms_norm_0"),
    ("triton_red_fused_fused_add_rms_norm", "triton_red_fused_fused_add_rms_norm_2"),
]

# other engines, vendors and libraries; argument lists are shortened
OTHERS = [
    ("cat", "void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<at::native::(anonymous namespace)::OpaqueType<4u>, unsigned int, 1, 128, 1>(int)"),
    ("cat", "void at::native::<unnamed>::CatArrayBatchedCopy_vectorized<at::native::<unnamed>::OpaqueType<(unsigned int)4>, unsigned int, (int)1>(char *)"),
    ("foreach multiplies", "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>, float>(float)"),
    ("foreach plus", "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float>(float)"),
    ("foreach copy", "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::CopyFunctor<int, long, 2, 1, 1>, at::native::Copy<int, long> >(int)"),
    ("foreach copy", "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::UnaryOpFunctor<long, 2, 1, 1>, at::native::Copy<long, long> >(long)"),
    ("elementwise mul", "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::BUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&, at::native::BUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> > const&)::{lambda(int)#1}>(int)"),
    ("elementwise mul", "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)"),
    ("elementwise mul", "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 2> >(int)"),
    ("elementwise add", "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<long>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)"),
    ("elementwise add", "void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctorOnSelf_add<int>, std::array<char*, 2ul>, 4>(int)"),
    ("elementwise masked_fill", "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<at::native::<unnamed>::masked_fill_kernel(at::TensorIterator &, const c10::Scalar &)::[lambda() (instance 1)]::operator ()() const>(at::TensorIteratorBase &)>(int, T3)"),
    ("copy", "void at::native::elementwise_kernel_manual_unroll<128, 4, at::native::gpu_kernel_impl<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(int)#1}>(at::TensorIteratorBase&)>(int)"),
    ("copy", "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16tofloat32_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int)"),
    ("elementwise clamp_scalar", "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, c10::Scalar, at::native::detail::ClampLimits)::{lambda()#1}::operator()() const>(int)"),
    ("elementwise threshold", "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::(anonymous namespace)::threshold_kernel_impl<float>(at::TensorIteratorBase&, float, float)::{lambda(float, float)#1}>, at::detail::Array<char*, 3> >(int)"),
    ("elementwise compare_scalar", "void at::native::vectorized_elementwise_kernel<4, at::native::compare_scalar_kernel<c10::Half>(at::TensorIteratorBase&, at::native::(anonymous namespace)::OpType, c10::Half)::{lambda(c10::Half)#1}, at::detail::Array<char*, 2> >(int)"),
    ("elementwise compare_eq", "void at::native::vectorized_elementwise_kernel<(int)4, at::native::BinaryFunctor<float, float, bool, at::native::<unnamed>::CompareEqFunctor<float>>, std::array<char *, (unsigned long)3>>(int, T2, T3)"),
    ("elementwise minimum", "void at::native::vectorized_elementwise_kernel<(int)2, at::native::BinaryFunctor<long, long, long, at::native::minimum_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 1)]::operator ()() const>, std::array<char *, (unsigned long)3>>(int, T2, T3)"),
    ("elementwise where", "void at::native::vectorized_elementwise_kernel<(int)2, at::native::<unnamed>::where_kernel_impl(at::TensorIterator &)::[lambda() (instance 1)]::operator ()() const, std::array<char *, (unsigned long)4>>(int, T2, T3)"),
    ("elementwise pow_tensor_scalar", "void at::native::vectorized_elementwise_kernel<(int)4, void at::native::<unnamed>::pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase &, T2)::[lambda(float) (instance 1)], std::array<char *, (unsigned long)2>>(int, T2, T3)"),
    ("elementwise abs", "void at::native::vectorized_elementwise_kernel<(int)2, at::native::AbsFunctor<long>, std::array<char *, (unsigned long)2>>(int, T2, T3)"),
    ("elementwise neg", "void at::native::vectorized_elementwise_kernel<4, at::native::neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const, std::array<char*, 2ul> >(int)"),
    ("elementwise log", "void at::native::vectorized_elementwise_kernel<(int)4, at::native::log_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 2)]::operator ()() const, std::array<char *, (unsigned long)2>>(int, T2, T3)"),
    ("elementwise rsqrt", "void at::native::vectorized_elementwise_kernel<(int)4, at::native::rsqrt_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 2)]::operator ()() const, std::array<char *, (unsigned long)2>>(int, T2, T3)"),
    ("elementwise tanh", "void at::native::vectorized_elementwise_kernel<(int)4, at::native::tanh_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 2)]::operator ()() const, std::array<char *, (unsigned long)2>>(int, T2, T3)"),
    ("elementwise silu", "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() const, std::array<char*, 2ul> >(int)"),
    ("elementwise gelu", "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}::operator()() const, std::array<char*, 2ul> >(int)"),
    ("mylib::SpecialThing", "void at::native::vectorized_elementwise_kernel<4, mylib::SpecialThing<float>, std::array<char*, 2ul> >(int)"),
    ("reduce mean", "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4> >(int)"),
    ("reduce sum", "void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<long, at::native::func_wrapper_t<long, at::native::sum_functor<long, long, long>::operator ()(at::TensorIterator &)::[lambda(long, long) (instance 1)]>, unsigned int, long, (int)4, (int)4>>(T3)"),
    ("scatter", "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<true, at::native::OpaqueType<8>, long>::operator()<at::native::TensorAssign>(at::TensorIterator&)>(int)"),
    ("scatter add", "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<true, float, long>::operator()<at::native::ReduceAdd>(at::TensorIterator&)>(int)"),
    ("index_put", "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_put_kernel_impl<at::native::OpaqueType<2> >(at::TensorIterator&)>(at::TensorIteratorBase&)>(long)"),
    ("log_softmax", "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*)"),
    ("softmax", "void <unnamed>::softmax_warp_forward<float, float, float, (int)6, (bool)0, (bool)0>(T2 *, const T1 *)"),
    ("softmax backward", "void (anonymous namespace)::softmax_warp_backward<float, float, float, 10, true, false>(float*)"),
    ("softmax", "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(float*)"),
    ("log_softmax", "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*)"),
    ("topk gather_top_k", "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(int)"),
    ("topk radix_find_kth_values", "void at::native::mbtopk::radixFindKthValues<float, unsigned int, unsigned int, 1>(int)"),
    ("layer_norm", "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int)"),
    ("random exponential", "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, at::native::templates::cuda::exponential_kernel<at::CUDAGeneratorImpl*>(at::TensorIteratorBase&)>(int)"),
    ("at::max_pool_forward_nchw", "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int, float const*)"),
    ("at::max_pool_backward_nchw", "void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float>(float const*)"),
    ("at::cuda::spin", "at::cuda::(anonymous namespace)::spin_kernel(long)"),
    ("gemm cublas", "volta_sgemm_64x32_sliced1x4_tn"),
    ("gemm cublas", "volta_sgemm_128x32_nt"),
    ("gemm cublas", "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn"),
    ("gemm cublas", "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas"),
    ("gemm cublas splitK", "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_split_k_kernel__5x_cublas"),
    ("gemm splitK reduce", "void splitKreduce_kernel<32, 16, int, float, float, float, float, true, false, false>(cublasSplitKParams<float>)"),
    ("gemv cublas", "void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 128, 16, 4, 4, false>(float)"),
    ("gemv cublas", "std::enable_if<!T7, void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, (bool)0, (bool)1>(T13)"),
    ("gemm cutlass", "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_tn_align8>(T1::Params)"),
    ("gemm cutlass", "void cutlass::device_kernel<vllm::enable_sm90_or_later<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>>>>(T1::Params)"),
    ("gemm cutlass", "void cutlass::gemm<bf16, 128, 64>(Params)"),
    ("gemm cutlass", "void cutlass::gemm_nn_128x128<float>(float*, float*)"),
    ("gemm Tensile", "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x32x512_MI16x16x1_SN_LDSB1_AFC1_GSUAMBSK_WS64_WG16_4_4"),
    ("gemm Tensile", "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x48x64_MI16x16x1_SN_LDSB1_AFC1_GSUAMB_WS64_WG64_4_1"),
    ("gemm Tensile splitK reduce", "Cijk_SB_Bias_AS_SAV_UserArgs_PostGSU8_VW4"),
    ("gemm matmul_ogs", "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1"),
    ("gemm matmul_ogs swiglu", "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu"),
    ("deep_gemm::sm90_bf16_gemm_impl", "void deep_gemm::sm90_bf16_gemm_impl<(unsigned int)0, 4096>(float*)"),
    ("marlin::Marlin", "void marlin::Marlin<__nv_bfloat16, 1125899906909960ul, 256>(int4 const*)"),
    ("mul_mat_vec_q", "void mul_mat_vec_q<(ggml_type)12, 1, false>(void const*)"),
    ("attention FA2 splitKV", "flash_fwd_splitkv_kernel"),
    ("attention FA2 splitKV", "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>, false, true>(flash::Flash_fwd_params)"),
    ("attention FA2 combine", "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>, 4, 1, true>(flash::Flash_fwd_params)"),
    ("attention FA2", "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64> >(pytorch_flash::Flash_fwd_params)"),
    ("attention FA4", "kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__tensor000"),
    ("attention paged v1", "void vllm::paged_attention_v1_kernel<unsigned short, unsigned short, 128, 16, 128>(unsigned short*)"),
    ("attention paged v2", "void vllm::paged_attention_v2_kernel<unsigned short, unsigned short, 128, 16, 128>(unsigned short*)"),
    ("attention paged reduce", "void vllm::paged_attention_v2_reduce_kernel<unsigned short, 128>(int)"),
    ("attention paged ROCm", "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0, 1, 128, 256, false, 4, 1, ck_tile::ComposedAttention<0u, false> >(int)"),
    ("attention paged ROCm reduce", "void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, __hip_bfloat16, 128, 128, 256, 3, false>(int)"),
    ("attention unified 2d", "kernel_unified_attention_2d"),
    ("attention unified 3d", "kernel_unified_attention_3d"),
    ("attention unified reduce", "reduce_segments"),
    ("attention flashinfer decode", "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2, 4>(int)"),
    ("attention flashinfer prefill", "void flashinfer::BatchPrefillWithPagedKVCacheKernel<(flashinfer::MaskMode)1, 2, 4>(int)"),
    ("attention flashinfer merge", "void flashinfer::PersistentVariableLengthMergeStatesKernel<8, 16>(int)"),
    ("attention fmha", "fmhaSm100fKernel_QkvE4m3OBfloat16"),
    ("rms_norm aiter", "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb0ELb0ELb1ELi1EEEvPT0_PT_b"),
    ("fused_add_rms_norm aiter", "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_PT_b"),
    ("rms_norm ck_tile", "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_18Rmsnorm2dFwdTraitsILb1ELNS_21Rmsnorm2dFusedAddEnumE0ELNS_23Rmsnorm2dFusedQuantEnumE0EEEEEEvDpT1_"),
    ("fused_add_rms_norm ck_tile", "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_18Rmsnorm2dFwdTraitsILb1ELNS_21Rmsnorm2dFusedAddEnumE1ELNS_23Rmsnorm2dFusedQuantEnumE0EEEEEEvDpT1_"),
    ("MoeSorting", "_ZN7ck_tile6kentryILi1ENS_10MoeSortingINS_5ThingEEEEEvDpT1_"),
    ("rms_norm", "rms_norm_kernel<bf16>(...)"),
    ("fused_add_rms_norm", "_ZN4vllm25fused_add_rms_norm_kernelIN3c108BFloat16ELi8EEEvPT_"),
    ("rms_norm flashinfer", "void flashinfer::norm::RMSNormKernel<8, __nv_bfloat16>(int)"),
    ("fused_add_rms_norm flashinfer", "void flashinfer::norm::FusedAddRMSNormKernel<8, __nv_bfloat16>(int)"),
    ("act_and_mul silu", "act_and_mul_kernel<bf16, silu>(...)"),
    ("act_and_mul gelu_tanh", "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::gelu_tanh_kernel<c10::BFloat16>, true>(int)"),
    ("act_and_mul silu", "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i"),
    ("rotary_embedding", "rotary_embedding_kernel<bf16>(...)"),
    ("rotary_embedding", "void rotary_embedding_kernel<c10::BFloat16, true>(long const*)"),
    ("reshape_and_cache_flash", "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0>(int)"),
    ("reshape_and_cache", "void vllm::reshape_and_cache_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(int)"),
    ("store_kvcache", "void (anonymous namespace)::store_kvcache<2048l, 4, false, long>((anonymous namespace)::StoreKVCacheParams)"),
    ("create_flashinfer_kv_indices_triton", "create_flashinfer_kv_indices_triton"),
    ("clamp_position", "void (anonymous namespace)::clamp_position_kernel<long>(long*)"),
    ("resolve_future_token_ids", "void (anonymous namespace)::resolve_future_token_ids_kernel<long>(long*)"),
    ("combined_routing_compute", "_combined_routing_compute"),
    ("combined_routing_memset", "_combined_routing_memset"),
    ("finalize_matmul_scatter_bf16", "_finalize_matmul_scatter_bf16"),
    ("sum_bitmatrix_rows", "_sum_bitmatrix_rows"),
    ("topk_forward", "_topk_forward"),
    ("moe::topkGatingSoftmax", "void vllm::moe::topkGatingSoftmax<4, 8, 4>(float const*)"),
    ("triton_poi_fused", "triton_poi_fused_0"),
    ("triton_poi_fused__to_copy", "triton_poi_fused__to_copy_1"),
    ("triton_poi_fused_constant_pad_nd_moe_forward", "triton_poi_fused_constant_pad_nd_moe_forward_0"),
    ("triton_red_fused_add_mul_mean", "triton_red_fused_add_mul_mean_3"),
    ("triton_per_fused_add_mul_mean", "triton_per_fused_add_mul_mean_12"),
    ("triton_tem_fused_mm", "triton_tem_fused_mm_7"),
    ("loop_add_fusion", "loop_add_fusion_3"),
    ("fusion", "fusion_12"),
    ("gemm_fusion_dot", "gemm_fusion_dot_3_0"),
    ("rocprim scan", "void rocprim::ROCPRIM_400200_NS::detail::trampoline_kernel<rocprim::ROCPRIM_400200_NS::detail::wrapped_scan_config<rocprim::ROCPRIM_400200_NS::default_config, long>, (rocprim::ROCPRIM_400200_NS::detail::target_arch)942>(int)"),
    ("cub radix_sort_onesweep", "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<float>::Policy900, false>(int*)"),
    ("cub scan", "void cub::CUB_200500_900_NS::detail::scan::DeviceScanKernel<int>(int)"),
    ("thrust parallel_for", "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<int>, int>(int)"),
    ("nccl all_reduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
    ("nccl all_reduce", "ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)"),
    ("nccl send_recv", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"),
    ("all_reduce custom 1stage", "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)"),
    ("conv cudnn", "cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1"),
    ("conv cudnn 3d", "cudnn_infer_volta_scudnn_128x64_3dconv_fprop_medium_nn_v1"),
    ("conv cudnn winograd", "cudnn_infer_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"),
    ("conv cudnn strided", "cudnn_infer_volta_scudnn_128x64_stridedB_small_nn_v1"),
    ("conv cudnn strided splitK", "cudnn_train_volta_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1"),
    ("batch_norm bw", "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 128, true, 1>(float)"),
    ("batch_norm fw", "void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(int)"),
    ("cudnn::winograd_nonfused::winogradForwardData4x4", "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(int)"),
    ("cudnn::winograd_nonfused::winogradForwardOutput4x4", "void cudnn::winograd_nonfused::winogradForwardOutput4x4<float, float>(int)"),
    ("cudnn::ops::nchwToNhwc", "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)0>(int)"),
    ("cudnn::dgrad_engine", "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int)"),
    ("cask_cudnn_infer::computeOffsets", "void cask_cudnn_infer::computeOffsetsKernel<true, false>(cask_cudnn_infer::ComputeOffsetsParams)"),
    ("cask_cudnn_train::computeWgradBOffsets", "cask_cudnn_train::computeWgradBOffsetsKernel(cask_cudnn_train::ComputeWgradBOffsetsParams)"),
    ("wgrad_alg0_engine", "void wgrad_alg0_engine<float, 128, 5, 5, 3, 3, 3, false, 512>(int)"),
]

# fmt: on

HOSTILE = [
    "",
    " \t\r\n",
    "\x00\x1b[31mred\x1b[0m\x07",
    "<script>alert('kernel')</script>",
    '"quoted" & <b>bold</b>',
    "'; DROP TABLE StringIds; --",
    "=cmd|' /C calc'!A0",
    "../../etc/passwd",
    "two\nlines\u2028and\u202egnirts",
    "\ud800 lone surrogate",
    "\U0001f680" * 300,
    "x" * (1 << 20),
    "void deep<" * 100_000,
    ">" * (1 << 20) + "(int)",
    "(" * 5000,
    "_ZN" + "9" * 5000,
    "_Z" + "1a" * 5000,
    "elementwise_kernel<" + "x_kernel<" * 5000,
    "act_and_mul_kernel" * 5000,
    "std::enable_if<" * 5000,
]

SPECIAL = re.compile(r"native|detail|internal|impl|kernel|device|vllm|std|operator|lambda|fusion|gem[mv]|fmha|nccl|bias")
IDENTIFIERS = st.from_regex(r"[a-z]{3,8}(_[a-z]{3,6}){0,2}", fullmatch=True).filter(lambda text: not SPECIAL.search(text))
TYPES = st.recursive(
    st.sampled_from(
        ["float", "(int)8", "c10::BFloat16", "true", "T1", "float const*", "const T1 *", "(anonymous namespace)::Tag"]
    ),
    lambda inner: st.builds(
        "{}<{}>".format, st.sampled_from(["std::array", "ns::Holder"]), st.lists(inner, min_size=1).map(", ".join)
    ),
    max_leaves=5,
)


@pytest.mark.parametrize(("family", "name"), [*H200, *OTHERS])
def test_family_is_what_an_engineer_would_call_it(family: str, name: str) -> None:
    assert family_of(name) == family


def test_different_work_of_a_decode_step_stays_apart() -> None:
    apart = [
        "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2, true>(int)",
        "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8, true>(int)",
        "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT",
        "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TNT",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float>(int)",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4> >(int)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul> >(int)",
        "_gumbel_sample_kernel",
        "_bias_kernel",
    ]
    assert len({family_of(name) for name in apart}) == len(apart)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_get_one_printable_line(name: str) -> None:
    assert_fit_to_print(family_of(name))


def test_a_name_of_nothing_printable_is_nameless() -> None:
    assert family_of("") == family_of(" \n\t") == NAMELESS


def test_text_that_is_no_function_name_is_kept_as_it_is() -> None:
    assert family_of('"quoted" & <b>bold</b>') == '"quoted" & <b>bold</b>'
    assert family_of("line one\nline two\r\tthree") == "line one line two three"


def test_long_names_that_differ_at_the_end_stay_apart() -> None:
    one, other = "part_" * 40 + "a", "part_" * 40 + "b"
    assert family_of(one) != family_of(other)
    assert family_of(one).startswith("part_part_")


def test_a_cut_name_is_still_read() -> None:
    whole = "void my::attention_kernel<float, ns::Policy<int, 4>, true>(float const*, int)"
    assert {family_of(whole[:length]) for length in range(len("void my::attention_kernel<"), len(whole))} == {"my::attention"}


@given(st.text(max_size=200))
def test_any_text_gives_one_printable_line(name: str) -> None:
    assert_fit_to_print(family_of(name))


@given(
    st.lists(
        st.sampled_from([*(name for _, name in OTHERS[-60:]), "<", ">", "(", ")", ", ", "::", "kernel<", "\n"]), max_size=8
    ).map("".join)
)
def test_pieces_of_names_give_one_printable_line(name: str) -> None:
    assert_fit_to_print(family_of(name))


@given(
    returned=st.sampled_from(["", "void ", "unsigned long ", "std::enable_if<(((8)>(0)))&&a::b<T>::c, void>::type "]),
    spaces=st.lists(IDENTIFIERS, max_size=1),
    function=IDENTIFIERS,
    arguments=st.lists(TYPES, max_size=4),
    parameters=st.lists(TYPES, max_size=4),
    tail=st.sampled_from(["", " const", " [clone .isra.0]", ".kd"]),
)
def test_instantiation_and_signature_do_not_count(
    returned: str, spaces: list[str], function: str, arguments: list[str], parameters: list[str], tail: str
) -> None:
    name = "::".join([*spaces, function])
    template = f"<{', '.join(arguments)}>" if arguments else ""
    assert family_of(f"{returned}{name}_kernel{template}({', '.join(parameters)}){tail}") == family_of(f"{name}_kernel") == name


@given(st.lists(st.integers(1, 512), min_size=6, max_size=6), st.sampled_from(["TNT", "TNN"]))
def test_tile_sizes_do_not_count(sizes: list[int], layout: str) -> None:
    a, b, c, d, e, f = sizes
    assert family_of(f"nvjet_sm90_tst_{a}x{b}_{c}x{d}_{e}x{f}_v_bz_{layout}") == "gemm nvjet"
    assert family_of(f"nvjet_sm90_tst_{a}x{b}_{c}x{d}_{e}x{f}_v_bz_splitK_{layout}") == "gemm nvjet splitK"
    assert family_of(f"_my_product_{a}x{b}x{c}_kernel") == "my_product"


@given(st.integers(0, 10**6))
def test_the_counter_of_a_compiled_kernel_does_not_count(counter: int) -> None:
    assert family_of(f"triton_red_fused_add_mul_mean_{counter}") == "triton_red_fused_add_mul_mean"


@given(st.lists(st.sampled_from([name for _, name in H200])))
def test_families_numbers_them_in_order_of_appearance(names: list[str]) -> None:
    codes, found = families(names)
    assert [found[code] for code in codes] == [family_of(name) for name in names]
    assert list(dict.fromkeys(codes)) == list(range(len(found)))
    assert len(set(found)) == len(found)


def assert_fit_to_print(family: str) -> None:
    assert family.isprintable()
    assert re.fullmatch(r"\S(.*\S)?", family)
    assert len(family) <= LONGEST
