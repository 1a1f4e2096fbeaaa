// SPDX-License-Identifier: Apache-2.0
// HTTP of the servers of this program (net/http.hpp) under the names of the API server.
#pragma once

#include "net/http.hpp"

namespace athanor::apiserver {

using net::Credentials;
using net::Headers;
using net::Request;
using net::Response;
using net::Stream;
using net::Tunnel;

}  // namespace athanor::apiserver
