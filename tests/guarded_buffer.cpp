#include "tests/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace quire::test {
namespace {

constexpr std::byte kCanary{0xC5};

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

GuardedBuffer::GuardedBuffer(size_t bytes, size_t alignment) {
  bytes_ = bytes;
  if (bytes == 0) return;
  const size_t page = page_size();
  const size_t usable = (bytes + alignment + page - 1) / page * page;
  void* pages =
      mmap(nullptr, usable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return;
  pages_ = static_cast<std::byte*>(pages);
  page_bytes_ = usable + page;
  mprotect(pages_ + usable, page, PROT_NONE);
  data_ = pages_ + (usable - bytes) / alignment * alignment;
  std::fill(pages_, data_, kCanary);
  std::fill(data_ + bytes_, pages_ + usable, kCanary);
}

GuardedBuffer::~GuardedBuffer() {
  if (pages_ != nullptr) munmap(pages_, page_bytes_);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept { *this = std::move(other); }

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(page_bytes_, other.page_bytes_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void GuardedBuffer::fill(uint8_t byte) {
  if (data_ != nullptr) std::memset(data_, byte, bytes_);
}

bool GuardedBuffer::canaries_intact() const {
  const auto is_canary = [](std::byte b) { return b == kCanary; };
  return data_ == nullptr || (std::all_of(pages_, data_, is_canary) &&
                              std::all_of(data_ + bytes_, pages_ + page_bytes_ - page_size(), is_canary));
}

void GuardedBuffer::set_writable(bool writable) {
  if (pages_ == nullptr) return;
  mprotect(pages_, page_bytes_ - page_size(), writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

}  // namespace quire::test
