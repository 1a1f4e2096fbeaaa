// SPDX-License-Identifier: Apache-2.0
#include "console/model/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"
#include "base/environment.hpp"

namespace athanor::console {
namespace {

constexpr std::int64_t kMostDays = 36'500;
constexpr Duration kShortestSession = std::chrono::seconds(1);
constexpr Duration kLongestSession = std::chrono::hours(168);
constexpr std::int64_t kMostMegabytes = std::int64_t{1} << 20;

Result<bool> flag_of(const Environment& variables, std::string_view name, bool fallback) {
  const std::string* text = variables.find(name);
  if (text == nullptr) {
    return fallback;
  }
  const std::string word = lower(*text);
  if (word == "true" || word == "1" || word == "yes" || word == "on") {
    return true;
  }
  if (word == "false" || word == "0" || word == "no" || word == "off") {
    return false;
  }
  return refuse_setting(name, *text, "must be true or false");
}

// A number that may be 0.
Result<std::int64_t> count_of(const Environment& variables, std::string_view name,
                              std::int64_t most, std::int64_t fallback) {
  const std::string* text = variables.find(name);
  if (text == nullptr) {
    return fallback;
  }
  std::int64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end || number < 0 || number > most) {
    return refuse_setting(name, *text, fmt::format("must be a whole number from 0 to {}", most));
  }
  return number;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(", ");
    if (const std::string_view word = text.substr(0, end); !word.empty()) {
      words.emplace_back(word);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

std::string host_of(std::string_view address) {
  return std::string(address.substr(0, address.rfind(':')));
}

// Without the password between ":" and "@", and without that of the query.
std::string masked_url(std::string url) {
  const std::size_t at = url.find('@');
  const std::size_t scheme = url.find("://");
  const std::size_t colon =
      scheme == std::string::npos ? std::string::npos : url.find(':', scheme + 3);
  if (at != std::string::npos && colon != std::string::npos && colon < at) {
    url = url.substr(0, colon + 1) + "***" + url.substr(at);
  }
  constexpr std::string_view kPassword = "password=";
  for (std::size_t found = url.find(kPassword); found != std::string::npos;
       found = url.find(kPassword, found)) {
    found += kPassword.size();
    url.replace(found, std::min(url.find('&', found), url.size()) - found, "***");
  }
  return url;
}

// The levels of Python's loggers, which fournos-ui takes, and ours.
Result<void> read_log_level(const Environment& variables, Settings& settings) {
  constexpr std::pair<std::string_view, log::Level> kLevels[] = {
      {"critical", log::Level::Error}, {"error", log::Level::Error}, {"warning", log::Level::Warn},
      {"warn", log::Level::Warn},      {"info", log::Level::Info},   {"debug", log::Level::Debug},
      {"trace", log::Level::Trace}};
  const std::string* text = variables.find("LOG_LEVEL");
  if (text == nullptr) {
    return {};
  }
  const std::string word = lower(*text);
  const auto found = std::ranges::find(kLevels, std::string_view(word),
                                       &std::pair<std::string_view, log::Level>::first);
  if (found == std::end(kLevels)) {
    return refuse_setting("LOG_LEVEL", *text, "must be debug, info, warning, error or critical");
  }
  settings.log_level = found->second;
  return {};
}

Result<void> read_times(const Environment& variables, Settings& settings) {
  if (const std::string* text = variables.find("CONSOLE_SESSION_TIME")) {
    const auto time = parse_go_duration(*text);
    if (!time.ok() || *time < kShortestSession || *time > kLongestSession) {
      return refuse_setting("CONSOLE_SESSION_TIME", *text, "must be a time from 1s to 168h");
    }
    settings.session_time = *time;
  }
  double seconds = std::chrono::duration<double>(settings.request_timeout).count();
  ATHANOR_TRY_VOID(variables.seconds("K8S_REQUEST_TIMEOUT", seconds));
  settings.request_timeout =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  return {};
}

// Where the controllers say how they are.
Result<void> read_controllers(const Environment& variables, Settings& settings) {
  variables.text("CONSOLE_CONTROLLERS_URL", settings.controllers_url);
  variables.text("CONSOLE_CONTROLLERS_CA", settings.controllers_ca);
  variables.text("CONSOLE_CONTROLLERS_LEASE", settings.controllers_lease);
  std::string& url = settings.controllers_url;
  while (url.ends_with('/')) {
    url.pop_back();
  }
  if (!url.empty() && !url.starts_with("http://") && !url.starts_with("https://")) {
    return refuse_setting("CONSOLE_CONTROLLERS_URL", url, "must begin with http:// or https://");
  }
  const std::string& lease = settings.controllers_lease;
  const std::size_t slash = lease.find('/');
  if (!lease.empty() && (slash == 0 || slash == std::string::npos || slash + 1 == lease.size() ||
                         lease.find('/', slash + 1) != std::string::npos)) {
    return refuse_setting("CONSOLE_CONTROLLERS_LEASE", lease, "must be NAMESPACE/NAME");
  }
  return {};
}

}  // namespace

std::string auth_text(AuthMode mode) {
  switch (mode) {
    case AuthMode::None:
      return "none";
    case AuthMode::Token:
      return "token";
    case AuthMode::Proxy:
      return "proxy";
  }
  return {};
}

bool Settings::shows(std::string_view ns) const {
  return ns.empty() || std::ranges::any_of(namespaces, [&](const std::string& one) {
           return one == "*" || one == ns;
         });
}

std::string Settings::only_namespace() const {
  return namespaces.size() == 1 && namespaces.front() != "*" ? namespaces.front() : std::string();
}

std::vector<std::pair<std::string, std::string>> Settings::lines() const {
  constexpr std::int64_t kMegabyte = std::int64_t{1} << 20;
  return {{"CONSOLE_ADDR", address},
          {"FOURNOS_NAMESPACE", jobs_ns},
          {"CONSOLE_NAMESPACES", fmt::format("{}", fmt::join(namespaces, ","))},
          {"CONSOLE_AUTH", auth_text(auth)},
          {"CONSOLE_READ_ONLY", read_only ? "true" : "false"},
          {"CONSOLE_PUBLIC_URL", public_url},
          {"CONSOLE_BASE_PATH", base_path},
          {"CONSOLE_HISTORY_DAYS", std::to_string(history_days)},
          {"CONSOLE_LOG_ARCHIVE_MB", std::to_string(log_archive_bytes / kMegabyte)},
          {"CONSOLE_TLS_CERT", tls_cert},
          {"CONSOLE_TRUSTED_PROXIES", fmt::format("{}", fmt::join(trusted_proxies, ","))},
          {"DATABASE_URL", masked_url(database_url)},
          {"PROJECTS_CONFIG_PATH", projects_file},
          {"FOURNOS_RESULTS_CLAIM", results_claim},
          {"CONSOLE_RESULTS_IMAGE", results_image},
          {"CONSOLE_SUBMIT_IMAGE", submit_image},
          {"CONSOLE_SUBMIT_ACCOUNT", submit_account},
          {"CONSOLE_SESSION_TIME", format_go_duration(session_time)},
          {"CONSOLE_CONTROLLERS_URL", masked_url(controllers_url)},
          {"CONSOLE_CONTROLLERS_CA", controllers_ca},
          {"CONSOLE_CONTROLLERS_LEASE", controllers_lease},
          {"FORGE_REPO_PATH", forge_repo},
          {"FORGE_GITHUB_REPO", forge_github}};
}

bool is_loopback(std::string_view address) {
  const std::string host = host_of(address);
  return host == "localhost" || host == "[::1]" || host == "::1" || host.starts_with("127.");
}

Result<Settings> read_settings(const std::map<std::string, std::string>& environment,
                               Settings initial) {
  const Environment variables(environment);
  Settings settings = std::move(initial);
  variables.text("CONSOLE_ADDR", settings.address);
  variables.text("FOURNOS_NAMESPACE", settings.jobs_ns);
  std::string namespaces;
  variables.text("CONSOLE_NAMESPACES", namespaces);
  if (!namespaces.empty()) {
    settings.namespaces = words_of(namespaces);
  }
  if (settings.namespaces.empty()) {
    settings.namespaces = {settings.jobs_ns};
  }
  const bool local = is_loopback(settings.address);
  std::string auth = local ? "none" : "token";
  ATHANOR_TRY_VOID(variables.choice("CONSOLE_AUTH", {"none", "token", "proxy"}, auth));
  settings.auth = auth == "none"    ? AuthMode::None
                  : auth == "token" ? AuthMode::Token
                                    : AuthMode::Proxy;
  ATHANOR_TRY(const bool anonymous, flag_of(variables, "CONSOLE_ALLOW_ANONYMOUS", false));
  if (settings.auth == AuthMode::None && !local && !anonymous) {
    return refuse_setting("CONSOLE_AUTH", "none",
                          fmt::format("{} is reached from other machines: set CONSOLE_AUTH=token "
                                      "or CONSOLE_ALLOW_ANONYMOUS=true",
                                      settings.address));
  }
  ATHANOR_TRY(settings.read_only, flag_of(variables, "CONSOLE_READ_ONLY", settings.read_only));
  variables.text("CONSOLE_PUBLIC_URL", settings.public_url);
  variables.text("CONSOLE_BASE_PATH", settings.base_path);
  while (settings.base_path.ends_with('/')) {
    settings.base_path.pop_back();
  }
  if (!settings.base_path.empty() && !settings.base_path.starts_with('/')) {
    return refuse_setting("CONSOLE_BASE_PATH", settings.base_path, "must begin with /");
  }
  ATHANOR_TRY(settings.history_days,
              count_of(variables, "CONSOLE_HISTORY_DAYS", kMostDays, settings.history_days));
  ATHANOR_TRY(const std::int64_t megabytes,
              count_of(variables, "CONSOLE_LOG_ARCHIVE_MB", kMostMegabytes,
                       settings.log_archive_bytes >> 20));
  settings.log_archive_bytes = megabytes << 20;
  variables.text("CONSOLE_TLS_CERT", settings.tls_cert);
  variables.text("CONSOLE_TLS_KEY", settings.tls_key);
  if (settings.tls_cert.empty() != settings.tls_key.empty()) {
    return refuse_setting(settings.tls_cert.empty() ? "CONSOLE_TLS_KEY" : "CONSOLE_TLS_CERT",
                          settings.tls_cert + settings.tls_key,
                          "needs both CONSOLE_TLS_CERT and CONSOLE_TLS_KEY");
  }
  std::string proxies;
  variables.text("CONSOLE_TRUSTED_PROXIES", proxies);
  settings.trusted_proxies = words_of(proxies);
  if (settings.auth == AuthMode::Proxy && settings.trusted_proxies.empty()) {
    return refuse_setting("CONSOLE_AUTH", "proxy",
                          "needs CONSOLE_TRUSTED_PROXIES, the addresses of the proxies");
  }
  variables.text("DATABASE_URL", settings.database_url);
  variables.text("PROJECTS_CONFIG_PATH", settings.projects_file);
  variables.text("FOURNOS_RESULTS_CLAIM", settings.results_claim);
  variables.text("CONSOLE_RESULTS_IMAGE", settings.results_image);
  variables.text("CONSOLE_SUBMIT_IMAGE", settings.submit_image);
  variables.text("CONSOLE_SUBMIT_ACCOUNT", settings.submit_account);
  variables.text("FORGE_REPO_PATH", settings.forge_repo);
  variables.text("FORGE_GITHUB_REPO", settings.forge_github);
  ATHANOR_TRY_VOID(read_log_level(variables, settings));
  ATHANOR_TRY_VOID(read_controllers(variables, settings));
  ATHANOR_TRY_VOID(read_times(variables, settings));
  return settings;
}

}  // namespace athanor::console
