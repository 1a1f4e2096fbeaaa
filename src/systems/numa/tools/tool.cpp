// SPDX-License-Identifier: Apache-2.0
// The list of tools.
#include "systems/numa/tools/tool.hpp"

#include <algorithm>

namespace athanor::numa {

std::span<const Tool> numa_tools() {
  static constexpr Tool kTools[] = {
      {"validate", "nrovalidate", "check the cluster's configuration", run_validate},
      {"cache-check", "nrtcacheck", "compare what exporters and the scheduler know of pods",
       run_cache_check},
      {"pfpsync", "pfpsyncchk", "compare status files of fingerprints", run_sync_check},
      {"sched-logs", "schedlogs", "show the log of the leading scheduler", run_scheduler_logs},
      {"watch-attributes", "watchnrtattr", "show changes of attributes until interrupted",
       run_watch_attributes},
      {"platform", "lsplatform", "name the platform", run_platform},
      {"topics", "lstopics", "list the features", run_topics},
      {"kubelet-config", "catkubeletconfmap", "show policy and scope of an exporter's ConfigMap",
       run_kubelet_config},
      {"jobs", "make-job-foreach-ds", "print a Job for each DaemonSet", run_jobs},
      {"label-filter", "mkginkgolabelfilter", "turn features on stdin into a label filter",
       run_label_filter},
      {"deployer", "deployer", "deploy, remove, render, validate, detect, images, setup, version",
       run_deployer},
      {"deploy", "", "deploy exporter and scheduler without the operator", run_deploy},
      {"remove", "", "remove what deploy made", run_remove},
      {"render", "", "print the operator's manifests, or those of deploy's targets", run_render},
      {"bundle", "", "print the OLM bundle", run_bundle},
      {"operator", "numaresources-operator", "flags of the operator that print and end",
       run_operator},
      {"must-gather", "numaresources-must-gather", "collect what is known into one tar file",
       run_must_gather},
  };
  return kTools;
}

const Tool* find_tool(std::string_view name) {
  const auto tools = numa_tools();
  const auto found = std::ranges::find_if(tools, [&](const Tool& tool) {
    return !name.empty() && (tool.name == name || tool.upstream == name);
  });
  return found == tools.end() ? nullptr : &*found;
}

}  // namespace athanor::numa
