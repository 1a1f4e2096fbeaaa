// SPDX-License-Identifier: Apache-2.0
#include "systems/fournos/schedules/mock_resolver.hpp"

#include <algorithm>
#include <string_view>

#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::fournos {
namespace {

constexpr std::string_view kImage = "fournos-mock-resolve";
constexpr std::string_view kEntry = "placeholder";  // the vault entry that labs have

// The last part of the name, without tag and digest.
bool is_resolver(const Value& container) {
  std::string_view image = container["image"].as_string();
  image = image.substr(0, image.find('@'));
  image = image.substr(image.rfind('/') + 1);
  return image.substr(0, image.find(':')) == kImage;
}

std::string variable(const Value& container, std::string_view name) {
  const auto variables = container["env"].items();
  const auto found = std::ranges::find_if(
      variables, [&](const Value& one) { return one["name"].as_string() == name; });
  return found == variables.end() ? std::string() : (*found)["value"].str();
}

NodeAdmission admit_resolver(const View& view, const Object& pod, const Object& /*node*/,
                             Instant /*now*/) {
  NodeAdmission admission;
  for (const Value& container : pod.spec()["containers"].items()) {
    if (!is_resolver(container)) {
      continue;
    }
    const Key key{variable(container, "FOURNOS_WORKLOAD_NAMESPACE"),
                  variable(container, "FJOB_NAME")};
    const auto job = view.get(api::kFournosJob, key);
    if (!job) {
      return {.answer = NodeAdmission::Answer::Refuse,
              .message = "the mock resolver found no FournosJob " + key.text(),
              .reason = "MockResolver"};
    }
    Value spec = Value::object({{"secretRefs", Value::list({kEntry})}});
    if (job->spec()["hardware"]["gpuType"].as_string().empty()) {
      spec.set("hardware", Value::object({{"gpuType", "a100"}, {"gpuCount", 2}}));
    }
    admission.steps.then(Patch{.target = {&api::kFournosJob, key},
                               .merge = Value::object({{"spec", std::move(spec)}}),
                               .guard = {.uid = std::string(job->uid())}});
  }
  return admission;
}

}  // namespace

const NodeHooks& mock_resolver() {
  static constexpr const Kind* kReads[] = {&api::kFournosJob};
  static constexpr const Kind* kWrites[] = {&api::kFournosJob};
  static constexpr Access kAccess[] = {{&api::kFournosJob, "patch"}};
  static const NodeHooks kHooks{.name = "mock-resolver",
                                .reads = kReads,
                                .writes = kWrites,
                                .access = kAccess,
                                .admit = admit_resolver};
  return kHooks;
}

}  // namespace athanor::fournos
