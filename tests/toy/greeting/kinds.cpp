// SPDX-License-Identifier: Apache-2.0
#include "toy/greeting/kinds.hpp"

#include "api/describe_ops.hpp"

namespace athanor::greeting {
namespace {

constexpr api::VersionInfo kVersions[] = {{.name = "v1", .type = &api::Describe<Greeting>::type}};
constexpr api::CustomKind kCustom{
    .kind = &kGreeting, .singular = "greeting", .versions = kVersions};

}  // namespace

const api::CustomKind& greeting_kind() {
  return kCustom;
}

}  // namespace athanor::greeting

namespace athanor::api {

using namespace greeting;  // the tables name the described structs

const TypeInfo& Describe<GreetingSpec>::type() {
  static const FieldInfo kFields[] = {field<&GreetingSpec::who>("who", "Whom to greet.")};
  static const TypeInfo kType{.name = "GreetingSpec", .doc = "A wish.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<GreetingStatus>::type() {
  static const FieldInfo kFields[] = {field<&GreetingStatus::text>("text", "The greeting.")};
  static const TypeInfo kType{.name = "GreetingStatus", .doc = "The answer.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<Greeting>::type() {
  static const FieldInfo kFields[] = {field<&Greeting::spec>("spec", "A wish."),
                                      field<&Greeting::status>("status", "The answer.")};
  static const TypeInfo kType{.name = "Greeting", .doc = "A greeting.", .fields = kFields};
  return kType;
}

}  // namespace athanor::api
