// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/definitions.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/digest.hpp"
#include "embedded/tekton/model/remote_definitions.hpp"
#include "embedded/tekton/model/text.hpp"
#include "kube/text/json.hpp"

namespace athanor::tekton {
namespace {

// Returns the source of a definition that resolver "cluster" found.
Value cluster_source(const Kind& kind, const Object& found) {
  const std::string_view plural = kind.plural;
  const std::string uri =
      fmt::format("/apis/{}/{}/namespaces/{}/{}/{}@{}", kind.group, kind.version, found.ns(),
                  plural.substr(0, plural.size() - 1), found.name(), found.uid());
  const std::string digest = sha256_hex(json::print(found.spec()));
  return Value::object({{"uri", uri}, {"digest", Value::object({{"sha256", digest}})}});
}

// Returns the object that the params of resolver "cluster" name.
Result<Key> cluster_key(const Kind& kind, const Value& ref, std::string_view ns) {
  ATHANOR_TRY_VOID(check_kind_param(kind, ref));
  const Value& other = named(ref["params"], "namespace")["value"];
  Key key{other.as_string().empty() ? std::string(ns) : other.str(),
          std::string(named(ref["params"], "name")["value"].as_string())};
  if (key.name.empty()) {
    return Error::bad_request("missing required cluster resolver params: name");
  }
  return key;
}

}  // namespace

Result<Definition> find_definition(const View& view, const Kind& kind, const Value& ref,
                                   std::string_view ns) {
  Key key{std::string(ns), ref["name"].str()};
  if (const std::string_view resolver = ref["resolver"].as_string(); !resolver.empty()) {
    if (is_remote_resolver(resolver)) {
      return fetch_definition(view, kind, ref, ns);
    }
    if (resolver != "cluster") {
      return Error::bad_request("resolver type " + quoted(resolver) +
                                " not enabled in the embedded engine");
    }
    ATHANOR_TRY(key, cluster_key(kind, ref, ns));
  }
  auto found = view.get(kind, key);
  if (!found) {
    return Error::not_found(std::string(kind.plural) + "." + std::string(kind.group) + " " +
                            quoted(key.name) + " not found");
  }
  Value source = ref["resolver"].as_string().empty() ? Value() : cluster_source(kind, *found);
  return Definition{.object = *std::move(found), .source = std::move(source)};
}

bool is_pipeline_task(const Value& task) {
  return task["pipelineRef"].is_object() || task["pipelineSpec"].is_object();
}

bool is_custom_task(const Value& ref) {
  const std::string_view kind = ref["kind"].as_string();
  const std::string_view version = ref["apiVersion"].as_string();
  return (!kind.empty() && kind != "Task") ||
         (!version.empty() && !version.starts_with("tekton.dev/"));
}

}  // namespace athanor::tekton
