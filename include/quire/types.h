// Element types, devices, and the view of a strided tensor.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace quire {

/// A CUDA stream; the same type as cudaStream_t, without a CUDA header.
using CudaStream = CUstream_st*;

/// Element type of a tensor. The values are fixed: C, Python and saved files rely on them.
enum class DType : uint8_t {
  kF32 = 0,
  kF16 = 1,   // IEEE binary16
  kBF16 = 2,  // the upper half of a binary32
  kF8E4M3 = 3,
  kF8E5M2 = 4,
  kI8 = 5,
};

/// Bytes of one element.
constexpr int64_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kF32: return 4;
    case DType::kF16:
    case DType::kBF16: return 2;
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kI8: return 1;
  }
  return 0;
}

/// The name used on the command line and in reports: "fp32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8".
constexpr const char* name_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kF32: return "fp32";
    case DType::kF16: return "fp16";
    case DType::kBF16: return "bf16";
    case DType::kF8E4M3: return "fp8_e4m3";
    case DType::kF8E5M2: return "fp8_e5m2";
    case DType::kI8: return "int8";
  }
  return "?";
}

enum class DeviceKind : uint8_t { kCpu = 0, kCuda = 1 };

/// Where pointers point and work runs. Stated by the caller, never guessed from a pointer.
struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;  // CUDA device ordinal; 0 for the CPU

  friend bool operator==(const Device&, const Device&) = default;
};

/// A tensor somebody else owns. Strides count elements, not bytes.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int rank = 0;  // 0..4
  int64_t shape[4] = {0, 0, 0, 0};
  int64_t stride[4] = {0, 0, 0, 0};
};

}  // namespace quire
