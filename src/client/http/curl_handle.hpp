// SPDX-License-Identifier: Apache-2.0
// Owners of libcurl's handles, and what every transfer sets. For the .cpp files of client/.
#pragma once

#include <memory>
#include <string>
#include <vector>

struct curl_slist;

namespace athanor::client {

// CURL and CURLM are void to those who include curl/curl.h.
struct EasyClose {
  void operator()(void* handle) const;
};
struct MultiClose {
  void operator()(void* handle) const;
};
struct ListClose {
  void operator()(curl_slist* list) const;
};
using Easy = std::unique_ptr<void, EasyClose>;
using Multi = std::unique_ptr<void, MultiClose>;
using CurlList = std::unique_ptr<curl_slist, ListClose>;

// Appends a line to the list.
void add_line(CurlList& list, const std::string& line);

// A transfer that is over: its handle, its CURLOPT_PRIVATE, its CURLcode.
struct EndedTransfer {
  void* easy = nullptr;
  void* owner = nullptr;
  int code = 0;
};
// Returns the transfers of a multi handle that have ended since the last call. They are its own
// until they are removed, which may happen only when all have been read.
std::vector<EndedTransfer> take_ended(const Multi& multi);

// PEM texts; empty ones are left as they are.
struct TlsTexts {
  const std::string& authority;
  const std::string& certificate;
  const std::string& key;
};
// Gives the handle the authority and the client's certificate with its key.
void set_tls(void* easy, const TlsTexts& texts);

}  // namespace athanor::client
