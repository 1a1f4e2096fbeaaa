// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/bootstrap/rbac_objects.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kBlanks = " \t\r";

// Parts between separators, blanks around them and empty ones dropped.
std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  while (!trimmed(text, kBlanks).empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (const std::string_view part = trimmed(text.substr(0, end), kBlanks); !part.empty()) {
      parts.push_back(part);
    }
    text.remove_prefix(std::min(end + separator.size(), text.size()));
  }
  return parts;
}

Value texts(std::string_view list, std::string_view separator = ",") {
  Value result = Value::list();
  for (const std::string_view part : split(list, separator)) {
    result.push_back(part == "\"\"" ? std::string_view() : part);
  }
  return result;
}

Value metadata_of(std::string_view name, std::string_view ns) {
  Value metadata = Value::object({{"name", name}});
  if (!ns.empty()) {
    metadata.set("namespace", ns);
  }
  metadata.set("labels", Value::object({{"kubernetes.io/bootstrapping", "rbac-defaults"}}));
  metadata.set("annotations",
               Value::object({{"rbac.authorization.kubernetes.io/autoupdate", "true"}}));
  return metadata;
}

std::string marker(std::string_view name) {
  return fmt::format("{}/{}", kGroup, name);
}

class Parser {
 public:
  Result<std::vector<BootstrapObject>> parse(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (!trimmed(line, kBlanks).empty() && !parse_line(line)) {
        return Error::internal(fmt::format("default RBAC objects: cannot read \"{}\"", line));
      }
    }
    finish_role();
    aggregate();
    return std::move(objects_);
  }

 private:
  bool parse_line(std::string_view line) {
    if (line.front() == ' ') {
      return parse_rule(trimmed(line, kBlanks));
    }
    finish_role();
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) {
      return false;
    }
    const std::string_view head = line.substr(0, blank);
    const std::string_view rest = line.substr(blank + 1);
    if (head == "R") {
      return start_cluster_role(rest);
    }
    if (head == "NR") {
      const auto parts = split(rest, "/");
      if (parts.size() != 2) {
        return false;
      }
      start_role("Role", parts[1], parts[0]);
      return true;
    }
    return (head == "B" || head == "NB") && parse_binding(rest, head == "NB");
  }

  void start_role(std::string_view kind, std::string_view name, std::string_view ns) {
    role_ = Value::object({{"kind", kind},
                           {"apiVersion", fmt::format("{}/v1", kGroup)},
                           {"metadata", metadata_of(name, ns)}});
    rules_ = Value::list();
  }

  bool start_cluster_role(std::string_view text) {
    const auto words = split(text, " ");
    start_role("ClusterRole", words.front(), "");
    for (std::size_t i = 1; i < words.size(); ++i) {
      constexpr std::string_view kLabels = "labels=";
      constexpr std::string_view kAggregates = "aggregates=";
      if (words[i].starts_with(kLabels)) {
        for (const std::string_view label : split(words[i].substr(kLabels.size()), ",")) {
          role_.member("metadata").member("labels").set(marker(label), "true");
        }
      } else if (words[i].starts_with(kAggregates)) {
        Value selectors = Value::list();
        for (const std::string_view label : split(words[i].substr(kAggregates.size()), ",")) {
          selectors.push_back(Value::object(
              {{"matchLabels", Value::object({{std::string_view(marker(label)), "true"}})}}));
        }
        role_.set("aggregationRule", Value::object({{"clusterRoleSelectors", selectors}}));
      } else {
        return false;
      }
    }
    return true;
  }

  bool parse_rule(std::string_view line) {
    if (role_.is_null()) {
      return false;
    }
    if (const std::size_t sign = line.find(" @ "); sign != std::string_view::npos) {
      rules_.push_back(Value::object({{"verbs", texts(line.substr(0, sign))},
                                      {"nonResourceURLs", texts(line.substr(sign + 3), " ")}}));
      return true;
    }
    const auto parts = split(line, " : ");
    constexpr std::string_view kNames = "names=";
    if (parts.size() < 3 || parts.size() > 4 ||
        (parts.size() == 4 && !parts[3].starts_with(kNames))) {
      return false;
    }
    Value rule = Value::object({{"verbs", texts(parts[2])},
                                {"apiGroups", texts(parts[0])},
                                {"resources", texts(parts[1])}});
    if (parts.size() == 4) {
      rule.set("resourceNames", texts(parts[3].substr(kNames.size())));
    }
    rules_.push_back(std::move(rule));
    return true;
  }

  // "ServiceAccount:ns/name", "Group:system:masters".
  static Value parse_subject(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    const std::string_view name = text.substr(colon + 1);
    if (kind != "ServiceAccount") {
      return Value::object({{"kind", kind}, {"apiGroup", kGroup}, {"name", name}});
    }
    const std::size_t slash = name.find('/');
    return Value::object(
        {{"kind", kind}, {"name", name.substr(slash + 1)}, {"namespace", name.substr(0, slash)}});
  }

  bool parse_binding(std::string_view text, bool namespaced) {
    const std::size_t arrow = text.find(" -> ");
    const std::size_t colon = text.find(" :", arrow);
    if (arrow == std::string_view::npos || colon == std::string_view::npos) {
      return false;
    }
    std::string_view name = trimmed(text.substr(0, arrow), kBlanks);
    std::string_view role = trimmed(text.substr(arrow + 4, colon - arrow - 4), kBlanks);
    std::string_view kind = "ClusterRole";
    std::string_view ns;
    if (namespaced) {
      const std::size_t slash = name.find('/');
      const std::size_t role_slash = role.find('/');
      if (slash == std::string_view::npos || role_slash == std::string_view::npos) {
        return false;
      }
      ns = name.substr(0, slash);
      name.remove_prefix(slash + 1);
      kind = role.substr(0, role_slash);
      role.remove_prefix(role_slash + 1);
    }
    Value binding = Value::object(
        {{"kind", namespaced ? "RoleBinding" : "ClusterRoleBinding"},
         {"apiVersion", fmt::format("{}/v1", kGroup)},
         {"metadata", metadata_of(name, ns)},
         {"roleRef", Value::object({{"apiGroup", kGroup}, {"kind", kind}, {"name", role}})}});
    for (const std::string_view subject : split(text.substr(colon + 2), " ")) {
      binding.member("subjects").push_back(parse_subject(subject));
    }
    objects_.push_back(
        {fmt::format("{}.{}", namespaced ? "rolebindings" : "clusterrolebindings", kGroup),
         std::move(binding)});
    return true;
  }

  void finish_role() {
    if (role_.is_null()) {
      return;
    }
    const bool cluster = role_["kind"].as_string() == "ClusterRole";
    role_.set("rules", std::move(rules_));
    objects_.push_back(
        {fmt::format("{}.{}", cluster ? "clusterroles" : "roles", kGroup), std::move(role_)});
    role_ = Value();
    rules_ = Value();
  }

  // Aggregated roles have the rules of those they select; some select aggregated ones.
  void aggregate() {
    constexpr int kDepth = 3;  // admin selects edit, edit selects view
    for (int round = 0; round < kDepth; ++round) {
      for (BootstrapObject& entry : objects_) {
        if (!entry.object["aggregationRule"].is_null()) {
          entry.object.set("rules", selected_rules(entry.object));
        }
      }
    }
  }

  [[nodiscard]] Value selected_rules(const Value& role) const {
    std::vector<const Value*> sources;
    for (const Value& selector : role["aggregationRule"]["clusterRoleSelectors"].items()) {
      const Member& label = selector["matchLabels"].members().front();
      for (const BootstrapObject& entry : objects_) {
        if (entry.object["metadata"]["labels"][label.key()] == label.value) {
          sources.push_back(&entry.object);
        }
      }
    }
    std::sort(sources.begin(), sources.end(), [](const Value* a, const Value* b) {
      return (*a)["metadata"]["name"].as_string() < (*b)["metadata"]["name"].as_string();
    });
    Value rules = Value::list();
    for (const Value* source : sources) {
      for (const Value& rule : (*source)["rules"].items()) {
        const auto present = rules.items();
        if (std::find(present.begin(), present.end(), rule) == present.end()) {
          rules.push_back(rule);
        }
      }
    }
    return rules;
  }

  std::vector<BootstrapObject> objects_{};
  Value role_{};
  Value rules_{};
};

}  // namespace

Result<std::vector<BootstrapObject>> parse_rbac(std::string_view text) {
  return Parser().parse(text);
}

}  // namespace athanor::apiserver
