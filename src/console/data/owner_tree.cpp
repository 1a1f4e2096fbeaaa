// SPDX-License-Identifier: Apache-2.0
#include "console/data/owner_tree.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "api/builtin.hpp"
#include "console/data/row_texts.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/numa/model/kinds.hpp"
#include "views/job_labels.hpp"

namespace athanor::console {
namespace {

constexpr int kMostDepth = 8;

std::string state_of_related(const Object& object) {
  if (std::string phase = object.status()["phase"].str(); !phase.empty()) {
    return phase;
  }
  for (const Value& condition : object.status()["conditions"].items()) {
    const std::string_view type = condition["type"].as_string();
    const bool ended = (type == "Complete" || type == "Failed") &&
                       condition["status"].as_string() == "True";  // of a Job
    if (type == "Succeeded" || type == "Admitted") {
      return condition["reason"].str();
    }
    if (ended) {
      return std::string(type);
    }
  }
  return object.status()["state"].str();
}

bool is_on_node(const Object& object, const Object& node) {
  if (object.kind() == api::kPod.name) {
    return object.spec()["nodeName"].as_string() == node.name();
  }
  if (object.kind() == das::kAllocationClaim.name) {
    return object.spec()["nodename"].as_string() == node.name();
  }
  return object.name() == node.name() &&
         (object.kind() == das::kNodeAccelerator.name || object.kind() == numa::kTopologyKind.name);
}

// Returns true if an object without owners carries the label of a job.
bool is_of_job(const Object& object, const Object& job) {
  return job.kind() == api::kFournosJob.name && object.ns() == job.ns() &&
         object.label(views::kJobNameLabel) == job.name() && object.owners().empty();
}

// Parts of a tree; every object is in it once.
class OwnerTree {
 public:
  OwnerTree(const Object& subject, const std::vector<Object>& all) : subject_(subject), all_(all) {
    for (const Object& object : all) {
      by_uid_.emplace(object.uid(), &object);
      for (const OwnerReference& owner : object.owners()) {
        owned_[owner.uid].push_back(&object);
      }
    }
  }

  // Returns the topmost owner; a node is the root of its own tree alone.
  [[nodiscard]] const Object& root() const {
    const Object* root = &subject_;
    for (int depth = 0; depth < kMostDepth; ++depth) {
      const Object* owner = owner_of(*root);
      if (owner == nullptr) {
        break;
      }
      root = owner;
    }
    return *root;
  }

  Value grow(const Object& object, int depth) {
    used_.emplace(object.uid());
    Value node = related_value(object);
    set_text(node, "message", object.status()["message"].as_string());
    set_text(node, "created", object.metadata()["creationTimestamp"].as_string());
    if (object.uid() == subject_.uid()) {
      node.set("current", true);
    }
    Value children = Value::list();
    for (const Object* child : children_of(object)) {
      if (depth < kMostDepth && !used_.contains(child->uid())) {
        children.push_back(grow(*child, depth + 1));
      }
    }
    node.set("children", std::move(children));
    return node;
  }

 private:
  [[nodiscard]] const Object* owner_of(const Object& object) const {
    for (const OwnerReference& owner : object.owners()) {
      const auto found = by_uid_.find(owner.uid);
      if (found != by_uid_.end() && found->second->kind() != api::kNode.name) {
        return found->second;
      }
    }
    const auto job =
        std::ranges::find_if(all_, [&](const Object& one) { return is_of_job(object, one); });
    return job == all_.end() ? nullptr : &*job;
  }

  [[nodiscard]] std::vector<const Object*> children_of(const Object& object) const {
    std::vector<const Object*> children;
    if (const auto found = owned_.find(object.uid()); found != owned_.end()) {
      children = found->second;
    }
    const bool is_node = object.kind() == api::kNode.name;
    if (is_node || object.kind() == api::kFournosJob.name) {
      for (const Object& one : all_) {
        if (is_node ? is_on_node(one, object) : is_of_job(one, object)) {
          children.push_back(&one);
        }
      }
    }
    return children;
  }

  const Object& subject_;
  const std::vector<Object>& all_;
  std::map<std::string, const Object*, std::less<>> by_uid_{};
  std::map<std::string, std::vector<const Object*>, std::less<>> owned_{};
  std::set<std::string, std::less<>> used_{};
};

}  // namespace

Value related_value(const Object& object) {
  return Value::object({{"kind", object.kind()},
                        {"apiVersion", object.api_version()},
                        {"ns", object.ns()},
                        {"name", object.name()},
                        {"uid", object.uid()},
                        {"state", state_of_related(object)}});
}

Value owner_tree(const Object& subject, const std::vector<Object>& all) {
  OwnerTree tree(subject, all);
  return tree.grow(tree.root(), 0);
}

}  // namespace athanor::console
