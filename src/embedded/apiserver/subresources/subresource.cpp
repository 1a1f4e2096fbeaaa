// SPDX-License-Identifier: Apache-2.0
// The table of subresources (request/subresource.hpp): from resource, subresource and method to its
// handler.
#include "embedded/apiserver/request/subresource.hpp"

#include <array>

#include "embedded/apiserver/subresources/pod_subresources.hpp"
#include "embedded/apiserver/subresources/scale.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::array kRoutes = {
    SubresourceRoute{"pods", "binding", "POST", &handle_binding},
    SubresourceRoute{"bindings", "", "POST", &handle_binding},
    SubresourceRoute{"pods", "eviction", "POST", &handle_eviction},
    SubresourceRoute{"pods", "log", "GET", &handle_log},
    SubresourceRoute{"pods", "exec", "GET", &handle_exec},
    SubresourceRoute{"pods", "exec", "POST", &handle_exec},
    SubresourceRoute{"pods", "attach", "GET", &handle_attach},
    SubresourceRoute{"pods", "attach", "POST", &handle_attach},
    SubresourceRoute{"pods", "portforward", "GET", &handle_port_forward},
    SubresourceRoute{"pods", "portforward", "POST", &handle_port_forward},
    SubresourceRoute{"pods", "proxy", "*", &handle_proxy},
    SubresourceRoute{"services", "proxy", "*", &handle_proxy},
    SubresourceRoute{"nodes", "proxy", "*", &handle_proxy},
    SubresourceRoute{"namespaces", "finalize", "PUT", &handle_finalize},
    SubresourceRoute{"*", "scale", "GET", &handle_scale_get},
    SubresourceRoute{"*", "scale", "PUT", &handle_scale_put},
    SubresourceRoute{"*", "scale", "PATCH", &handle_scale_patch},
};

SubresourceHandler find(std::span<const SubresourceRoute> routes, std::string_view storage,
                        std::string_view subresource, std::string_view method) {
  for (const SubresourceRoute& route : routes) {
    if ((route.storage == "*" || route.storage == storage) && route.subresource == subresource &&
        (route.method == "*" || route.method == method)) {
      return route.handler;
    }
  }
  return nullptr;
}

}  // namespace

SubresourceHandler subresource_handler(const ResourceInfo& resource, std::string_view subresource,
                                       std::string_view method) {
  if (const SubresourceHandler handler = find(kRoutes, resource.storage, subresource, method)) {
    return handler;
  }
  return find(auth_routes(), resource.storage, subresource, method);
}

}  // namespace athanor::apiserver
