// SPDX-License-Identifier: Apache-2.0
// Reading from HashiCorp Vault's key-value engine, version 2, over HTTP.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "client/http/async_http.hpp"
#include "kube/value/value.hpp"

namespace athanor::client {

// Address, credentials and place of the entries.
struct VaultOptions {
  std::string address{};  // https://HOST:PORT
  std::string token{};
  std::string ns{};      // of Vault Enterprise; may be empty
  std::string ca_pem{};  // empty: the system's roots
  std::string mount = "kv";
  std::string path{};  // below the mount; may be empty
};

// Blocking; not thread-safe.
class Vault {
 public:
  explicit Vault(VaultOptions options) : options_(std::move(options)) {}

  // Names of the entries and, with '/' at their end, of the folders; none where nothing is.
  Result<std::vector<std::string>> list();
  // Returns an entry's newest version: an object, empty when that version was deleted.
  Result<Value> read(const std::string& entry);

 private:
  struct Answer {
    int status = 0;
    Value body{};
  };
  Result<Answer> ask(std::string method, const std::string& kind, const std::string& entry);

  VaultOptions options_;
  AsyncHttp http_{};
};

}  // namespace athanor::client
