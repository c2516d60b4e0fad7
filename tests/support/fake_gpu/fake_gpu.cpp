// A GPU for machines that have none. Preloaded into a program that uses a LibTorch for CPUs,
// it answers as CUDA does: one device, with memory that the program cannot read or write. Every
// operation on it is computed on copies by the CPU, to the CPU's bits. So a program that runs on it
// keeps its tensors where they belong, and one that does not ends in a segmentation fault or in an
// error of LibTorch's. What the kernels of a real GPU compute, and how fast, it does not show.
#include <cstddef>
#include <map>
#include <mutex>
#include <new>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/mman.h>
#include <torch/library.h>

namespace {

const c10::Device kDevice(c10::kCUDA, 0);

/// Blocks of pages, closed but while an operation works on them.
class Memory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    if (size == 0) {
      return {nullptr, kDevice};
    }
    void* const block = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
      throw std::bad_alloc();
    }
    const std::lock_guard lock(mutex_);
    blocks_[block] = {.size = size, .users = 0};
    return {block, block, &release, kDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* /*to*/, const void* /*from*/, std::size_t /*size*/) const override {
    TORCH_CHECK(false, "the fake GPU copies tensors only");
  }

  void open(void* block) {
    const std::lock_guard lock(mutex_);
    auto& found = blocks_.at(block);
    if (++found.users == 1) {
      ::mprotect(block, found.size, PROT_READ | PROT_WRITE);
    }
  }
  void close(void* block) {
    const std::lock_guard lock(mutex_);
    auto& found = blocks_.at(block);
    if (--found.users == 0) {
      ::mprotect(block, found.size, PROT_NONE);
    }
  }

 private:
  struct Block {
    std::size_t size = 0;
    int users = 0;
  };

  static void release(void* block);

  std::mutex mutex_;
  std::map<void*, Block> blocks_;
};

Memory& memory() {
  static auto* const made = new Memory;  // outlives all tensors
  return *made;
}

void Memory::release(void* block) {
  auto& self = memory();
  const std::lock_guard lock(self.mutex_);
  const auto found = self.blocks_.find(block);
  ::munmap(block, found->second.size);
  self.blocks_.erase(found);
}

/// A tensor as one of the CPU's, on the same memory, for the scope.
class OnCpu {
 public:
  explicit OnCpu(const at::Tensor& x) : tensor(x) {
    if (!x.is_cuda()) {
      return;
    }
    block_ = x.storage().mutable_data();
    const auto options = at::TensorOptions().dtype(x.dtype());
    if (block_ == nullptr) {
      tensor = at::empty_strided(x.sizes(), x.strides(), options);
      return;
    }
    memory().open(block_);
    tensor = at::from_blob(x.data_ptr(), x.sizes(), x.strides(), options);
  }
  OnCpu(const OnCpu&) = delete;
  OnCpu& operator=(const OnCpu&) = delete;
  ~OnCpu() {
    if (block_ != nullptr) {
      memory().close(block_);
    }
  }

  at::Tensor tensor;

 private:
  void* block_ = nullptr;
};

struct Guard final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> {
  c10::Device exchangeDevice(c10::Device /*device*/) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  c10::Stream getStream(c10::Device /*device*/) const noexcept override { return only(); }
  c10::Stream exchangeStream(c10::Stream /*stream*/) const noexcept override { return only(); }

 private:
  static c10::Stream only() { return c10::Stream(c10::Stream::DEFAULT, kDevice); }
};

struct Hooks final : at::CUDAHooksInterface {
  explicit Hooks(at::CUDAHooksArgs /*arguments*/) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool hasCUDART() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  int getNumGPUs() const override { return 1; }
  c10::DeviceIndex current_device() const override { return 0; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex /*device*/) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex /*device*/) const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex /*device*/) const override {}
  void deviceSynchronize(c10::DeviceIndex /*device*/) const override {}
  const at::Generator& getDefaultGenerator(c10::DeviceIndex /*device*/) const override {
    return at::detail::getDefaultCPUGenerator();
  }
  at::Allocator* getPinnedMemoryAllocator() const override { return c10::GetAllocator(c10::kCPU); }
};

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::CUDA);

