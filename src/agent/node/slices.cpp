// SPDX-License-Identifier: Apache-2.0
#include "agent/node/slices.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "agent/node/cdi_folder.hpp"
#include "base/digest.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "runtime/metrics/metrics.hpp"
#include "systems/das/placement/inventory.hpp"
#include "systems/das/sharing/share.hpp"

namespace athanor::agent {
namespace {

using das::Claim;
using das::SliceRecord;

constexpr int kDestroyTries = 5;
constexpr std::chrono::milliseconds kDestroyPause{200};

class Timed {
 public:
  Timed(Metrics& metrics, const char* name, const char* help)
      : histogram_(metrics.histogram(name, help, Metrics::duration_buckets())) {}
  ~Timed() {
    histogram_.observe(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count());
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Histogram histogram_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

constexpr const char* kCreateMetric = "das_slice_create_seconds";
constexpr const char* kCreateHelp = "How long making a slice takes.";
constexpr const char* kDestroyMetric = "das_slice_destroy_seconds";
constexpr const char* kDestroyHelp = "How long destroying a slice takes.";

class EmulatedSlices final : public Slices {
 public:
  EmulatedSlices(const Emulation& emulation, Metrics& metrics)
      : emulation_(emulation), metrics_(metrics) {}

  Result<std::vector<std::string>> make(std::span<const Claim> claims) override {
    std::vector<std::string> names;
    for (const Claim& claim : claims) {
      const Timed timed(metrics_, kCreateMetric, kCreateHelp);
      if (fails(claim)) {
        return Error::internal(
            fmt::format("emulated fault: slice {} of {} cannot be made", claim.profile, claim.gpu));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(emulation_.create_ms));
      names.push_back(name_of(claim));
    }
    return names;
  }
  Result<void> destroy(const Claim& /*claim*/) override {
    const Timed timed(metrics_, kDestroyMetric, kDestroyHelp);
    std::this_thread::sleep_for(std::chrono::milliseconds(emulation_.destroy_ms));
    return {};
  }
  Result<void> destroy(const SliceRecord& /*record*/) override { return {}; }
  void forget(const SliceRecord& /*record*/) override {}
  std::string name_of(const Claim& claim) override {
    return emulation_.uuids ? das::emulated_slice(claim.gpu, claim.profile, claim.start) : "test";
  }
  std::vector<SliceRecord> records() override { return {}; }

 private:
  // The same claim always does, or never.
  [[nodiscard]] bool fails(const Claim& claim) const {
    constexpr std::uint64_t kMillion = 1'000'000;
    constexpr int kHex = 16;
    std::uint64_t number = 0;
    const std::string digits = sha256_hex(claim.object.uid()).substr(0, 12);
    std::from_chars(digits.data(), digits.data() + digits.size(), number, kHex);
    return static_cast<std::int64_t>(number % kMillion) < emulation_.fail_per_million;
  }

  Emulation emulation_;
  Metrics& metrics_;
};

class RealSlices final : public Slices {
 public:
  RealSlices(GpuDriver& driver, const CdiFolder& folder, KnownGpus gpus, Metrics& metrics)
      : driver_(driver),
        folder_(folder),
        gpus_(std::move(gpus)),
        metrics_(metrics),
        records_(folder.records()) {}

  Result<std::vector<std::string>> make(std::span<const Claim> claims) override {
    std::map<std::string, std::vector<std::size_t>> by_gpu;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      by_gpu[claims[i].gpu].push_back(i);
    }
    std::vector<std::string> names(claims.size());
    std::vector<std::optional<Error>> failures(by_gpu.size());
    std::vector<std::thread> works;
    works.reserve(by_gpu.size());
    for (const auto& [gpu, wanted] : by_gpu) {
      works.emplace_back(
          [this, claims, &names, &wanted = wanted, &failed = failures[works.size()]] {
            for (const std::size_t i : wanted) {
              auto made = make_one(claims[i]);
              if (!made.ok()) {
                failed = std::move(made).error();
                return;
              }
              names[i] = *std::move(made);
            }
          });
    }
    for (std::thread& work : works) {
      work.join();
    }
    std::optional<Error> failure;
    for (std::optional<Error>& one : failures) {
      failure = failure ? failure : one;
    }
    if (!failure) {
      return names;
    }
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (!names[i].empty()) {
        static_cast<void>(destroy(claims[i]));
      }
    }
    return *std::move(failure);
  }

  Result<void> destroy(const Claim& claim) override {
    const SliceRecord known = record_for(std::string(claim.object.uid()));
    return known.claim_uid.empty() ? Result<void>() : destroy(known);
  }

  Result<void> destroy(const SliceRecord& record) override {
    const Timed timed(metrics_, kDestroyMetric, kDestroyHelp);
    const MutexLock gpu(gpu_mutex(record.gpu));
    if (is_lost(record.gpu)) {
      return Error{.code = 503,
                   .reason = "GpuIsLost",
                   .message = record.gpu + " vanished: its slices are destroyed when it returns"};
    }
    if (is_shared(record, records())) {
      forget(record);
      return {};
    }
    auto pause = kDestroyPause;
    for (int tries = 1;; ++tries) {
      auto done = record.device.empty() ? driver_.destroy_at(record.gpu, record.start, record.size)
                                        : driver_.destroy(record.device);
      if (done.ok()) {
        forget(record);
        return {};
      }
      if (done.error().reason != "InUse" || tries == kDestroyTries) {
        return done;
      }
      std::this_thread::sleep_for(pause);
      pause *= 2;
    }
  }

