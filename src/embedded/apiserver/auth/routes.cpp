// SPDX-License-Identifier: Apache-2.0
// Which of the server's requests are answered here: tokens and reviews
// (spec/apiserver.md 16.3, 16.4).
#include "embedded/apiserver/subresource.hpp"

namespace athanor::apiserver {

std::span<const SubresourceRoute> auth_routes() {
  return {};
}

}  // namespace athanor::apiserver
