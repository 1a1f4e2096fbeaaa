// SPDX-License-Identifier: Apache-2.0
// From declarations to permissions to manifests.
#include "runtime/rights/rbac.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "api/builtin.hpp"
#include "base/ascii.hpp"
#include "runtime/view/any_kind.hpp"

namespace athanor::runtime {

namespace {

constexpr std::string_view kOrder[] = {"get",   "list",   "watch",  "create",
                                       "patch", "update", "delete", "deletecollection"};
constexpr std::string_view kRbacVersion = "rbac.authorization.k8s.io/v1";
constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

std::size_t place_of(std::string_view verb) {
  return static_cast<std::size_t>(std::ranges::find(kOrder, verb) - std::begin(kOrder));
}

class Collector {
 public:
  void add(const Kind& kind, std::string_view verbs, std::string_view subresource = {}) {
    Permission one{.group = std::string(kind.group),
                   .resource = std::string(kind.plural),
                   .namespaced = kind.namespaced};
    if (!subresource.empty()) {
      one.resource += "/";
      one.resource += subresource;
    }
    for (const std::string_view verb : words_of(verbs, ' ')) {
      add(one, std::string(verb));
    }
  }
  void add(const Permission& permission, const std::string& verb) {
    Entry& entry = entries_[{permission.group, permission.resource, permission.names}];
    // Rights that a ClusterRole grants are needed in the whole cluster.
    entry.namespaced = entry.namespaced && permission.namespaced;
    entry.verbs.emplace(place_of(verb), verb);
  }
  // The rules of a Role or ClusterRole.
  void add_role(const Value& role) {
    const bool namespaced = role["kind"].as_string() == "Role";
    for (const Value& rule : role["rules"].items()) {
      for (const Value& group : rule["apiGroups"].items()) {
        for (const Value& resource : rule["resources"].items()) {
          Permission one{
              .group = group.str(), .resource = resource.str(), .namespaced = namespaced};
          for (const Value& name : rule["resourceNames"].items()) {
            one.names.push_back(name.str());
          }
          for (const Value& verb : rule["verbs"].items()) {
            add(one, verb.str());
          }
        }
      }
    }
  }

  [[nodiscard]] std::vector<Permission> take() const {
    std::vector<Permission> result;
    for (const auto& [id, entry] : entries_) {
      const auto& [group, resource, names] = id;
      Permission one{.group = group, .resource = resource, .namespaced = entry.namespaced};
      for (const auto& [place, verb] : entry.verbs) {
        if (!is_granted_to_all(group, resource, names, {place, verb})) {
          one.verbs.push_back(verb);
        }
      }
      one.names = names;
      if (!one.verbs.empty()) {
        result.push_back(std::move(one));
      }
    }
    return result;
  }

 private:
  using Verb = std::pair<std::size_t, std::string>;
  struct Entry {
    bool namespaced = true;
    std::set<Verb> verbs{};
  };
  // A right to some objects says nothing beside the same right to all.
  [[nodiscard]] bool is_granted_to_all(const std::string& group, const std::string& resource,
                                       const std::vector<std::string>& names,
                                       const Verb& verb) const {
    const auto all = entries_.find({group, resource, {}});
    return !names.empty() && all != entries_.end() && all->second.verbs.contains(verb);
  }
  std::map<std::tuple<std::string, std::string, std::vector<std::string>>, Entry> entries_{};
};

Value texts(const std::vector<std::string>& list) {
  Value values = Value::list();
  for (const std::string& text : list) {
    values.push_back(text);
  }
  return values;
}

Value rule_of(const Permission& permission, const std::vector<std::string>& resources) {
  Value rule = Value::object(
      {{"apiGroups", Value::list({permission.group})}, {"resources", texts(resources)}});
  if (!permission.names.empty()) {
    rule.set("resourceNames", texts(permission.names));
  }
  rule.set("verbs", texts(permission.verbs));
  return rule;
}

// Neighbours of one group with the same verbs become one rule.
Value rules_of(const std::vector<Permission>& permissions) {
  Value rules = Value::list();
  std::size_t at = 0;
  while (at < permissions.size()) {
    const Permission& first = permissions[at];
    std::vector<std::string> resources;
    while (at < permissions.size() && permissions[at].group == first.group &&
           permissions[at].verbs == first.verbs && permissions[at].names == first.names) {
      resources.push_back(permissions[at].resource);
      ++at;
    }
    rules.push_back(rule_of(first, resources));
  }
  return rules;
}

class Manifests {
 public:
  explicit Manifests(const RbacOptions& options) : options_(options) {}

