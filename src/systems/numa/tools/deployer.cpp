// SPDX-License-Identifier: Apache-2.0
// The deployer, and what prints the operator's own manifests (docs/spec/numa.md 5.1, 13.2).
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "api/builtin.hpp"
#include "base/ascii.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/emulation/node_profile.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/operator/operator_manifests.hpp"
#include "systems/numa/operator/owned.hpp"
#include "systems/numa/scheduling/score.hpp"
#include "systems/numa/tools/deploy_manifests.hpp"
#include "systems/numa/tools/features.hpp"
#include "systems/numa/tools/tool.hpp"
#include "systems/numa/tools/tool_flags.hpp"

namespace athanor::numa {
namespace {

constexpr ToolFlag kFlags[] = {
    {"platform", false, "", "kubernetes or openshift; detected without"},
    {"wait", true, "", "wait until what was deployed is ready, or what was removed is gone"},
    {"wait-interval", false, "2s", "time between looks"},
    {"wait-timeout", false, "2m", "how long to wait"},
    {"replicas", false, "1", "replicas of the scheduler"},
    {"pull-if-not-present", true, "", "do not pull images that a node has"},
    {"json", true, "", "print JSON"},
    {"updater-type", false, "RTE", "RTE or NFD"},
    {"updater-pfp-enable", true, "true", "publish fingerprints"},
    {"updater-notif-enable", true, "false", "update on events, too"},
    {"updater-cri-hooks-enable", true, "false", "hooks of the container runtime"},
    {"updater-custom-selinux-policy", true, "false", "run under an SELinux policy of its own"},
    {"updater-scc", false, "v2",
     "version of the security constraints: v2, or v1 with the policy of its own"},
    {"updater-sync-period", false, "10s", "time between updates"},
    {"updater-verbose", false, "2", "verbosity of the updater"},
    {"sched-profile-name", false, "topo-aware-scheduler", "name that pods ask for"},
    {"sched-resync-period", false, "0s", "time between looks at nodes that differ; 0s: no cache"},
    {"sched-verbose", false, "4", "verbosity of the scheduler"},
    {"sched-ctrlplane-affinity", true, "true", "prefer nodes of the control plane"},
    {"sched-leader-elect-resource", false, "numa-scheduler-leader",
     "name of the scheduler's Lease"},
    {"rte-config-file", false, "", "file with the exporter's configuration"},
    {"sched-scoring-strat-config-file", false, "", "file with a scoringStrategy"},
    {"sched-cache-params-config-file", false, "", "file with the cache's parameters"},
};

constexpr ToolFlag kRenderFlags[] = {
    {"render", true, "", "print all manifests"},
    {"render-nrt-crd", true, "", "print the definition of NodeResourceTopology alone"},
    {"render-namespace", false, "numaresources", "namespace of the operator"},
    {"render-image", false, "athanor:latest", "image of the operator"},
    {"render-image-scheduler", false, "", "image of the scheduler"},
    {"detect-platform-only", true, "", "print platform and version and exit"},
    {"platform", false, "", "with detect-platform-only: this one instead of the detected"},
    {"platform-version", false, "", "likewise its version"},
    {"inspect-features", true, "", "print the features and exit"},
    {"handle-lifecycle-event", false, "", "of a container: postStart or preStop; exits"},
    {"version", true, "", "print the version and exit"},
};

constexpr const char* kTargets[] = {"api", "topology-updater", "scheduler-plugin"};

int refuse_deployment(ToolContext& context, const Error& error, int code) {
  context.err(error.message + "\n");
  return code;
}

std::string documents_of(const std::vector<Value>& manifests) {
  std::string text;
  for (const Value& manifest : manifests) {
    text += (text.empty() ? "" : "---\n") + yaml::print(manifest);
  }
  return text;
}

Result<int> count_of(const ToolFlags& flags, std::string_view name, int most) {
  const std::string text = flags.text(name);
  int number = -1;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size() || number < 0 ||
      number > most) {
    return Error::bad_request(fmt::format("-{} must be a number from 0 to {}", name, most));
  }
  return number;
}

Result<Value> file_of(ToolContext& context, const ToolFlags& flags, std::string_view name) {
  const std::string path = flags.text(name);
  if (path.empty()) {
    return Value();
  }
  ATHANOR_TRY(const std::string text, context.read_file(path));
  auto value = yaml::parse(text);
  return value.ok() && !value->is_object()
             ? Result<Value>(Error::bad_request(path + ": must be an object"))
             : std::move(value);
}

// Emulated nodes run no exporter: its pods wait there, and the lab does their work.
bool is_lab(ToolContext& context) {
  const auto nodes = context.list(api::kNode, "");
  return nodes.ok() && std::ranges::any_of(*nodes, [](const Object& node) {
           return !node.annotation(kProfileAnnotation).empty();
         });
}

// Refuses flags that only the exporter of this project, or only OpenShift, understands. Sets the
// version of the security constraints, which follows from the SELinux policy.
Result<void> check_updater(const ToolFlags& flags, DeployOptions& options) {
  static constexpr const char* kExporterFlags[] = {"updater-notif-enable", "rte-config-file",
                                                   "updater-custom-selinux-policy", "updater-scc"};
  for (const char* flag : kExporterFlags) {
    if (options.nfd && flags.given(flag)) {
      return Error::bad_request(fmt::format("-{} goes with -updater-type RTE", flag));
    }
  }
  const std::string version = flags.text("updater-scc");
  if (version != "v1" && version != "v2") {
    return Error::bad_request("-updater-scc must be v1 or v2");
  }
  options.constraints = options.custom_policy ? "v1" : "v2";
  if (flags.given("updater-scc") && version != options.constraints) {
    return Error::bad_request(options.custom_policy
                                  ? "-updater-scc v2 excludes -updater-custom-selinux-policy"
                                  : "-updater-scc v1 requires -updater-custom-selinux-policy");
  }
  if (!options.openshift && (options.custom_policy || flags.given("updater-scc"))) {
    return Error::bad_request(
        fmt::format("-{} goes with -platform openshift",
                    options.custom_policy ? "updater-custom-selinux-policy" : "updater-scc"));
  }
  return {};
}

enum class Access : unsigned char { Offline, Cluster };

Result<DeployOptions> options_of(ToolContext& context, const ToolFlags& flags, Access access) {
  constexpr int kMostReplicas = 100;
  constexpr int kMostVerbosity = 10;
  DeployOptions options;
  std::string platform = lower(flags.text("platform"));
  if (platform.empty() && access == Access::Cluster) {
    ATHANOR_TRY(const std::string detected, detect_platform(context));
    platform = lower(detected);
  }
  if (!platform.empty() && platform != "kubernetes" && platform != "openshift" &&
      platform != "hypershift") {
    return Error::bad_request(fmt::format("unknown platform \"{}\"", platform));
  }
  options.openshift = platform == "openshift" || platform == "hypershift";
  const std::string type = lower(flags.text("updater-type"));
  if (type != "rte" && type != "nfd") {
    return Error::bad_request("-updater-type must be RTE or NFD");
  }
  options.nfd = type == "nfd";
  if (flags.is_set("updater-cri-hooks-enable")) {
    return Error::bad_request(
        "-updater-cri-hooks-enable: hooks of the container runtime are not deployed; use "
        "-updater-notif-enable and touch /run/rte/notify");
  }
  options.custom_policy = flags.is_set("updater-custom-selinux-policy");
  ATHANOR_TRY_VOID(check_updater(flags, options));
  ATHANOR_TRY(const Duration sync, flags.duration("updater-sync-period"));
  options.sync_period = format_go_duration(sync);
  ATHANOR_TRY(const Duration resync, flags.duration("sched-resync-period"));
  options.resync_seconds = std::chrono::round<std::chrono::seconds>(resync).count();
  ATHANOR_TRY(options.replicas, count_of(flags, "replicas", kMostReplicas));
  ATHANOR_TRY(options.updater_verbosity, count_of(flags, "updater-verbose", kMostVerbosity));
  ATHANOR_TRY(options.scheduler_verbosity, count_of(flags, "sched-verbose", kMostVerbosity));
  options.pull_if_not_present = flags.is_set("pull-if-not-present");
  options.fingerprint = flags.is_set("updater-pfp-enable");
  options.notification = flags.is_set("updater-notif-enable");
  options.profile = flags.text("sched-profile-name");
  options.control_plane_affinity = flags.is_set("sched-ctrlplane-affinity");
  options.lease = flags.text("sched-leader-elect-resource");
  if (const std::string path = flags.text("rte-config-file"); !path.empty()) {
    ATHANOR_TRY(options.exporter_config, context.read_file(path));
  }
  ATHANOR_TRY(options.scoring, file_of(context, flags, "sched-scoring-strat-config-file"));
  ATHANOR_TRY_VOID(parse_strategy(options.scoring["type"].as_string()));
  ATHANOR_TRY(options.cache, file_of(context, flags, "sched-cache-params-config-file"));
  options.emulated = access == Access::Cluster && is_lab(context);
  return options;
}

Result<std::set<std::string>> targets_of(std::span<const std::string> words) {
  std::set<std::string> targets(words.begin(), words.end());
  for (const std::string& target : targets) {
    if (std::ranges::find(kTargets, target) == std::end(kTargets)) {
      return Error::bad_request(fmt::format(
          "unknown target \"{}\": use api, topology-updater or scheduler-plugin", target));
    }
  }
  if (targets.empty()) {
    targets.insert(std::begin(kTargets), std::end(kTargets));
  }
  return targets;
}

std::vector<Value> manifests_of(const std::set<std::string>& targets,
                                const DeployOptions& options) {
  std::vector<Value> manifests;
  const auto add = [&](const char* target, std::vector<Value> more) {
    if (targets.contains(target)) {
      std::ranges::move(more, std::back_inserter(manifests));
    }
  };
  add("api", api_manifests());
  add("topology-updater", updater_manifests(options));
  add("scheduler-plugin", plugin_manifests(options));
  return manifests;
}

const Kind& kind_of_manifest(const Value& object) {
  const std::string_view kind = object["kind"].as_string();
  return kind == "Namespace"                  ? api::kNamespace
         : kind == "CustomResourceDefinition" ? api::kCustomResourceDefinition
                                              : kind_of(object);
}

bool is_workload(const Value& object) {
  const std::string_view kind = object["kind"].as_string();
  return kind == "DaemonSet" || kind == "Deployment";
}

bool is_ready(const Object& live) {
  const Value& status = live.status();
  const bool seen = status["observedGeneration"].as_int() >= live.generation();
  if (live.kind() == "DaemonSet") {
    return seen && status["desiredNumberScheduled"].as_int() == status["numberReady"].as_int();
  }
  return seen && status["availableReplicas"].as_int() >= live.spec()["replicas"].as_int(1);
}

// Waits until every object satisfies `done`.
template <class Done>
Result<void> wait_for(ToolContext& context, const ToolFlags& flags,
                      const std::vector<Value>& objects, Done done) {
  ATHANOR_TRY(const Duration interval, flags.duration("wait-interval"));
  ATHANOR_TRY(const Duration timeout, flags.duration("wait-timeout"));
  const Instant end = context.now() + timeout;
  for (const Value& object : objects) {
    const Key key = Object(object).key();
    while (!done(context.get(kind_of_manifest(object), key))) {
      if (context.now() >= end) {
        return Error::unavailable(
            fmt::format("timed out waiting for {} {}", object["kind"].as_string(), key.name));
      }
      if (!context.pause(interval)) {
        return Error::unavailable("interrupted");
      }
    }
  }
  return {};
}

Result<void> deploy(ToolContext& context, const ToolFlags& flags,
                    const std::vector<Value>& manifests) {
  std::vector<Value> workloads;
  for (const Value& manifest : manifests) {
    ATHANOR_TRY_VOID(context.apply(kind_of_manifest(manifest), manifest));
    context.err(fmt::format("applied {} {}\n", manifest["kind"].as_string(),
                            manifest["metadata"]["name"].as_string()));
    if (is_workload(manifest)) {
      workloads.push_back(manifest);
    }
  }
  return flags.is_set("wait")
             ? wait_for(context, flags, workloads,
                        [](const Result<Object>& live) { return live.ok() && is_ready(*live); })
             : Result<void>();
}

// In reverse order; what is gone already is no error.
Result<void> remove(ToolContext& context, const ToolFlags& flags, std::vector<Value> manifests) {
  std::ranges::reverse(manifests);
  for (const Value& manifest : manifests) {
    const auto removed = context.remove(kind_of_manifest(manifest), Object(manifest).key());
    if (!removed.ok() && removed.error().code != 404) {
      return removed.error();
    }
    context.err(fmt::format("removed {} {}\n", manifest["kind"].as_string(),
                            manifest["metadata"]["name"].as_string()));
  }
  return flags.is_set("wait") ? wait_for(context, flags, manifests,
                                         [](const Result<Object>& live) {
                                           return !live.ok() && live.error().code == 404;
                                         })
                              : Result<void>();
}

struct PlatformFacts {
  std::string name{};
  std::string version{};
};

Result<PlatformFacts> platform_facts(ToolContext& context) {
  PlatformFacts facts;
  ATHANOR_TRY(facts.name, detect_platform(context));
  if (const auto version = context.get(kClusterVersion, {"", "version"}); version.ok()) {
    const Value& status = version->status();
    const std::string desired = status["desired"]["version"].str();
    facts.version = desired.empty() ? status["history"][0]["version"].str() : desired;
  }
  if (const auto text = context.text("/version"); facts.version.empty() && text.ok()) {
    const auto value = json::parse(*text);
    facts.version = value.ok() ? (*value)["gitVersion"].str() : "";
  }
  return facts;
}

int detect(ToolContext& context, const ToolFlags& flags) {
  const auto found = platform_facts(context);
  if (!found.ok()) {
    return refuse_deployment(context, found.error(), kToolFailed);
  }
  context.out(
      flags.is_set("json")
          ? json::print(Value::object({{"platform", found->name}, {"version", found->version}})) +
                "\n"
          : fmt::format("platform={} version={}\n", found->name, found->version));
  return kToolDone;
}

// Settings of the flags, and else detected ones.
int show_platform(ToolContext& context, const ToolFlags& flags) {
  static constexpr const char* kNames[] = {"Kubernetes", "OpenShift", "HyperShift"};
  const std::string named = lower(flags.text("platform"));
  const auto* const known =
      std::ranges::find_if(kNames, [&](const char* name) { return lower(name) == named; });
  if (!named.empty() && known == std::end(kNames)) {
    return refuse_deployment(
        context, Error::bad_request(fmt::format("unknown platform \"{}\"", flags.text("platform"))),
        kToolUsage);
  }
  if (named.empty() || flags.text("platform-version").empty()) {
    const auto found = platform_facts(context);
    if (!found.ok()) {
      return refuse_deployment(context, found.error(), kToolFailed);
    }
    context.out(fmt::format(
        "platform={} version={}\n", named.empty() ? found->name : *known,
        flags.text("platform-version").empty() ? found->version : flags.text("platform-version")));
    return kToolDone;
  }
  context.out(fmt::format("platform={} version={}\n", *known, flags.text("platform-version")));
  return kToolDone;
}

int show_images(ToolContext& context, const ToolFlags& flags, const DeployOptions& options) {
  const Value images = deployed_images(options);
  if (flags.is_set("json")) {
    context.out(json::print(images) + "\n");
    return kToolDone;
  }
  for (const Value& image : images.items()) {
    context.out(fmt::format("{}={}\n", image["name"].as_string(), image["image"].as_string()));
  }
  return kToolDone;
}

int run_verb(ToolContext& context, const std::string& verb, const ToolFlags& flags,
             std::span<const std::string> words) {
  if (verb == "detect") {
    return detect(context, flags);
  }
  if (verb == "version") {
    context.out(context.version() + "\n");
    return kToolDone;
  }
  if (verb == "validate") {
    const std::vector<std::string> arguments{flags.is_set("json") ? "-json" : "-verbose"};
    return run_validate_deployed(context, arguments);
  }
  const bool offline = verb == "render" || verb == "images";
  const auto options = options_of(context, flags, offline ? Access::Offline : Access::Cluster);
  const auto targets = targets_of(words);
  if (!options.ok() || !targets.ok()) {
    return refuse_deployment(context, options.ok() ? targets.error() : options.error(), kToolUsage);
  }
  if (verb == "images") {
    return show_images(context, flags, *options);
  }
  const std::vector<Value> manifests = manifests_of(*targets, *options);
  if (verb == "render") {
    context.out(documents_of(manifests));
    return kToolDone;
  }
  const auto done =
      verb == "remove" ? remove(context, flags, manifests) : deploy(context, flags, manifests);
  return done.ok() ? kToolDone : refuse_deployment(context, done.error(), kToolFailed);
}

int with_verb(ToolContext& context, const char* verb, std::span<const std::string> arguments) {
  std::vector<std::string> all{verb};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_deployer(context, all);
}

}  // namespace

