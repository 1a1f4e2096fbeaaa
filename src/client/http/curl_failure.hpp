// SPDX-License-Identifier: Apache-2.0
// What went wrong with a transfer, in the words of Go's net/http, as Kubernetes' messages carry
// them. For the .cpp files of client/.
#pragma once

#include <string>

#include "client/http/async_http.hpp"

namespace athanor::client {

// Returns why a transfer (a CURL*) ended with `code` (a CURLcode); never empty.
std::string curl_failure(void* handle, int code, const HttpQuery& query);

}  // namespace athanor::client
