// SPDX-License-Identifier: Apache-2.0
// What every transfer to a cluster's API server sets: address, proxy, TLS, credentials. For the
// .cpp files of client/.
#pragma once

#include <string>

#include "client/cluster_config.hpp"
#include "client/credentials.hpp"
#include "client/http/curl_handle.hpp"

namespace athanor::client {

// Kept as long as the transfer.
struct TargetLists {
  CurlList headers{};
  CurlList connect_to{};
  std::string flaw{};  // why the request must not be sent; empty: it may be
};
// Adds "NAME: VALUE", or notes the flaw of one that holds control bytes.
void add_header(TargetLists& lists, const std::string& name, const std::string& value);

// Sets everything but the method, the body, time limits and the HTTP version. `path` has its query.
// The caller may add headers to the lists, and calls apply_lists() last. With a flaw in the lists
// the handle has no URL, so that performing it sends nothing.
void set_target(void* easy, const ClusterConfig& config, const Identity& identity,
                const std::string& path, TargetLists& lists);
// Gives the handle the lists, which must outlive the transfer.
void apply_lists(void* easy, const TargetLists& lists);

// Returns "host:port" of "https://host:port/prefix".
std::string authority_of(const std::string& server);
// Explains why a transfer (a CURL*) failed with `code` (a CURLcode), as Go's net/http words it, for
// an error about that server.
std::string target_failure(void* easy, int code, const ClusterConfig& config);
// Initialises libcurl; once for the process, thread-safe.
bool curl_ready();

}  // namespace athanor::client