int run_deployer(ToolContext& context, std::span<const std::string> arguments) {
  static constexpr const char* kVerbs[] = {"deploy", "remove", "render", "validate",
                                           "detect", "images", "setup",  "version"};
  const auto [flags, ended] =
      open_tool(context, "deployer", arguments, kFlags, ToolWords::Taken,
                "deployer deploy|remove|render|validate|detect|images|setup|version [TARGET...]");
  if (ended) {
    return *ended;
  }
  const auto& words = flags.words();
  if (words.empty() || std::ranges::find(kVerbs, words.front()) == std::end(kVerbs)) {
    context.err(usage_of("deployer", kFlags));
    return refuse_deployment(
        context,
        Error::bad_request("say what to do: deploy, remove, render, validate, detect, "
                           "images, setup or version"),
        kToolUsage);
  }
  const bool takes_targets =
      words.front() == "deploy" || words.front() == "remove" || words.front() == "render";
  if (!takes_targets && words.size() > 1) {
    return refuse_deployment(
        context,
        Error::bad_request(fmt::format("{} takes no targets: \"{}\"", words.front(), words[1])),
        kToolUsage);
  }
  // Setup is the API and the updater, for a scheduler that is there already.
  if (words.front() == "setup") {
    const std::vector<std::string> targets{"api", "topology-updater"};
    return run_verb(context, "deploy", flags, targets);
  }
  return run_verb(context, words.front(), flags, std::span(words).subspan(1));
}

