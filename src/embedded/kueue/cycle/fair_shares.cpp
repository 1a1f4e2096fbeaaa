// SPDX-License-Identifier: Apache-2.0
// The formula of docs/spec/kueue.md 7.9.
#include "embedded/kueue/cycle/fair_shares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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

Share FairShares::share(const QuotaTree& quota, QuotaTree::NodeId node) {
  const auto parent = quota.parent(node);
  if (!parent) {
    return {};
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
    return {};
  }
  const std::vector<Amount>& most = lendable(*parent);
  double dominant = 0;
  for (std::size_t i = 0; i < borrowed.size(); ++i) {
    if (borrowed[i] > 0 && most[i] > 0) {
      dominant = std::max(dominant,
                          static_cast<double>(borrowed[i]) * kUnit / static_cast<double>(most[i]));
    }
  }
  const double weight = snapshot_.nodes[node].weight;
  if (weight <= 0) {
    return {.infinite = true, .value = dominant};
  }
  return {.value = dominant / weight};
}

}  // namespace athanor::kueue
