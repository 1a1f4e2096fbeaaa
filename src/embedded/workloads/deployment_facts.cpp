// SPDX-License-Identifier: Apache-2.0
// The arithmetic of roll-outs.
#include "embedded/workloads/deployment_facts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/share.hpp"
#include "kube/json.hpp"

namespace athanor::workloads {
namespace {

std::int64_t number_of(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Value template_without_hash(const Object& set) {
  Value pod_template = set.spec()["template"];
  pod_template.erase_path({"metadata", "labels", kTemplateHashLabel});
  return pod_template;
}

// An absent map and an empty one are the same to a template.
bool same_template(const Object& set, const Object& deployment) {
  Value mine = template_without_hash(set);
  Value wanted = deployment.spec()["template"];
  for (Value* one : {&mine, &wanted}) {
    one->erase_path({"metadata", "creationTimestamp"});
    if ((*one)["metadata"]["labels"].empty()) {
      one->erase_path({"metadata", "labels"});
    }
    if ((*one)["metadata"].empty()) {
      one->erase("metadata");
    }
  }
  return mine == wanted;
}

std::int64_t sum_of_sizes(const std::vector<Object>& sets) {
  std::int64_t sum = 0;
  for (const Object& set : sets) {
    sum += size_of(set);
  }
  return sum;
}

class Sizes {
 public:
  explicit Sizes(const DeploymentFacts& facts) : facts_(facts) {
    for (const Object& set : facts.old) {
      sizes_[std::string(set.name())] = size_of(set);
    }
    name_ = facts.current ? std::string(facts.current->name()) : std::string{};
    sizes_[name_] = facts.current ? size_of(*facts.current) : 0;
  }

  std::map<std::string, std::int64_t> take() {
    const std::int64_t old = sum_of_sizes(facts_.old);
    if (facts_.paused) {
      if (facts_.current && old == 0) {
        sizes_[name_] = facts_.replicas;
      }
    } else if (facts_.recreate) {
      recreate();
    } else {
      grow_new(old);
      shrink_old(old);
    }
    return std::move(sizes_);
  }

 private:
  // All old pods are gone before the first new one comes.
  void recreate() {
    std::int64_t left = 0;
    for (const Object& set : facts_.old) {
      sizes_[std::string(set.name())] = 0;
      left += size_of(set) + status_of(set, "replicas") + status_of(set, "terminatingReplicas");
    }
    if (left == 0) {
      sizes_[name_] = facts_.replicas;
    }
  }

  void grow_new(std::int64_t old) {
    std::int64_t& size = sizes_[name_];
    if (size > facts_.replicas) {
      size = facts_.replicas;
      return;
    }
    const std::int64_t room = facts_.replicas + facts_.max_surge - old - size;
    size += std::clamp<std::int64_t>(room, 0, facts_.replicas - size);
  }

  void shrink_old(std::int64_t old) {
    const std::int64_t least = facts_.replicas - facts_.max_unavailable;
    const std::int64_t new_size = facts_.current ? size_of(*facts_.current) : 0;
    const std::int64_t new_available =
        facts_.current ? status_of(*facts_.current, "availableReplicas") : 0;
    const std::int64_t may_go =
        old + new_size - least - std::max<std::int64_t>(0, new_size - new_available);
    if (may_go <= 0) {
      return;
    }
    // Pods that serve nobody first.
    std::int64_t gone = 0;
    for (const Object& set : facts_.old) {
      const std::int64_t idle = size_of(set) - status_of(set, "availableReplicas");
      const std::int64_t down = std::clamp<std::int64_t>(idle, 0, may_go - gone);
      sizes_[std::string(set.name())] -= down;
      gone += down;
    }
    std::int64_t available = new_available;
    for (const Object& set : facts_.old) {
      available += std::min(status_of(set, "availableReplicas"), size_of(set));
    }
    std::int64_t spare = std::min(available - least, may_go - gone);
    for (const Object& set : facts_.old) {
      std::int64_t& size = sizes_[std::string(set.name())];
      const std::int64_t down = std::clamp<std::int64_t>(spare, 0, size);
      size -= down;
      spare -= down;
    }
  }

  const DeploymentFacts& facts_;
  std::string name_{};
  std::map<std::string, std::int64_t> sizes_{};
};

}  // namespace

std::int64_t size_of(const Object& set) {
  return set.spec()["replicas"].as_int(1);
}

std::int64_t status_of(const Object& set, const char* counter) {
  return set.status()[counter].as_int();
}

std::int64_t revision_of(const Object& set) {
  return number_of(set.annotation(kRevisionAnnotation));
}

DeploymentFacts gather_deployment(const Object& deployment, const std::vector<Object>& sets) {
  const Value& spec = deployment.spec();
  DeploymentFacts facts{.deployment = deployment};
  facts.replicas = spec["replicas"].as_int(1);
  facts.recreate = spec["strategy"]["type"].as_string() == "Recreate";
  facts.paused = spec["paused"].as_bool();
  const Value& rolling = spec["strategy"]["rollingUpdate"];
  const auto bound = [&](const char* name, Rounding rounding) {
    return share(rolling.contains(name) ? rolling[name] : Value("25%"), facts.replicas, rounding);
  };
  facts.max_surge = bound("maxSurge", Rounding::Up);
  facts.max_unavailable = std::min(bound("maxUnavailable", Rounding::Down), facts.replicas);
  if (facts.max_surge == 0 && facts.max_unavailable == 0) {
    facts.max_unavailable = 1;  // or nothing could ever move
  }
  std::vector<Object> by_age = sets;
  std::ranges::stable_sort(by_age, {}, [](const Object& set) { return set.creation_time(); });
  for (const Object& set : by_age) {
    if (!facts.current && same_template(set, deployment)) {
      facts.current = set;
    } else {
      facts.old.push_back(set);
    }
  }
  return facts;
}

std::map<std::string, std::int64_t> wanted_sizes(const DeploymentFacts& facts) {
  return Sizes(facts).take();
}

Value make_replica_set(const DeploymentFacts& facts, std::int64_t size, std::int64_t revision) {
  const Object& deployment = facts.deployment;
  constexpr std::size_t kHashLength = 10;
  const std::string hash = hash_text(json::print(deployment.spec()["template"]), kHashLength);
  Value pod_template = deployment.spec()["template"];
  pod_template.set_path({"metadata", "labels", kTemplateHashLabel}, hash);
  Value selector = deployment.spec()["selector"];
  selector.set_path({"matchLabels", kTemplateHashLabel}, hash);
  Value annotations = deployment.metadata()["annotations"];
  annotations.erase("kubectl.kubernetes.io/last-applied-configuration");
  annotations.set(kRevisionAnnotation, fmt::format("{}", revision));
  Value spec =
      Value::object({{"replicas", size}, {"selector", selector}, {"template", pod_template}});
  if (deployment.spec().contains("minReadySeconds")) {
    spec.set("minReadySeconds", deployment.spec()["minReadySeconds"]);
  }
  return Value::object(
      {{"apiVersion", "apps/v1"},
       {"kind", "ReplicaSet"},
       {"metadata", Value::object({{"name", fmt::format("{}-{}", deployment.name(), hash)},
                                   {"namespace", deployment.ns()},
                                   {"labels", pod_template["metadata"]["labels"]},
                                   {"annotations", annotations},
                                   {"ownerReferences", Value::list({OwnerReference{
                                                           .api_version = "apps/v1",
                                                           .kind = "Deployment",
                                                           .name = std::string(deployment.name()),
                                                           .uid = std::string(deployment.uid()),
                                                           .controller = true,
                                                           .block_owner_deletion = true}
                                                                        .to_value()})}})},
       {"spec", spec}});
}

}  // namespace athanor::workloads