int run_deploy(ToolContext& context, std::span<const std::string> arguments) {
  return with_verb(context, "deploy", arguments);
}

int run_remove(ToolContext& context, std::span<const std::string> arguments) {
  return with_verb(context, "remove", arguments);
}

int run_render(ToolContext& context, std::span<const std::string> arguments) {
  const bool targets = std::ranges::any_of(arguments, [](const std::string& word) {
    return std::ranges::find(kTargets, word) != std::end(kTargets);
  });
  if (targets) {
    return with_verb(context, "render", arguments);
  }
  std::vector<std::string> all(arguments.begin(), arguments.end());
  all.emplace_back("--render");
  return run_operator(context, all);
}

int run_bundle(ToolContext& context, std::span<const std::string> arguments) {
  static constexpr ToolFlag kBundleFlags[] = {
      {"output", false, "bundle", "folder for the bundle"},
      {"image", false, "athanor:latest", "image of the operator"},
      {"image-scheduler", false, "scheduler-plugins:latest", "image of the scheduler"},
      {"version", false, "", "version of the bundle; the program's without"},
  };
  const auto [flags, ended] = open_tool(context, "bundle", arguments, kBundleFlags);
  if (ended) {
    return *ended;
  }
  const std::string version =
      flags.text("version").empty() ? context.version() : flags.text("version");
  const auto files = bundle_files({.image = flags.text("image"),
                                   .scheduler_image = flags.text("image-scheduler"),
                                   .monitoring = false},
                                  version);
  for (const auto& [path, content] : files) {
    const auto written = context.write_file(flags.text("output") + "/" + path, content);
    if (!written.ok()) {
      return refuse_deployment(context, written.error(), kToolFailed);
    }
    context.out(flags.text("output") + "/" + path + "\n");
  }
  return kToolDone;
}

