// SPDX-License-Identifier: Apache-2.0
#include "client/http/curl_handle.hpp"

#include <curl/curl.h>

namespace athanor::client {
namespace {

void set_blob(CURL* handle, CURLoption option, const std::string& data) {
  if (!data.empty()) {
    curl_blob blob{};
    blob.data = const_cast<char*>(data.data());  // copied by curl (CURL_BLOB_COPY)
    blob.len = data.size();
    blob.flags = CURL_BLOB_COPY;
    curl_easy_setopt(handle, option, &blob);
  }
}

}  // namespace

void EasyClose::operator()(void* handle) const {
  curl_easy_cleanup(handle);
}

void MultiClose::operator()(void* handle) const {
  curl_multi_cleanup(handle);
}

void ListClose::operator()(curl_slist* list) const {
  curl_slist_free_all(list);
}

void add_line(CurlList& list, const std::string& line) {
  if (curl_slist* longer = curl_slist_append(list.get(), line.c_str()); longer != nullptr) {
    static_cast<void>(list.release());
    list.reset(longer);
  }
}

std::vector<EndedTransfer> take_ended(const Multi& multi) {
  std::vector<EndedTransfer> ended;
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
    if (message->msg == CURLMSG_DONE) {
      EndedTransfer one{.easy = message->easy_handle, .code = message->data.result};
      curl_easy_getinfo(one.easy, CURLINFO_PRIVATE, &one.owner);
      ended.push_back(one);
    }
  }
  return ended;
}

void set_tls(void* easy, const TlsTexts& texts) {
  // libcurl lets OpenSSL ask on the terminal for the passphrase of an encrypted CA certificate; a
  // text without a certificate is refused instead.
  static const std::string kNoCertificate = "encrypted";
  const bool encrypted = texts.authority.find("Proc-Type:") != std::string::npos;
  set_blob(easy, CURLOPT_CAINFO_BLOB, encrypted ? kNoCertificate : texts.authority);
  set_blob(easy, CURLOPT_SSLCERT_BLOB, texts.certificate);
  set_blob(easy, CURLOPT_SSLKEY_BLOB, texts.key);
}

}  // namespace athanor::client
