#include <utility>

#include "base/random.h"
#include "base/string_util.h"
#include "data/datasets/causal_dataset.h"
#include "data/error.h"
#include "data/remark.h"

namespace weft::data {

namespace {

class StreamDataset : public Dataset {
 public:
  StreamDataset(std::shared_ptr<const Dataset> whole, int64_t streams)
      : base_(std::move(whole)), streams_(streams) {
    if (base_->size(0) < streams_) {
      throw Error(str_cat("data.streams: ", streams_, ", but the text has only ", base_->size(0),
                          " sequences of data.length tokens"));
    }
  }

  int64_t size(int64_t epoch) const override { return steps(epoch) * streams_; }
  int64_t length(int64_t epoch, int64_t item) const override {
    return base_->length(epoch, sequence_of(epoch, item));
  }

  Example example(int64_t epoch, int64_t item) const override {
    auto result = base_->example(epoch, sequence_of(epoch, item));
    result.stream = epoch * streams_ + item % streams_;
    return result;
  }

  bool continues() const override { return true; }

  std::string location(int64_t epoch, int64_t item) const override {
    return base_->location(epoch, sequence_of(epoch, item));
  }
  uint64_t fingerprint() const override {
    return hash_combine(hash_combine(base_->fingerprint(), 0x57EA35),
                        static_cast<uint64_t>(streams_));
  }
  std::vector<std::string> remarks() const override {
    auto remarks = base_->remarks();
    add_remark(remarks, str_cat(streams_, " streams"),
               {.count = base_->size(0) % streams_,
                .noun = "sequence",
                .which = "at the end of the text",
                .done = "dropped, so that all are of the same length"});
    return remarks;
  }

 private:
  int64_t steps(int64_t epoch) const { return base_->size(epoch) / streams_; }
  int64_t sequence_of(int64_t epoch, int64_t item) const {
    return item % streams_ * steps(epoch) + item / streams_;
  }

  std::shared_ptr<const Dataset> base_;
  int64_t streams_;
};

}  // namespace

std::shared_ptr<const Dataset> make_stream_dataset(std::shared_ptr<const Dataset> whole,
                                                   int64_t streams) {
  return std::make_shared<StreamDataset>(std::move(whole), streams);
}

}  // namespace weft::data
