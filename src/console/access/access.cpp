// SPDX-License-Identifier: Apache-2.0
#include "console/access/access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "kube/text/json.hpp"

namespace athanor::console {
namespace {

constexpr Duration kAllowTime = std::chrono::seconds(60);
constexpr Duration kDenyTime = std::chrono::seconds(5);
constexpr std::size_t kMostSessions = 10'000;
constexpr std::size_t kMostOfOneUser = 100;  // so that one user cannot lock out the others
constexpr std::size_t kMostVerdicts = 50'000;
constexpr std::string_view kCookie = "athanor_console";

constexpr Kind kTokenReview{"authentication.k8s.io", "v1", "TokenReview", "tokenreviews", false};
constexpr Kind kAccessReview{"authorization.k8s.io", "v1", "SubjectAccessReview",
                             "subjectaccessreviews", false};

Error unauthorized(std::string message) {
  return Error{.code = 401, .reason = "Unauthorized", .message = std::move(message)};
}

Error forbidden(std::string message) {
  return Error{.code = 403, .reason = "Forbidden", .message = std::move(message)};
}

// The value of one cookie.
std::string cookie_of(const net::Request& request) {
  const std::string text = request.header_list("cookie");
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(";,");
    std::string_view part = rest.substr(0, end);
    while (part.starts_with(' ')) {
      part.remove_prefix(1);
    }
    if (part.starts_with(kCookie) && part.substr(kCookie.size()).starts_with('=')) {
      return std::string(part.substr(kCookie.size() + 1));
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return {};
}

// When a JWT ends; nullopt: it is none, or has no end.
std::optional<Instant> expiry_of(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t second = token.find('.', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) {
    return std::nullopt;
  }
  const auto body = base64url_decode(token.substr(first + 1, second - first - 1));
  const auto claims = body ? json::parse(*body) : Result<Value>(Error::bad_request("no JWT"));
  if (!claims.ok() || !(*claims)["exp"].is_number()) {
    return std::nullopt;
  }
  return Instant(std::chrono::seconds((*claims)["exp"].as_int()));
}

// "https://host:port/x" -> "host:port".
std::string host_of_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) {
    url.remove_prefix(scheme + 3);
  }
  return lower(url.substr(0, url.find('/')));
}

bool equal_secrets(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return difference == 0;
}

}  // namespace

Access::Access(const Settings& settings, const ApiPort& port, const Clock& clock, Entropy& entropy)
    : settings_(settings), port_(port), clock_(clock), entropy_(entropy) {
  const MutexLock lock(mutex_);
  address_ = settings.address;
  anonymous_ = {.id = "anonymous", .csrf = random_text()};
}

void Access::listens_at(std::string address) {
  const MutexLock lock(mutex_);
  address_ = std::move(address);
}

std::string Access::random_text() {
  std::string text;
  for (int i = 0; i < 4; ++i) {
    text += fmt::format("{:016x}", entropy_.next());
  }
  return text;
}

Result<Session> Access::session_of(const net::Request& request) {
  switch (settings_.auth) {
    case AuthMode::None: {
      const MutexLock lock(mutex_);
      return anonymous_;
    }
    case AuthMode::Proxy: {
      const bool trusted = is_proxy(request);
      const std::string user(request.header("x-forwarded-user"));
      if (!trusted || user.empty()) {
        return unauthorized(trusted ? "the proxy names no user"
                                    : "requests come through the configured proxies alone");
      }
      Session session{.id = "proxy/" + user, .viewer = {.user = user}};
      const std::string groups = request.header_list("x-forwarded-groups");
      std::string_view rest = groups;
      while (!rest.empty()) {
        const std::size_t end = rest.find(',');
        std::string_view group = rest.substr(0, end);
        while (group.starts_with(' ')) {
          group.remove_prefix(1);
        }
        if (!group.empty()) {
          session.viewer.groups.emplace_back(group);
        }
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      }
      session.viewer.groups.emplace_back("system:authenticated");
      const MutexLock lock(mutex_);
      session.csrf = sha256_hex(anonymous_.csrf + user);
      session.expires = clock_.now() + settings_.session_time;
      return session;
    }
    case AuthMode::Token: {
      const std::string id = cookie_of(request);
      const MutexLock lock(mutex_);
      const auto found = sessions_.find(id);
      if (found == sessions_.end() || found->second.expires <= clock_.now()) {
        return unauthorized("log in first");
      }
      return found->second;
    }
  }
  return unauthorized("log in first");
}

