// SPDX-License-Identifier: Apache-2.0
// The formula of docs/spec/kueue.md 7.9.
#include "embedded/kueue/cycle/fair_shares.hpp"

#include <algorithm>
#include <string_view>

namespace athanor::kueue {
namespace {

constexpr Amount kUnit = 1000;

// amount * 1000 / lendable, and past the range of an Amount the largest one.
Amount ratio(Amount amount, Amount lendable) {
  const double exact =
      static_cast<double>(amount) * static_cast<double>(kUnit) / static_cast<double>(lendable);
  if (exact >= static_cast<double>(kInfiniteShare)) {
    return kInfiniteShare;
  }
  return amount <= kInfiniteShare / kUnit ? amount * kUnit / lendable : static_cast<Amount>(exact);
}

}  // namespace

FairShares::FairShares(const Snapshot& snapshot) : snapshot_(snapshot) {
  std::map<std::string_view, std::size_t> known;
  resources_.resize(snapshot.quota.cells().size());
  for (const auto& [cell, id] : snapshot.quota.cells()) {
    resources_[id] = known.try_emplace(cell.resource, known.size()).first->second;
  }
  resource_count_ = known.size();
}

const std::vector<Amount>& FairShares::lendable(QuotaTree::NodeId cohort) {
  const auto [at, fresh] = lendable_.try_emplace(cohort);
  if (fresh) {
    at->second.assign(resource_count_, 0);
    for (std::size_t cell = 0; cell < resources_.size(); ++cell) {
      at->second[resources_[cell]] += snapshot_.quota.max_capacity(cohort, cell);
    }
  }
  return at->second;
}

std::int64_t FairShares::share(const QuotaTree& quota, QuotaTree::NodeId node) {
  const auto parent = quota.parent(node);
  if (!parent) {
    return 0;
  }
  std::vector<Amount> borrowed;
  for (std::size_t cell = 0; cell < resources_.size(); ++cell) {
    const Amount above = quota.usage(node, cell) - quota.subtree(node, cell);
    if (above > 0) {
      borrowed.resize(resource_count_);
      borrowed[resources_[cell]] += above;
    }
  }
  if (borrowed.empty()) {
    return 0;
  }
  const double weight = snapshot_.nodes[node].weight;
  if (weight <= 0) {
    return kInfiniteShare;
  }
  const std::vector<Amount>& most = lendable(*parent);
  Amount dominant = 0;
  for (std::size_t i = 0; i < borrowed.size(); ++i) {
    if (borrowed[i] > 0 && most[i] > 0) {
      dominant = std::max(dominant, ratio(borrowed[i], most[i]));
    }
  }
  const double weighted = static_cast<double>(dominant) / weight;
  return weighted >= static_cast<double>(kInfiniteShare) ? kInfiniteShare
                                                         : static_cast<std::int64_t>(weighted);
}

}  // namespace athanor::kueue
