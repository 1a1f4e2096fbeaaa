// SPDX-License-Identifier: Apache-2.0
// Objects for the tests of the engine's parts.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "kube/text/json.hpp"
#include "kube/value/object.hpp"

namespace athanor::runtime {

inline Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.value_or({});
}

inline Object pod(std::string_view name, int version, std::string_view extra = "{}") {
  Value body = parsed(extra);
  body.set("apiVersion", "v1");
  body.set("kind", "Pod");
  body.set_path({"metadata", "name"}, name);
  body.set_path({"metadata", "namespace"}, "a");
  body.set_path({"metadata", "resourceVersion"}, std::to_string(version));
  return Object(std::move(body));
}

}  // namespace athanor::runtime
