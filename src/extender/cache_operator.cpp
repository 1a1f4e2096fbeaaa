// SPDX-License-Identifier: Apache-2.0
#include "extender/cache_operator.hpp"

#include <algorithm>
#include <string>

#include "api/builtin.hpp"

namespace athanor::extender {
namespace {

Plan reconcile(const View& /*view*/, const Key& /*key*/, Instant /*now*/) {
  Plan plan;
  plan.then(Act{.id = "on_first_lists", .verb = std::string(kSightedVerb)});
  return plan;
}

void add(std::vector<const Kind*>& kinds, const Kind* kind) {
  if (std::ranges::find(kinds, kind) == kinds.end()) {
    kinds.push_back(kind);
  }
}

}  // namespace

Watching::Watching(std::span<const SchedulingHooks* const> hooks, bool preempts)
    : reads_{&api::kPod, &api::kNode}, writes_{&api::kPod}, small_{&api::kNode} {
  for (const SchedulingHooks* one : hooks) {
    for (const Kind* kind : one->reads) {
      add(reads_, kind);
    }
    for (const Kind* kind : one->writes) {
      add(writes_, kind);
    }
    for (const Kind* kind : one->small) {
      add(small_, kind);
    }
    indexes_.insert(indexes_.end(), one->indexes.begin(), one->indexes.end());
  }
  access_ = {{.kind = &api::kPod, .verbs = "get"},
             {.kind = &api::kPod, .verbs = "create", .subresource = "binding"}};
  if (preempts) {
    access_.push_back({.kind = &api::kPod, .verbs = "delete"});
    access_.push_back({.kind = &api::kPod, .verbs = "patch", .subresource = "status"});
    access_.push_back({.kind = &api::kEvent, .verbs = "create"});
  }
  for (const Kind* kind : writes_) {
    if (kind != &api::kPod) {
      access_.push_back({.kind = kind, .verbs = "create delete"});
      access_.push_back({.kind = kind, .verbs = "patch", .subresource = "status"});
    }
  }
  operator_ = {.name = kName,
               .primary = &api::kPod,
               .reads = reads_,
               .writes = writes_,
               .indexes = indexes_,
               .reconcile = reconcile,
               .singleton = true,
               .sees_all = true,
               .small = small_,
               .access = access_};
}

}  // namespace athanor::extender
