#include "bench/faults.h"

#include <initializer_list>
#include <vector>

#include "bench/faults_base.h"

namespace quire::bench {
namespace {

using List = std::vector<const Implementation*>;

List pointers(std::initializer_list<std::span<const Implementation>> groups) {
  List list;
  for (const std::span<const Implementation> group : groups) {
    for (const Implementation& fault : group) list.push_back(&fault);
  }
  return list;
}

}  // namespace

std::span<const Implementation* const> faults() noexcept {
  static const List list = pointers({token_faults(), arithmetic_faults(), output_faults()});
  return list;
}

const Implementation* find_fault(std::string_view name) noexcept {
  static const List all = pointers({token_faults(), arithmetic_faults(), output_faults(), isolation_faults()});
  for (const Implementation* fault : all) {
    if (name == fault->name) return fault;
  }
  return nullptr;
}

}  // namespace quire::bench
