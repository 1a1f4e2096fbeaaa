// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/identifiers.hpp"

#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "embedded/kueue/jobs/names.hpp"

namespace athanor::kueue::jobs {

namespace {

std::string_view identifier_of(const Object& object, std::string_view key) {
  const std::string_view annotation = object.annotation(key);
  return annotation.empty() ? object.label(key) : annotation;
}

std::vector<std::string> groups_of_pod(const Object& pod) {
  const std::string_view group = group_name(pod);
  return group.empty() ? std::vector<std::string>{}
                       : std::vector<std::string>{std::string(pod.ns()) + "/" + std::string(group)};
}

}  // namespace

std::string_view prebuilt_name(const Object& job) {
  return identifier_of(job, name::kPrebuilt);
}

std::string_view group_name(const Object& pod) {
  return identifier_of(pod, name::kGroup);
}

const Index& group_index() {
  static constexpr Index kIndex{&api::kPod, "kueue-pod-group", groups_of_pod};
  return kIndex;
}

}  // namespace athanor::kueue::jobs
