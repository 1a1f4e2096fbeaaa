// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/resources/resource_field.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "api/builtin.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::nodes {
namespace {

// For a limit that is not set, the pod's or else the node's; Null where nobody sets one.
Value amount_of(const View& view, const Object& pod, const Value& container, std::string_view list,
                std::string_view name) {
  const Value& own = container["resources"][list][name];
  if (!own.is_null() || list != "limits") {
    return own;
  }
  if (const Value& whole = pod.spec()["resources"][list][name]; !whole.is_null()) {
    return whole;
  }
  const auto node = view.get(api::kNode, {"", pod.spec()["nodeName"].str()});
  return node ? node->status()["allocatable"][name] : Value();
}

}  // namespace

std::string resource_field(const View& view, const Object& pod, const Value& container,
                           const Value& reference) {
  const std::string_view path = reference["resource"].as_string();
  const std::size_t dot = std::min(path.find('.'), path.size());
  const auto amount = Quantity::parse(amount_of(view, pod, container, path.substr(0, dot),
                                                path.substr(std::min(dot + 1, path.size()))));
  if (!amount) {
    return "0";
  }
  const auto divisor = Quantity::parse(reference["divisor"]);
  const std::int64_t unit = divisor && !divisor->is_zero() ? divisor->milli_value() : 1000;
  const std::int64_t milli = amount->milli_value();
  return fmt::format("{}", milli / unit + (milli % unit != 0 ? 1 : 0));
}

const Value& referenced_container(const Object& pod, const Value& reference, const Value& own) {
  const std::string_view name = reference["containerName"].as_string();
  for (const char* list : {"containers", "initContainers"}) {
    for (const Value& container : pod.spec()[list].items()) {
      if (!name.empty() && container["name"].as_string() == name) {
        return container;
      }
    }
  }
  return own;
}

}  // namespace athanor::nodes
