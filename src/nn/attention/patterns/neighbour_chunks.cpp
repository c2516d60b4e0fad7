#include "nn/attention/patterns/sparse_pattern.h"

namespace weft::nn {

namespace {

class NeighbourChunks : public SparsePattern {
 public:
  explicit NeighbourChunks(const NeighbourChunkOptions& options) : options_(options) {}

  void add_keys(const AttentionSpan& span,
                int64_t /*head*/,
                int64_t position,
                std::vector<KeyRange>& keys) const override {
    const auto length = options_.length;
    const auto multiples = (span.keys + options_.multiple - 1) / options_.multiple;
    const auto chunks = multiples * options_.multiple / length;
    const auto own = position / length;
    for (auto chunk = own - options_.before; chunk <= own + options_.after; ++chunk) {
      const auto around = (chunk % chunks + chunks) % chunks;
      keys.push_back({around * length, (around + 1) * length});
    }
  }

 private:
  NeighbourChunkOptions options_;
};

}  // namespace

std::shared_ptr<SparsePattern> make_neighbour_chunks(const NeighbourChunkOptions& options) {
  TORCH_CHECK(options.multiple % options.length == 0, options.multiple, " is no multiple of ",
              options.length);
  return std::make_shared<NeighbourChunks>(options);
}

}  // namespace weft::nn
