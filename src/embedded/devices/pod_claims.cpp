// SPDX-License-Identifier: Apache-2.0
#include "embedded/devices/pod_claims.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "kube/names/node_match.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::devices {
namespace {

constexpr std::string_view kImplicitPrefix = "deviceclass.resource.kubernetes.io/";
constexpr std::size_t kNameDigits = 8;
constexpr std::size_t kLongestName = 253;

std::map<std::string, std::int64_t> amounts_of(const Value& container,
                                               const ExtendedClasses& classes) {
  std::map<std::string, std::int64_t> amounts;
  for (const char* list : {"limits", "requests"}) {
    for (const Member& one : container["resources"][list].members()) {
      const auto amount = Quantity::parse(one.value);
      if (classes.contains(one.key()) && amount && amount->value() > 0) {
        amounts[std::string(one.key())] = amount->value();
      }
    }
  }
  return amounts;
}

Value consumer_of(const Object& pod) {
  return Value::object({{"resource", "pods"}, {"name", pod.name()}, {"uid", pod.uid()}});
}

}  // namespace

std::string claim_name(const Object& pod, const Value& entry) {
  if (const Value& named = entry["resourceClaimName"]; named.is_string()) {
    return named.str();
  }
  for (const Value& status : pod.status()["resourceClaimStatuses"].items()) {
    if (status["name"] == entry["name"]) {
      return status["resourceClaimName"].str();
    }
  }
  return {};
}

NamedClaims named_claims(const View& view, const Object& pod) {
  NamedClaims result;
  const auto refuse = [&](std::string text) {
    result.refusal = std::move(text);
    return result;
  };
  for (const Value& entry : pod.spec()["resourceClaims"].items()) {
    const std::string name = claim_name(pod, entry);
    const bool made = entry["resourceClaimName"].is_null();
    const auto claim = name.empty() ? std::optional<Object>()
                                    : view.get(api::kResourceClaim, {std::string(pod.ns()), name});
    if (!claim) {
      return refuse(
          made ? fmt::format(
                     "waiting for dynamic resource controller to create the resourceclaim \"{}\"",
                     name.empty() ? entry["name"].as_string() : std::string_view(name))
               : fmt::format("resourceclaim \"{}\" not found", name));
    }
    if (claim->deleting()) {
      return refuse(fmt::format("resourceclaim \"{}\" is being deleted", name));
    }
    if (made && !claim->owned_by(pod.uid())) {
      return refuse(
          fmt::format("ResourceClaim {}/{} was not created for pod {}/{} (pod is not owner)",
                      pod.ns(), name, pod.ns(), pod.name()));
    }
    const bool twice = std::ranges::any_of(
        result.claims, [&](const Object& other) { return other.uid() == claim->uid(); });
    if (!twice) {
      result.claims.push_back(*claim);
    }
  }
  return result;
}

ExtendedClasses extended_classes(const std::vector<Object>& classes) {
  ExtendedClasses named;
  // Of several for one resource the newest counts, then the first by name.
  std::map<std::string, std::tuple<std::optional<Instant>, std::string>> newest;
  for (const Object& one : classes) {
    const std::string name(one.name());
    named.emplace(std::string(kImplicitPrefix) + name, name);
    const std::string resource = one.spec()["extendedResourceName"].str();
    if (resource.empty()) {
      continue;
    }
    const auto made = one.creation_time();
    const auto [entry, fresh] = newest.try_emplace(resource, made, name);
    if (!fresh && made > std::get<0>(entry->second)) {
      entry->second = {made, name};
    }
  }
  for (const auto& [resource, one] : newest) {
    named[resource] = std::get<1>(one);
  }
  return named;
}

