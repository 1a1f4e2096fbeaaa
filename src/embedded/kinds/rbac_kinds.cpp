// SPDX-License-Identifier: Apache-2.0
// Roles and bindings (docs/spec/apiserver.md 14).
#include <fmt/format.h>

#include <array>

#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/kind_table.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

void default_binding(Value& object, const KindContext& /*context*/) {
  edit_member(object, "roleRef", [](Value& role) {
    if (role["apiGroup"].as_string().empty()) {
      role.set("apiGroup", kGroup);
    }
  });
  edit_items(object, "subjects", [](Value& subject) {
    if (is_one_of(subject["kind"].as_string(), {"User", "Group"}) &&
        subject["apiGroup"].as_string().empty()) {
      subject.set("apiGroup", kGroup);
    }
  });
}

void check_rules(FieldErrors& errors, const Value& rules, bool cluster) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Value& rule = rules[i];
    const std::string here = at("rules", i);
    if (rule["verbs"].empty()) {
      errors.push_back(
          FieldError::required(here + ".verbs", "verbs must contain at least one value"));
    }
    if (!rule["nonResourceURLs"].empty()) {
      if (!cluster) {
        errors.push_back(FieldError::invalid(here + ".nonResourceURLs", rule["nonResourceURLs"],
                                             "namespaced rules cannot apply to non-resource URLs"));
      }
      if (!rule["apiGroups"].empty() || !rule["resources"].empty() ||
          !rule["resourceNames"].empty()) {
        errors.push_back(
            FieldError::invalid(here + ".nonResourceURLs", rule["nonResourceURLs"],
                                "rules cannot apply to both regular resources and non-resource "
                                "URLs"));
      }
      continue;
    }
    if (rule["apiGroups"].empty()) {
      errors.push_back(FieldError::required(here + ".apiGroups",
                                            "resource rules must supply at least one api group"));
    }
    if (rule["resources"].empty()) {
      errors.push_back(FieldError::required(here + ".resources",
                                            "resource rules must supply at least one resource"));
    }
  }
}

FieldErrors validate_role(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  check_rules(errors, object["rules"], false);
  return errors;
}

FieldErrors validate_role_update(const Value& object, const Value& /*old_object*/,
                                 const KindContext& context) {
  return validate_role(object, context);
}

FieldErrors validate_cluster_role(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  check_rules(errors, object["rules"], true);
  const Value& aggregation = object["aggregationRule"];
  if (!aggregation.is_null()) {
    const Value& selectors = aggregation["clusterRoleSelectors"];
    if (selectors.empty()) {
      errors.push_back(FieldError::required(
          "aggregationRule.clusterRoleSelectors",
          "at least one clusterRoleSelector required if aggregationRule is non-nil"));
    }
    for (std::size_t i = 0; i < selectors.size(); ++i) {
      check_label_selector(errors, at("aggregationRule.clusterRoleSelectors", i), selectors[i]);
    }
  }
  return errors;
}

FieldErrors validate_cluster_role_update(const Value& object, const Value& /*old_object*/,
                                         const KindContext& context) {
  return validate_cluster_role(object, context);
}

void check_subject(FieldErrors& errors, const Value& subject, const std::string& path,
                   bool namespaced) {
  const std::string_view kind = subject["kind"].as_string();
  require(errors, path + ".name", subject["name"]);
  if (kind == "ServiceAccount") {
    if (!subject["name"].as_string().empty()) {
      check_name(errors, path + ".name", subject["name"].as_string(), &validate_dns1123_subdomain);
    }
    if (!subject["apiGroup"].as_string().empty()) {
      errors.push_back(FieldError::not_supported(path + ".apiGroup", subject["apiGroup"], {""}));
    }
    if (!namespaced) {
      require(errors, path + ".namespace", subject["namespace"]);
    }
  } else if (is_one_of(kind, {"User", "Group"})) {
    if (subject["apiGroup"].as_string() != kGroup) {
      errors.push_back(FieldError::not_supported(path + ".apiGroup", subject["apiGroup"],
                                                 {std::string(kGroup)}));
    }
  } else {
    errors.push_back(FieldError::not_supported(path + ".kind", subject["kind"].str(),
                                               {"ServiceAccount", "User", "Group"}));
  }
}

