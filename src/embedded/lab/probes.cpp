// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/probes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/digest.hpp"

namespace athanor::lab {
namespace {

std::vector<std::string> parts_of(const std::string& query, char separator) {
  std::vector<std::string> parts;
  std::size_t start = query.find(':') + 1;
  while (start <= query.size()) {
    const std::size_t end = std::min(query.find(separator, start), query.size());
    parts.push_back(query.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

}  // namespace

Result<Value> read_time_zone(const std::string& query) {
  const std::string name = query.substr(query.find(':') + 1);
  const bool plain = !name.empty() && name.find('.') == std::string::npos && name.front() != '/';
  std::ifstream file;
  if (plain) {
    file.open("/usr/share/zoneinfo/" + name, std::ios::binary);
  }
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!bytes.starts_with("TZif")) {
    return Error::not_found(fmt::format("unknown time zone {}", name));
  }
  return Value::object({{"tzif", base64_encode(bytes)}});
}

Result<Value> sign_account_token(apiserver::TokenSigner& signer, const std::string& query) {
  const std::vector<std::string> parts = parts_of(query, '/');
  if (parts.size() != 4) {
    return Error::bad_request(fmt::format("not the name of a token: {}", query));
  }
  constexpr const char* kPrefix = "kubernetes.io/serviceaccount/";
  Value claims =
      Value::object({{"iss", "kubernetes/serviceaccount"},
                     {"sub", fmt::format("system:serviceaccount:{}:{}", parts[0], parts[1])}});
  claims.set(fmt::format("{}namespace", kPrefix), parts[0]);
  claims.set(fmt::format("{}secret.name", kPrefix), parts[3]);
  claims.set(fmt::format("{}service-account.name", kPrefix), parts[1]);
  claims.set(fmt::format("{}service-account.uid", kPrefix), parts[2]);
  ATHANOR_TRY(const std::string token, signer.sign(claims));
  return Value::object({{"token", token}});
}

}  // namespace athanor::lab
