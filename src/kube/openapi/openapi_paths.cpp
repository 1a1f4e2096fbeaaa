// SPDX-License-Identifier: Apache-2.0
// Path items of OpenAPI documents.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "kube/openapi/openapi_parts.hpp"
#include "kube/schema/types.hpp"

namespace athanor::openapi {
namespace {

constexpr std::string_view kStatus = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
constexpr std::string_view kWatchEvent = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent";
constexpr std::string_view kDeleteOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
constexpr std::string_view kPatch = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

struct Parameter {
  std::string_view name{};
  std::string_view type{};
  std::string_view description{};
};
constexpr Parameter kDryRun = {"dryRun", "string", "All: do everything but store."};
constexpr Parameter kFieldManager = {"fieldManager", "string", "Who makes the change."};
constexpr Parameter kFieldValidation = {
    "fieldValidation", "string",
    "What to do about unknown and duplicate fields: Ignore, Warn or Strict."};
constexpr Parameter kForce = {"force", "boolean", "Take fields over from other managers (apply)."};
constexpr std::array<Parameter, 10> kListParameters = {{
    {"allowWatchBookmarks", "boolean", "Send bookmark events."},
    {"continue", "string", "Where the last page ended."},
    {"fieldSelector", "string", "Selects by fields."},
    {"labelSelector", "string", "Selects by labels."},
    {"limit", "integer", "The most objects of one page."},
    {"resourceVersion", "string", "The version to read at or to watch from."},
    {"resourceVersionMatch", "string", "How to take resourceVersion: Exact or NotOlderThan."},
    {"sendInitialEvents", "boolean", "Begin the watch with the present objects."},
    {"timeoutSeconds", "integer", "Ends the call after this many seconds."},
    {"watch", "boolean", "Send changes instead of a list."},
}};
constexpr std::array<Parameter, 4> kDeleteParameters = {{
    {"gracePeriodSeconds", "integer", "Seconds to shut down; 0 deletes at once."},
    {"ignoreStoreReadErrorWithClusterBreakingPotential", "boolean",
     "Delete even an object that can no longer be read."},
    {"orphanDependents", "boolean", "Replaced by propagationPolicy."},
    {"propagationPolicy", "string", "What happens to dependents."},
}};

Value query_parameter(const Parameter& parameter) {
  return Value::object(
      {{"name", parameter.name},
       {"in", "query"},
       {"description", parameter.description},
       {"schema", Value::object({{"type", parameter.type}, {"uniqueItems", true}})}});
}

Value path_parameter(std::string_view name, std::string_view description) {
  return Value::object({{"name", name},
                        {"in", "path"},
                        {"description", description},
                        {"required", true},
                        {"schema", Value::object({{"type", "string"}, {"uniqueItems", true}})}});
}

// Built once: every document shares them.
struct SharedParameters {
  Value list = Value::list();
  Value write = Value::list();
  Value patch = Value::list();
  Value remove = Value::list();
  Value pretty = query_parameter({"pretty", "string", "Indent the answer."});
  Value ns = path_parameter("namespace", "The namespace.");

