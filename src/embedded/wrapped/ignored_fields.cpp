// SPDX-License-Identifier: Apache-2.0
// Tables of what the controllers read, by kind, and the walk that finds the rest.
#include "embedded/wrapped/ignored_fields.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "embedded/wrapped/kinds.hpp"
#include "kube/text/json.hpp"

namespace athanor::wrapped {
namespace {

// A value that means what the lab does anyway.
struct Agreeing {
  std::string_view path{};
  std::string_view json{};
};
// A value that is read as another one.
struct Replaced {
  std::string_view path{};
  std::string_view json{};
  std::string_view sentence{};
};

// Fields of one kind's spec that its controller reads: paths, with "[]" for each item of a list. A
// path includes everything below it.
struct Table {
  const Kind* kind = nullptr;
  std::span<const std::string_view> read{};
  std::span<const Agreeing> agreeing{};
  std::span<const Replaced> replaced{};
};

constexpr std::string_view kOfJobSets[] = {"suspend",
                                           "network.enableDNSHostnames",
                                           "network.subdomain",
                                           "network.publishNotReadyAddresses",
                                           "replicatedJobs[].name",
                                           "replicatedJobs[].replicas",
                                           "replicatedJobs[].template",
                                           "successPolicy.operator",
                                           "successPolicy.targetReplicatedJobs",
                                           "failurePolicy.maxRestarts"};
constexpr Agreeing kLikeJobSets[] = {{"failurePolicy.restartStrategy", R"("Recreate")"},
                                     {"startupPolicy.startupPolicyOrder", R"("AnyOrder")"},
                                     {"managedBy", R"("jobset.sigs.k8s.io/jobset-controller")"}};

constexpr std::string_view kOfPyTorchJobs[] = {"nprocPerNode",
                                               "runPolicy.suspend",
                                               "pytorchReplicaSpecs.Master.replicas",
                                               "pytorchReplicaSpecs.Master.restartPolicy",
                                               "pytorchReplicaSpecs.Master.template",
                                               "pytorchReplicaSpecs.Worker.replicas",
                                               "pytorchReplicaSpecs.Worker.restartPolicy",
                                               "pytorchReplicaSpecs.Worker.template"};
constexpr Agreeing kLikePyTorchJobs[] = {
    {"runPolicy.cleanPodPolicy", R"("None")"},
    {"runPolicy.managedBy", R"("kubeflow.org/training-operator")"}};
constexpr std::string_view kExitCode = "is ExitCode and acts as Never: the lab restarts no replica";
constexpr Replaced kInsteadPyTorchJobs[] = {
    {"pytorchReplicaSpecs.Master.restartPolicy", R"("ExitCode")", kExitCode},
    {"pytorchReplicaSpecs.Worker.restartPolicy", R"("ExitCode")", kExitCode}};

// The version is that of the image, whatever is written.
constexpr std::string_view kOfRayClusters[] = {"suspend",
                                               "rayVersion",
                                               "headGroupSpec.template",
                                               "workerGroupSpecs[].groupName",
                                               "workerGroupSpecs[].replicas",
                                               "workerGroupSpecs[].numOfHosts",
                                               "workerGroupSpecs[].template"};
constexpr Agreeing kLikeRayClusters[] = {{"managedBy", R"("ray.io/kuberay-operator")"}};

constexpr std::string_view kOfRayJobs[] = {"suspend",
                                           "entrypoint",
                                           "submitterPodTemplate",
                                           "shutdownAfterJobFinishes",
                                           "rayClusterSpec.suspend",
                                           "rayClusterSpec.rayVersion",
                                           "rayClusterSpec.headGroupSpec.template",
                                           "rayClusterSpec.workerGroupSpecs[].groupName",
                                           "rayClusterSpec.workerGroupSpecs[].replicas",
                                           "rayClusterSpec.workerGroupSpecs[].numOfHosts",
                                           "rayClusterSpec.workerGroupSpecs[].template"};
constexpr Agreeing kLikeRayJobs[] = {{"submissionMode", R"("K8sJobMode")"},
                                     {"backoffLimit", "0"},
                                     {"ttlSecondsAfterFinished", "0"},
                                     {"managedBy", R"("ray.io/kuberay-operator")"}};

constexpr std::string_view kOfLeaderWorkerSets[] = {
    "replicas", "networkConfig.subdomainPolicy", "leaderWorkerTemplate.size",
    "leaderWorkerTemplate.leaderTemplate", "leaderWorkerTemplate.workerTemplate"};
constexpr Agreeing kLikeLeaderWorkerSets[] = {{"startupPolicy", R"("LeaderCreated")"},
                                              {"leaderWorkerTemplate.restartPolicy", R"("None")"}};

constexpr Table kTables[] = {
    {.kind = &kJobSet, .read = kOfJobSets, .agreeing = kLikeJobSets},
    {.kind = &kPyTorchJob,
     .read = kOfPyTorchJobs,
     .agreeing = kLikePyTorchJobs,
     .replaced = kInsteadPyTorchJobs},
    {.kind = &kRayCluster, .read = kOfRayClusters, .agreeing = kLikeRayClusters},
    {.kind = &kRayJob, .read = kOfRayJobs, .agreeing = kLikeRayJobs},
    {.kind = &kLeaderWorkerSet, .read = kOfLeaderWorkerSets, .agreeing = kLikeLeaderWorkerSets},
    {.kind = &kPodGroup},
    {.kind = &kSigsPodGroup}};

// Absent, empty and false ask for nothing.
bool is_nothing(const Value& value) {
  return value.is_null() || value == Value(false) || (value.is_string() && value.str().empty()) ||
         (value.is_list() && value.empty()) ||
         (value.is_object() && std::ranges::all_of(value.members(), [](const Member& one) {
            return is_nothing(one.value);
          }));
}

class Walk {
 public:
  Walk(const Table& table, std::string_view at) : table_(table), at_(at) {}

