// SPDX-License-Identifier: Apache-2.0
// The last stage: a response's value as bytes (spec/apiserver.md 2.6). Compression is the transport's.
#include "embedded/apiserver/negotiate.hpp"
#include "embedded/apiserver/server.hpp"
#include "kube/json.hpp"
#include "kube/yaml.hpp"

namespace athanor::apiserver {

void encode(const Request& request, Response& response) {
  if (!response.value) {
    return;
  }
  response.body.clear();
  if (response.content_type == "application/yaml") {
    response.body = yaml::print(*response.value);
  } else if (wants_pretty(request)) {
    response.body = json::print(*response.value, json::Style::Pretty);
    response.body += '\n';
  } else {
    json::append(*response.value, response.body);
    response.body += '\n';
  }
  response.value.reset();
}

}  // namespace athanor::apiserver
