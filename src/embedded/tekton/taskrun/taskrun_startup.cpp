// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/taskrun/taskrun_startup.hpp"

#include "api/builtin.hpp"
#include "embedded/tekton/model/text.hpp"

namespace athanor::tekton {
namespace {

// The missing object of one source {secret: …} or {configMap: …}, or nullopt.
std::optional<std::string> missing(const View& view, const Object& pod, const Value& source) {
  const auto absent = [&](const Kind& kind, const Value& one, std::string_view name,
                          std::string_view word) -> std::optional<std::string> {
    if (!one.is_object() || one["optional"].as_bool() || name.empty() ||
        view.get(kind, {std::string(pod.ns()), std::string(name)})) {
      return std::nullopt;
    }
    return std::string(word) + " " + quoted(name) + " not found";
  };
  const Value& secret = source["secret"];
  const std::string_view secret_name = secret["secretName"].as_string();
  if (auto found =
          absent(api::kSecret, secret,
                 secret_name.empty() ? secret["name"].as_string() : secret_name, "secret")) {
    return found;
  }
  const Value& config = source["configMap"];
  return absent(api::kConfigMap, config, config["name"].as_string(), "configmap");
}

}  // namespace

std::optional<std::string> startup_problem(const View& view, const Object& pod) {
  for (const Value& volume : pod.spec()["volumes"].items()) {
    auto problem = missing(view, pod, volume);
    for (const Value& source : volume["projected"]["sources"].items()) {
      if (!problem) {
        problem = missing(view, pod, source);
      }
    }
    if (problem) {
      return "MountVolume.SetUp failed for volume " + quoted(volume["name"].as_string()) + " : " +
             *problem;
    }
  }
  return std::nullopt;
}

}  // namespace athanor::tekton