bool operator_prints(std::span<const std::string> arguments) {
  return std::ranges::any_of(arguments, [](std::string_view word) {
    const std::string_view name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    const std::string_view flag = name.substr(0, name.find('='));
    return word.starts_with('-') &&
           (flag == "h" || flag == "help" ||
            (!flag.starts_with("platform") &&
             std::ranges::find(kRenderFlags, flag, &ToolFlag::name) != std::end(kRenderFlags)));
  });
}

int run_operator(ToolContext& context, std::span<const std::string> arguments) {
  const auto [flags, ended] = open_tool(context, "numaresources-operator", arguments, kRenderFlags);
  if (ended) {
    return *ended;
  }
  if (flags.is_set("version")) {
    context.out(context.version() + "\n");
    return kToolDone;
  }
  if (flags.given("handle-lifecycle-event")) {
    const std::string event = flags.text("handle-lifecycle-event");
    return event == "postStart" || event == "preStop"
               ? kToolDone
               : refuse_deployment(
                     context,
                     Error::bad_request(fmt::format(
                         "-handle-lifecycle-event: \"{}\" is neither postStart nor preStop",
                         event)),
                     kToolUsage);
  }
  if (flags.is_set("inspect-features")) {
    return run_topics(context, {});
  }
  if (flags.is_set("detect-platform-only")) {
    return show_platform(context, flags);
  }
  if (flags.is_set("render-nrt-crd")) {
    context.out(yaml::print(topology_definition()));
    return kToolDone;
  }
  if (flags.is_set("render")) {
    context.out(documents_of(
        operator_manifests({.ns = flags.text("render-namespace"),
                            .image = flags.text("render-image"),
                            .scheduler_image = flags.text("render-image-scheduler")})));
    return kToolDone;
  }
  context.err("the operator itself runs as: athanor controllers --systems=numa\n" +
              usage_of("numaresources-operator", kRenderFlags));
  return kToolUsage;
}

}  // namespace athanor::numa
