// SPDX-License-Identifier: Apache-2.0
#include "systems/das/model/request.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include "kube/text/quantity.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::das {
namespace {

using Counts = std::map<std::string, std::int64_t>;  // by profile, in order of bytes

Counts counts_of(const Value& container) {
  Counts counts;
  for (const Member& limit : container["resources"]["limits"].members()) {
    const auto profile = profile_of_resource(limit.key());
    const auto quantity = Quantity::parse(limit.value);
    if (profile && quantity && quantity->value() > 0) {
      counts[*profile] = std::min<std::int64_t>(counts[*profile], kMostSlices) +
                         std::min<std::int64_t>(quantity->value(), kMostSlices + 1);
    }
  }
  return counts;
}

bool is_sidecar(const Value& container) {
  return container["restartPolicy"].as_string() == "Always";
}

class Collector {
 public:
  void add(std::string_view container, const Counts& counts) {
    int& index = next_[std::string(container)];
    for (const auto& [profile, count] : counts) {
      for (std::int64_t i = 0; i < count; ++i) {
        if (result_.slices.size() >= static_cast<std::size_t>(kMostSlices)) {
          result_.too_many = true;
          return;
        }
        result_.slices.push_back(
            {.container = std::string(container), .index = index++, .profile = profile});
      }
    }
  }
  PodSlices take() { return std::move(result_); }

 private:
  PodSlices result_{};
  std::map<std::string, int> next_{};
};

}  // namespace

std::vector<std::string> PodSlices::profiles() const {
  std::vector<std::string> names;
  names.reserve(slices.size());
  for (const SliceRequest& slice : slices) {
    names.push_back(slice.profile);
  }
  return names;
}

PodSlices slices_of(const Value& pod_spec) {
  Collector collector;
  Counts running;
  const auto add_running = [&](const Value& container) {
    const Counts counts = counts_of(container);
    for (const auto& [profile, count] : counts) {
      running[profile] += count;
    }
    collector.add(container["name"].as_string(), counts);
  };
  for (const Value& container : pod_spec["containers"].items()) {
    add_running(container);
  }
  for (const Value& container : pod_spec["initContainers"].items()) {
    if (is_sidecar(container)) {
      add_running(container);
    }
  }
  // An init container's need beyond the slices that it reuses.
  for (const Value& container : pod_spec["initContainers"].items()) {
    if (is_sidecar(container)) {
      continue;
    }
    Counts more;
    for (const auto& [profile, count] : counts_of(container)) {
      std::int64_t& known = running[profile];
      if (count > known) {
        more[profile] = count - known;
        known = count;
      }
    }
    collector.add(container["name"].as_string(), more);
  }
  return collector.take();
}

std::vector<InitUse> init_uses(const Value& pod_spec) {
  std::vector<InitUse> uses;
  for (const Value& container : pod_spec["initContainers"].items()) {
    InitUse use{.container = container["name"].str()};
    for (const auto& [profile, count] : counts_of(container)) {
      use.counts[profile] = static_cast<std::size_t>(count);
    }
    if (!is_sidecar(container) && !use.counts.empty()) {
      uses.push_back(std::move(use));
    }
  }
  return uses;
}

}  // namespace athanor::das
