// SPDX-License-Identifier: Apache-2.0
// Access: authentication and authorization of viewers (docs/spec/dashboard.md B9).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "console/model/settings.hpp"
#include "console/model/visible.hpp"
#include "console/world/api_port.hpp"
#include "net/http.hpp"

namespace athanor::console {

// A viewer who was let in.
struct Session {
  std::string id{};
  std::string csrf{};
  Viewer viewer{};
  Instant opened{};
  Instant expires{};
};

// Thread-safe. Calls that ask the API server wait for it.
class Access {
 public:
  // Requires that all outlive it.
  Access(const Settings& settings, const ApiPort& port, const Clock& clock, Entropy& entropy);

  // Returns the session of a request; with CONSOLE_AUTH=none one for everybody. Error 401: none.
  [[nodiscard]] Result<Session> session_of(const net::Request& request);
  // Checks a bearer token with a TokenReview and opens a session. Error 401: refused.
  [[nodiscard]] Result<Session> log_in(const std::string& token);
  void log_out(const net::Request& request);
  // Returns what sets the session's cookie: "athanor_console=ID; HttpOnly; ..."; Secure where the
  // browser's address is https: that of CONSOLE_PUBLIC_URL, of its Origin, or of what a trusted
  // proxy forwards.
  [[nodiscard]] std::string cookie(const Session& session, const net::Request& request) const;
  // Returns true while the session lasts.
  [[nodiscard]] bool is_valid(const std::string& session_id);

  // Refuses an Origin of another site (403); a request without one is no browser's.
  [[nodiscard]] Result<void> check_origin(const net::Request& request) const;
  // Checks the Host of a request (421), and of a change its Origin, its CSRF header and that the
  // console takes changes (403). `form`: the token may be in the body.
  [[nodiscard]] Result<void> check_host(const net::Request& request) const;
  [[nodiscard]] Result<void> check_change(const net::Request& request, const Session& session,
                                          std::string_view form_token) const;

  // Asks whether the viewer may do this, by SubjectAccessReview; remembered for 60 s, a refusal
  // for 5 s.
  [[nodiscard]] Result<bool> may(const Viewer& viewer, std::string_view verb, const Kind& kind,
                                 std::string_view ns, std::string_view name = {});
  // Asks whether the viewer may get a path of the API server that is no resource, likewise.
  [[nodiscard]] Result<bool> may_get(const Viewer& viewer, std::string_view path);
  // Returns the namespaces, among those given, in which the viewer may list the kind.
  [[nodiscard]] Visible visible(const Viewer& viewer, const Kind& kind,
                                const std::set<std::string>& namespaces);
  // Takes the address that is listened at ("127.0.0.1:8000"), known once the server listens.
  void listens_at(std::string address);

 private:
  struct Verdict {
    bool allowed = false;
    Instant until{};
  };
  [[nodiscard]] std::string random_text();
  // Makes room for one more session of a user: the session that was opened first ends.
  void drop_oldest_of(const std::string& user) ATHANOR_REQUIRES(mutex_);
  [[nodiscard]] Result<bool> ask(const Viewer& viewer, std::string_view member,
                                 const Value& attributes);
  [[nodiscard]] bool is_own_host(std::string_view host) const;
  [[nodiscard]] bool is_own_origin(const net::Request& request) const;
  [[nodiscard]] bool is_proxy(const net::Request& request) const;

  const Settings& settings_;
  const ApiPort& port_;
  const Clock& clock_;
  Entropy& entropy_;
  mutable Mutex mutex_{};
  std::string address_ ATHANOR_GUARDED_BY(mutex_){};
  Session anonymous_ ATHANOR_GUARDED_BY(mutex_){};
  std::map<std::string, Session> sessions_ ATHANOR_GUARDED_BY(mutex_){};  // at most kMostSessions
  std::map<std::string, Verdict> verdicts_ ATHANOR_GUARDED_BY(mutex_){};  // at most kMostVerdicts
};

}  // namespace athanor::console
