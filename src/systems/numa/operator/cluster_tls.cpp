// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/operator/cluster_tls.hpp"

#include "systems/numa/model/kinds.hpp"

namespace athanor::numa {

TlsProfile tls_profile_of(const View& view, Platform platform) {
  if (platform == Platform::Kubernetes) {
    return {};
  }
  const auto server = view.get(kOpenShiftServer, {"", "cluster"});
  return read_tls_profile(server ? server->spec()["tlsSecurityProfile"] : Value());
}

}  // namespace athanor::numa