using Sizes = at::IntArrayRef;

at::Tensor empty(Sizes sizes,
                 std::optional<at::ScalarType> type,
                 std::optional<at::Layout> /*layout*/,
                 std::optional<at::Device> /*device*/,
                 std::optional<bool> /*pinned*/,
                 std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(sizes, &memory(), kKeys, c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(Sizes sizes,
                         Sizes strides,
                         std::optional<at::ScalarType> type,
                         std::optional<at::Layout> /*layout*/,
                         std::optional<at::Device> /*device*/,
                         std::optional<bool> /*pinned*/) {
  return at::detail::empty_strided_generic(sizes, strides, &memory(), kKeys,
                                           c10::dtype_or_default(type));
}

/// For results only: previous values are not kept.
const at::Tensor& resize(const at::Tensor& x,
                         Sizes sizes,
                         std::optional<at::MemoryFormat> /*format*/) {
  const auto size = at::detail::computeStorageNbytesContiguous(sizes, x.dtype().itemsize());
  TORCH_CHECK(x.storage_offset() == 0, "the fake GPU resizes whole tensors");
  if (x.storage().nbytes() < size) {
    auto* const storage = x.storage().unsafeGetStorageImpl();
    storage->set_data_ptr_noswap(memory().allocate(size));
    storage->set_nbytes(size);
  }
  x.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return x;
}

at::Tensor viewed_at(const at::Tensor& x, Sizes sizes, Sizes strides, int64_t offset) {
  auto result = at::detail::make_tensor<at::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(x.storage()), x.key_set(), x.dtype());
  result.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  result.unsafeGetTensorImpl()->set_storage_offset(offset);
  return result;
}

at::Tensor strided(const at::Tensor& x, Sizes sizes, Sizes strides, std::optional<int64_t> offset) {
  return viewed_at(x, sizes, strides, offset.value_or(x.storage_offset()));
}

at::Tensor reshaped(const at::Tensor& x, Sizes sizes, Sizes strides) {
  return viewed_at(x, sizes, strides, x.storage_offset());
}

at::Tensor view(const at::Tensor& x, Sizes wanted) {
  const auto sizes = at::infer_size(wanted, x.numel());
  const auto strides = at::detail::computeStride(x.sizes(), x.strides(), sizes);
  TORCH_CHECK(strides.has_value(), "a view of ", x.sizes(), " as ", wanted, " is not possible");
  return viewed_at(x, sizes, *strides, x.storage_offset());
}

at::Tensor& copy(at::Tensor& to, const at::Tensor& from, bool /*non_blocking*/) {
  OnCpu target(to);
  target.tensor.copy_(OnCpu(from).tensor);
  return to;
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  auto target = to;
  return copy(target, from, non_blocking);
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (to.sizes() != from.sizes()) {
    to.resize_(from.sizes());
  }
  return copy_from(from, to, false);
}

at::Scalar item(const at::Tensor& x) { return OnCpu(x).tensor.item(); }

void compute_on_cpu(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  at::native::cpu_fallback(operation, stack, /*error_on_views=*/true);
}

[[maybe_unused]] const bool kRegistered = [] {
  c10::SetAllocator(c10::DeviceType::CUDA, &memory());
  return true;
}();

}  // namespace

C10_REGISTER_GUARD_IMPL(CUDA, Guard)

namespace at {
C10_REGISTER_TYPED_CLASS(CUDAHooksRegistry, "CUDAHooks", Hooks)
}

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&compute_on_cpu>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", TORCH_FN(empty));
  library.impl("empty_strided", TORCH_FN(empty_strided));
  library.impl("resize_", TORCH_FN(resize));
  library.impl("as_strided", TORCH_FN(strided));
  library.impl("_reshape_alias", TORCH_FN(reshaped));
  library.impl("view", TORCH_FN(view));
  library.impl("copy_", TORCH_FN(copy));
  library.impl("_copy_from", TORCH_FN(copy_from));
  library.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  library.impl("_local_scalar_dense", TORCH_FN(item));
}