  std::vector<std::string> run(const Value& spec) {
    members(spec, "", std::string(at_) + "spec");
    if (found_ > kMostSentences) {
      sentences_.push_back(
          fmt::format("{}spec has {} more fields without effect", at_, found_ - kMostSentences));
    }
    return std::move(sentences_);
  }

 private:
  // `pattern`: as in the tables; `place`: as the user writes it.
  void members(const Value& object, const std::string& pattern, const std::string& place) {
    for (const Member& one : object.members()) {
      const std::string_view key = one.key();
      field(one.value, pattern.empty() ? std::string(key) : fmt::format("{}.{}", pattern, key),
            fmt::format("{}.{}", place, key));
    }
  }

  void field(const Value& value, const std::string& pattern, const std::string& place) {
    if (std::ranges::find(table_.read, pattern) != table_.read.end()) {
      const auto replaced = std::ranges::find_if(table_.replaced, [&](const Replaced& one) {
        return one.path == pattern && one.json == json::print(value);
      });
      if (replaced != table_.replaced.end()) {
        say(fmt::format("{} {}", place, replaced->sentence));
      }
    } else if (value.is_object() && leads_on(pattern + ".")) {
      members(value, pattern, place);
    } else if (value.is_list() && leads_on(pattern + "[].")) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        members(value[i], pattern + "[]", fmt::format("{}[{}]", place, i));
      }
    } else if (!is_nothing(value) && !agrees(value, pattern)) {
      unread(value, pattern, place);
    }
  }

  // Names what is inside a policy, since its default values may agree.
  void unread(const Value& value, const std::string& pattern, const std::string& place) {
    const bool has_agreeing = std::ranges::any_of(
        table_.agreeing, [&](const Agreeing& one) { return one.path.starts_with(pattern + "."); });
    if (value.is_object() && has_agreeing) {
      members(value, pattern, place);
    } else if (table_.read.empty()) {
      say(fmt::format("{} has no effect: the lab stores a {} and reads nothing of it", place,
                      table_.kind->name));
    } else {
      say(fmt::format("{} has no effect: the lab's controller of a {} does not read it", place,
                      table_.kind->name));
    }
  }

  [[nodiscard]] bool leads_on(const std::string& start) const {
    return std::ranges::any_of(table_.read,
                               [&](std::string_view path) { return path.starts_with(start); });
  }

  [[nodiscard]] bool agrees(const Value& value, const std::string& pattern) const {
    return std::ranges::any_of(table_.agreeing, [&](const Agreeing& one) {
      return one.path == pattern && one.json == json::print(value);
    });
  }

  void say(std::string sentence) {
    if (++found_ <= kMostSentences) {
      sentences_.push_back(std::move(sentence));
    }
  }

  const Table& table_;
  std::string_view at_;
  std::size_t found_ = 0;
  std::vector<std::string> sentences_{};
};

}  // namespace

std::vector<std::string> ignored_fields(const Value& object, std::string_view at) {
  for (const Table& table : kTables) {
    if (object["kind"].as_string() == table.kind->name &&
        object["apiVersion"].as_string() == table.kind->api_version()) {
      return Walk(table, at).run(object["spec"]);
    }
  }
  return {};
}

}  // namespace athanor::wrapped