FieldErrors validate_binding(const Value& object, const KindContext& context) {
  FieldErrors errors;
  const Value& role = object["roleRef"];
  const bool namespaced = context.resource.namespaced;
  if (role["apiGroup"].as_string() != kGroup) {
    errors.push_back(
        FieldError::not_supported("roleRef.apiGroup", role["apiGroup"], {std::string(kGroup)}));
  }
  if (namespaced && !is_one_of(role["kind"].as_string(), {"Role", "ClusterRole"})) {
    errors.push_back(
        FieldError::not_supported("roleRef.kind", role["kind"].str(), {"Role", "ClusterRole"}));
  } else if (!namespaced && role["kind"].as_string() != "ClusterRole") {
    errors.push_back(
        FieldError::not_supported("roleRef.kind", role["kind"].str(), {"ClusterRole"}));
  }
  require_name(errors, "roleRef.name", role["name"].as_string(), &validate_path_segment);
  for (std::size_t i = 0; i < object["subjects"].size(); ++i) {
    check_subject(errors, object["subjects"][i], at("subjects", i), namespaced);
  }
  return errors;
}

FieldErrors validate_binding_update(const Value& object, const Value& old_object,
                                    const KindContext& context) {
  FieldErrors errors = validate_binding(object, context);
  const Value& role = object["roleRef"];
  if (role != old_object["roleRef"]) {
    // Shown as the reference's own struct prints.
    errors.push_back(FieldError::invalid("roleRef",
                                         Value::object({{"APIGroup", role["apiGroup"].str()},
                                                        {"Kind", role["kind"].str()},
                                                        {"Name", role["name"].str()}}),
                                         "cannot change roleRef"));
  }
  return errors;
}

Cells role_cells(const Value& object, Instant /*now*/) {
  return {name_cell(object), object["metadata"]["creationTimestamp"].str()};
}

Cells binding_cells(const Value& object, Instant now) {
  std::vector<std::string> users;
  std::vector<std::string> groups;
  std::vector<std::string> accounts;
  for (const Value& subject : object["subjects"].items()) {
    const std::string_view kind = subject["kind"].as_string();
    if (kind == "User") {
      users.push_back(subject["name"].str());
    } else if (kind == "Group") {
      groups.push_back(subject["name"].str());
    } else if (kind == "ServiceAccount") {
      accounts.push_back(
          fmt::format("{}/{}", subject["namespace"].as_string(), subject["name"].as_string()));
    }
  }
  const Value& role = object["roleRef"];
  return {name_cell(object),
          fmt::format("{}/{}", role["kind"].as_string(), role["name"].as_string()),
          age_cell(object, now),
          join(users, ", "),
          join(groups, ", "),
          join(accounts, ", ")};
}

constexpr KindBehaviour kBinding = {.apply_defaults = &default_binding,
                                    .validate_create = &validate_binding,
                                    .validate_update = &validate_binding_update,
                                    .cells = &binding_cells};

constexpr std::array kRbacRows = {
    KindRow{.group = kGroup,
            .plural = "roles",
            .behaviour = {.validate_create = &validate_role,
                          .validate_update = &validate_role_update,
                          .cells = &role_cells}},
    KindRow{.group = kGroup,
            .plural = "clusterroles",
            .behaviour = {.validate_create = &validate_cluster_role,
                          .validate_update = &validate_cluster_role_update,
                          .cells = &role_cells}},
    KindRow{.group = kGroup, .plural = "rolebindings", .behaviour = kBinding},
    KindRow{.group = kGroup, .plural = "clusterrolebindings", .behaviour = kBinding},
};

}  // namespace

std::span<const KindRow> rbac_rows() {
  return kRbacRows;
}

}  // namespace athanor::apiserver