  void account() {
    objects_.push_back(
        Value::object({{"apiVersion", "v1"},
                       {"kind", "ServiceAccount"},
                       {"metadata", metadata(options_.name, options_.install_namespace)}}));
  }

  // A role and the binding of the service account to it; ns empty: of the whole cluster.
  void role(const std::string& name, const std::string& ns,
            const std::vector<Permission>& permissions) {
    if (permissions.empty()) {
      return;
    }
    const char* kind = ns.empty() ? "ClusterRole" : "Role";
    objects_.push_back(Value::object({{"apiVersion", kRbacVersion},
                                      {"kind", kind},
                                      {"metadata", metadata(name, ns)},
                                      {"rules", rules_of(permissions)}}));
    objects_.push_back(Value::object(
        {{"apiVersion", kRbacVersion},
         {"kind", std::string(kind) + "Binding"},
         {"metadata", metadata(name, ns)},
         {"roleRef", Value::object({{"apiGroup", kRbacGroup}, {"kind", kind}, {"name", name}})},
         {"subjects", Value::list({Value::object({{"kind", "ServiceAccount"},
                                                  {"name", options_.name},
                                                  {"namespace", options_.install_namespace}})})}}));
  }

  [[nodiscard]] std::vector<Value> take() && { return std::move(objects_); }

 private:
  [[nodiscard]] static Value metadata(const std::string& name, const std::string& ns) {
    Value result = Value::object({{"name", name}});
    if (!ns.empty()) {
      result.set("namespace", ns);
    }
    result.set("labels", Value::object({{"app.kubernetes.io/name", "athanor"},
                                        {"app.kubernetes.io/component", "controllers"}}));
    return result;
  }

