// SPDX-License-Identifier: Apache-2.0
#include "agent/node/shares.hpp"

#include <utility>

#include "systems/das/sharing/share.hpp"

namespace athanor::agent {
namespace {

using das::Claim;

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
      names.push_back(das::is_share(claim) ? name_of(claim) : std::move(*next++));
    }
    return names;
  }
  Result<void> destroy(const Claim& claim) override {
    return das::is_share(claim) ? Result<void>() : slices_->destroy(claim);
  }
  Result<void> destroy(const das::SliceRecord& record) override { return slices_->destroy(record); }
  void forget(const das::SliceRecord& record) override { slices_->forget(record); }
  std::string name_of(const Claim& claim) override {
    if (!das::is_share(claim)) {
      return slices_->name_of(claim);
    }
    return options_.uuids ? claim.gpu : "test";
  }
  void exchange(const Claim& one, const Claim& other) override {
    if (!das::is_share(one)) {
      slices_->exchange(one, other);
    }
  }
  std::vector<das::SliceRecord> records() override { return slices_->records(); }

 private:
  std::unique_ptr<Slices> slices_;
  ShareOptions options_;
};

}  // namespace

std::unique_ptr<Slices> with_shares(std::unique_ptr<Slices> slices, const ShareOptions& options) {
  return std::make_unique<WithShares>(std::move(slices), options);
}

}  // namespace athanor::agent
