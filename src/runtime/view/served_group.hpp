// SPDX-License-Identifier: Apache-2.0
// ServedGroup: an API group that a system answers beside the objects of the store, as an aggregated
// API server does: read-only, a pure function of what is stored.
#pragma once

#include <string_view>

#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

struct GroupAnswer {
  int code = 200;
  Value body{};  // an object, or a Status where the code is an error's
};

struct ServedGroup {
  // The host name of its APIServices' Service: "NAME.NAMESPACE.svc".
  std::string_view host{};
  // Answers GET of a path ("/apis/GROUP/VERSION/...") with this query ("limit=5").
  GroupAnswer (*answer)(const View& view, std::string_view path, std::string_view query) = nullptr;
};

}  // namespace athanor
