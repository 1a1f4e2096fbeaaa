// SPDX-License-Identifier: Apache-2.0
#include "agent/node/shares.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/mutex.hpp"
#include "systems/das/sharing/share.hpp"

namespace athanor::agent {
namespace {

using das::Claim;
using das::SliceRecord;

// The share that a record's slice has, or had, as far as the record tells.
das::ShareClaim share_of(const SliceRecord& record) {
  return {.type = "mps",
          .gpu = record.gpu,
          .profile = record.profile,
          .start = record.start,
          .size = record.size};
}

class WithShares final : public Slices {
 public:
  WithShares(std::unique_ptr<Slices> slices, const ShareOptions& options)
      : slices_(std::move(slices)), options_(options) {}

  Result<std::vector<std::string>> make(std::span<const Claim> claims) override {
    std::vector<Claim> sliced;
    for (const Claim& claim : claims) {
      if (!das::is_share(claim)) {
        sliced.push_back(claim);
      } else if (options_.modes != nullptr) {
        ATHANOR_TRY_VOID(options_.modes->ready(claim.gpu));
      }
    }
    ATHANOR_TRY(std::vector<std::string> made, slices_->make(sliced));
    std::vector<std::string> names;
    auto next = made.begin();
    for (const Claim& claim : claims) {
      if (!das::is_share(claim)) {
        names.push_back(std::move(*next++));
        continue;
      }
      auto name = share(claim);
      if (!name.ok()) {
        for (const Claim& one : claims.first(names.size())) {
          static_cast<void>(destroy(one));
        }
        return std::move(name).error();
      }
      names.push_back(*std::move(name));
    }
    return names;
  }

  Result<void> destroy(const Claim& claim) override {
    if (!das::is_share(claim)) {
      return slices_->destroy(claim);
    }
    const auto slice = das::shared_slice(claim);
    if (!slice) {
      return {};
    }
    const MutexLock lock(gpu_mutex(claim.gpu));
    if (is_last(das::record_of(*slice, slices_->name_of(*slice)))) {
      end(*das::read_share(claim.object));
    }
    return slices_->destroy(*slice);
  }

  Result<void> destroy(const SliceRecord& record) override {
    const MutexLock lock(gpu_mutex(record.gpu));
    if (is_last(record)) {
      end(share_of(record));
    }
    return slices_->destroy(record);
  }

  void forget(const SliceRecord& record) override {
    const MutexLock lock(gpu_mutex(record.gpu));
    if (is_last(record)) {
      end(share_of(record));
    }
    slices_->forget(record);
  }

  std::string name_of(const Claim& claim) override {
    if (!das::is_share(claim)) {
      return slices_->name_of(claim);
    }
    if (const auto slice = das::shared_slice(claim)) {
      return slices_->name_of(*slice);
    }
    return options_.uuids ? claim.gpu : "test";
  }

  std::vector<SliceRecord> records() override { return slices_->records(); }

  void adopt(std::span<const Claim> claims) override {
    for (const Claim& claim : claims) {
      const auto slice = das::shared_slice(claim);
      const std::string device = slice ? slices_->name_of(*slice) : std::string();
      if (!device.empty()) {
        const MutexLock lock(gpu_mutex(claim.gpu));
        static_cast<void>(start(*das::read_share(claim.object), device));  // tended from now on
      }
    }
  }

 private:
  // Makes the claim's slice unless another share has made it.
  Result<std::string> share(const Claim& claim) {
    const auto slice = das::shared_slice(claim);
    if (!slice) {
      return name_of(claim);
    }
    const MutexLock lock(gpu_mutex(claim.gpu));
    ATHANOR_TRY(std::vector<std::string> made, slices_->make({&*slice, 1}));
    if (auto started = start(*das::read_share(claim.object), made.front()); !started.ok()) {
      if (is_last(das::record_of(*slice, made.front()))) {
        end(*das::read_share(claim.object));
      }
      static_cast<void>(slices_->destroy(*slice));
      return std::move(started).error();
    }
    return std::move(made.front());
  }

  [[nodiscard]] bool is_last(const SliceRecord& record) {
    return !record.device.empty() && !is_shared(record, slices_->records());
  }

  Result<void> start(const das::ShareClaim& claim, const std::string& device) {
    return options_.modes == nullptr
               ? Result<void>()
               : options_.modes->start_slice(claim.part(), work(claim, device));
  }
  void end(const das::ShareClaim& claim) {
    if (options_.modes != nullptr) {
      options_.modes->end_slice(claim.part(), work(claim, ""));
    }
  }
  // Slices are NVIDIA's.
  [[nodiscard]] das::ModeWork work(const das::ShareClaim& claim, const std::string& device) const {
    return das::find_vendor(das::kNvidiaMig)
        ->share_slice(claim, device, options_.modes->state_folder());
  }

  Mutex& gpu_mutex(const std::string& gpu) {
    const MutexLock lock(mutex_);
    return gpu_mutexes_[gpu];
  }

  std::unique_ptr<Slices> slices_;
  ShareOptions options_;
  Mutex mutex_{};
  // Each is held while shares of its GPU's slices come and go; nodes of a map never move.
  std::map<std::string, Mutex> gpu_mutexes_ ATHANOR_GUARDED_BY(mutex_){};
};

}  // namespace

std::unique_ptr<Slices> with_shares(std::unique_ptr<Slices> slices, const ShareOptions& options) {
  return std::make_unique<WithShares>(std::move(slices), options);
}

}  // namespace athanor::agent
