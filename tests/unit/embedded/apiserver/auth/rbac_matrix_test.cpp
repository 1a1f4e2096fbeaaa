// SPDX-License-Identifier: Apache-2.0
// Acceptance check A12: users, verbs, resources, namespaces and names against an evaluator that is
// as slow and plain as can be (docs/spec/apiserver.md 16.2).
#include <random>

#include "embedded/apiserver/request/authorize.hpp"
#include "unit/embedded/apiserver/fixture.hpp"

namespace athanor::apiserver::rbac_matrix_test {
namespace {

using test::World;

const std::vector<std::string> kUsers = {"u0", "u1", "system:serviceaccount:a:sa"};
const std::vector<std::string> kGroups = {"g0", "g1", "system:authenticated"};
const std::vector<std::string> kVerbs = {"get", "list", "create", "delete"};
const std::vector<std::string> kApiGroups = {"", "apps"};
const std::vector<std::string> kResources = {"pods", "pods/log", "deployments", "nodes/status"};
const std::vector<std::string> kNamespaces = {"", "a", "b"};
const std::vector<std::string> kNames = {"", "x", "y"};

class Chance {
 public:
  explicit Chance(unsigned seed) : random_(seed) {}
  bool one_in(unsigned n) { return random_() % n == 0; }
  const std::string& pick(const std::vector<std::string>& from) {
    return from[random_() % from.size()];
  }
  // Some of them, or the wildcard.
  Value some(const std::vector<std::string>& from, bool wildcard = true) {
    if (wildcard && one_in(5)) {
      return Value::list({Value("*")});
    }
    Value chosen = Value::list();
    for (const std::string& text : from) {
      if (one_in(2)) {
        chosen.push_back(text);
      }
    }
    return chosen;
  }

 private:
  std::mt19937 random_;
};

bool has(const Value& list, std::string_view text) {
  const auto items = list.items();
  return std::any_of(items.begin(), items.end(),
                     [text](const Value& item) { return item.as_string() == text; });
}

bool rule_allows(const Value& rule, const Attributes& asked) {
  const std::string whole =
      asked.subresource.empty() ? asked.resource : asked.resource + "/" + asked.subresource;
  const bool resource =
      has(rule["resources"], "*") || has(rule["resources"], whole) ||
      (!asked.subresource.empty() && has(rule["resources"], "*/" + asked.subresource));
  const bool name = rule["resourceNames"].empty() ||
                    (!asked.name.empty() && has(rule["resourceNames"], asked.name));
  return (has(rule["verbs"], "*") || has(rule["verbs"], asked.verb)) &&
         (has(rule["apiGroups"], "*") || has(rule["apiGroups"], asked.group)) && resource && name;
}

bool is_subject(const Value& subject, const UserInfo& user) {
  const std::string name = subject["name"].str();
  if (subject["kind"].as_string() == "ServiceAccount") {
    return user.name == "system:serviceaccount:" + subject["namespace"].str() + ":" + name;
  }
  return subject["kind"].as_string() == "User" ? user.name == name : user.in_group(name);
}

// Roles and bindings as they were made.
struct Grants {
  std::vector<Value> roles{}, cluster_roles{}, bindings{}, cluster_bindings{};

