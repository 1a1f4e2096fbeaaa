// SPDX-License-Identifier: Apache-2.0
// The arithmetic of roll-outs.
#include "embedded/workloads/sets/deployment_facts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/sets/share.hpp"
#include "kube/text/json.hpp"

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
    if (facts_.paused || was_scaled()) {
      scale();
    } else if (facts_.recreate) {
      recreate();
    } else {
      grow_new(old);
      shrink_old(old);
    }
    return std::move(sizes_);
  }

 private:
  [[nodiscard]] std::vector<Object> sets() const {
    std::vector<Object> all = facts_.old;
    if (facts_.current) {
      all.push_back(*facts_.current);
    }
    return all;
  }

  // Someone changed the deployment's size since its ReplicaSets were sized.
  [[nodiscard]] bool was_scaled() const {
    const std::vector<Object> all = sets();
    return std::ranges::any_of(all, [&](const Object& set) {
      const std::string_view desired = set.annotation(kDesiredAnnotation);
      return size_of(set) > 0 && !desired.empty() && number_of(desired) != facts_.replicas;
    });
  }

  // Every ReplicaSet grows or shrinks by its share, so that a roll-out under way stays where it is.
  void scale() {
    std::vector<Object> active = sets();
    std::erase_if(active, [](const Object& set) { return size_of(set) == 0; });
    if (active.size() <= 1) {
      if (!active.empty()) {
        sizes_[std::string(active.front().name())] = facts_.replicas;
      } else if (facts_.current) {
        sizes_[name_] = facts_.replicas;
      } else if (!facts_.old.empty()) {
        sizes_[std::string(facts_.old.back().name())] = facts_.replicas;
      }
      return;
    }
    const Object* current = facts_.current ? &*facts_.current : nullptr;
    if (current != nullptr && size_of(*current) == facts_.replicas &&
        status_of(*current, "availableReplicas") == facts_.replicas) {
      for (const Object& set : facts_.old) {
        sizes_[std::string(set.name())] = 0;
      }
      return;
    }
    if (!facts_.recreate) {
      share_out(std::move(active));
    }
  }

  void share_out(std::vector<Object> active) {
    const std::int64_t allowed =
        facts_.replicas > 0 ? facts_.replicas + facts_.max_surge : std::int64_t{0};
    const std::int64_t missing = allowed - sum_of_sizes(active);
    // The largest first; among equals the newer one grows, the older one shrinks first.
    std::ranges::stable_sort(active, [&](const Object& a, const Object& b) {
      if (size_of(a) != size_of(b)) {
        return size_of(a) > size_of(b);
      }
      return missing > 0 ? a.creation_time() > b.creation_time()
                         : a.creation_time() < b.creation_time();
    });
    std::int64_t added = 0;
    for (const Object& set : active) {
      const std::int64_t part = fraction(set);
      const std::int64_t left = missing - added;
      const std::int64_t change = missing > 0 ? std::min(part, left) : std::max(part, left);
      sizes_[std::string(set.name())] += change;
      added += change;
    }
    std::int64_t& first = sizes_[std::string(active.front().name())];
    first = std::max<std::int64_t>(0, first + missing - added);
  }

  // By how much a set changes so that it keeps its share of the whole.
  [[nodiscard]] std::int64_t fraction(const Object& set) const {
    if (facts_.replicas == 0) {
      return -size_of(set);
    }
    const std::string_view annotated = set.annotation(kMaxAnnotation);
    const std::int64_t most =
        annotated.empty() ? facts_.deployment.status()["replicas"].as_int() : number_of(annotated);
    if (most <= 0) {
      return 0;
    }
    const std::int64_t product = size_of(set) * (facts_.replicas + facts_.max_surge);
    return (2 * product + most) / (2 * most) - size_of(set);
  }

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
    // Pods that are not ready first.
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

Value shared_annotations(const Object& deployment) {
  Value annotations = Value::object();
  for (const Member& annotation : deployment.metadata()["annotations"].members()) {
    const std::string_view key = annotation.key();
    if (key != "kubectl.kubernetes.io/last-applied-configuration" && key != kRevisionAnnotation &&
        key != kRevisionHistoryAnnotation && key != kDesiredAnnotation && key != kMaxAnnotation) {
      annotations.set(key, annotation.value);
    }
  }
  return annotations;
}

Value size_annotations(const DeploymentFacts& facts) {
  return Value::object({{kDesiredAnnotation, fmt::format("{}", facts.replicas)},
                        {kMaxAnnotation, fmt::format("{}", facts.replicas + facts.max_surge)}});
}

Value make_replica_set(const DeploymentFacts& facts, std::int64_t size, std::int64_t revision) {
  const Object& deployment = facts.deployment;
  constexpr std::size_t kHashLength = 10;
  const std::string hash = hash_text(json::print(deployment.spec()["template"]), kHashLength);
  Value pod_template = deployment.spec()["template"];
  pod_template.set_path({"metadata", "labels", kTemplateHashLabel}, hash);
  Value selector = deployment.spec()["selector"];
  selector.set_path({"matchLabels", kTemplateHashLabel}, hash);
  Value annotations = shared_annotations(deployment);
  annotations.set(kRevisionAnnotation, fmt::format("{}", revision));
  const Value sized = size_annotations(facts);
  for (const Member& annotation : sized.members()) {
    annotations.set(annotation.key(), annotation.value);
  }
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
