// SPDX-License-Identifier: Apache-2.0
// IPAddress and ServiceCIDR: one object for each address that a service has, and the networks that
// they come from (docs/spec/apiserver.md 14.5).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/kind_behaviour.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Names of the resources in the store.
inline constexpr std::string_view kAddresses = "ipaddresses.networking.k8s.io";
inline constexpr std::string_view kServiceNetworks = "servicecidrs.networking.k8s.io";

// Returns the errors of an IPAddress at create and at update; empty: valid. Its parentRef stays.
FieldErrors validate_address(const Value& object, const KindContext& context);
FieldErrors validate_address_update(const Value& object, const Value& old_object,
                                    const KindContext& context);
// Returns the errors of a ServiceCIDR, whose ranges stay; a second one may be added.
FieldErrors validate_service_network(const Value& object, const KindContext& context);
FieldErrors validate_service_network_update(const Value& object, const Value& old_object,
                                            const KindContext& context);

// Returns the object of `address`, held by a service; without uid and time of its creation.
Value address_object(std::string_view address, std::string_view ns, std::string_view service);
// Returns true if an IPAddress belongs to that service.
bool belongs_to(const Value& address, std::string_view ns, std::string_view service);
// Networks that addresses may come from, of all that can be used: "10.96.0.0/16".
std::vector<std::string> usable_networks(const store::Store& store);
// Returns the KindBehaviour::along of services.
std::vector<store::Write> address_writes(const Value& service, const Value& old_service,
                                         const KindContext& context);

}  // namespace athanor::apiserver
