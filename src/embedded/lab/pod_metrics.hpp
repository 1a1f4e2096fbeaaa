// SPDX-License-Identifier: Apache-2.0
// PodMetrics: answers metrics.k8s.io (`kubectl top`) and what a kubelet's port says of its pods
// (/stats/summary, /pods), of the pods that this lab runs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "base/time.hpp"
#include "embedded/apiserver/request/outside.hpp"
#include "embedded/nodes/process/process_runtime.hpp"
#include "embedded/store/store.hpp"

namespace athanor::lab {

// Where these come from; all outlive it.
struct PodMetricsSources {
  std::function<const store::Store&()> store{};
  std::function<Instant()> clock{};
  const nodes::ProcessRuntime* processes = nullptr;  // null: pods only take time
};

// Thread-safe.
class PodMetrics {
 public:
  explicit PodMetrics(PodMetricsSources sources) : sources_(std::move(sources)) {}

  // Measures what containers use, at most every 15 s. Costs nothing while no process runs.
  void look(Instant now);
  // Answers a request to the metrics server or a node's kubelet; null: it is for another.
  std::unique_ptr<apiserver::OutsideAnswer> answer(const apiserver::OutsideRequest& request);

  // Returns the Service and APIService of metrics.k8s.io.
  static std::vector<Value> objects();

 private:
  struct Sample {
    Instant at{};
    std::map<std::string, std::map<std::string, nodes::ContainerUsage>> pods{};
  };
  struct Rate {
    std::int64_t cpu_nanocores = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t cpu_nanoseconds = 0;
  };

  void measure(Instant now);
  [[nodiscard]] Rate rate_of(const Value& pod, const Value& container);
  Value metrics_of_pod(const Value& pod);
  Value metrics_of_node(const Value& node);
  Value metrics_list(std::string_view kind, std::string_view ns, std::string_view query, int& code);
  Value group_answer(std::string_view path, std::string_view query, int& code);
  Value kubelet_answer(std::string_view node, std::string_view path, int& code);
  Value summary_of(std::string_view node);
  [[nodiscard]] std::vector<Value> stored(std::string_view resource, std::string_view ns) const;
  [[nodiscard]] std::vector<Value> pods_of(std::string_view node) const;

  PodMetricsSources sources_;
  Mutex mutex_{};
  std::optional<Sample> last_ ATHANOR_GUARDED_BY(mutex_){};
  std::optional<Sample> before_ ATHANOR_GUARDED_BY(mutex_){};
};

}  // namespace athanor::lab