Result<Session> Access::log_in(const std::string& token) {
  if (settings_.auth != AuthMode::Token) {
    return Error::bad_request("this console needs no login");
  }
  if (token.empty()) {
    return unauthorized("the token is missing");
  }
  const Value review = Value::object({{"apiVersion", kTokenReview.api_version()},
                                      {"kind", kTokenReview.name},
                                      {"spec", Value::object({{"token", token}})}});
  ATHANOR_TRY(const Object answer, port_.create({}, kTokenReview, review));
  const Value& status = answer.status();
  if (!status["authenticated"].as_bool()) {
    return unauthorized("the API server does not accept the token");
  }
  const Instant now = clock_.now();
  Session session{
      .viewer = {.user = status["user"]["username"].str()},
      .opened = now,
      .expires = std::min(now + settings_.session_time, expiry_of(token).value_or(Instant::max()))};
  if (session.viewer.user.empty()) {  // without a name, requests would be the console's own
    return unauthorized("the API server names no user for the token");
  }
  for (const Value& group : status["user"]["groups"].items()) {
    session.viewer.groups.push_back(group.str());
  }
  const MutexLock lock(mutex_);
  session.id = random_text();
  session.csrf = random_text();
  std::erase_if(sessions_, [now](const auto& one) { return one.second.expires <= now; });
  drop_oldest_of(session.viewer.user);
  if (sessions_.size() >= kMostSessions) {
    return Error::unavailable("too many sessions are open");
  }
  sessions_.insert_or_assign(session.id, session);
  return session;
}

void Access::drop_oldest_of(const std::string& user) {
  std::size_t count = 0;
  auto oldest = sessions_.end();
  for (auto one = sessions_.begin(); one != sessions_.end(); ++one) {
    if (one->second.viewer.user == user) {
      ++count;
      if (oldest == sessions_.end() || one->second.opened < oldest->second.opened) {
        oldest = one;
      }
    }
  }
  if (count >= kMostOfOneUser) {
    sessions_.erase(oldest);
  }
}

void Access::log_out(const net::Request& request) {
  const std::string id = cookie_of(request);
  const MutexLock lock(mutex_);
  sessions_.erase(id);
}

std::string Access::cookie(const Session& session, const net::Request& request) const {
  // Whoever forges an Origin gets a cookie that their own browser sends less often.
  const bool secure =
      !settings_.tls_cert.empty() || settings_.public_url.starts_with("https://") ||
      request.header("origin").starts_with("https://") ||
      (is_proxy(request) && lower(request.header("x-forwarded-proto")).starts_with("https"));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
      session.id.empty() ? Duration{} : session.expires - clock_.now());
  return fmt::format("{}={}; Path={}/; HttpOnly; SameSite=Strict; Max-Age={}{}", kCookie,
                     session.id, settings_.base_path, seconds.count(), secure ? "; Secure" : "");
}

bool Access::is_proxy(const net::Request& request) const {
  return std::ranges::find(settings_.trusted_proxies, request.peer) !=
         settings_.trusted_proxies.end();
}

bool Access::is_valid(const std::string& session_id) {
  if (settings_.auth != AuthMode::Token) {
    return true;
  }
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(session_id);
  return found != sessions_.end() && found->second.expires > clock_.now();
}

bool Access::is_own_host(std::string_view given) const {
  const std::string host = lower(given);
  if (!settings_.public_url.empty() && host == host_of_url(settings_.public_url)) {
    return true;
  }
  std::string address;
  {
    const MutexLock lock(mutex_);
    address = address_;
  }
  const std::size_t colon = address.rfind(':');
  const std::string port = address.substr(colon + 1);
  const std::string name = address.substr(0, colon);
  for (const std::string_view own : {"localhost", "127.0.0.1", "[::1]"}) {
    if (host == fmt::format("{}:{}", own, port)) {
      return true;
    }
  }
  if (host == lower(address)) {
    return true;
  }
  // Listening on every address without a public name: any name may lead here.
  const bool everywhere = name.empty() || name == "0.0.0.0" || name == "[::]";
  return everywhere && settings_.public_url.empty() && settings_.auth != AuthMode::None;
}

