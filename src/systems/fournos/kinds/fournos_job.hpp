// SPDX-License-Identifier: Apache-2.0
// The FournosJob (docs/spec/fournos.md section 2): one benchmark run on one cluster.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/describe.hpp"
#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::api {

// The kind FournosJob.
inline constexpr Kind kFournosJob{"fournos.dev", "v1", "FournosJob", "fournosjobs", true};

// spec.hardware: the requested GPUs.
struct FournosHardware {
  std::string gpu_type{};
  std::int64_t gpu_count = 0;
};

// spec.forge of the seed dialect.
struct FournosForge {
  std::string project{};
  std::vector<std::string> args{};
  Value config_overrides{};
};

// Absent booleans differ from false: the dialect decides their default (2.5 D4).
struct FournosJobSpec {
  std::string owner{};
  std::string display_name{};
  std::string pipeline = "fournos-full";
  std::string cluster{};
  std::optional<FournosHardware> hardware{};
  std::optional<FournosForge> forge{};
  Value execution_engine{};
  std::map<std::string, std::string> env{};
  std::vector<std::string> secret_refs{};
  std::optional<bool> exclusive{};
  std::string priority{};
  bool clusterless = false;
  std::optional<bool> lock_only{};
  std::string shutdown{};  // Stop, Terminate
  std::string ttl{};
  std::string scheduled_start_time{};
  std::string schedule{};
  std::string lock_until{};
};

// status (docs/spec/fournos.md 2.3).
struct FournosJobStatus {
  std::string phase{};
  std::string cluster{};
  std::string pipeline_run{};
  std::string dashboard_url{};
  std::string message{};
  Value conditions{};
  Value engine_status{};
  std::optional<Instant> completion_time{};
  std::int64_t evictions = 0;
  std::string redirected_from{};
  std::int64_t redirect_count = 0;
  std::optional<Instant> last_scheduled_time{};
};

// A FournosJob.
struct FournosJob {
  Object object{};
  FournosJobSpec spec{};
  FournosJobStatus status{};
  static const Kind& kind() { return kFournosJob; }
};

// Which CRD is installed (setting FOURNOS_API, 2.5 D1).
enum class FournosApi : std::uint8_t {
  Auto,     // both dialects at once
  Seed,     // the exact schema of the v0.4.0 line
  Current,  // the exact schema of v0.4.2
};
// Returns the CRD for the setting.
const CustomKind& fournos_job_crd(FournosApi api);

}  // namespace athanor::api

ATHANOR_DESCRIBED(athanor::api::FournosHardware);
ATHANOR_DESCRIBED(athanor::api::FournosForge);
ATHANOR_DESCRIBED(athanor::api::FournosJobSpec);
ATHANOR_DESCRIBED(athanor::api::FournosJobStatus);
ATHANOR_DESCRIBED(athanor::api::FournosJob);
