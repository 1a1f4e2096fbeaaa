// SPDX-License-Identifier: Apache-2.0
// GitSource: reads single files of git repositories with the host's git: the answers to the
// observations of Tekton's resolver git (docs/spec/tekton.md 1). Addresses come from users: one
// commit is fetched into a bare folder that is deleted afterwards, nothing is checked out, no hook
// or helper of the repository runs, redirects are not followed and link-local addresses are
// refused; time and size are bounded.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::client {

// The probe's name: its queries begin with it and a colon, and go on with
// {"url": …, "revision": …, "path": …, "folder": …, "secret": {namespace, name, key}}; folder (of
// repositories on this machine) and secret may be missing.
inline constexpr std::string_view kGitProbe = "git";

struct GitSourceOptions {
  // Reads the Secret that holds a token.
  std::function<Result<Value>(const Key& secret)> secret{};
  Duration timeout = std::chrono::seconds(60);
  std::int64_t most_bytes = std::int64_t{128} << 20;  // of what is fetched
};

// Thread-safe. Fetches on four threads of its own, at most two questions of one host at a time;
// destroying it ends what is under way.
class GitSource {
 public:
  // Called once, on one of the threads; {"text": …, "commit": …}, or an error that names the URL.
  using Done = std::function<void(Result<Value>)>;

  explicit GitSource(GitSourceOptions options);
  GitSource(const GitSource&) = delete;
  GitSource& operator=(const GitSource&) = delete;
  ~GitSource();

  void ask(const std::string& query, Done done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::client
