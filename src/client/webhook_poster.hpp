// SPDX-License-Identifier: Apache-2.0
// WebhookPoster: posts what controllers announce: the answers to the observations that
// fournos/notify.hpp describes.
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

// Thread-safe. Destroying it ends what is under way with an error.
class WebhookPoster {
 public:
  using Done = std::function<void(Result<Value>)>;

  WebhookPoster();
  WebhookPoster(const WebhookPoster&) = delete;
  WebhookPoster& operator=(const WebhookPoster&) = delete;
  ~WebhookPoster();

  // Posts. `query` is the observation's: "notify:" and {url, contentType, body} as JSON. `done` is
  // called once, on the poster's thread: with {status}, or an error for any answer that is not 2xx.
  // The error does not hold the URL, which may be a secret.
  void ask(const std::string& query, Done done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::client
