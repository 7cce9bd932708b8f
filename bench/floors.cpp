#include "bench/floors.h"

#include "bench/clock.h"
#include "bench/stats.h"

namespace quire::bench {
namespace {

std::vector<Piece> pieces_of(const HostBuffer& buffer) {
  return cut(std::vector<Piece>{{buffer.data(), buffer.bytes()}}, kReadPieceBytes);
}

void summarise_reads(const std::vector<ThreadedRead>& reads, const std::vector<std::vector<double>>& samples,
                     std::map<std::string, Series>& series, std::string& best, Interval& floor) {
  for (size_t i = 0; i < reads.size(); ++i) {
    if (samples[i].empty()) continue;
    const Interval us = median_interval(samples[i]);
    series[reads[i].name()] = {.samples_us = samples[i], .us = us};
    if (!best.empty() && us.median >= floor.median) continue;
    best = reads[i].name();
    floor = us;
  }
}

}  // namespace

FloorReads::FloorReads(const std::vector<Case>& sets, int64_t kv_bytes, Executor& executor, Evictor& evictor)
    : evictor_(evictor), buffer_(allocate_written(kv_bytes, executor)), contiguous_(pieces_of(buffer_), executor) {
  if (static_cast<int64_t>(buffer_.bytes()) < kv_bytes) contiguous_.reads.clear();
  for (const Case& c : sets) paged_.emplace_back(cut(paged_pieces(c), kReadPieceBytes), executor);
  contiguous_samples_.resize(contiguous_.reads.size());
  paged_samples_.resize(paged_.front().reads.size());
}

void FloorReads::sample(size_t index, size_t set) {
  const bool paged = index >= contiguous_.reads.size();
  const size_t read = paged ? index - contiguous_.reads.size() : index;
  const Region& region = paged ? paged_[set] : contiguous_;
  evictor_.evict(region.pieces);
  const double start = now_us();
  region.reads[read].run();
  (paged ? paged_samples_ : contiguous_samples_)[read].push_back(now_us() - start);
}

void FloorReads::summarise(Floors& floors) const {
  summarise_reads(contiguous_.reads, contiguous_samples_, floors.stream, floors.best_stream, floors.floor_us);
  summarise_reads(paged_.front().reads, paged_samples_, floors.paged, floors.best_paged, floors.paged_floor_us);
}

}  // namespace quire::bench