Result<void> Access::check_host(const net::Request& request) const {
  if (is_own_host(request.header("host"))) {
    return {};
  }
  return Error{.code = 421,
               .reason = "BadRequest",
               .message = fmt::format("this console is not at \"{}\" (CONSOLE_PUBLIC_URL names "
                                      "where it is)",
                                      request.header("host"))};
}

bool Access::is_own_origin(const net::Request& request) const {
  const std::string_view given = request.header("origin");
  const std::string origin = host_of_url(given);
  return given.find("://") != std::string_view::npos &&
         (origin == lower(request.header("host")) ||
          (!settings_.public_url.empty() && origin == host_of_url(settings_.public_url)));
}

Result<void> Access::check_origin(const net::Request& request) const {
  if (request.header("origin").empty() || is_own_origin(request)) {
    return {};
  }
  return forbidden("the header Origin is not of the console itself");
}

Result<void> Access::check_change(const net::Request& request, const Session& session,
                                  std::string_view form_token) const {
  if (settings_.read_only) {
    return forbidden("the console is read-only");
  }
  if (!is_own_origin(request)) {
    return forbidden("changes need the header Origin of the console itself");
  }
  if (settings_.auth == AuthMode::None) {
    return {};
  }
  const std::string_view header = request.header("x-athanor-csrf");
  if (!equal_secrets(header.empty() ? form_token : header, session.csrf)) {
    return forbidden("changes need the header X-Athanor-CSRF of the session");
  }
  return {};
}

Result<bool> Access::may(const Viewer& viewer, std::string_view verb, const Kind& kind,
                         std::string_view ns, std::string_view name) {
  if (settings_.auth == AuthMode::None) {
    return true;
  }
  return ask(viewer, "resourceAttributes",
             Value::object({{"verb", verb},
                            {"group", kind.group},
                            {"resource", kind.plural},
                            {"namespace", ns},
                            {"name", name}}));
}

Result<bool> Access::may_get(const Viewer& viewer, std::string_view path) {
  return ask(viewer, "nonResourceAttributes", Value::object({{"verb", "get"}, {"path", path}}));
}

Result<bool> Access::ask(const Viewer& viewer, std::string_view member, const Value& attributes) {
  if (settings_.auth == AuthMode::None) {
    return true;
  }
  const std::string key = fmt::format("{}\n{}\n{}", viewer.user, fmt::join(viewer.groups, ","),
                                      json::print(attributes));
  {
    const MutexLock lock(mutex_);
    const auto found = verdicts_.find(key);
    if (found != verdicts_.end() && found->second.until > clock_.now()) {
      return found->second.allowed;
    }
  }
  Value groups = Value::list();
  for (const std::string& group : viewer.groups) {
    groups.push_back(group);
  }
  Value spec = Value::object({{"user", viewer.user}, {"groups", std::move(groups)}});
  spec.set(member, attributes);
  const Value review = Value::object({{"apiVersion", kAccessReview.api_version()},
                                      {"kind", kAccessReview.name},
                                      {"spec", std::move(spec)}});
  ATHANOR_TRY(const Object answer, port_.create({}, kAccessReview, review));
  const bool allowed = answer.status()["allowed"].as_bool();
  const Instant now = clock_.now();
  const MutexLock lock(mutex_);
  if (verdicts_.size() >= kMostVerdicts) {
    std::erase_if(verdicts_, [now](const auto& one) { return one.second.until <= now; });
  }
  if (verdicts_.size() < kMostVerdicts) {
    verdicts_.insert_or_assign(
        key, Verdict{.allowed = allowed, .until = now + (allowed ? kAllowTime : kDenyTime)});
  }
  return allowed;
}

Visible Access::visible(const Viewer& viewer, const Kind& kind,
                        const std::set<std::string>& namespaces) {
  if (may(viewer, "list", kind, "").value_or(false)) {
    return {.all = true};
  }
  Visible visible;
  for (const std::string& ns : namespaces) {
    if (!ns.empty() && may(viewer, "list", kind, ns).value_or(false)) {
      visible.namespaces.insert(ns);
    }
  }
  return visible;
}

}  // namespace athanor::console
