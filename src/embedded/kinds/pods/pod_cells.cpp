// SPDX-License-Identifier: Apache-2.0
// One word for the state of a pod, how many of its containers are ready and how often they started
// again (docs/spec/apiserver.md Appendix T).
#include "embedded/kinds/pods/pod_cells.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

// What a walk over the container statuses finds.
struct Summary {
  std::string status{};
  std::int64_t total = 0;
  std::int64_t ready = 0;
  std::int64_t restarts = 0;
  std::optional<Instant> last_restart{};
  // Of init containers that run beside the others: their restarts go on counting.
  std::int64_t sidecar_restarts = 0;
  std::optional<Instant> last_sidecar_restart{};
};

bool is_sidecar(const Value& spec, const Value& name) {
  for (const Value& container : spec["initContainers"].items()) {
    if (container["name"] == name) {
      return container["restartPolicy"].as_string() == "Always";
    }
  }
  return false;
}

void note_restart(const Value& status, std::optional<Instant>& last) {
  const auto at = parse_time(status["lastState"]["terminated"]["finishedAt"].as_string());
  if (at && (!last || *last < *at)) {
    last = at;
  }
}

// "Signal:9", "ExitCode:1" for ends without a reason.
std::string end_text(const Value& terminated) {
  if (!terminated["reason"].as_string().empty()) {
    return terminated["reason"].str();
  }
  return terminated["signal"].as_int() != 0
             ? fmt::format("Signal:{}", terminated["signal"].as_int())
             : fmt::format("ExitCode:{}", terminated["exitCode"].as_int());
}

// True while an init container has still to come to its end.
bool walk_init(const Value& pod, Summary& summary) {
  const Value& spec = pod["spec"];
  const Value& statuses = pod["status"]["initContainerStatuses"];
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const Value& status = statuses[i];
    const bool sidecar = is_sidecar(spec, status["name"]);
    summary.restarts += status["restartCount"].as_int();
    note_restart(status, summary.last_restart);
    if (sidecar) {
      summary.sidecar_restarts += status["restartCount"].as_int();
      note_restart(status, summary.last_sidecar_restart);
    }
    const Value& terminated = status["state"]["terminated"];
    const std::string_view waiting = status["state"]["waiting"]["reason"].as_string();
    if (terminated.is_object() && terminated["exitCode"].as_int() == 0) {
      continue;
    }
    if (sidecar && status["started"].as_bool()) {
      summary.ready += status["ready"].as_bool() ? 1 : 0;
      continue;
    }
    if (terminated.is_object()) {
      summary.status = "Init:" + end_text(terminated);
    } else if (!waiting.empty() && waiting != "PodInitializing") {
      summary.status = fmt::format("Init:{}", waiting);
    } else {
      summary.status = fmt::format("Init:{}/{}", i, spec["initContainers"].size());
    }
    return true;
  }
  return false;
}

void walk_containers(const Value& pod, Summary& summary) {
  summary.restarts = summary.sidecar_restarts;
  summary.last_restart = summary.last_sidecar_restart;
  bool has_running = false;
  const auto statuses = pod["status"]["containerStatuses"].items();
  for (auto it = statuses.rbegin(); it != statuses.rend(); ++it) {
    const Value& status = *it;
    summary.restarts += status["restartCount"].as_int();
    note_restart(status, summary.last_restart);
    const Value& state = status["state"];
    if (!state["waiting"]["reason"].as_string().empty()) {
      summary.status = state["waiting"]["reason"].str();
    } else if (state["terminated"].is_object()) {
      summary.status = end_text(state["terminated"]);
    } else if (status["ready"].as_bool() && state["running"].is_object()) {
      has_running = true;
      ++summary.ready;
    }
  }
  if (summary.status == "Completed" && has_running) {
    const bool ready = condition_is(pod["status"]["conditions"], "Ready", "True");
    summary.status = ready ? "Running" : "NotReady";
  }
}

Summary summarize(const Value& pod) {
  const Value& status = pod["status"];
  Summary summary;
  summary.status =
      status["reason"].as_string().empty() ? status["phase"].str() : status["reason"].str();
  if (find_condition(status["conditions"], "PodScheduled")["reason"].as_string() ==
      "SchedulingGated") {
    summary.status = "SchedulingGated";
  }
  summary.total = static_cast<std::int64_t>(pod["spec"]["containers"].size());
  for (const Value& container : pod["spec"]["initContainers"].items()) {
    summary.total += container["restartPolicy"].as_string() == "Always" ? 1 : 0;
  }
  const bool initializing = walk_init(pod, summary);
  if (!initializing || condition_is(status["conditions"], "Initialized", "True")) {
    walk_containers(pod, summary);
  }
  if (pod["metadata"].contains("deletionTimestamp")) {
    const std::string_view phase = status["phase"].as_string();
    if (status["reason"].as_string() == "NodeLost") {
      summary.status = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      summary.status = "Terminating";
    }
  }
  return summary;
}

Value gates_cell(const Value& pod) {
  const auto gates = pod["spec"]["readinessGates"].items();
  if (gates.empty()) {
    return kNone;
  }
  const auto open = std::count_if(gates.begin(), gates.end(), [&](const Value& gate) {
    return condition_is(pod["status"]["conditions"], gate["conditionType"].as_string(), "True");
  });
  return {fmt::format("{}/{}", open, gates.size())};
}

}  // namespace

Cells pod_cells(const Value& pod, Instant now) {
  const Summary summary = summarize(pod);
  std::string restarts = std::to_string(summary.restarts);
  if (summary.restarts != 0 && summary.last_restart) {
    restarts += fmt::format(" ({} ago)", format_age(now - *summary.last_restart));
  }
  const Value& status = pod["status"];
  const Value& ip = status["podIPs"].empty() ? status["podIP"] : status["podIPs"][0]["ip"];
  return {name_cell(pod),
          fmt::format("{}/{}", summary.ready, summary.total),
          summary.status,
          restarts,
          age_cell(pod, now),
          text_cell(ip),
          text_cell(pod["spec"]["nodeName"]),
          text_cell(status["nominatedNodeName"]),
          gates_cell(pod)};
}

}  // namespace athanor::apiserver
