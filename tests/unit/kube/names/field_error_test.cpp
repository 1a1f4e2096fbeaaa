// SPDX-License-Identifier: Apache-2.0
#include "kube/names/field_error.hpp"

#include <gtest/gtest.h>

namespace athanor::field_error_test {
namespace {

TEST(FieldError, TextsOfEveryReason) {
  const struct {
    FieldError error;
    std::string_view reason, text;
  } cases[] = {
      {FieldError::required("spec.a"), "FieldValueRequired", "spec.a: Required value"},
      {FieldError::required("metadata.name", "name or generateName is required"),
       "FieldValueRequired", "metadata.name: Required value: name or generateName is required"},
      {FieldError::invalid("spec.replicas", -1, "must be greater than or equal to 0"),
       "FieldValueInvalid", "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
      {FieldError::invalid("a", "x\"y\n<", "t"), "FieldValueInvalid",
       "a: Invalid value: \"x\\\"y\\n<\": t"},
      {FieldError::invalid("roleRef", Value::object({{"Kind", "Role"}}), "cannot change"),
       "FieldValueInvalid", "roleRef: Invalid value: {\"Kind\":\"Role\"}: cannot change"},
      {FieldError::not_supported("spec.scope", "Nope", {"Cluster", "Namespaced"}),
       "FieldValueNotSupported",
       "spec.scope: Unsupported value: \"Nope\": supported values: \"Cluster\", \"Namespaced\""},
      {FieldError::forbidden("spec", "no"), "FieldValueForbidden", "spec: Forbidden: no"},
      {FieldError::duplicate("spec.mp[1]", Value::object({{"n", "1"}})), "FieldValueDuplicate",
       "spec.mp[1]: Duplicate value: {\"n\":\"1\"}"},
      {FieldError::not_found("v[0].name", "nov"), "FieldValueNotFound",
       "v[0].name: Not found: \"nov\""},
      {FieldError::too_long("data", 1048576), "FieldValueTooLong",
       "data: Too long: may not be more than 1048576 bytes"},
      {FieldError::too_many("spec.l", 3, 2), "FieldValueTooMany",
       "spec.l: Too many: 3: must have at most 2 items"},
      {FieldError::too_many("spec.m", 2, 1), "FieldValueTooMany",
       "spec.m: Too many: 2: must have at most 1 item"},
      {FieldError::type_invalid("spec.size", "string", "integer"), "FieldValueTypeInvalid",
       "spec.size: Invalid value: \"string\": spec.size in body must be of type integer: "
       "\"string\""},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(c.error.reason, c.reason);
    EXPECT_EQ(c.error.text(), c.text);
  }
}

TEST(FieldError, JoinsSeveralIntoOneMessage) {
  const FieldError a = FieldError::required("spec.a");
  const FieldError b = FieldError::required("spec.b");
  EXPECT_EQ(invalid_message("Deployment.apps", "d", std::vector{a}),
            "Deployment.apps \"d\" is invalid: spec.a: Required value");
  EXPECT_EQ(invalid_message("ConfigMap", "", std::vector{a, b, a}),
            "ConfigMap \"\" is invalid: [spec.a: Required value, spec.b: Required value]");
}

TEST(FieldError, CausesCarryReasonMessageAndField) {
  EXPECT_EQ(
      to_causes(std::vector{FieldError::forbidden("spec", "no")}),
      Value::list({Value::object(
          {{"reason", "FieldValueForbidden"}, {"message", "Forbidden: no"}, {"field", "spec"}})}));
}

}  // namespace
}  // namespace athanor::field_error_test
