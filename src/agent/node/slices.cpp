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
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/sharing/share.hpp"

namespace athanor::agent {
namespace {

using das::Claim;
using das::SliceRecord;

constexpr int kDestroyTries = 5;
constexpr int kCreateTries = 3;

using Steady = std::chrono::steady_clock;
constexpr Steady::time_point kNoLimit = Steady::time_point::max();

// Returns true if a try after the pause ends in time, if it takes as long as the one before.
bool has_time(Steady::time_point last_began, Duration pause, Steady::time_point until) {
  const Steady::time_point now = Steady::now();
  return until == kNoLimit || now + pause + (now - last_began) <= until;
}

SlicePlace place_of(const SliceRecord& record) {
  return {.gpu = record.gpu, .start = record.start, .size = record.size, .device = record.device};
}

bool same_place(const SliceRecord& a, const SliceRecord& b) {
  return a.gpu == b.gpu && a.start == b.start && a.size == b.size;
}

// Returns true if another claim's slice was made at the record's place since, or is the same one.
bool is_superseded(const SliceRecord& record, const std::vector<SliceRecord>& all) {
  return std::ranges::any_of(all, [&](const SliceRecord& one) {
    return one.claim_uid != record.claim_uid && same_place(one, record) && !one.device.empty() &&
           !one.leaving;
  });
}

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
  explicit RealSlices(RealSlicesOptions options)
      : options_(std::move(options)), records_(options_.folder->records()) {}

  Result<std::vector<std::string>> make(std::span<const Claim> claims) override {
    const Steady::time_point until = Steady::now() + options_.patience;
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
          [this, claims, until, &names, &wanted = wanted, &failed = failures[works.size()]] {
            for (const std::size_t i : wanted) {
              auto made = make_one(claims[i], until);
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
        undo(claims[i], until);
      }
    }
    return *std::move(failure);
  }

  Result<void> destroy(const Claim& claim) override {
    const SliceRecord known = record_for(std::string(claim.object.uid()));
    return known.claim_uid.empty() ? Result<void>() : destroy(known);
  }

  Result<void> destroy(const SliceRecord& record) override { return destroy_by(record, kNoLimit); }

  void forget(const SliceRecord& record) override {
    const MutexLock lock(mutex_);
    std::erase_if(records_, [&](const SliceRecord& one) {
      return one.claim_uid == record.claim_uid && same_place(one, record);
    });
    save();
  }

  std::string name_of(const Claim& claim) override {
    const SliceRecord known = record_for(std::string(claim.object.uid()));
    return known.leaving ? std::string() : known.device;
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
        options_.gpus(), [&](const das::FoundGpu& gpu) { return gpu.uuid == uuid && !gpu.lost; });
  }

  Result<void> destroy_by(const SliceRecord& record, Steady::time_point until) {
    const Timed timed(*options_.metrics, kDestroyMetric, kDestroyHelp);
    const MutexLock gpu(gpu_mutex(record.gpu));
    const SliceRecord known = record_for(record.claim_uid);
    if (!same_place(known, record) || known.device != record.device ||
        (record.leaving && !known.leaving)) {
      return {};  // destroyed meanwhile, and perhaps made anew
    }
    if (is_lost(record.gpu)) {
      return Error{.code = 503,
                   .reason = "GpuIsLost",
                   .message = record.gpu + " vanished: its slices are destroyed when it returns"};
    }
    return clear(known, until);
  }

  // Destroys what a failed call made. A slice that the driver keeps has its record still: the next
  // try for the claim, or its end, destroys it first.
  void undo(const Claim& claim, Steady::time_point until) {
    const SliceRecord known = record_for(std::string(claim.object.uid()));
    if (known.claim_uid.empty()) {
      return;
    }
    if (const auto undone = destroy_by(known, until); !undone.ok()) {
      log::warn("a slice of a failed call was not destroyed; its record stays",
                {{"claim", claim.object.name()}, {"error", undone.error().message}});
    }
  }

