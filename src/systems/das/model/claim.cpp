// SPDX-License-Identifier: Apache-2.0
#include "systems/das/model/claim.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/digest.hpp"
#include "kube/value/condition.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"

namespace athanor::das {
namespace {

constexpr std::size_t kLongestName = 253;
constexpr std::size_t kDigestDigits = 8;

std::vector<Claim> read_all(const std::vector<Object>& objects) {
  std::vector<Claim> claims;
  for (const Object& object : objects) {
    if (auto claim = read_claim(object)) {
      claims.push_back(*std::move(claim));
    }
  }
  std::ranges::stable_sort(claims, [](const Claim& a, const Claim& b) {
    // All are written in one form, whose texts are in order.
    return a.object.metadata()["creationTimestamp"].as_string() <
           b.object.metadata()["creationTimestamp"].as_string();
  });
  return claims;
}

// "InUse" of "inUse".
std::string condition_type(std::string_view state) {
  std::string type(state);
  if (!type.empty() && type.front() >= 'a' && type.front() <= 'z') {
    type.front() = static_cast<char>(type.front() - 'a' + 'A');
  }
  return type;
}

}  // namespace

std::optional<Claim> read_claim(const Object& object) {
  const Value& spec = object.spec();
  const Value& placement = spec["migPlacement"];
  if (!placement["start"].is_integer() || !placement["size"].is_integer()) {
    return std::nullopt;
  }
  const std::int64_t start = placement["start"].as_int();
  const std::int64_t size = placement["size"].as_int();
  if (start < 0 || size < 1 || size > kMostSlots || start > kMostSlots - size) {
    return std::nullopt;
  }
  return Claim{.object = object,
               .profile = spec["profile"].str(),
               .gpu = spec["gpuUUID"].str(),
               .node = spec["nodename"].str(),
               .container = spec["container"].str(),
               .pod_uid = spec["podRef"]["uid"].str(),
               .pod = {spec["podRef"]["namespace"].str(), spec["podRef"]["name"].str()},
               .start = static_cast<int>(start),
               .size = static_cast<int>(size),
               .state = object.status()["state"].str()};
}

bool is_made(const Claim& claim) {
  return claim.state == kProcessing || claim.state == kInUse || claim.state == kOrphaned;
}

bool is_mirror(const Object& claim) {
  return claim.spec()[kMirrorMember].is_object();
}

std::string place_of(const Claim& claim) {
  if (claim.size == 0) {
    return fmt::format("{} on {}", claim.profile, claim.gpu);  // a share
  }
  return claim.profile.empty()
             ? fmt::format("all of {}", claim.gpu)
             : fmt::format("{} on {}, slot {}", claim.profile, claim.gpu, claim.start);
}

std::vector<std::string> claim_nodes(const Object& claim) {
  return {claim.spec()["nodename"].str()};
}

std::vector<std::string> claim_pods(const Object& claim) {
  if (is_mirror(claim)) {
    return {};  // it is its ResourceClaim's
  }
  return {claim.spec()["podRef"]["uid"].str()};
}

std::vector<Claim> claims_on(const View& view, std::string_view node) {
  return read_all(view.list(
      kAllocationClaim, {.index = std::string(kClaimsByNode), .index_value = std::string(node)}));
}

std::vector<Claim> claims_for(const View& view, std::string_view pod_uid) {
  return read_all(view.list(
      kAllocationClaim, {.index = std::string(kClaimsByPod), .index_value = std::string(pod_uid)}));
}

std::string claim_name(std::string_view pod_uid, std::string_view node, const SliceRequest& slice) {
  std::string name = fmt::format("{}-{}-{}-{}", pod_uid, node, slice.container, slice.index);
  return name.size() <= kLongestName
             ? name
             : fmt::format("{}-{}-{}-{}", pod_uid, sha256_hex(node).substr(0, kDigestDigits),
                           slice.container, slice.index);
}

Value make_claim(const NewClaim& wanted) {
  const Object& pod = wanted.pod;
  return Value::object(
      {{"apiVersion", kGroupVersion},
       {"kind", kAllocationClaim.name},
       {"metadata", Value::object({{"name", claim_name(pod.uid(), wanted.node, wanted.slice)},
                                   {"namespace", wanted.ns}})},
       {"spec", Value::object({{"container", wanted.slice.container},
                               {"gpuUUID", wanted.gpu},
                               {"migPlacement",
                                Value::object({{"size", wanted.size}, {"start", wanted.start}})},
                               {"nodename", wanted.node},
                               {"podRef", Value::object({{"kind", "Pod"},
                                                         {"name", pod.name()},
                                                         {"namespace", pod.ns()},
                                                         {"uid", pod.uid()}})},
                               {"profile", wanted.slice.profile}})}});
}

Value claim_status(const Value& status, std::vector<std::string_view> states,
                   std::int64_t generation, Instant now) {
  Value conditions = status["conditions"].is_list() ? status["conditions"] : Value::list();
  for (const std::string_view state : states) {
    const std::string message = fmt::format("Allocation is {}", state);
    set_condition(conditions,
                  {.type = "State",
                   .status = "True",
                   .reason = std::string(state),
                   .message = message,
                   .observed_generation = generation},
                  now);
    set_condition(conditions,
                  {.type = condition_type(state),
                   .status = "True",
                   .reason = std::string(state),
                   .message = message,
                   .observed_generation = generation},
                  now);
  }
  return Value::object({{"state", states.back()}, {"conditions", std::move(conditions)}});
}

std::optional<Instant> ends_at(const Claim& claim, std::string_view step, Duration takes,
                               Instant now, Plan& plan) {
  if (takes <= Duration::zero()) {
    return std::nullopt;
  }
  const std::string head = std::string(step) + " ";
  const std::string_view noted = claim.object.annotation(kSinceAnnotation);
  const auto since =
      noted.starts_with(head) ? parse_time(noted.substr(head.size())) : std::optional<Instant>();
  if (since) {
    return *since + takes <= now ? std::nullopt : std::optional(*since + takes);
  }
  plan.then(Patch{
      .target = {&kAllocationClaim, claim.object.key()},
      .merge = Value::object(
          {{"metadata",
            Value::object({{"annotations", Value::object({{kSinceAnnotation,
                                                           head + format_micro_time(now)}})}})}}),
      .guard = {.uid = std::string(claim.object.uid())}});
  return now + takes;
}

}  // namespace athanor::das
