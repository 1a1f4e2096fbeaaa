// SPDX-License-Identifier: Apache-2.0
#include "systems/das/model/users.hpp"

namespace athanor::das {
namespace {

void add_users(const Object& pod, std::string_view entry, ClaimUsers& users) {
  for (const char* list : {"initContainers", "containers"}) {
    for (const Value& container : pod.spec()[list].items()) {
      for (const Value& use : container["resources"]["claims"].items()) {
        if (use["name"].as_string() != entry) {
          continue;
        }
        const auto [known, fresh] = users.try_emplace(container["name"].str());
        const std::string request = use["request"].str();
        if (request.empty()) {
          known->second.clear();
        } else if (fresh || !known->second.empty()) {
          known->second.insert(request);
        }
      }
    }
  }
}

}  // namespace

std::string_view parent_of(std::string_view request) {
  return request.substr(0, request.find('/'));
}

std::string claim_of_entry(const Object& pod, const Value& entry) {
  std::string name = entry["resourceClaimName"].str();
  for (const Value& made : pod.status()["resourceClaimStatuses"].items()) {
    if (name.empty() && made["name"] == entry["name"]) {
      name = made["resourceClaimName"].str();
    }
  }
  return name;
}

ClaimUsers users_of(const Object& pod, std::string_view claim) {
  ClaimUsers users;
  for (const Value& entry : pod.spec()["resourceClaims"].items()) {
    if (claim_of_entry(pod, entry) == claim) {
      add_users(pod, entry["name"].as_string(), users);
    }
  }
  const Value& made = pod.status()["extendedResourceClaimStatus"];
  if (made["resourceClaimName"].as_string() == claim) {
    for (const Value& mapping : made["requestMappings"].items()) {
      users[mapping["containerName"].str()].insert(mapping["requestName"].str());
    }
  }
  return users;
}

}  // namespace athanor::das