  Result<std::string> make_one(const Claim& claim, Steady::time_point until) {
    const Timed timed(*options_.metrics, kCreateMetric, kCreateHelp);
    const MutexLock gpu(gpu_mutex(claim.gpu));
    if (std::string known = name_of(claim); !known.empty()) {
      return known;
    }
    if (const SliceRecord begun = record_for(std::string(claim.object.uid()));
        !begun.claim_uid.empty()) {
      // A run before this one ended while it made or destroyed the slice, or that failed.
      ATHANOR_TRY_VOID(clear(begun, until));
    }
    if (das::is_share(claim.object)) {
      ATHANOR_TRY(std::string device, share_one(claim, until));
      if (!device.empty()) {
        return device;
      }
    }
    ATHANOR_TRY(const SliceOrder order, order_of(claim));
    const SliceRecord intent = das::record_of(claim, "");
    // An instance at this place belongs to another program: it gets no record.
    ATHANOR_TRY(const bool free, options_.driver->is_free(place_of(intent)));
    if (!free) {
      return Error{.code = 500,
                   .reason = das::kInsufficientResources,
                   .message = "create GPU instance: Insufficient Resources"};
    }
    // A driver that fails once may succeed at once: the pod would be lost.
    Duration pause = options_.pause;
    for (int tries = 1;; ++tries) {
      const Steady::time_point began = Steady::now();
      ATHANOR_TRY_VOID(record(intent));
      auto made = options_.driver->create(order);
      if (made.ok()) {
        replace(intent, das::record_of(claim, *made));
        return made;
      }
      if (made.error().reason == das::kInsufficientResources) {
        forget(intent);
        return made;
      }
      if (const auto undone = clear(intent, until); !undone.ok()) {
        log::warn("a slice that was not made may be there; its record stays",
                  {{"claim", claim.object.name()}, {"error", undone.error().message}});
        return made;
      }
      if (made.error().reason == "GpuIsLost" || tries == kCreateTries ||
          !has_time(began, pause, until)) {
        return made;
      }
      log::info("a slice was not made; tried again",
                {{"claim", claim.object.name()}, {"error", made.error().message}});
      std::this_thread::sleep_for(pause);
      pause *= 2;
    }
  }

  // Destroys what is at the record's place, and forgets the record when the place is free. Calls
  // that fail are tried again: other programs look at instances for a moment, and use them then.
  // The GPU's mutex is held.
  Result<void> clear(const SliceRecord& known, Steady::time_point until) {
    if (is_superseded(known, records())) {
      forget(known);
      return {};
    }
    SliceRecord leaving = known;
    leaving.leaving = true;
    if (leaving != known) {
      replace(known, leaving);
    }
    Duration pause = options_.pause;
    for (int tries = 1;; ++tries) {
      const Steady::time_point began = Steady::now();
      auto done = options_.driver->destroy(place_of(leaving));
      if (done.ok()) {
        forget(leaving);
        return {};
      }
      if (done.error().reason == "GpuIsLost" || tries == kDestroyTries ||
          !has_time(began, pause, until)) {
        return done;
      }
      log::info("a slice was not destroyed; tried again",
                {{"claim", leaving.claim}, {"error", done.error().message}});
      std::this_thread::sleep_for(pause);
      pause *= 2;
    }
  }

  // Returns the slice that another claim has made at the place, recorded for this one, too; empty:
  // there is none.
  Result<std::string> share_one(const Claim& claim, Steady::time_point until) {
    for (const SliceRecord& known : records()) {
      if (known.gpu != claim.gpu || known.start != claim.start || known.size != claim.size) {
        continue;
      }
      if (known.device.empty() || known.leaving) {
        // A run before this one ended while it made or destroyed the slice.
        ATHANOR_TRY_VOID(clear(known, until));
      } else if (known.profile == claim.profile) {
        ATHANOR_TRY_VOID(record(das::record_of(claim, known.device)));
        return known.device;
      }
    }
    return std::string();
  }

  Result<SliceOrder> order_of(const Claim& claim) const {
    for (const das::FoundGpu& gpu : options_.gpus()) {
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
    auto written = options_.folder->write_records(records_);
    if (!written.ok()) {
      records_.pop_back();
    }
    return written;
  }

  void replace(const SliceRecord& before, const SliceRecord& after) {
    const MutexLock lock(mutex_);
    std::ranges::replace(records_, before, after);
    save();
  }

  // What cannot be written is found again by its place.
  void save() ATHANOR_REQUIRES(mutex_) {
    if (const auto written = options_.folder->write_records(records_); !written.ok()) {
      log::warn("the record of slices cannot be written", {{"error", written.error().message}});
    }
  }

  Mutex& gpu_mutex(const std::string& gpu) {
    const MutexLock lock(mutex_);
    return gpu_mutexes_[gpu];
  }

  RealSlicesOptions options_;
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

std::unique_ptr<Slices> real_slices(RealSlicesOptions options) {
  return std::make_unique<RealSlices>(std::move(options));
}

}  // namespace athanor::agent
