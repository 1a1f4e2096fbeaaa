// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/probes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/digest.hpp"
#include "base/files/time_zone_files.hpp"
#include "embedded/transport/certificate_request.hpp"
#include "kube/text/json.hpp"

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
  ATHANOR_TRY(const std::string bytes, read_time_zone_file(query.substr(query.find(':') + 1)));
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

Result<Value> read_certificate_wish(const std::string& query) {
  const auto pem = base64_decode(query.substr(query.find(':') + 1));
  if (!pem) {
    return Error::bad_request("the request is no base64");
  }
  ATHANOR_TRY(const auto wish, transport::read_certificate_request(*pem));
  const auto list = [](const std::vector<std::string>& texts) {
    Value values = Value::list();
    for (const std::string& text : texts) {
      values.push_back(text);
    }
    return values;
  };
  return Value::object({{"commonName", wish.common_name},
                        {"organizations", list(wish.organizations)},
                        {"hosts", list(wish.hosts)},
                        {"others", list(wish.others)}});
}

Result<Value> sign_certificate(const CertificateAuthority& authority, Instant now,
                               const std::string& query) {
  constexpr std::int64_t kYear = std::int64_t{365} * 24 * 3600;
  constexpr std::chrono::minutes kSkew{5};
  const std::vector<std::string> parts = parts_of(query, ':');
  std::int64_t seconds = 0;
  if (parts.size() == 4) {
    const std::string& text = parts[2];
    std::from_chars(text.data(), text.data() + text.size(), seconds);
  }
  const auto pem = parts.size() == 4 ? base64_decode(parts[3]) : std::nullopt;
  if (!pem) {
    return Error::bad_request("not a request for a certificate");
  }
  ATHANOR_TRY(const std::string certificate,
              transport::grant_certificate(
                  {.request_pem = *pem,
                   .ca_certificate_pem = authority.certificate_pem,
                   .ca_key_pem = authority.key_pem,
                   .server = parts[1] == "server",
                   .not_before = now - kSkew,
                   .not_after = now + std::chrono::seconds(seconds > 0 ? std::min(seconds, kYear)
                                                                       : kYear)}));
  return Value::object({{"certificate", base64_encode(certificate)}});
}

Result<Value> review_access(apiserver::Server& server, Instant now, const std::string& query) {
  ATHANOR_TRY(Value spec, json::parse(query.substr(query.find(':') + 1)));
  net::Request request;
  request.method = "POST";
  request.path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  request.body = Value::object({{"apiVersion", "authorization.k8s.io/v1"},
                                {"kind", "SubjectAccessReview"},
                                {"spec", std::move(spec)}});
  request.credentials.internal_user = "system:apiserver";
  const net::Response response = server.handle(std::move(request), now);
  const Value answer = response.value.value_or(Value());
  if (response.status >= 300) {
    return Error{.code = response.status,
                 .reason = answer["reason"].str(),
                 .message = answer["message"].str()};
  }
  return answer["status"];
}

Result<Value> read_secret(apiserver::Server& server, Instant now, const Key& key) {
  net::Request request;
  request.method = "GET";
  request.path = fmt::format("/api/v1/namespaces/{}/secrets/{}", key.ns, key.name);
  request.credentials.internal_user = "system:apiserver";
  const net::Response response = server.handle(std::move(request), now);
  const Value answer = response.value.value_or(Value());
  if (response.status >= 300) {
    return Error{.code = response.status,
                 .reason = answer["reason"].str(),
                 .message = answer["message"].str()};
  }
  return answer;
}

}  // namespace athanor::lab
