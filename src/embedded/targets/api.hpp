// SPDX-License-Identifier: Apache-2.0
// What an emulated target cluster answers: as much of the Kubernetes API as finding out about a
// cluster needs, and nothing that changes it. A function without I/O.
#pragma once

#include <memory>
#include <string>

#include "base/time.hpp"
#include "embedded/targets/inventory.hpp"
#include "embedded/targets/target.hpp"
#include "net/http.hpp"

namespace athanor::targets {

// A target as its API sees it. Immutable.
struct Face {
  Face(Target described, std::string secret_text)
      : target(std::move(described)), secret(std::move(secret_text)), inventory(target) {}
  Target target;
  std::string secret;  // the token, or the password
  Inventory inventory;
};

// Returns the answer to one request, with its faults, except the faults of time and
// connections.
net::Response respond(const std::shared_ptr<const Face>& face, const net::Request& request,
                      Instant now);

}  // namespace athanor::targets
