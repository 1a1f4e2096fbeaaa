// SPDX-License-Identifier: Apache-2.0
// Settings of the console: its environment variables (docs/spec/dashboard.md A2, B6).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "base/time.hpp"

namespace athanor::console {

// How viewers are known (docs/spec/dashboard.md B9).
enum class AuthMode : std::uint8_t { None, Token, Proxy };
// Returns "none", "token" or "proxy".
std::string auth_text(AuthMode mode);

// Values of the variables.
struct Settings {
  std::string address = "127.0.0.1:8000";
  std::string jobs_ns = "fournos-jobs";
  std::vector<std::string> namespaces{};  // of jobs and schedules; "*": every one
  AuthMode auth = AuthMode::None;
  bool read_only = false;
  std::string public_url{};
  std::string base_path{};                                   // "/console", or empty
  std::int64_t history_days = 90;                            // 0: for ever
  std::int64_t log_archive_bytes = std::int64_t{512} << 20;  // 0: logs are not archived
  std::string tls_cert{};
  std::string tls_key{};
  std::vector<std::string> trusted_proxies{};  // addresses
  std::string database_url{};
  std::string projects_file = "/etc/fournos-dashboard/projects.yaml";
  std::string forge_repo{};
  std::string forge_github = "openshift-psap/forge";
  std::string results_claim = "fournos-results";  // PersistentVolumeClaim with files of results
  std::string results_image = "busybox:1.36";     // of the pod that reads them
  std::string submit_image{};    // of pods that submit scheduled jobs; empty: this version's
  std::string submit_account{};  // of these pods; empty: the namespace's default
  Duration request_timeout = std::chrono::seconds(30);
  log::Level log_level = log::Level::Info;
  Duration session_time = std::chrono::hours(8);  // at most; a token may end earlier
  std::string controllers_url{};    // of the controllers' metrics, without a slash at its end
  std::string controllers_ca{};     // file with the certificate of its authority
  std::string controllers_lease{};  // "NAMESPACE/NAME"; empty: no election is shown

  // Returns true if objects of the namespace are shown.
  [[nodiscard]] bool shows(std::string_view ns) const;
  // Returns the one namespace that is shown; empty: several.
  [[nodiscard]] std::string only_namespace() const;
  // Returns name and value of each variable, without secrets.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> lines() const;
};

// Reads the settings over those given. Errors name the variable; anonymous access from other
// machines is one unless CONSOLE_ALLOW_ANONYMOUS says so.
Result<Settings> read_settings(const std::map<std::string, std::string>& environment,
                               Settings initial = {});

// Returns true for an address that only this machine reaches.
bool is_loopback(std::string_view address);

}  // namespace athanor::console