  void forget(const SliceRecord& record) override {
    const MutexLock lock(mutex_);
    std::erase_if(records_, [&](const SliceRecord& one) { return one == record; });
    save();
  }

  std::string name_of(const Claim& claim) override {
    return record_for(std::string(claim.object.uid())).device;
  }

  std::vector<SliceRecord> records() override {
    const MutexLock lock(mutex_);
    return records_;
  }

 private:
  // A driver calls the slices of a GPU that vanished "not found". One that vanished before the
  // agent started is not known.
  [[nodiscard]] bool is_lost(const std::string& uuid) const {
    return std::ranges::none_of(
        gpus_(), [&](const das::FoundGpu& gpu) { return gpu.uuid == uuid && !gpu.lost; });
  }

  Result<std::string> make_one(const Claim& claim) {
    const Timed timed(metrics_, kCreateMetric, kCreateHelp);
    const MutexLock gpu(gpu_mutex(claim.gpu));
    if (std::string known = name_of(claim); !known.empty()) {
      return known;
    }
    if (const SliceRecord begun = record_for(std::string(claim.object.uid()));
        !begun.claim_uid.empty()) {
      // A run before this one ended while it made the slice.
      ATHANOR_TRY_VOID(driver_.destroy_at(begun.gpu, begun.start, begun.size));
      forget(begun);
    }
    if (das::is_share(claim.object)) {
      ATHANOR_TRY(std::string device, share_one(claim));
      if (!device.empty()) {
        return device;
      }
    }
    ATHANOR_TRY(const SliceOrder order, order_of(claim));
    const SliceRecord intent = das::record_of(claim, "");
    ATHANOR_TRY_VOID(record(intent));
    auto made = driver_.create(order);
    if (!made.ok()) {
      forget(intent);
      return made;
    }
    forget_and_record(intent, das::record_of(claim, *made));
    return made;
  }

  // Returns the slice that another claim has made at the place, recorded for this one, too; empty:
  // there is none.
  Result<std::string> share_one(const Claim& claim) {
    for (const SliceRecord& known : records()) {
      if (known.gpu != claim.gpu || known.start != claim.start || known.size != claim.size) {
        continue;
      }
      if (known.device.empty()) {
        // A run before this one ended while it made the slice.
        ATHANOR_TRY_VOID(driver_.destroy_at(known.gpu, known.start, known.size));
        forget(known);
      } else if (known.profile == claim.profile) {
        ATHANOR_TRY_VOID(record(das::record_of(claim, known.device)));
        return known.device;
      }
    }
    return std::string();
  }

  Result<SliceOrder> order_of(const Claim& claim) const {
    for (const das::FoundGpu& gpu : gpus_()) {
      const int index = gpu.uuid == claim.gpu ? gpu.table.find(claim.profile) : -1;
      if (index >= 0) {
        const das::MigProfile& profile = gpu.table.profiles[static_cast<std::size_t>(index)];
        return SliceOrder{.gpu = claim.gpu,
                          .profile = claim.profile,
                          .gi_profile = profile.gi_profile,
                          .ci_profile = profile.ci_profile,
                          .start = claim.start,
                          .size = claim.size};
      }
    }
    return Error::not_found(fmt::format("profile {} not found", claim.profile));
  }

  SliceRecord record_for(const std::string& claim_uid) {
    const MutexLock lock(mutex_);
    const auto found = std::ranges::find(records_, claim_uid, &SliceRecord::claim_uid);
    return found == records_.end() ? SliceRecord() : *found;
  }

  Result<void> record(const SliceRecord& one) {
    const MutexLock lock(mutex_);
    records_.push_back(one);
    auto written = folder_.write_records(records_);
    if (!written.ok()) {
      records_.pop_back();
    }
    return written;
  }

  void forget_and_record(const SliceRecord& before, const SliceRecord& after) {
    const MutexLock lock(mutex_);
    std::ranges::replace(records_, before, after);
    save();
  }

  // What cannot be written is found again by its place.
  void save() ATHANOR_REQUIRES(mutex_) {
    if (const auto written = folder_.write_records(records_); !written.ok()) {
      log::warn("the record of slices cannot be written", {{"error", written.error().message}});
    }
  }

  Mutex& gpu_mutex(const std::string& gpu) {
    const MutexLock lock(mutex_);
    return gpu_mutexes_[gpu];
  }

  GpuDriver& driver_;
  const CdiFolder& folder_;
  KnownGpus gpus_;
  Metrics& metrics_;
  Mutex mutex_{};
  std::vector<SliceRecord> records_ ATHANOR_GUARDED_BY(mutex_);
  // Each is held while slices of its GPU change; nodes of a map never move.
  std::map<std::string, Mutex> gpu_mutexes_ ATHANOR_GUARDED_BY(mutex_){};
};

}  // namespace

bool is_shared(const SliceRecord& record, std::span<const SliceRecord> all) {
  return !record.device.empty() && std::ranges::any_of(all, [&](const SliceRecord& one) {
    return one.device == record.device && one.claim_uid != record.claim_uid;
  });
}

std::unique_ptr<Slices> emulated_slices(const Emulation& emulation, Metrics& metrics) {
  return std::make_unique<EmulatedSlices>(emulation, metrics);
}

std::unique_ptr<Slices> real_slices(GpuDriver& driver, const CdiFolder& folder, KnownGpus gpus,
                                    Metrics& metrics) {
  return std::make_unique<RealSlices>(driver, folder, std::move(gpus), metrics);
}

}  // namespace athanor::agent