std::vector<ExtendedRequest> extended_requests(const Object& pod, const ExtendedClasses& classes) {
  std::vector<ExtendedRequest> requests;
  std::size_t number = 0;
  const auto add = [&](const Value& container, bool reuses) {
    int index = 0;
    for (const auto& [resource, count] : amounts_of(container, classes)) {
      ExtendedRequest request{.container = container["name"].str(),
                              .resource = resource,
                              .name = fmt::format("container-{}-request-{}", number, index++),
                              .device_class = classes.find(resource)->second,
                              .count = count};
      // An init container has gone when the app containers run: it uses what is theirs.
      const auto same = std::ranges::find_if(requests, [&](const ExtendedRequest& other) {
        return reuses && other.resource == resource && other.count >= request.count;
      });
      if (same != requests.end()) {
        request.name = same->name;
        request.count = 0;
      }
      requests.push_back(std::move(request));
    }
    ++number;
  };
  const Value& spec = pod.spec();
  for (const Value& container : spec["containers"].items()) {
    add(container, false);
  }
  for (const Value& container : spec["initContainers"].items()) {
    add(container, container["restartPolicy"].as_string() != "Always");
  }
  return requests;
}

std::string extended_claim_name(const Object& pod) {
  const std::string digits = sha256_hex(pod.uid()).substr(0, kNameDigits);
  constexpr std::string_view kMiddle = "-extended-resources-";
  const std::size_t room = kLongestName - kMiddle.size() - digits.size();
  return std::string(pod.name().substr(0, room)).append(kMiddle) + digits;
}

Value extended_claim(const Object& pod, const std::vector<ExtendedRequest>& requests) {
  Value list = Value::list();
  for (const ExtendedRequest& request : requests) {
    if (request.count > 0) {
      list.push_back(
          Value::object({{"name", request.name},
                         {"exactly", Value::object({{"deviceClassName", request.device_class},
                                                    {"allocationMode", "ExactCount"},
                                                    {"count", request.count}})}}));
    }
  }
  const Value owner = OwnerReference{.api_version = "v1",
                                     .kind = "Pod",
                                     .name = std::string(pod.name()),
                                     .uid = std::string(pod.uid()),
                                     .controller = true,
                                     .block_owner_deletion = true}
                          .to_value();
  return Value::object(
      {{"apiVersion", api::kResourceClaim.api_version()},
       {"kind", api::kResourceClaim.name},
       {"metadata",
        Value::object({{"name", extended_claim_name(pod)},
                       {"namespace", pod.ns()},
                       {"generateName", fmt::format("{}-extended-resources-", pod.name())},
                       {"annotations", Value::object({{kExtendedAnnotation, "true"}})},
                       {"ownerReferences", Value::list({owner})}})},
       {"spec", Value::object({{"devices", Value::object({{"requests", std::move(list)}})}})}});
}

Value extended_status(const Object& pod, const std::vector<ExtendedRequest>& requests) {
  Value mappings = Value::list();
  for (const ExtendedRequest& request : requests) {
    mappings.push_back(Value::object({{"containerName", request.container},
                                      {"resourceName", request.resource},
                                      {"requestName", request.name}}));
  }
  return Value::object(
      {{"resourceClaimName", extended_claim_name(pod)}, {"requestMappings", std::move(mappings)}});
}

bool reserved_for(const Object& claim, const Object& pod) {
  return std::ranges::any_of(claim.status()["reservedFor"].items(), [&](const Value& consumer) {
    return consumer["uid"].as_string() == pod.uid();
  });
}

Value reserved_with(const Object& claim, const Object& pod) {
  Value list =
      claim.status()["reservedFor"].is_list() ? claim.status()["reservedFor"] : Value::list();
  if (!reserved_for(claim, pod)) {
    list.push_back(consumer_of(pod));
  }
  return list;
}

bool usable_on(const Value& allocation, const Object& node) {
  const Value& selector = allocation["nodeSelector"];
  return selector.is_null() ||
         std::ranges::any_of(selector["nodeSelectorTerms"].items(),
                             [&](const Value& term) { return matches_term(term, node); });
}

}  // namespace athanor::devices
