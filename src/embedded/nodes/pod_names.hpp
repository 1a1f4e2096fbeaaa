// SPDX-License-Identifier: Apache-2.0
// Names of a pod within its containers: hostname, hosts file, and settings of the resolver.
#pragma once

#include <string>
#include <string_view>

#include "kube/value/object.hpp"

namespace athanor::nodes {

// Returns the hostname: the spec's, else the pod's name, at most 63 letters; with
// setHostnameAsFQDN the whole name.
std::string pod_hostname(const Object& pod);
// Returns the hosts file of a pod with this address as a kubelet writes it, with hostAliases; empty
// for a pod on the host's network without any: it has the host's.
std::string hosts_file(const Object& pod, std::string_view address);

// Returns the settings of the resolver as a kubelet writes them by dnsPolicy and dnsConfig; empty:
// the pod has this machine's. `kubelet`: {nameServer (of the cluster, or ""), resolver (this
// machine's settings)}.
std::string resolver_file(const Object& pod, const Value& kubelet);

}  // namespace athanor::nodes
