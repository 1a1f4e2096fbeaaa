// SPDX-License-Identifier: Apache-2.0
// AppWrapper as a typed kind (docs/spec/appwrapper.md section 1). Controllers read it through these
// structs and write status as Values, so that members they do not know survive.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/describe.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::appwrapper {

// API group of AppWrapper.
inline constexpr std::string_view kGroup = "workload.codeflare.dev";
// Review of the rights of an AppWrapper's creator, which the webhook requests.
inline constexpr Kind kSubjectAccessReview{"authorization.k8s.io", "v1", "SubjectAccessReview",
                                           "subjectaccessreviews", false};
// The kind AppWrapper.
inline constexpr Kind kAppWrapper{kGroup, "v1beta2", "AppWrapper", "appwrappers", true};

// A group of identical pods inside a component.
struct PodSet {
  std::string path{};                      // "template.spec.template"
  std::optional<std::int32_t> replicas{};  // absent: 1
  std::map<std::string, std::string> annotations{};

  [[nodiscard]] std::int64_t count() const { return replicas.value_or(1); }
  friend bool operator==(const PodSet&, const PodSet&) = default;
};

// One wrapped object with its PodSets: an entry of spec.components.
struct Component {
  Value template_value{};          // key "template"
  std::vector<PodSet> pod_sets{};  // declared
  Value pod_set_infos{};           // list, written by the workload controller
  std::map<std::string, std::string> annotations{};
};

// spec (docs/spec/appwrapper.md 1.2).
struct AppWrapperSpec {
  std::vector<Component> components{};
  bool suspend = false;
  std::optional<std::string> managed_by{};
};

// An entry of status.componentStatus: the created object and its PodSets.
struct ComponentStatus {
  std::string name{}, kind{}, api_version{};
  std::vector<PodSet> pod_sets{};
  Value conditions{};
};

// status (docs/spec/appwrapper.md 1.3).
struct AppWrapperStatus {
  std::string phase{};
  std::int32_t resetting_count = 0;
  Value conditions{};
  std::vector<ComponentStatus> component_status{};
};

// An AppWrapper.
struct AppWrapper {
  Object object{};
  AppWrapperSpec spec{};
  AppWrapperStatus status{};
  static const Kind& kind() { return kAppWrapper; }
};

// Returns {path, replicas, annotations}, absent members left out.
Value to_value(const PodSet& pod_set);
Value to_value(const std::vector<PodSet>& pod_sets);

// Returns the definition of appwrappers.workload.codeflare.dev.
std::span<const api::CustomKind* const> custom_kinds();

}  // namespace athanor::appwrapper

ATHANOR_DESCRIBED(athanor::appwrapper::PodSet);
ATHANOR_DESCRIBED(athanor::appwrapper::Component);
ATHANOR_DESCRIBED(athanor::appwrapper::AppWrapperSpec);
ATHANOR_DESCRIBED(athanor::appwrapper::ComponentStatus);
ATHANOR_DESCRIBED(athanor::appwrapper::AppWrapperStatus);
ATHANOR_DESCRIBED(athanor::appwrapper::AppWrapper);
