// SPDX-License-Identifier: Apache-2.0
// The formula of docs/spec/kueue.md 7.9.
#include "embedded/kueue/cycle/fair_shares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

namespace athanor::kueue {
namespace {

constexpr double kUnit = 1000;

}  // namespace

std::int64_t Share::reported() const {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  return infinite || value >= static_cast<double>(kLargest)
             ? kLargest
             : static_cast<std::int64_t>(std::ceil(value));
}

FairShares::FairShares(const Snapshot& snapshot)
    : snapshot_(snapshot), lendable_(snapshot.nodes.size()) {
  std::map<std::string_view, std::size_t> known;
  resources_.resize(snapshot.quota.cells().size());
  for (const auto& [cell, id] : snapshot.quota.cells()) {
    resources_[id] = known.try_emplace(cell.resource, known.size()).first->second;
  }
  resource_count_ = known.size();
}

const std::vector<Amount>& FairShares::lendable(QuotaTree::NodeId cohort) {
  std::vector<Amount>& most = lendable_[cohort];
  if (most.empty()) {
    most.assign(resource_count_, 0);
    for (std::size_t cell = 0; cell < resources_.size(); ++cell) {
      most[resources_[cell]] += snapshot_.quota.max_capacity(cohort, cell);
    }
  }
  return most;
}

Share FairShares::share(const QuotaTree& quota, QuotaTree::NodeId node) {
  const auto parent = quota.parent(node);
  if (!parent) {
    return {};
  }
  bool borrows = false;
  borrowed_.assign(resource_count_, 0);
  for (std::size_t cell = 0; cell < resources_.size(); ++cell) {
    const Amount above = quota.usage(node, cell) - quota.subtree(node, cell);
    if (above > 0) {
      borrows = true;
      borrowed_[resources_[cell]] += above;
    }
  }
  if (!borrows) {
    return {};
  }
  const std::vector<Amount>& most = lendable(*parent);
  double dominant = 0;
  for (std::size_t i = 0; i < borrowed_.size(); ++i) {
    if (borrowed_[i] > 0 && most[i] > 0) {
      dominant = std::max(dominant,
                          static_cast<double>(borrowed_[i]) * kUnit / static_cast<double>(most[i]));
    }
  }
  const double weight = snapshot_.nodes[node].weight;
  if (weight <= 0) {
    return {.infinite = true, .value = dominant};
  }
  return {.value = dominant / weight};
}

}  // namespace athanor::kueue