  const RbacOptions& options_;
  std::vector<Value> objects_{};
};

// To create objects of a kind, of which a name to be made cannot be restricted, and to use one.
std::vector<Permission> one_object(const Kind& kind, std::vector<std::string> verbs,
                                   const std::string& name) {
  if (name.empty()) {
    return {};
  }
  Permission create{
      .group = std::string(kind.group), .resource = std::string(kind.plural), .verbs = {"create"}};
  Permission use = create;
  use.verbs = std::move(verbs);
  use.names = {name};
  return {std::move(create), std::move(use)};
}

// Rights of the process itself: for its certificate in its own namespace, and for its Lease.
void own_roles(const RbacOptions& options, Manifests& manifests) {
  // Lists and watches name the object by a field selector.
  std::vector<Permission> own =
      one_object(api::kSecret, {"list", "watch", "update"}, options.webhook_secret);
  const std::vector<Permission> lease = one_object(api::kLease, {"get", "update"}, options.lease);
  const std::string& place =
      options.lease_namespace.empty() ? options.install_namespace : options.lease_namespace;
  if (place == options.install_namespace) {
    own.insert(own.end(), lease.begin(), lease.end());
  } else {
    manifests.role(options.name + "-lease", place, lease);
  }
  manifests.role(options.name + "-own", options.install_namespace, own);
}

// All of a kind are looked at, as they lead to our Service or not; those with these names are
// changed.
struct Registrations {
  std::string group{};
  std::vector<std::string> resources{};
  std::string change{};  // the verb of a change
};
void add_registrations(const Registrations& those, const std::vector<std::string>& names,
                       std::vector<Permission>& result) {
  if (names.empty()) {
    return;
  }
  for (const bool change : {false, true}) {
    for (const std::string& resource : those.resources) {
      result.push_back(
          {.group = those.group,
           .resource = resource,
           .namespaced = false,
           .verbs = change ? std::vector{those.change} : std::vector<std::string>{"list", "watch"},
           .names = change ? names : std::vector<std::string>()});
    }
  }
}

std::vector<Permission> webhook_permissions(const RbacOptions& options) {
  std::vector<Permission> result;
  add_registrations({.group = "apiextensions.k8s.io",
                     .resources = {"customresourcedefinitions"},
                     .change = "patch"},
                    options.converted_crds, result);
  add_registrations(
      {.group = "admissionregistration.k8s.io",
       .resources = {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"},
       .change = "update"},
      options.webhook_configurations, result);
  return result;
}

bool reads(std::string_view verb) {
  return verb == "get" || verb == "list" || verb == "watch";
}

// nullptr: of the whole cluster.
const Place* place_of_permission(const Places& places, const Permission& permission) {
  const std::string plural = permission.resource.substr(0, permission.resource.find('/'));
  for (const auto& [kind, place] : places) {
    if (permission.namespaced && kind->group == permission.group && kind->plural == plural) {
      return &place;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<Permission> permissions_of(std::span<const Operator* const> operators,
                                       const std::vector<Value>& granted_roles) {
  Collector collector;
  for (const Value& role : granted_roles) {
    collector.add_role(role);
  }
  for (const Operator* op : operators) {
    if (op->primary != nullptr) {
      collector.add(*op->primary, "list watch");
    }
    for (const Kind* kind : op->reads) {
      collector.add(*kind, "list watch");
    }
    for (const Access& access : op->access) {
      if (access.kind == &kAnyKind) {
        continue;
      }
      collector.add(*access.kind, access.verbs, access.subresource);
    }
    if (!op->writes.empty()) {
      collector.add(api::kEvent, "create patch");  // the engine's own, about refused writes
    }
    if (!op->access.empty()) {
      continue;
    }
    for (const Kind* kind : op->writes) {
      if (kind != &api::kEvent) {
        collector.add(*kind, "get create patch update delete");
        collector.add(*kind, "patch", "status");
        collector.add(*kind, "update", "finalizers");
      }
    }
  }
  return collector.take();
}

std::vector<Value> rbac_objects_of(const std::vector<RbacPart>& parts, const RbacOptions& options) {
  Collector everywhere;
  std::map<std::string, Collector> inside;
  for (const RbacPart& part : parts) {
    for (const Permission& permission : permissions_of(part.operators, part.granted_roles)) {
      const Place* place = place_of_permission(part.places, permission);
      for (const std::string& verb : permission.verbs) {
        if (place == nullptr) {
          everywhere.add(permission, verb);
          continue;
        }
        for (const std::string& ns : reads(verb) ? place->watched : place->written) {
          inside[ns].add(permission, verb);
        }
      }
    }
  }
  Manifests manifests(options);
  manifests.account();
  std::vector<Permission> wide = everywhere.take();
  for (Permission& permission : webhook_permissions(options)) {
    wide.push_back(std::move(permission));
  }
  manifests.role(options.name, "", wide);
  for (const auto& [ns, collector] : inside) {
    manifests.role(options.name, ns, collector.take());
  }
  own_roles(options, manifests);
  return std::move(manifests).take();
}

std::vector<Value> rbac_objects(std::span<const Operator* const> operators,
                                const RbacOptions& options) {
  const std::vector<Permission> all = permissions_of(operators, options.granted_roles);
  std::vector<Permission> everywhere;
  std::vector<Permission> inside;
  for (const Permission& permission : all) {
    const bool wide = options.namespaces.empty() || !permission.namespaced;
    (wide ? everywhere : inside).push_back(permission);
  }
  for (Permission& permission : webhook_permissions(options)) {
    everywhere.push_back(std::move(permission));
  }
  Manifests manifests(options);
  manifests.account();
  manifests.role(options.name, "", everywhere);
  for (const std::string& ns : options.namespaces) {
    manifests.role(options.name, ns, inside);
  }
  own_roles(options, manifests);
  return std::move(manifests).take();
}

}  // namespace athanor::runtime
