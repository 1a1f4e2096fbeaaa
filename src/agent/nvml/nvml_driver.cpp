// SPDX-License-Identifier: Apache-2.0
// GpuDriver over NVML: the sequences of docs/spec/das.md 8.6, with their errors' words.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "agent/nvml/discover.hpp"
#include "agent/nvml/gpu_driver.hpp"
#include "agent/nvml/library.hpp"
#include "base/mutex.hpp"
#include "systems/das/model/names.hpp"

namespace athanor::agent {
namespace {

using nvml::Calls;
using nvml::Return;

// Xids that a program causes, and that leave the GPU as it was.
bool is_of_application(unsigned long long xid) {
  constexpr unsigned long long kApplication[] = {13, 31, 43, 45, 68, 109};
  return std::ranges::find(kApplication, xid) != std::end(kApplication);
}

class NvmlDriver final : public GpuDriver {
 public:
  explicit NvmlDriver(std::unique_ptr<nvml::Library> library)
      : library_(std::move(library)), nvml_(library_->calls()) {}
  ~NvmlDriver() override {
    if (events_ != nullptr && nvml_.event_set_free != nullptr) {
      nvml_.event_set_free(events_);
    }
  }
  NvmlDriver(const NvmlDriver&) = delete;
  NvmlDriver& operator=(const NvmlDriver&) = delete;

  Result<das::Discovery> discover() override {
    const MutexLock lock(mutex_);
    ATHANOR_TRY(auto found, nvml::discover(nvml_, known_));
    known_ = found.gpus;
    for (das::FoundGpu& gpu : found.gpus) {
      gpu.healthy = gpu.healthy && !sick_.contains(gpu.uuid);
    }
    return found;
  }

  Result<bool> is_free(const SlicePlace& place) override {
    ATHANOR_TRY(const nvml::Device device, handle_of(place.gpu));
    SlicePlace any = place;
    any.device.clear();
    ATHANOR_TRY(const auto found, instances_at(device, any));
    return found.empty();
  }

  Result<std::string> create(const SliceOrder& order) override {
    ATHANOR_TRY(const nvml::Device device, handle_of(order.gpu));
    nvml::GpuInstanceProfile profile{};
    if (const Return code =
            nvml_.gi_profile(device, static_cast<unsigned int>(order.gi_profile), &profile);
        code != nvml::Success) {
      return error_of(nvml_, code, "get GI profile info: ");
    }
    const nvml::Placement placement{static_cast<unsigned int>(order.start),
                                    static_cast<unsigned int>(order.size)};
    nvml::GpuInstance instance = nullptr;
    if (const Return code = nvml_.create_gi(device, profile.id, &placement, &instance);
        code != nvml::Success) {
      return error_of(nvml_, code, "create GPU instance: ");
    }
    nvml::ComputeInstance compute = nullptr;
    auto made = fill(device, instance, order, compute);
    if (!made.ok()) {
      if (compute != nullptr) {
        nvml_.destroy_ci(compute);
      }
      nvml_.destroy_gi(instance);
      Error error = std::move(made).error();
      if (error.reason == das::kInsufficientResources) {
        error.reason = "NvmlError";  // the GPU instance was made
      }
      return error;
    }
    return made;
  }

  Result<void> destroy(const SlicePlace& place) override {
    ATHANOR_TRY(const nvml::Device device, handle_of(place.gpu));
    ATHANOR_TRY(const auto found, instances_at(device, place));
    if (found.empty()) {
      return {};
    }
    Result<void> done;
    for (const nvml::Instance& one : found) {
      if (auto now = take_apart(one); !now.ok()) {
        done = std::move(now);
      }
    }
    // A call may fail after it has done its work, or succeed before.
    ATHANOR_TRY(const auto left, instances_at(device, place));
    if (left.empty()) {
      return {};
    }
    return done.ok() ? error_of(nvml_, nvml::InUse, "destroy GPU instance: ") : done;
  }

  bool wait_for_event(Duration patience) override {
    if (!listen()) {
      return false;
    }
    nvml::EventData data{};
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
    const auto most = static_cast<unsigned int>(std::max<std::int64_t>(ms, 0));
    if (nvml_.event_wait(events_, &data, most) != nvml::Success) {
      return false;
    }
    if (data.event_type == nvml::kXidEvent && !is_of_application(data.event_data)) {
      std::array<char, nvml::kUuidSize + 1> uuid{};
      if (nvml_.device_uuid(data.device, uuid.data(), nvml::kUuidSize) == nvml::Success) {
        const MutexLock lock(mutex_);
        sick_.insert(uuid.data());
      }
    }
    return true;
  }

