// SPDX-License-Identifier: Apache-2.0
// What a kubelet says of the resources of its pods, as JSON.
#include <optional>

#include "exporter/exporter.hpp"
#include "exporter/podresources_client.hpp"
#include "kube/text/json.hpp"
#include "systems/numa/tools/tool.hpp"
#include "systems/numa/tools/tool_flags.hpp"

namespace athanor::exporter {
namespace {

constexpr numa::ToolFlag kFlags[] = {
    {"socket", false, "unix:///var/lib/kubelet/pod-resources/kubelet.sock",
     "unix:///path of the kubelet's socket, or fake:///folder with recorded answers"}};

Result<Value> answer_of(const PodResourcesClient& kubelet, const std::string& method,
                        const std::string& pod) {
  if (method == "list") {
    ATHANOR_TRY(const auto pods, kubelet.list());
    return numa::to_value(pods);
  }
  if (method == "allocatable") {
    ATHANOR_TRY(const auto resources, kubelet.allocatable());
    return numa::to_value(resources);
  }
  const std::size_t slash = pod.find('/');
  ATHANOR_TRY(const auto found, kubelet.get({pod.substr(0, slash), pod.substr(slash + 1)}));
  return Value::object({{"pod_resources", numa::to_value(std::vector{found})["pod_resources"][0]}});
}

}  // namespace

int run_podresources(const std::vector<std::string>& arguments, const Host& host) {
  const auto flags = numa::ToolFlags::parse(arguments, kFlags);
  if (!flags.ok()) {
    host.err(flags.error().message + "\n");
    return numa::kToolUsage;
  }
  const std::vector<std::string>& words = flags->words();
  const std::string method = words.empty() ? "" : words.front();
  const bool asks_pod =
      method == "get" && words.size() == 2 && words[1].find('/') != std::string::npos;
  const bool asks_all = (method == "list" || method == "allocatable") && words.size() == 1;
  if (flags->help() || (!asks_all && !asks_pod)) {
    (flags->help() ? host.out : host.err)(
        numa::usage_of("podresources list | allocatable | get NAMESPACE/POD", kFlags));
    return flags->help() ? numa::kToolDone : numa::kToolUsage;
  }
  const auto answer =
      answer_of(PodResourcesClient(flags->text("socket")), method, asks_pod ? words[1] : "");
  if (!answer.ok()) {
    host.err(answer.error().message + "\n");
    return numa::kToolFailed;
  }
  host.out(json::print(*answer) + "\n");
  return numa::kToolDone;
}

}  // namespace athanor::exporter
