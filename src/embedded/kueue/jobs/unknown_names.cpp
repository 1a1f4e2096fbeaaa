// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/unknown_names.hpp"

#include <cstdint>
#include <string_view>

#include "api/builtin.hpp"
#include "api/kueue_integration.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/kueue/rules/left_out.hpp"

namespace athanor::kueue::jobs {
namespace {

enum class On : std::uint8_t { Any, Jobs, BatchJob, Pod };
struct Known {
  api::kueue::KnownName name{};
  On on = On::Jobs;
};
constexpr Known kKnown[] = {{{"labels", name::kGroup}, On::Pod},
                            {{"annotations", kElasticAnnotation}, On::Jobs},
                            {{"annotations", name::kPrebuilt}, On::Any},
                            {{"annotations", name::kGroup}, On::Pod},
                            {{"annotations", name::kFastAdmission}, On::Pod},
                            {{"annotations", name::kMinParallelism}, On::BatchJob},
                            {{"annotations", name::kEqualCompletions}, On::BatchJob},
                            {{"annotations", name::kGroupTotal}, On::Pod},
                            {{"annotations", name::kRetriable}, On::Pod},
                            {{"annotations", name::kRoleHash}, On::Pod}};

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

}  // namespace

std::vector<std::string> unknown_names(const Kind& kind, const Value& object) {
  std::vector<api::kueue::KnownName> known;
  for (const Known& one : kKnown) {
    if (is_read(one.on, kind)) {
      known.push_back(one.name);
    }
  }
  // Topology annotations have warnings of their own.
  for (const Member& annotation : object["metadata"]["annotations"].members()) {
    if (is_topology_annotation(annotation.key())) {
      known.push_back({.field = "annotations", .key = annotation.key()});
    }
  }
  return api::kueue::unknown_names(kind, object, known);
}

}  // namespace athanor::kueue::jobs
