// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/unknown_names.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "api/builtin.hpp"
#include "embedded/kueue/cycle/waiting.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/kueue/rules/left_out.hpp"

namespace athanor::kueue::jobs {
namespace {

constexpr std::string_view kPrefix = "kueue.x-k8s.io/";

enum class On : std::uint8_t { Any, Jobs, BatchJob, Pod };
struct Known {
  std::string_view field{};
  std::string_view key{};
  On on = On::Any;
};
constexpr Known kKnown[] = {{"labels", name::kQueue},
                            {"labels", name::kPriorityClass},
                            {"labels", name::kPrebuilt},
                            {"labels", name::kMaxExecTime},
                            {"labels", name::kJobUid},
                            {"labels", name::kPodSet},
                            {"labels", name::kLocalQueue},
                            {"labels", name::kClusterQueue},
                            {"labels", name::kManaged},
                            {"labels", name::kGroup, On::Pod},
                            {"annotations", name::kWorkload},
                            {"annotations", kGatedBy},
                            {"annotations", kElasticAnnotation, On::Jobs},
                            {"annotations", name::kMinParallelism, On::BatchJob},
                            {"annotations", name::kEqualCompletions, On::BatchJob},
                            {"annotations", name::kGroupTotal, On::Pod},
                            {"annotations", name::kRoleHash, On::Pod}};

bool is_read(On on, const Kind& kind) {
  switch (on) {
    case On::Any:
      return true;
    case On::Jobs:
      return &kind != &api::kPod;
    case On::BatchJob:
      return &kind == &api::kJob;
    case On::Pod:
      return &kind == &api::kPod;
  }
  return false;
}

bool is_known(const Kind& kind, std::string_view field, std::string_view key) {
  return (field == "annotations" && is_topology_annotation(key)) ||
         std::ranges::any_of(kKnown, [&](const Known& known) {
           return known.field == field && known.key == key && is_read(known.on, kind);
         });
}

}  // namespace

std::vector<std::string> unknown_names(const Kind& kind, const Value& object) {
  std::vector<std::string> sentences;
  for (const std::string_view field : {"labels", "annotations"}) {
    for (const Member& member : object["metadata"][field].members()) {
      if (member.key().starts_with(kPrefix) && !is_known(kind, field, member.key())) {
        sentences.push_back(fmt::format(
            "metadata.{}[{}] has no effect: the embedded engine does not read it on a {}", field,
            member.key(), kind.name));
      }
    }
  }
  return sentences;
}

}  // namespace athanor::kueue::jobs
