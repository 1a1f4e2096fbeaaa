// SPDX-License-Identifier: Apache-2.0
#include "embedded/wrapped/members.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/check.hpp"
#include "embedded/wrapped/kinds.hpp"
#include "kube/value/condition.hpp"

namespace athanor::wrapped {

Member member_of(const Kind& kind, const Object& owner, std::string name, const Value& from,
                 const Labels& labels) {
  Value metadata = Value::object({{"name", name}, {"namespace", owner.ns()}});
  for (const std::string_view field : {"labels", "annotations"}) {
    if (from["metadata"][field].is_object()) {
      metadata.set(field, from["metadata"][field]);
    }
  }
  for (const auto& [key, value] : labels) {
    metadata.member("labels").set(key, value);
  }
  metadata.set("ownerReferences",
               Value::list({OwnerReference{.api_version = std::string(owner.api_version()),
                                           .kind = std::string(owner.kind()),
                                           .name = std::string(owner.name()),
                                           .uid = std::string(owner.uid()),
                                           .controller = true,
                                           .block_owner_deletion = true}
                                .to_value()}));
  return {.name = std::move(name),
          .object = Value::object({{"apiVersion", kind.api_version()},
                                   {"kind", kind.name},
                                   {"metadata", std::move(metadata)},
                                   {"spec", from["spec"]}})};
}

std::vector<Object> present(const View& view, const Kind& kind, const Object& owner) {
  return view.list(kind, {.index = "owner", .index_value = std::string(owner.uid())});
}

namespace {

const Kind* kind_of(const Object& owner) {
  static constexpr const Kind* kOwners[] = {&kJobSet, &kPyTorchJob, &kRayCluster, &kRayJob,
                                            &kLeaderWorkerSet};
  const auto* const found =
      std::ranges::find_if(kOwners, [&](const Kind* kind) { return kind->name == owner.kind(); });
  ATHANOR_CHECK(found != std::end(kOwners), "these kinds alone keep objects");
  return *found;
}

Emit taken(const Object& owner, const Object& other) {
  const auto controller = other.controller();
  return {.about = {kind_of(owner), owner.key()},
          .about_uid = std::string(owner.uid()),
          .type = "Warning",
          .reason = "FailedCreate",
          .note = fmt::format("{} {} exists already and belongs to {}", other.kind(), other.name(),
                              controller ? fmt::format("{} {}", controller->kind, controller->name)
                                         : "no controller")};
}

}  // namespace

void keep(const View& view, const Kind& kind, const Object& owner,
          const std::vector<Member>& wanted, const std::vector<Object>& there, Plan& plan) {
  const auto has = [](const auto& list, std::string_view name) {
    return std::ranges::any_of(list, [&](const auto& one) {
      if constexpr (std::is_same_v<std::decay_t<decltype(one)>, Member>) {
        return one.name == name;
      } else {
        return one.name() == name;
      }
    });
  };
  for (const Object& one : there) {
    if (!has(wanted, one.name()) && !one.deleting()) {
      plan.then(Delete{.target = {&kind, one.key()}, .guard = {.uid = std::string(one.uid())}});
    }
  }
  for (const Member& one : wanted) {
    if (has(there, one.name)) {
      continue;
    }
    const Ref target{&kind, {std::string(owner.ns()), one.name}};
    // The name is another owner's: reading it makes the run depend on its end.
    if (const auto other = view.get(kind, target.key); other && !other->owned_by(owner.uid())) {
      plan.then(taken(owner, *other));
      continue;
    }
    plan.then(Create{.target = target, .object = one.object});
  }
}

Tally tally(const std::vector<Object>& pods) {
  Tally result;
  for (const Object& pod : pods) {
    const std::string_view phase = pod.status()["phase"].as_string();
    if (phase == "Succeeded") {
      ++result.succeeded;
    } else if (phase == "Failed") {
      ++result.failed;
    } else {
      ++result.active;
      result.running += phase == "Running" && !pod.deleting() ? 1 : 0;
    }
  }
  return result;
}

void write_status(const Kind& kind, const Object& object, const std::vector<Mark>& marks,
                  Value status, Instant now, Plan& plan) {
  Value conditions = object.status()["conditions"];
  for (const Mark& mark : marks) {
    if (!mark.truth && find_condition(conditions, mark.type).is_null()) {
      continue;  // what never was is not denied
    }
    set_condition(conditions,
                  {.type = mark.type,
                   .status = mark.truth ? "True" : "False",
                   .reason = mark.reason,
                   .message = mark.message},
                  now);
  }
  if (conditions.is_list()) {
    status.set("conditions", std::move(conditions));
  }
  plan.then(Status{.target = {&kind, object.key()},
                   .status = std::move(status),
                   .guard = {.uid = std::string(object.uid())}});
}

std::int64_t count_of(const Value& value, std::int64_t absent) {
  return value.is_integer() ? value.as_int() : absent;
}

}  // namespace athanor::wrapped
