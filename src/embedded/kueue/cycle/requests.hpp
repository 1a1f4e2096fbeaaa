// SPDX-License-Identifier: Apache-2.0
// What a workload asks for (docs/spec/kueue.md 7.3, 7.5, 11.3): requests with what limit ranges,
// runtime classes and the settings make of them, and why they cannot be counted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/runtime_class.hpp"
#include "embedded/kueue/model/settings.hpp"
#include "embedded/kueue/model/workload_info.hpp"
#include "kube/value/kind.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// Read for the overhead of pods.
using api::kRuntimeClass;

// The limit ranges of a namespace in one. Of two defaults the first by name counts, of two bounds
// the stricter.
struct LimitRanges {
  Value defaults = Value::object();
  struct Bounds {
    Amounts min{};
    Amounts max{};
    [[nodiscard]] bool none() const { return min.empty() && max.empty(); }
  };
  Bounds container{};
  Bounds pod{};
};

// Computes the effective requests of workloads, and caches limit ranges by namespace. Not
// thread-safe.
class RequestRules {
 public:
  // Requires that `view` and `settings` outlive it.
  RequestRules(const View& view, const Settings& settings) : view_(view), settings_(settings) {}
  // Returns the requests of each pod set, without the pods that need nothing any more.
  [[nodiscard]] std::vector<PodSetRequests> requests(const Object& workload);
  // Returns a message why they cannot be counted; empty: they can.
  [[nodiscard]] std::string problem(const Object& workload);

 private:
  const LimitRanges& limit_ranges(const std::string& ns);
  // Returns requests with the runtime class's overhead, where the pod does not set its own.
  [[nodiscard]] Amounts pod_requests_of(const Value& pod_spec, const LimitRanges& ranges) const;
  void transform(Amounts& amounts) const;

  const View& view_;
  const Settings& settings_;
  std::map<std::string, LimitRanges> ranges_{};
};

// Returns the same requests for `count` pods of the pod set at that place.
std::vector<PodSetRequests> with_count(std::vector<PodSetRequests> requests, std::size_t pod_set,
                                       std::int64_t count);

}  // namespace athanor::kueue
