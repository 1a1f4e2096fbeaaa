// SPDX-License-Identifier: Apache-2.0
#include "api/own_node_policy.hpp"

#include <fmt/core.h>

#include <utility>

namespace athanor::api {

Value own_node_rule(const char* group, const std::vector<std::string>& resources) {
  Value names = Value::list();
  for (const std::string& resource : resources) {
    names.push_back(resource);
  }
  return Value::object({{"apiGroups", Value::list({group})},
                        {"apiVersions", Value::list({"*"})},
                        {"operations", Value::list({"CREATE", "UPDATE", "DELETE"})},
                        {"resources", std::move(names)}});
}

std::vector<Value> own_node_objects(const OwnNodePolicy& policy) {
  const auto check = [&](const char* object) {
    return Value::object({{"expression", fmt::format("{0} == null || ({1}) == variables.node",
                                                     object, policy.node_of(object))},
                          {"message", policy.role + " writes objects of its own node alone"}});
  };
  const Value head = Value::object({{"name", policy.name}});
  Value spec = Value::object(
      {{"failurePolicy", "Fail"},
       {"matchConstraints", Value::object({{"resourceRules", Value::list(policy.rules)}})},
       {"matchConditions",
        Value::list({Value::object(
            {{"name", "agents"},
             {"expression",
              fmt::format("request.userInfo.username == 'system:serviceaccount:{}:{}'", policy.ns,
                          policy.account)}})})},
       {"variables",
        Value::list({Value::object(
            {{"name", "node"},
             {"expression",
              "has(request.userInfo.extra) && 'authentication.kubernetes.io/node-name' in "
              "request.userInfo.extra ? "
              "request.userInfo.extra['authentication.kubernetes.io/node-name'][0] : ''"}})})},
       {"validations",
        Value::list({Value::object({{"expression", "variables.node != ''"},
                                    {"message",
                                     fmt::format("the token of {} must be bound to its pod or node",
                                                 policy.role)}}),
                     check("object"), check("oldObject")})}});
  return {Value::object({{"apiVersion", kValidatingPolicy.api_version()},
                         {"kind", kValidatingPolicy.name},
                         {"metadata", head},
                         {"spec", std::move(spec)}}),
          Value::object({{"apiVersion", kValidatingPolicyBinding.api_version()},
                         {"kind", kValidatingPolicyBinding.name},
                         {"metadata", head},
                         {"spec", Value::object({{"policyName", policy.name},
                                                 {"validationActions", Value::list({"Deny"})}})}})};
}

}  // namespace athanor::api
