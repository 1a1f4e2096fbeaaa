// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/scheduled_submission.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/files/text_file.hpp"
#include "cli/flags/environment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/session.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"

namespace athanor::cli {
namespace {

constexpr int kExists = 409;
constexpr const char* kResolved = "/shared/resolved.env";  // that a resolver has written

}  // namespace

Result<int> submit_from_environment(const Target& target) {
  const auto environment = environment_map();
  const auto resolved = read_text_file(kResolved);
  ATHANOR_TRY(const Value job,
              fournos::scheduled_job(
                  [&](std::string_view name) -> std::optional<std::string> {
                    const auto found = environment.find(std::string(name));
                    return found == environment.end() ? std::nullopt : std::optional(found->second);
                  },
                  resolved.ok() ? *resolved : std::string()));
  ATHANOR_TRY(Session session, Session::open(target, Session::Home::Jobs));
  const std::string wanted = job["metadata"]["namespace"].str();
  const std::string given = variable(environment, "FOURNOS_NAMESPACE");
  const std::string ns = !wanted.empty() ? wanted : !given.empty() ? given : session.ns();
  const auto created = session.connection().call(
      {.method = "POST",
       .path = Session::path(api::kFournosJob, ns) + "?fieldManager=athanor-submit",
       .body = job});
  const Terminal out(STDOUT_FILENO);
  const std::string name = job["metadata"]["name"].str();
  // A second attempt of one start finds the job of the first.
  if (!created.ok() && created.error().code == kExists && !name.empty()) {
    out.print(fmt::format("fournosjob.fournos.dev/{} exists in namespace {}\n", name, ns));
    return 0;
  }
  if (!created.ok()) {
    return created.error();
  }
  out.print(fmt::format("fournosjob.fournos.dev/{} created in namespace {}\n",
                        Object(*created).name(), ns));
  return 0;
}

}  // namespace athanor::cli