  SharedParameters() {
    for (const Parameter& parameter : kListParameters) {
      list.push_back(query_parameter(parameter));
    }
    for (const Parameter& parameter : {kDryRun, kFieldManager, kFieldValidation}) {
      write.push_back(query_parameter(parameter));
    }
    patch = write;
    patch.push_back(query_parameter(kForce));
    remove.push_back(query_parameter(kDryRun));
    for (const Parameter& parameter : kDeleteParameters) {
      remove.push_back(query_parameter(parameter));
    }
  }
};

const SharedParameters& shared() {
  static const SharedParameters kParameters;
  return kParameters;
}

Value content(std::initializer_list<std::string_view> media_types, const Value& schema) {
  Value content = Value::object();
  for (const std::string_view type : media_types) {
    content.set(type, Value::object({{"schema", schema}}));
  }
  return content;
}

Value responses(std::initializer_list<std::string_view> codes, const Value& schema) {
  Value all = Value::object();
  const Value body = content({"application/json", "application/yaml"}, schema);
  for (const std::string_view code : codes) {
    const std::string_view text = code == "201" ? "Created" : code == "202" ? "Accepted" : "OK";
    all.set(code, Value::object({{"description", text}, {"content", body}}));
  }
  return all.set("401", Value::object({{"description", "Unauthorized"}}));
}

bool has(const std::vector<std::string>& verbs, std::string_view verb) {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

bool is_connect(std::string_view subresource) {
  return subresource == "attach" || subresource == "exec" || subresource == "portforward" ||
         subresource == "proxy";
}

std::string capitalized(std::string_view word) {
  std::string text(word);
  if (!text.empty()) {
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  }
  return text;
}

// "AppsV1", "CoreV1": in the names of operations.
std::string api_name(std::string_view group, std::string_view version) {
  return capitalized(group.empty() ? "core" : group.substr(0, group.find('.'))) +
         capitalized(version);
}

// The path items of one resource.
class PathWriter {
 public:
  PathWriter(Value& paths, std::string_view group, std::string_view version,
             const OpenApiResource& resource, const BodyNames& names)
      : paths_(paths),
        group_(group),
        version_(version),
        resource_(resource),
        names_(names),
        api_(api_name(group, version)),
        kind_(group_version_kind(group, version, resource.kind)) {}

  void write() {
    const std::string prefix = group_.empty() ? fmt::format("/api/{}", version_)
                                              : fmt::format("/apis/{}/{}", group_, version_);
    const std::string scope = resource_.namespaced ? "/namespaces/{namespace}" : "";
    const std::string collection = fmt::format("{}{}/{}", prefix, scope, resource_.plural);
    write_collection(collection);
    write_item(collection + "/{name}");
    if (has(resource_.verbs, "watch")) {
      write_watches(prefix, scope);
    }
    if (resource_.namespaced && has(resource_.verbs, "list")) {
      Value item = Value::object();
      Value get = operation("list", fmt::format("list{}{}ForAllNamespaces", api_, resource_.kind));
      get.set("responses", responses({"200"}, reference(names_.list)));
      item.set("get", std::move(get));
      item.set("parameters", with_pretty(shared().list, false));
      paths_.set(fmt::format("{}/{}", prefix, resource_.plural), std::move(item));
    }
    for (const OpenApiSubresource& sub : resource_.subresources) {
      write_subresource(collection + "/{name}/" + sub.name, sub);
    }
  }

 private:
  [[nodiscard]] std::string operation_id(std::string_view verb,
                                         std::string_view suffix = {}) const {
    return fmt::format("{}{}{}{}{}", verb, api_, resource_.namespaced ? "Namespaced" : "",
                       resource_.kind, suffix);
  }

  [[nodiscard]] Value operation(std::string_view action, const std::string& id) const {
    const std::string tag = fmt::format(
        "{}_{}", group_.empty() ? "core" : group_.substr(0, group_.find('.')), version_);
    return Value::object({{"tags", Value::list({tag})},
                          {"operationId", id},
                          {"x-kubernetes-action", action},
                          {"x-kubernetes-group-version-kind", kind_}});
  }

  // Parameters common to all operations of one path item.
  [[nodiscard]] Value with_pretty(Value parameters, bool in_namespace) const {
    if (in_namespace && resource_.namespaced) {
      parameters.push_back(shared().ns);
    }
    return parameters.push_back(shared().pretty);
  }

  [[nodiscard]] Value item_parameters() const {
    return with_pretty(
        Value::list({path_parameter("name", fmt::format("The name of the {}.", resource_.kind))}),
        true);
  }

  static void set_body(Value& operation, const Value& schema) {
    operation.set("requestBody",
                  Value::object({{"content", content({"*/*"}, schema)}, {"required", true}}));
  }

  void write_collection(const std::string& path) {
    Value item = Value::object();
    if (has(resource_.verbs, "list")) {
      Value get = operation("list", operation_id("list"));
      get.set("parameters", shared().list);
      item.set("get", get.set("responses", responses({"200"}, reference(names_.list))));
    }
    if (has(resource_.verbs, "create")) {
      item.set("post", write_operation("post", operation_id("create"), names_.object, kind_,
                                       {"200", "201", "202"}));
    }
    if (has(resource_.verbs, "deletecollection")) {
      Value parameters = shared().remove;
      for (const Value& parameter : shared().list.items()) {
        parameters.push_back(parameter);
      }
      Value remove =
          operation("deletecollection",
                    fmt::format("delete{}Collection{}{}", api_,
                                resource_.namespaced ? "Namespaced" : "", resource_.kind));
      remove.set("parameters", std::move(parameters));
      set_body(remove, reference(kDeleteOptions));
      item.set("delete", remove.set("responses", responses({"200"}, reference(kStatus))));
    }
    if (!item.empty()) {
      item.set("parameters", with_pretty(Value::list(), true));
      paths_.set(path, std::move(item));
    }
  }

  void write_item(const std::string& path) {
    Value item = Value::object();
    if (has(resource_.verbs, "get")) {
      Value get = operation("get", operation_id("read"));
      item.set("get", get.set("responses", responses({"200"}, reference(names_.object))));
    }
    if (has(resource_.verbs, "update")) {
      item.set("put", write_operation("put", operation_id("replace"), names_.object, kind_,
                                      {"200", "201"}));
    }
    if (has(resource_.verbs, "patch")) {
      item.set("patch", patch_operation(operation_id("patch"), names_.object, kind_));
    }
    if (has(resource_.verbs, "delete")) {
      Value remove = operation("delete", operation_id("delete"));
      remove.set("parameters", shared().remove);
      set_body(remove, reference(kDeleteOptions));
      item.set("delete", remove.set("responses", responses({"200", "202"}, reference(kStatus))));
    }
    if (!item.empty()) {
      item.set("parameters", item_parameters());
      paths_.set(path, std::move(item));
    }
  }

  // POST and PUT.
  [[nodiscard]] Value write_operation(std::string_view action, const std::string& id,
                                      std::string_view component, const Value& kind,
                                      std::initializer_list<std::string_view> codes) const {
    Value write = operation(action, id);
    write.set("x-kubernetes-group-version-kind", kind);
    write.set("parameters", shared().write);
    set_body(write, reference(component));
    return write.set("responses", responses(codes, reference(component)));
  }

  [[nodiscard]] Value patch_operation(const std::string& id, std::string_view component,
                                      const Value& kind) const {
    Value patch = operation("patch", id);
    patch.set("x-kubernetes-group-version-kind", kind);
    patch.set("parameters", shared().patch);
    const Value schema = reference(kPatch);
    Value types =
        resource_.custom_schema.is_null()
            ? content({"application/apply-patch+yaml", "application/json-patch+json",
                       "application/merge-patch+json", "application/strategic-merge-patch+json"},
                      schema)
            : content({"application/apply-patch+yaml", "application/json-patch+json",
                       "application/merge-patch+json"},
                      schema);
    patch.set("requestBody", Value::object({{"content", std::move(types)}, {"required", true}}));
    return patch.set("responses", responses({"200", "201"}, reference(component)));
  }

  void write_watches(const std::string& prefix, const std::string& scope) {
    const auto add = [this](const std::string& path, std::string_view action, const std::string& id,
                            Value parameters) {
      Value get = operation(action, id);
      get.set("responses", responses({"200"}, reference(kWatchEvent)));
      paths_.set(path,
                 Value::object({{"get", std::move(get)}, {"parameters", std::move(parameters)}}));
    };
    const std::string watch = prefix + "/watch";
    if (resource_.namespaced) {
      add(fmt::format("{}/{}", watch, resource_.plural), "watchlist",
          fmt::format("watch{}{}ListForAllNamespaces", api_, resource_.kind),
          with_pretty(shared().list, false));
    }
    add(fmt::format("{}{}/{}", watch, scope, resource_.plural), "watchlist",
        operation_id("watch", "List"), with_pretty(shared().list, true));
    Value parameters = shared().list;
    const Value of_item = item_parameters();
    for (const Value& parameter : of_item.items()) {
      parameters.push_back(parameter);
    }
    add(fmt::format("{}{}/{}/{{name}}", watch, scope, resource_.plural), "watch",
        operation_id("watch"), std::move(parameters));
  }

  void write_subresource(const std::string& path, const OpenApiSubresource& sub) {
    const std::string_view group = sub.version.empty() ? group_ : sub.group;
    const std::string_view version = sub.version.empty() ? version_ : sub.version;
    const Value kind = group_version_kind(group, version, sub.kind);
    const std::string suffix = capitalized(sub.name);
    const std::string component = subresource_component(group_, version_, resource_, sub);
    Value item = Value::object();
    if (is_connect(sub.name) || component.empty()) {
      write_connect(item, sub, kind, suffix);
    } else {
      if (has(sub.verbs, "get")) {
        Value get = operation("get", operation_id("read", suffix));
        get.set("x-kubernetes-group-version-kind", kind);
        const Value body =
            sub.name == "log" ? Value::object({{"type", "string"}}) : reference(component);
        item.set("get", get.set("responses", responses({"200"}, body)));
      }
      if (has(sub.verbs, "update")) {
        item.set("put", write_operation("put", operation_id("replace", suffix), component, kind,
                                        {"200", "201"}));
      }
      if (has(sub.verbs, "patch")) {
        item.set("patch", patch_operation(operation_id("patch", suffix), component, kind));
      }
      if (has(sub.verbs, "create")) {
        item.set("post", write_operation("post", operation_id("create", suffix), component, kind,
                                         {"200", "201", "202"}));
      }
    }
    item.set("parameters", item_parameters());
    paths_.set(path, std::move(item));
  }

  void write_connect(Value& item, const OpenApiSubresource& sub, const Value& kind,
                     const std::string& suffix) const {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kMethods = {
        {{"get", "get"},
         {"create", "post"},
         {"update", "put"},
         {"patch", "patch"},
         {"delete", "delete"}}};
    for (const auto& [verb, method] : kMethods) {
      if (has(sub.verbs, verb)) {
        Value connect = operation("connect", operation_id("connect" + capitalized(method), suffix));
        connect.set("x-kubernetes-group-version-kind", kind);
        item.set(method,
                 connect.set("responses", responses({"200"}, Value::object({{"type", "string"}}))));
      }
    }
  }

  Value& paths_;
  std::string_view group_;
  std::string_view version_;
  const OpenApiResource& resource_;
  const BodyNames& names_;
  std::string api_;
  Value kind_;
};

}  // namespace

std::string subresource_component(std::string_view group, std::string_view version,
                                  const OpenApiResource& resource, const OpenApiSubresource& sub) {
  if (!resource.custom_schema.is_null() && sub.kind == resource.kind) {
    return openapi_custom_name(group, version, resource.kind);
  }
  const SchemaPtr schema = BuiltinTypes::get().by_kind(
      sub.version.empty() ? group : std::string_view(sub.group),
      sub.version.empty() ? version : std::string_view(sub.version), sub.kind);
  return schema == nullptr ? std::string() : schema->name;
}

void add_paths(Value& paths, std::string_view group, std::string_view version,
               const OpenApiResource& resource, const BodyNames& names) {
  PathWriter(paths, group, version, resource, names).write();
}

}  // namespace athanor::openapi
