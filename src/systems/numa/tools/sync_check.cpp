// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/tools/sync_check.hpp"

#include <fmt/core.h>

#include <map>
#include <set>

#include "kube/text/json.hpp"
#include "systems/numa/tools/tool.hpp"
#include "systems/numa/tools/tool_flags.hpp"

namespace athanor::numa {
namespace {

using PodSet = std::multiset<std::string>;

Result<std::vector<Value>> samples_of(std::string_view text, const char* side) {
  auto value = json::parse(text);
  if (!value.ok()) {
    return value.error().with_context(fmt::format("status file of the {}", side));
  }
  std::vector<Value> samples;
  if (value->is_object()) {
    samples.push_back(*value);
  } else {
    samples.assign(value->items().begin(), value->items().end());
  }
  if (samples.empty()) {
    return Error::bad_request(fmt::format("status file of the {} is empty", side));
  }
  return samples;
}

PodSet pods_of(const Value& sample) {
  PodSet pods;
  for (const Value& pod : sample["pods"].items()) {
    pods.insert(fmt::format("{}/{}", pod["Namespace"].as_string(), pod["Name"].as_string()));
  }
  return pods;
}

std::string only_in(const PodSet& some, const PodSet& others) {
  std::string text;
  std::set<std::string> seen;
  for (const std::string& pod : some) {
    if (some.count(pod) > others.count(pod) && seen.insert(pod).second) {
      text += "  - " + pod + "\n";
    }
  }
  return text;
}

}  // namespace

Result<std::string> compare_status(std::string_view exporter, std::string_view scheduler) {
  ATHANOR_TRY(const std::vector<Value> published, samples_of(exporter, "exporter"));
  ATHANOR_TRY(const std::vector<Value> resyncs, samples_of(scheduler, "scheduler"));
  std::map<std::string, Value> newest;  // by expected fingerprint; files are in order of time
  for (const Value& sample : resyncs) {
    const std::string expected = sample["fingerprintExpected"].str();
    if (!expected.empty() && expected != sample["fingerprintComputed"].as_string()) {
      newest.insert_or_assign(expected, sample);
    }
  }
  std::string text;
  for (const auto& [expected, sample] : newest) {
    const Value* match = nullptr;
    for (const Value& candidate : published) {
      if (candidate["fingerprintComputed"].as_string() == expected) {
        match = &candidate;
      }
    }
    const Value& other = match != nullptr ? *match : published.back();
    const PodSet here = pods_of(other);
    const PodSet there = pods_of(sample);
    const std::string exporter_only = only_in(here, there);
    const std::string scheduler_only = only_in(there, here);
    if (exporter_only.empty() && scheduler_only.empty()) {
      return Error::bad_request(fmt::format(
          "fingerprint {} is marked dirty, but both sides have the same pods", expected));
    }
    text += fmt::format(
        "Expected: {}\nComputed: {}\nFound on RTE: {}\nLast write of the scheduler: {}\nLast write "
        "of the RTE: {}\nPods on the scheduler only:\n{}Pods on the RTE only:\n{}\n",
        expected, sample["fingerprintComputed"].as_string(), match != nullptr,
        sample["recordTime"].as_string(), other["recordTime"].as_string(), scheduler_only,
        exporter_only);
  }
  return text.empty() ? std::string("every fingerprint is in sync\n") : text;
}

namespace {

constexpr ToolFlag kSyncFlags[] = {
    {"from-rte", false, "", "status file of the exporter"},
    {"from-scheduler", false, "", "status file of the scheduler"},
    {"must-gather", false, "", "folder of a must-gather; wins over the two"},
    {"full-help", true, "", "explain what is compared"},
};

constexpr const char* kFullHelp =
    "The scheduler compares the fingerprint that a node's exporter published with the one of the "
    "pods\nthat it knows on that node. Where they differ the node's data are not used. Both sides "
    "keep their\nlast samples in a file for each node; this tool prints every fingerprint that the "
    "scheduler\nexpected and did not compute, and the pods that one side alone saw.\n";

int compare(ToolContext& context, const Result<std::string>& exporter,
            const Result<std::string>& scheduler) {
  for (const auto* side : {&exporter, &scheduler}) {
    if (!side->ok()) {
      context.err(side->error().message + "\n");
      return kToolFailed;
    }
  }
  const auto text = compare_status(*exporter, *scheduler);
  (text.ok() ? context.out(*text) : context.err(text.error().message + "\n"));
  return text.ok() ? kToolDone : kToolFailed;
}

// Pairs the files of the two folders below namespaces/NS/pfpstatus by name.
int compare_folder(ToolContext& context, const std::string& root) {
  int code = kToolFailed;
  bool any = false;
  for (const std::string& ns : context.list_files(root + "/namespaces")) {
    const std::string folder = fmt::format("{}/namespaces/{}/pfpstatus/", root, ns);
    for (const std::string& node : context.list_files(folder + "resource-topology-exporters")) {
      context.out("# " + node + "\n");
      const int one = compare(
          context, context.read_file(fmt::format("{}resource-topology-exporters/{}", folder, node)),
          context.read_file(fmt::format("{}scheduler/{}", folder, node)));
      code = any ? std::max(code, one) : one;
      any = true;
    }
  }
  if (!any) {
    context.err(root + ": no status files below namespaces/*/pfpstatus\n");
  }
  return code;
}

}  // namespace

int run_sync_check(ToolContext& context, std::span<const std::string> arguments) {
  const auto [flags, ended] = open_tool(context, "pfpsyncchk", arguments, kSyncFlags);
  if (ended) {
    return *ended;
  }
  if (flags.is_set("full-help")) {
    context.out(kFullHelp + usage_of("pfpsyncchk", kSyncFlags));
    return kToolDone;
  }
  if (flags.given("must-gather")) {
    return compare_folder(context, flags.text("must-gather"));
  }
  if (flags.text("from-rte").empty() || flags.text("from-scheduler").empty()) {
    context.err("say both -from-rte and -from-scheduler, or -must-gather\n" +
                usage_of("pfpsyncchk", kSyncFlags));
    return kToolUsage;
  }
  return compare(context, context.read_file(flags.text("from-rte")),
                 context.read_file(flags.text("from-scheduler")));
}

}  // namespace athanor::numa
