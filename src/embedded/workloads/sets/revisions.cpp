// SPDX-License-Identifier: Apache-2.0
// Numbering, hashing and forgetting revisions.
#include "embedded/workloads/sets/revisions.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "api/builtin.hpp"
#include "embedded/workloads/claim.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "kube/text/json.hpp"

namespace athanor::workloads {
namespace {

// Members in order of their names, as Go prints maps.
Value in_order(const Value& value) {
  if (value.is_list()) {
    Value list = Value::list();
    for (const Value& item : value.items()) {
      list.push_back(in_order(item));
    }
    return list;
  }
  if (!value.is_object()) {
    return value;
  }
  std::vector<Member> members(value.members().begin(), value.members().end());
  std::ranges::sort(members, {}, [](const Member& member) { return member.key(); });
  for (Member& member : members) {
    member.value = in_order(member.value);
  }
  return Value::object(std::move(members));
}

std::uint32_t fnv1(std::string_view text) {
  constexpr std::uint32_t kBasis = 2166136261U;
  constexpr std::uint32_t kPrime = 16777619U;
  std::uint32_t hash = kBasis;
  for (const char c : text) {
    hash = (hash * kPrime) ^ static_cast<unsigned char>(c);
  }
  return hash;
}

// Digits as characters that make no words.
std::string safe_text(std::string_view text) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string result;
  for (const char c : text) {
    result += kAlphabet[static_cast<unsigned char>(c) % kAlphabet.size()];
  }
  return result;
}

}  // namespace

std::vector<Object> revisions_of(const View& view, const Object& owner, const Kind& owner_kind,
                                 Plan& plan) {
  std::vector<Object> revisions = claim(view, api::kControllerRevision, owner, owner_kind, plan);
  std::ranges::stable_sort(revisions, {}, [](const Object& revision) {
    return std::tuple(number_of_revision(revision), revision.creation_time(),
                      std::string(revision.name()));
  });
  return revisions;
}

std::int64_t number_of_revision(const Object& revision) {
  return revision.body()["revision"].as_int();
}

Value revision_data(const Value& pod_template) {
  Value content = pod_template;
  content.erase_path({"metadata", "creationTimestamp"});
  content.set("$patch", "replace");
  return in_order(Value::object({{"spec", Value::object({{"template", content}})}}));
}

Value template_of(const Object& revision) {
  Value pod_template = revision.body()["data"]["spec"]["template"];
  pod_template.erase("$patch");
  return pod_template;
}

std::string revision_hash(const Value& data, std::int64_t collisions) {
  return safe_text(
      fmt::format("{}", fnv1(json::print(in_order(data)) + fmt::format("{}", collisions))));
}

Value make_revision(const Object& owner, const Kind& owner_kind, const std::string& hash,
                    const char* hash_label, std::int64_t number) {
  constexpr std::size_t kLongestPrefix = 223;
  Value labels = owner.spec()["template"]["metadata"]["labels"];
  labels.set(hash_label, hash);
  Value metadata =
      Value::object({{"name", fmt::format("{}-{}", owner.name().substr(0, kLongestPrefix), hash)},
                     {"namespace", owner.ns()},
                     {"labels", labels},
                     {"ownerReferences", Value::list({controller_reference(owner, owner_kind)})}});
  if (!owner.metadata()["annotations"].empty()) {
    metadata.set("annotations", owner.metadata()["annotations"]);
  }
  return Value::object({{"apiVersion", "apps/v1"},
                        {"kind", "ControllerRevision"},
                        {"metadata", metadata},
                        {"data", revision_data(owner.spec()["template"])},
                        {"revision", number}});
}

void truncate_history(const Object& owner, const std::vector<Object>& revisions,
                      const std::set<std::string>& live, Plan& plan) {
  std::vector<Object> past;
  std::ranges::copy_if(revisions, std::back_inserter(past), [&](const Object& revision) {
    return !live.contains(std::string(revision.name()));
  });
  const std::int64_t limit = owner.spec()["revisionHistoryLimit"].as_int(kRevisionHistory);
  const std::int64_t many = static_cast<std::int64_t>(past.size()) - limit;
  for (std::int64_t i = 0; i < many; ++i) {
    const Object& revision = past[static_cast<std::size_t>(i)];
    plan.then(Delete{.target = {&api::kControllerRevision, revision.key()},
                     .guard = {.uid = std::string(revision.uid())}});
  }
}

Step renumber(const Object& revision, std::int64_t number) {
  return Patch{.target = {&api::kControllerRevision, revision.key()},
               .merge = Value::object({{"revision", number}}),
               .guard = {.uid = std::string(revision.uid())}};
}

RevisionName latest_revision(const Object& owner, const Kind& owner_kind,
                             const std::vector<Object>& revisions, const char* hash_label,
                             Plan& plan) {
  const Value data = revision_data(owner.spec()["template"]);
  const std::int64_t next = revisions.empty() ? 1 : number_of_revision(revisions.back()) + 1;
  RevisionName latest;
  // Of equal ones the newest counts, and it alone gets a new number.
  const auto equal =
      std::find_if(revisions.rbegin(), revisions.rend(),
                   [&](const Object& revision) { return revision.body()["data"] == data; });
  if (equal != revisions.rend()) {
    if (number_of_revision(*equal) + 1 != next && !owner.deleting()) {
      plan.then(renumber(*equal, next));
    }
    return {.name = std::string(equal->name()), .hash = std::string(equal->label(hash_label))};
  }
  latest.hash = revision_hash(data, owner.status()["collisionCount"].as_int());
  Value revision = make_revision(owner, owner_kind, latest.hash, hash_label, next);
  latest.name = revision["metadata"]["name"].str();
  if (!owner.deleting()) {
    plan.then(Create{.target = {&api::kControllerRevision, {std::string(owner.ns()), latest.name}},
                     .object = std::move(revision)});
  }
  return latest;
}

}  // namespace athanor::workloads
