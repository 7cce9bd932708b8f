// N(0,1) in a storage type, bit-equal on every machine: 16 random bits pick one of 65,536 quantiles, rounded
// beforehand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/philox.h"
#include "quire/types.h"

namespace quire::bench {

/// The quantiles Phi^-1((i + 1/2) / 65,536) in one storage type: what a GPU would be handed to draw the same numbers.
class NormalTable {
 public:
  /// The table of a type for which quire::is_convertible() holds; made on first use.
  static const NormalTable& of(DType dtype);

  /// Writes normals first .. first + count - 1 of the source. Eight come from each Philox block, whatever `first` is.
  void fill(const RandomSource& source, uint64_t first, int64_t count, std::byte* target) const;

  const std::byte* data() const { return quantiles_.data(); }

 private:
  explicit NormalTable(DType dtype);
  int64_t element_bytes_;
  std::vector<std::byte> quantiles_;
};

}  // namespace quire::bench