  [[nodiscard]] bool role_allows(const Value& binding, const Attributes& asked) const {
    const Value& reference = binding["roleRef"];
    const bool cluster = reference["kind"].as_string() == "ClusterRole";
    for (const Value& role : cluster ? cluster_roles : roles) {
      if (role["metadata"]["name"] != reference["name"] ||
          (!cluster && role["metadata"]["namespace"] != binding["metadata"]["namespace"])) {
        continue;
      }
      for (const Value& rule : role["rules"].items()) {
        if (rule_allows(rule, asked)) {
          return true;
        }
      }
    }
    return false;
  }
  [[nodiscard]] bool allows(const Attributes& asked) const {
    const auto grants = [&](const Value& binding) {
      const auto subjects = binding["subjects"].items();
      return std::any_of(subjects.begin(), subjects.end(),
                         [&](const Value& subject) { return is_subject(subject, *asked.user); }) &&
             role_allows(binding, asked);
    };
    return std::any_of(cluster_bindings.begin(), cluster_bindings.end(), grants) ||
           std::any_of(bindings.begin(), bindings.end(), [&](const Value& binding) {
             return !asked.ns.empty() && binding["metadata"]["namespace"].as_string() == asked.ns &&
                    grants(binding);
           });
  }
};

Value random_role(Chance& chance, const std::string& name, const std::string& ns) {
  Value rules = Value::list();
  for (int i = 0; i < 2; ++i) {
    std::vector<std::string> resources = kResources;
    resources.emplace_back("*/log");
    Value rule = Value::object({{"verbs", chance.some(kVerbs)},
                                {"apiGroups", chance.some(kApiGroups)},
                                {"resources", chance.some(resources)}});
    if (chance.one_in(4)) {
      rule.set("resourceNames", Value::list({Value("x")}));
    }
    rules.push_back(rule);
  }
  Value metadata = Value::object({{"name", name}});
  if (!ns.empty()) {
    metadata.set("namespace", ns);
  }
  return Value::object({{"metadata", metadata}, {"rules", rules}});
}

Value random_binding(Chance& chance, const std::string& name, const std::string& ns) {
  Value subject;
  switch (chance.one_in(3) ? 0 : (chance.one_in(2) ? 1 : 2)) {
    case 0:
      subject = Value::object({{"kind", "ServiceAccount"}, {"name", "sa"}, {"namespace", "a"}});
      break;
    case 1:
      subject = Value::object({{"kind", "User"}, {"name", chance.pick(kUsers)}});
      break;
    default:
      subject = Value::object({{"kind", "Group"}, {"name", chance.pick(kGroups)}});
  }
  Value metadata = Value::object({{"name", name}});
  if (!ns.empty()) {
    metadata.set("namespace", ns);
  }
  const bool cluster = ns.empty() || chance.one_in(2);
  return Value::object({{"metadata", metadata},
                        {"roleRef", Value::object({{"kind", cluster ? "ClusterRole" : "Role"},
                                                   {"name", chance.one_in(2) ? "r0" : "r1"}})},
                        {"subjects", Value::list({subject})}});
}

Grants make_grants(World& world, unsigned seed) {
  Chance chance(seed);
  Grants grants;
  const auto keep = [&world](std::vector<Value>& list, const char* plural, Value object) {
    world.put_value(std::string(plural) + ".rbac.authorization.k8s.io", object);
    list.push_back(std::move(object));
  };
  for (const char* name : {"r0", "r1"}) {
    keep(grants.cluster_roles, "clusterroles", random_role(chance, name, ""));
    for (const char* ns : {"a", "b"}) {
      keep(grants.roles, "roles", random_role(chance, name, ns));
      keep(grants.bindings, "rolebindings", random_binding(chance, name, ns));
    }
  }
  keep(grants.cluster_bindings, "clusterrolebindings", random_binding(chance, "c", ""));
  return grants;
}

TEST(RbacMatrix, AgreesWithAPlainEvaluator) {
  int allowed = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    World world;
    const auto authorizer = make_authorizer(world.options, world.dependencies());
    const Grants grants = make_grants(world, seed);
    for (const std::string& name : kUsers) {
      for (std::size_t groups = 0; groups < kGroups.size(); ++groups) {
        UserInfo user;
        user.name = name;
        user.groups.assign(kGroups.begin(), kGroups.begin() + static_cast<std::ptrdiff_t>(groups));
        Attributes asked;
        asked.user = &user;
        for (const std::string& resource : kResources) {
          const std::size_t slash = std::min(resource.find('/'), resource.size());
          asked.resource = resource.substr(0, slash);
          asked.subresource = resource.substr(std::min(slash + 1, resource.size()));
          for (const std::string& group : kApiGroups) {
            for (const std::string& verb : kVerbs) {
              for (const std::string& ns : kNamespaces) {
                for (const std::string& object : kNames) {
                  asked.group = group;
                  asked.verb = verb;
                  asked.ns = ns;
                  asked.name = object;
                  const bool wanted = grants.allows(asked);
                  allowed += wanted ? 1 : 0;
                  ASSERT_EQ(authorizer->authorize(asked).allowed, wanted)
                      << "seed " << seed << ": " << name << " with " << groups << " groups, "
                      << verb << " " << resource << "." << group << " " << ns << "/" << object;
                }
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(allowed, 1000);  // the question was asked
}

}  // namespace
}  // namespace athanor::apiserver::rbac_matrix_test
