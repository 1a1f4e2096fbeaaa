// SPDX-License-Identifier: Apache-2.0
// ServedGroup: an API group that a system answers beside the objects of the store, as an aggregated
// API server does: read-only, a pure function of what is stored.
#pragma once

#include <string_view>

#include "base/time.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

// Answer to a request of a served group.
struct GroupAnswer {
  int code = 200;
  Value body{};  // an object, or a Status where the code is an error's
};

// GET of a path ("/apis/GROUP/VERSION/...") with this query ("limit=5").
struct GroupRequest {
  std::string_view path{};
  std::string_view query{};
  Instant now{};
};

// An API group that a system answers itself, beside the objects of the store.
struct ServedGroup {
  // The host name of its APIServices' Service: "NAME.NAMESPACE.svc".
  std::string_view host{};
  GroupAnswer (*answer)(const View& view, const GroupRequest& request) = nullptr;
};

}  // namespace athanor
