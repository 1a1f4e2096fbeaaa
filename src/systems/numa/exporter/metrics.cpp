// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/metrics.hpp"

#include <fmt/core.h>

namespace athanor::numa {
namespace {

double milliseconds(Duration time) {
  constexpr double kMicros = 1000;
  return static_cast<double>(time.count()) / kMicros;
}

std::string head(std::string_view name, std::string_view type, std::string_view help) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

}  // namespace

void ExporterMetrics::patched(double ratio) {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    ratios_[i] += ratio <= static_cast<double>(i + 1) / kBuckets ? 1 : 0;
  }
  ++patches_;
  ratio_sum_ += ratio;
}

std::string ExporterMetrics::text() const {
  std::string text = head("rte_podresource_api_call_failures_total", "counter",
                          "Failed calls of the podresources API.");
  for (const auto& [function, count] : failures_) {
    text += fmt::format(
        "rte_podresource_api_call_failures_total{{node=\"{}\",function_name=\"{}\"}} {}\n", node_,
        function, count);
  }
  text += head("rte_noderesourcetopology_writes_total", "counter",
               "Rounds by what they did to the NodeResourceTopology.");
  for (const auto& [key, count] : writes_) {
    text += fmt::format(
        "rte_noderesourcetopology_writes_total{{node=\"{}\",operation=\"{}\",trigger=\"{}\"}} {}\n",
        node_, key.first, key.second, count);
  }
  text += head("rte_operation_delay_milliseconds", "gauge", "Time that an operation took.");
  for (const auto& [key, time] : delays_) {
    text += fmt::format(
        "rte_operation_delay_milliseconds{{node=\"{}\",operation_name=\"{}\",trigger=\"{}\"}} {}\n",
        node_, key.first, key.second, milliseconds(time));
  }
  text += head("rte_wakeup_delay_milliseconds", "gauge", "Time between an event and its round.");
  for (const auto& [trigger, time] : wakeups_) {
    text += fmt::format("rte_wakeup_delay_milliseconds{{node=\"{}\",trigger=\"{}\"}} {}\n", node_,
                        trigger, milliseconds(time));
  }
  text += head("rte_noderesourcetopology_patch_failures_total", "counter",
               "Patches that failed, by stage.");
  for (const auto& [stage, count] : patch_failures_) {
    text += fmt::format(
        "rte_noderesourcetopology_patch_failures_total{{node=\"{}\",trigger=\"{}\"}} {}\n", node_,
        stage, count);
  }
  constexpr const char* kRatio = "rte_noderesourcetopology_patch_size_ratio";
  text += head(kRatio, "histogram", "Size of a patch by the size of the object.");
  for (std::size_t i = 0; i < kBuckets; ++i) {
    text += fmt::format("{}_bucket{{node=\"{}\",le=\"{:.1f}\"}} {}\n", kRatio, node_,
                        static_cast<double>(i + 1) / kBuckets, ratios_[i]);
  }
  text += fmt::format("{}_bucket{{node=\"{}\",le=\"+Inf\"}} {}\n", kRatio, node_, patches_);
  text += fmt::format("{}_sum{{node=\"{}\"}} {}\n{}_count{{node=\"{}\"}} {}\n", kRatio, node_,
                      ratio_sum_, kRatio, node_, patches_);
  return text;
}

}  // namespace athanor::numa
