// SPDX-License-Identifier: Apache-2.0
#include "cli/controllers/election.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/time.hpp"
#include "cli/flags/environment.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

Result<Duration> duration_of(const std::string& flag, const std::string& text) {
  auto parsed = parse_go_duration(text);
  return parsed.ok() ? parsed : wrong_usage(parsed.error().with_context(flag).message);
}

Result<runtime::ElectorOptions> election_of(Key lease, const ElectionTimes& times,
                                            const std::map<std::string, std::string>& variables,
                                            Entropy& entropy) {
  const std::string pod = variable(variables, "POD_NAME");
  runtime::ElectorOptions election{
      .lease = std::move(lease),
      .identity = fmt::format("{}_{}", pod.empty() ? host_name() : pod, entropy.uuid()),
      .entropy = &entropy};
  ATHANOR_TRY(election.lease_duration, duration_of("--lease-duration", times.lease_duration));
  ATHANOR_TRY(election.renew_deadline, duration_of("--renew-deadline", times.renew_deadline));
  ATHANOR_TRY(election.retry_period, duration_of("--retry-period", times.retry_period));
  if (const auto checked = runtime::check(election); !checked.ok()) {
    return wrong_usage(checked.error().message);
  }
  return election;
}

}  // namespace athanor::cli
