// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/tools/features.hpp"

#include "kube/text/json.hpp"
#include "systems/numa/tools/tool_flags.hpp"

namespace athanor::numa {
namespace {

constexpr const char* kTopics[] = {
    "config",  "nonreg",        "hostlevel",      "resacct",    "cache",  "stall",   "schedrst",
    "rtetols", "overhead",      "wlplacement",    "unsched",    "nonrt",  "taint",   "nodelabel",
    "byres",   "tmpol",         "schedattrwatch", "ngpoolname", "nganns", "metrics", "nrtcrdanns",
    "netpols", "introspection", "tlscompliance",  "preemption"};

}  // namespace

Value features_value(const std::string& version) {
  Value active = Value::list();
  for (const char* topic : kTopics) {
    active.push_back(topic);
  }
  return Value::object(
      {{"metadata", Value::object({{"version", version}})}, {"active", std::move(active)}});
}

int run_topics(ToolContext& context, std::span<const std::string> arguments) {
  if (const auto call = open_tool(context, "lstopics", arguments, {}); call.ended) {
    return *call.ended;
  }
  context.out(json::print(features_value(context.version())) + "\n");
  return kToolDone;
}

int run_label_filter(ToolContext& context, std::span<const std::string> arguments) {
  if (const auto call = open_tool(context, "mkginkgolabelfilter", arguments, {}); call.ended) {
    return *call.ended;
  }
  const auto input = context.read_input();
  const auto features = input.ok() ? json::parse(*input) : input.error();
  if (!features.ok() || !(*features)["active"].is_list()) {
    context.err(features.ok() ? "stdin: no list \"active\"\n"
                              : "stdin: " + features.error().message + "\n");
    return kToolFailed;
  }
  std::string list;
  for (const Value& topic : (*features)["active"].items()) {
    list += (list.empty() ? "" : ",") + topic.str();
  }
  context.out("feature: containsAny {" + list + "}\n");
  return kToolDone;
}

}  // namespace athanor::numa
