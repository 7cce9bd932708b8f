// A call that succeeds allocates nothing: every operator new of this program is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/every_implementation.h"
#include "tests/problem.h"

// GCC inlines one half of a pair below and then takes it for a mismatch with the other.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace {

std::atomic<int64_t> allocations{0};

void* counted(size_t bytes, size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = alignment == 0 ? std::malloc(bytes > 0 ? bytes : 1)
                                : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return counted(bytes, 0); }
void* operator new[](size_t bytes) { return counted(bytes, 0); }
void* operator new(size_t bytes, std::align_val_t alignment) { return counted(bytes, static_cast<size_t>(alignment)); }
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace quire::test {
namespace {

class Allocation : public EveryImplementation {};

QUIRE_FOR_EVERY_IMPLEMENTATION(Allocation);

TEST(AllocationCount, sees_what_is_allocated) {
  const int64_t before = allocations.load();
  ::operator delete(::operator new(3));
  EXPECT_EQ(allocations.load(), before + 1);
}

TEST_P(Allocation, does_not_happen_in_a_call_that_succeeds) {
  for (const DType dtype : kStorageTypes) {
    Problem problem({.dtype = dtype, .num_heads = 6, .head_dim = 80, .context_lens = {700, 0, 33}});
    const AttentionArgs args = problem.args();
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads);
      const Result<size_t> bytes = workspace_bytes(implementation(), problem.spec(), &pool);
      ASSERT_TRUE(bytes.ok()) << bytes.status().message();
      GuardedBuffer workspace(*bytes, kWorkspaceAlignment);
      const Execution execution = {.workspace = {workspace.data(), workspace.bytes()}, .executor = &pool};
      const int64_t before = allocations.load();
      const Status status = run_implementation(implementation(), problem.spec(), args, execution);
      EXPECT_EQ(allocations.load(), before) << name_of(dtype) << ", threads: " << threads;
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }
}

}  // namespace
}  // namespace quire::test
