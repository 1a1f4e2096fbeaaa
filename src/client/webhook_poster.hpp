// SPDX-License-Identifier: Apache-2.0
// WebhookPoster: posts what controllers announce: the answers to the observations that
// fournos/notify.hpp describes, and the CloudEvents of tekton/model/cloud_events.hpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::client {

// The probe's name: its queries begin with it and a colon.
inline constexpr std::string_view kNotifyProbe = "notify";
// The verb of deliver().
inline constexpr std::string_view kDeliverVerb = "cloudevent";

// Thread-safe. Destroying it ends what is under way with an error. No error holds a URL, which may
// be a secret; link-local addresses are refused.
class WebhookPoster {
 public:
  using Done = std::function<void(Result<Value>)>;

  WebhookPoster();
  WebhookPoster(const WebhookPoster&) = delete;
  WebhookPoster& operator=(const WebhookPoster&) = delete;
  ~WebhookPoster();

  // Posts. `query` is the observation's: "notify:" and {url, contentType, body} as JSON. `done` is
  // called once, on the poster's thread: with {status}, or an error for any answer that is not 2xx.
  void ask(const std::string& query, Done done);

  // Posts {url, headers, body, line, id} until it is accepted: a receiver that is away, busy or
  // broken is asked ten times more, after 0.1 s, 0.2 s and so on to 30 s. `done` is called once, on
  // any thread, after those of earlier messages with the same `line` (any text): with {status} or
  // {error} of the last attempt, and `earlier`, a list of {id, error}, where such messages failed.
  // Refuses a message while 1000 others, or 64 MiB of them, are under way.
  void deliver(const Value& message, Done done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::client