 private:
  // Asked anew each time: a handle that a failing driver gave would stay wrong.
  [[nodiscard]] Result<nvml::Device> handle_of(const std::string& uuid) const {
    nvml::Device device = nullptr;
    if (const Return code = nvml_.device_by_uuid(uuid.c_str(), &device); code != nvml::Success) {
      return error_of(nvml_, code, fmt::format("get device {}: ", uuid));
    }
    return device;
  }

  // The instances at exactly this place that may be the slice's.
  [[nodiscard]] Result<std::vector<nvml::Instance>> instances_at(nvml::Device device,
                                                                 const SlicePlace& place) const {
    ATHANOR_TRY(auto all, nvml::instances_of(nvml_, device));
    std::vector<nvml::Instance> there;
    for (nvml::Instance& one : all) {
      if (one.start != place.start || one.size != place.size) {
        continue;
      }
      ATHANOR_TRY(const bool own, may_be(device, one, place.device));
      if (own) {
        there.push_back(std::move(one));
      }
    }
    return there;
  }

  // An instance without compute instances may be any: one that is half made or half destroyed.
  [[nodiscard]] Result<bool> may_be(nvml::Device device, const nvml::Instance& instance,
                                    const std::string& uuid) const {
    bool named = false;  // by another device
    for (const nvml::ComputeInstance compute : instance.computes) {
      const auto name = nvml::name_of(nvml_, device, instance.handle, compute);
      constexpr int kNotFound = 404;
      if (!name.ok() && name.error().code != kNotFound) {
        return name.error();
      }
      if (uuid.empty() || (name.ok() && *name == uuid)) {
        return true;
      }
      named = named || name.ok();
    }
    return !named;
  }

  [[nodiscard]] Result<void> take_apart(const nvml::Instance& instance) const {
    for (const nvml::ComputeInstance compute : instance.computes) {
      ATHANOR_TRY_VOID(gone_or(nvml_.destroy_ci(compute), "destroy compute instance: "));
    }
    return gone_or(nvml_.destroy_gi(instance.handle), "destroy GPU instance: ");
  }

  [[nodiscard]] Result<void> gone_or(Return code, const std::string& prefix) const {
    if (code == nvml::Success || code == nvml::NotFound) {
      return {};
    }
    return error_of(nvml_, code, prefix);
  }

  // The compute instance of a new GPU instance, and the name of both together.
  Result<std::string> fill(nvml::Device device, nvml::GpuInstance instance, const SliceOrder& order,
                           nvml::ComputeInstance& compute) {
    nvml::ComputeInstanceProfile profile{};
    if (const Return code =
            nvml_.ci_profile(instance, static_cast<unsigned int>(order.ci_profile), 0, &profile);
        code != nvml::Success) {
      return error_of(nvml_, code, "get CI profile info: ");
    }
    if (const Return code = nvml_.create_ci(instance, profile.id, &compute);
        code != nvml::Success) {
      compute = nullptr;
      return error_of(nvml_, code, "create compute instance: ");
    }
    return nvml::name_of(nvml_, device, instance, compute);
  }

  bool listen() {
    if (nvml_.event_set_create == nullptr || nvml_.register_events == nullptr ||
        nvml_.event_wait == nullptr) {
      return false;
    }
    if (events_ != nullptr) {
      return true;
    }
    nvml::EventSet set = nullptr;
    unsigned int count = 0;
    if (nvml_.event_set_create(&set) != nvml::Success ||
        nvml_.device_count(&count) != nvml::Success) {
      return false;
    }
    for (unsigned int i = 0; i < count; ++i) {
      nvml::Device device = nullptr;
      if (nvml_.device_by_index(i, &device) == nvml::Success) {
        nvml_.register_events(device, nvml::kXidEvent | nvml::kMigConfigEvent, set);
      }
    }
    events_ = set;
    return true;
  }

  std::unique_ptr<nvml::Library> library_;
  const Calls& nvml_;
  Mutex mutex_{};
  std::vector<das::FoundGpu> known_ ATHANOR_GUARDED_BY(mutex_){};
  // Had a critical Xid; a driver that is loaded anew forgets it.
  std::set<std::string> sick_ ATHANOR_GUARDED_BY(mutex_){};
  nvml::EventSet events_ = nullptr;  // of the thread that waits
};

}  // namespace

Result<std::unique_ptr<GpuDriver>> open_nvml(const std::string& library) {
  ATHANOR_TRY(auto loaded, nvml::Library::load(library));
  return std::unique_ptr<GpuDriver>(std::make_unique<NvmlDriver>(std::move(loaded)));
}

}  // namespace athanor::agent
