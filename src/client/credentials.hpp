// SPDX-License-Identifier: Apache-2.0
// Credentials that change while the program runs: token and certificate files that are rotated,
// plugins whose answers expire. Nothing here logs or words a secret.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "client/cluster_config.hpp"

namespace athanor::client {

// What one request carries.
struct Identity {
  std::string authorization{};  // the header's value; empty: none
  std::string authority{};      // PEM texts
  std::string certificate{};
  std::string key{};
  std::uint64_t generation = 0;  // counts the changes
};

// Periods of rereading and renewing.
struct CredentialOptions {
  Duration reread = std::chrono::seconds(60);         // files, at most this old
  Duration plugin_timeout = std::chrono::minutes(1);  // a plugin that may ask the user: ten times
  Duration retry_after_reject = std::chrono::seconds(2);  // between forced renewals
};

// Thread-safe.
class Credentials {
 public:
  // Requires that `clock`, the wall's as plugins' answers expire by it, outlives the credentials.
  static std::shared_ptr<Credentials> create(ClusterConfig config, const Clock& clock,
                                             const CredentialOptions& options = {});
  virtual ~Credentials() = default;

  // Returns true when get() will not block now.
  [[nodiscard]] virtual bool fresh() const = 0;
  // Returns the valid identity; reads files or runs the plugin when due. Blocks meanwhile (up to
  // plugin_timeout). A file that cannot be read leaves what was read before. Errors: Unauthorized
  // (401), with the plugin's install hint where it is missing.
  virtual Result<Identity> get() = 0;
  // Records that the server refused (401) an Identity of this generation: the next get() renews.
  // Returns false when that yields nothing newer (static credentials, or renewed a moment ago).
  virtual bool reject(std::uint64_t generation) = 0;
};

}  // namespace athanor::client
